"""Embeddings: `LocalEmbeddings` without a network, `OpenAIEmbeddings`, and `CachedEmbeddings` around any.

All three treat texts that are empty or only spaces alike, and never send them anywhere: `embed_query`
raises `EmbeddingError`; `embed_documents` keeps its place with a zero vector, so that vectors stay
aligned with their texts.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_context_engine.embeddings.cache import CachedEmbeddings
    from langchain_context_engine.embeddings.local import LocalEmbeddings
    from langchain_context_engine.embeddings.openai import OpenAIEmbeddings

__all__ = ["CachedEmbeddings", "LocalEmbeddings", "OpenAIEmbeddings"]

_HOME_OF = {"CachedEmbeddings": "cache", "LocalEmbeddings": "local", "OpenAIEmbeddings": "openai"}


def __getattr__(name: str) -> Any:
    """Load a name when it is first asked for: what they inherit of LangChain's takes long to import."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    return value
