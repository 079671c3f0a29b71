"""One question, one context that fits the token budget exactly, and a reason for every candidate's fate."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_context_engine.answering.config import EngineConfig
    from langchain_context_engine.answering.context import Context
    from langchain_context_engine.answering.result_cache import ResultCache
    from langchain_context_engine.answering.stored_results import StoredResultCache
    from langchain_context_engine.answering.traces import Diff, diff, replay
    from langchain_context_engine.embeddings import CachedEmbeddings, LocalEmbeddings, OpenAIEmbeddings
    from langchain_context_engine.engine import ContextEngine
    from langchain_context_engine.journal import Journal
    from langchain_context_engine.langchain.retriever import ContextRetriever
    from langchain_context_engine.langchain.runnable import ContextRunnable
    from langchain_context_engine.sources.chroma import ChromaSource
    from langchain_context_engine.sources.history import HistorySource
    from langchain_context_engine.sources.pinned import PinnedSource
    from langchain_context_engine.sources.retriever import RetrieverSource
    from langchain_context_engine.text.truncate import extractive, keep_end, keep_start
    from langchain_context_engine.values.budget import Budget
    from langchain_context_engine.values.errors import (
        AllSourcesFailedError,
        ConfigError,
        ContextEngineError,
        EmbeddingError,
        ScopeError,
        SourceError,
        TemplateError,
        UnknownNameError,
    )
    from langchain_context_engine.values.request import ContextRequest, Message
    from langchain_context_engine.values.types import Candidate, Decision, Passage, Ranked
    from langchain_context_engine.writing.templates import Template

_HOMES = {
    "answering.config": ("EngineConfig",),
    "answering.context": ("Context",),
    "answering.result_cache": ("ResultCache",),
    "answering.stored_results": ("StoredResultCache",),
    "answering.traces": ("Diff", "diff", "replay"),
    "embeddings": ("CachedEmbeddings", "LocalEmbeddings", "OpenAIEmbeddings"),
    "engine": ("ContextEngine",),
    "journal": ("Journal",),
    "langchain.retriever": ("ContextRetriever",),
    "langchain.runnable": ("ContextRunnable",),
    "sources.chroma": ("ChromaSource",),
    "sources.history": ("HistorySource",),
    "sources.pinned": ("PinnedSource",),
    "sources.retriever": ("RetrieverSource",),
    "text.truncate": ("extractive", "keep_end", "keep_start"),
    "values.budget": ("Budget",),
    "values.errors": (
        "AllSourcesFailedError",
        "ConfigError",
        "ContextEngineError",
        "EmbeddingError",
        "ScopeError",
        "SourceError",
        "TemplateError",
        "UnknownNameError",
    ),
    "values.request": ("ContextRequest", "Message"),
    "values.types": ("Candidate", "Decision", "Passage", "Ranked"),
    "writing.templates": ("Template",),
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
    "Decision",
    "Diff",
    "EmbeddingError",
    "EngineConfig",
    "HistorySource",
    "Journal",
    "LocalEmbeddings",
    "Message",
    "OpenAIEmbeddings",
    "Passage",
    "PinnedSource",
    "Ranked",
    "ResultCache",
    "RetrieverSource",
    "ScopeError",
    "SourceError",
    "StoredResultCache",
    "Template",
    "TemplateError",
    "UnknownNameError",
    "diff",
    "extractive",
    "keep_end",
    "keep_start",
    "replay",
]


# Where modules stood that people import by their path; the old path gives the very same module.
_MOVED = {
    "citations": "writing.citations",
    "compact": "writing.compact",
    "config": "answering.config",
    "errors": "values.errors",
    "evaluate": "evaluation.evaluate",
    "explain": "answering.explain",
    "middleware": "langchain.middleware",
    "pytest_plugin": "evaluation.pytest_plugin",
    "registry": "values.registry",
    "retriever": "langchain.retriever",
    "runnable": "langchain.runnable",
    "signals": "ranking.signals",
    "templates": "writing.templates",
    "tokens": "text.tokens",
    "tool": "langchain.tool",
    "traces": "answering.traces",
    "truncate": "text.truncate",
    "tune": "evaluation.tune",
    "whatif": "answering.whatif",
}


class _Moved(MetaPathFinder, Loader):
    """Finds a module under the path that it had before it moved into a room."""

    def find_spec(self, fullname: str, _path: Any = None, _target: Any = None) -> ModuleSpec | None:
        package, _, name = fullname.rpartition(".")
        return ModuleSpec(fullname, self) if package == __name__ and name in _MOVED else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(f"{__name__}.{_MOVED[spec.name.rpartition('.')[2]]}")
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own spec back; importing it where it lives has run it."""
        if module.__spec__ is not None:
            module.__spec__ = module.__spec__.loader_state


sys.meta_path.append(_Moved())


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for, so that importing the package costs next to nothing."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
