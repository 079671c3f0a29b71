"""The former place of `rendering.citations`."""

from langchain_context_engine.rendering.citations import list_citations, sources_block

__all__ = ["list_citations", "sources_block"]
