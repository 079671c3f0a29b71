"""The former place of `trace.prompt`."""

from langchain_context_engine.trace.prompt import JOINT, UNBOUNDED, Claim, compose, refit, share_packs

__all__ = ["JOINT", "UNBOUNDED", "Claim", "compose", "refit", "share_packs"]
