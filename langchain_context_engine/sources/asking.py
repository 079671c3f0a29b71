"""Who is asked for a request, and whether the request may be asked at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_context_engine.config import EngineConfig
from langchain_context_engine.errors import ConfigError, ScopeError, UnknownNameError
from langchain_context_engine.filters import check_filters
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.source import (
    SupportsAsync,
    SupportsOpening,
    SupportsSharing,
    collection_of,
)
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.sources.given import PinnedSource
from langchain_context_engine.sources.shared import SharedResources

LIMIT_OF_ONE, LIMIT_OF_MANY = 100, 50
"""Candidates that a source may offer, where one source is asked and where several are."""

TOKENS_EACH = 80
"""Of a larger budget each source may offer one more for so many tokens: at 16,000 tokens the 200
best of each have .89 of the lines that SWE-QA cites, 50 have .79."""

OPENING_SECONDS = 15.0
"""How long the first question waits at most for large stores to be opened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """The sources of an engine in its order, bound to what they share.

    `scope_keys` are what every request's scope must name; `feels_usage`: usage carries weight, so that the
    journal is asked for it.
    """

    sources: tuple[Any, ...]
    scope_keys: tuple[str, ...] = ()
    feels_usage: bool = False

    @classmethod
    def of(cls, sources: Sequence[Any], config: EngineConfig) -> Asking:
        """Check the sources and let them share an index and query vectors."""
        if isinstance(sources, (str, bytes)) or not isinstance(sources, Sequence):
            raise ConfigError(
                f"sources must be a list of sources, as [ChromaSource(…)], got {type(sources).__name__}"
            )
        names = [_checked_name(source) for source in sources]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ConfigError(f"two sources are named {min(twice)!r}; give one of them another name")
        shared = SharedResources(index_dir=config.index_dir)
        bound = tuple(s.share(shared) if isinstance(s, SupportsSharing) else s for s in sources)
        return cls(sources=bound).under(config)

    def under(self, config: EngineConfig) -> Asking:
        """Return the same sources, bound to what they share already, under other settings."""
        feels_usage = bool((config.weights or {}).get("usage"))
        return replace(self, scope_keys=config.scope_keys, feels_usage=feels_usage)

    def check(self, request: ContextRequest) -> None:
        """Raise where a request may not be asked."""
        for key in self.scope_keys:
            if request.scope.get(key) is None:
                raise ScopeError(f"this engine answers only within a scope: give scope={{{key!r}: …}}")
        check_filters(request)
        known = {name for source in self.sources for name in _names(source)}
        for name in request.sources or ():
            if name not in known:
                raise UnknownNameError("source", name, known)

    def limit_of(self, request: ContextRequest, usual: int | None, tokens: int) -> int:
        """Return how many candidates a source may offer, at least `k`.

        Args:
            request: The question.
            usual: What the settings say; None: the more the larger the budget is.
            tokens: The budget.
        """
        if request.limit is not None:
            return request.limit
        if usual is None:
            least = LIMIT_OF_ONE if len(self.sources_for(request)) == 1 else LIMIT_OF_MANY
            usual = max(least, tokens // TOKENS_EACH)
        return max(usual, request.k or 0)

    def sources_for(self, request: ContextRequest) -> tuple[Any, ...]:
        """Return the sources that a request asks, in order; before them what it pins, if anything."""
        wanted = request.sources
        chosen = [s for s in self.sources if wanted is None or not {*_names(s)}.isdisjoint(wanted)]
        if request.pinned and not any(isinstance(source, PinnedSource) for source in chosen):
            chosen.insert(0, PinnedSource())
        return tuple(chosen)

    def patience(self, request: ContextRequest, timeout_seconds: float) -> float:
        """Return how many seconds the sources have: more where a large store is opened for the first time."""
        asked = self.sources_for(request)
        is_cold = any(isinstance(source, SupportsOpening) and source.is_cold for source in asked)
        return max(timeout_seconds, OPENING_SECONDS) if is_cold else timeout_seconds

    def with_usage(self, candidates: tuple[Candidate, ...], journal: Any) -> tuple[Candidate, ...]:
        """Return the candidates with how often each was used, where that carries weight."""
        if journal is None or not self.feels_usage or not candidates:
            return candidates
        used = journal.usage_metadata([candidate.key for candidate in candidates])
        return tuple(
            replace(c, metadata={**c.metadata, **used[c.key]}) if c.key in used else c for c in candidates
        )


def _names(source: Any) -> tuple[str, ...]:
    return (source.name, collection_of(source))


def _checked_name(source: Any) -> str:
    if isinstance(source, type):
        raise ConfigError(
            f"a source is an object, got the class {source.__name__}: give {source.__name__}(…)"
        )
    name = getattr(source, "name", None)
    if not callable(getattr(source, "fetch", None)) and not isinstance(source, SupportsAsync):
        raise ConfigError(
            f"a source has a name and fetch(request) or afetch(request), got {type(source).__name__}: give "
            "ChromaSource(collection), RetrieverSource(retriever, name=…), or PinnedSource([…]) for documents"
        )
    if not isinstance(name, str) or not name:
        raise ConfigError(f"a source needs a name (a non-empty string), {type(source).__name__} has {name!r}")
    return name
