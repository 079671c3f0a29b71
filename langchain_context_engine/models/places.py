"""The former place of `metadata`'s places."""

from langchain_context_engine.models.metadata import LONGEST_PLACE, has_place, place_from

__all__ = ["LONGEST_PLACE", "has_place", "place_from"]
