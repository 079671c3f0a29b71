"""One question, one context that fits the token budget exactly, and a reason for every candidate's fate."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_context_engine.config import EngineConfig
    from langchain_context_engine.embeddings.cache import CachedEmbeddings
    from langchain_context_engine.embeddings.local import LocalEmbeddings
    from langchain_context_engine.embeddings.openai import OpenAIEmbeddings
    from langchain_context_engine.engine import ContextEngine
    from langchain_context_engine.errors import (
        AllSourcesFailedError,
        ConfigError,
        ContextEngineError,
        EmbeddingError,
        ScopeError,
        SourceError,
        TemplateError,
        UnknownNameError,
    )
    from langchain_context_engine.journal import Journal
    from langchain_context_engine.langchain.runnable import ContextRetriever, ContextRunnable
    from langchain_context_engine.models.budget import Budget
    from langchain_context_engine.models.request import ContextRequest
    from langchain_context_engine.models.types import Candidate
    from langchain_context_engine.rendering.templates import Template
    from langchain_context_engine.sources.chroma import ChromaSource
    from langchain_context_engine.sources.given import HistorySource, PinnedSource
    from langchain_context_engine.sources.retriever import RetrieverSource
    from langchain_context_engine.text.truncate import extractive, keep_end, keep_start
    from langchain_context_engine.trace.context import Context
    from langchain_context_engine.trace.replay import diff, replay

_HOMES = {
    "config": ("EngineConfig",),
    "trace.context": ("Context",),
    "trace.replay": ("diff", "replay"),
    "embeddings.cache": ("CachedEmbeddings",),
    "embeddings.local": ("LocalEmbeddings",),
    "embeddings.openai": ("OpenAIEmbeddings",),
    "engine": ("ContextEngine",),
    "journal": ("Journal",),
    "langchain.runnable": ("ContextRetriever", "ContextRunnable"),
    "sources.chroma": ("ChromaSource",),
    "sources.given": ("HistorySource", "PinnedSource"),
    "sources.retriever": ("RetrieverSource",),
    "text.truncate": ("extractive", "keep_end", "keep_start"),
    "models.budget": ("Budget",),
    "errors": (
        "AllSourcesFailedError",
        "ConfigError",
        "ContextEngineError",
        "EmbeddingError",
        "ScopeError",
        "SourceError",
        "TemplateError",
        "UnknownNameError",
    ),
    "models.request": ("ContextRequest",),
    "models.types": ("Candidate",),
    "rendering.templates": ("Template",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AllSourcesFailedError",
    "Budget",
    "CachedEmbeddings",
    "Candidate",
    "ChromaSource",
    "ConfigError",
    "Context",
    "ContextEngine",
    "ContextEngineError",
    "ContextRequest",
    "ContextRetriever",
    "ContextRunnable",
    "EmbeddingError",
    "EngineConfig",
    "HistorySource",
    "Journal",
    "LocalEmbeddings",
    "OpenAIEmbeddings",
    "PinnedSource",
    "RetrieverSource",
    "ScopeError",
    "SourceError",
    "Template",
    "TemplateError",
    "UnknownNameError",
    "diff",
    "extractive",
    "keep_end",
    "keep_start",
    "replay",
]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for, so that importing the package costs next to nothing."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
