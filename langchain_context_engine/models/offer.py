"""The former place of `types.Offer`."""

from langchain_context_engine.models.types import Offer

__all__ = ["Offer"]
