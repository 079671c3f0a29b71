"""The sources of the learning memory: five kinds, and experiences on four axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from langchain_context_engine.designs.learning.formats import shown
from langchain_context_engine.designs.learning.methods import METHODS, has_methods, stores_of
from langchain_context_engine.models.errors import ConfigError, UnknownNameError
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.sources.adapted import AdaptedSource, Ask
from langchain_context_engine.sources.chroma import ChromaSource

KIND_OF: Mapping[str, str] = MappingProxyType(
    {
        "memories": "memory",
        "code": "code",
        "experiences": "experience",
        "values": "value",
        "commits": "commit",
    }
)
"""Context type → the kind of its items, in the order of the sections."""

AXES = ("full", "strategy", "surprise", "root_cause")

MOST_VALUES = 5
"""Values in a premortem."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Searcher:
    """Where the five kinds of context are: Chroma collections, or sources of one's own.

    Collections are searched by similarity alone, as the document has it; give a
    `ChromaSource(…, hybrid=True)` where words should count too.

    Attributes:
        memories: Facts, preferences, decisions; metadata: category, importance, created_at.
        code: Functions, classes, methods; metadata: unit_type, name, file_path, start_line, signature,
            docstring.
        experiences: Past experiences: axis (full, strategy, surprise, root_cause) → collection, or one
            collection whose records name their `axis` (without one they are on the full axis).
        values: Emergent values; metadata: axis, cluster_size, ghap_id.
        commits: Git history; metadata: sha, author, timestamp, files_changed.
        embeddings: LangChain Embeddings, the ones the collections were filled with.

    Raises:
        ConfigError: There is nothing to search, or something is no collection.
        UnknownNameError: An axis is unknown.
    """

    memories: Any = None
    code: Any = None
    experiences: Any = None
    values: Any = None
    commits: Any = None
    embeddings: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.experiences, Mapping):
            for axis in self.experiences:
                if axis not in AXES:
                    raise UnknownNameError("axis of experiences", axis, AXES)
        if not self.sources() and not self.premortem_sources():
            raise ConfigError(f"a Searcher needs at least one of {', '.join(KIND_OF)}")

    def types(self) -> tuple[str, ...]:
        """Return the context types that can be asked for, in the order of the sections."""
        stores = {name: getattr(self, name) for name in KIND_OF}
        stores["experiences"] = self._on_axis("full")
        return tuple(name for name, store in stores.items() if store is not None)

    def sources(self) -> list[AdaptedSource]:
        """Return a source for each context type, named after it."""
        plain = [name for name in self.types() if name != "experiences"]
        found = [self._adapted(name, getattr(self, name), KIND_OF[name]) for name in plain]
        if "experiences" in self.types():
            found.append(self._axis("experiences", "full", lambda request: request))
        return sorted(found, key=lambda source: list(KIND_OF).index(source.name))

    def premortem_sources(self) -> list[AdaptedSource]:
        """Return a source for each section of a premortem, named after its axis, with its own question."""
        found = [
            self._axis(axis, axis, ask)
            for axis, ask in PREMORTEM_QUESTIONS.items()
            if axis in AXES and self._on_axis(axis) is not None
        ]
        if self.values is not None:
            ask = PREMORTEM_QUESTIONS["values"]
            found.append(self._adapted("values", self.values, "value", ask=ask))
        return found

    def _on_axis(self, axis: str) -> Any:
        return self.experiences.get(axis) if isinstance(self.experiences, Mapping) else self.experiences

    def _axis(self, name: str, axis: str, ask: Ask) -> AdaptedSource:
        def on_axis(request: ContextRequest) -> ContextRequest | None:
            asked = ask(request)
            if asked is None or isinstance(self.experiences, Mapping):
                return asked
            is_on = {"axis": [axis, None]} if axis == "full" else {"axis": axis}
            return replace(asked, where={"$and": [asked.where, is_on]})

        return self._adapted(name, self._on_axis(axis), "experience", axis=axis, ask=on_axis)

    def _adapted(
        self, name: str, store: Any, kind: str, *, axis: str = "full", ask: Ask | None = None
    ) -> AdaptedSource:
        is_source = callable(getattr(store, "fetch", None)) or callable(getattr(store, "afetch", None))
        source = store if is_source else ChromaSource(store, embeddings=self.embeddings, hybrid=False)

        def shape(found: Any, request: ContextRequest) -> list[Candidate]:
            # What a record calls its type (a memory's, a unit's) is not the kind of item that it is here.
            return shown(axis)([replace(candidate, kind=kind) for candidate in found], request)

        return AdaptedSource(source, name=name, ask=ask, shape=shape)


def as_searcher(given: Any) -> Searcher:
    """Return a searcher; an object with the document's methods (`search_memories`, …) is made one.

    Raises:
        ConfigError: It is neither.
    """
    if isinstance(given, Searcher):
        return given
    if not has_methods(given):
        raise ConfigError(
            f"searcher must be a Searcher, or have {', '.join(METHODS.values())}; got {type(given).__name__}"
        )
    return Searcher(**stores_of(given, AXES))


def about(request: ContextRequest) -> tuple[str, str | None]:
    """Return the domain and the strategy that a premortem is asked for."""
    focus: Mapping[str, Any] = request.focus if isinstance(request.focus, Mapping) else {}
    return str(focus.get("domain", "")), focus.get("strategy")


def _failures(request: ContextRequest) -> ContextRequest:
    domain, _ = about(request)
    where = {"domain": domain, "outcome_status": "falsified"}
    return _asking(request, f"failures and issues in {domain}", where)


def _outcomes(request: ContextRequest) -> ContextRequest | None:
    _, strategy = about(request)
    if not strategy:
        return None
    return _asking(request, f"outcomes using {strategy} strategy", {"strategy": strategy})


def _surprises(request: ContextRequest) -> ContextRequest:
    domain, _ = about(request)
    return _asking(request, f"unexpected outcomes in {domain}", {"domain": domain})


def _root_causes(request: ContextRequest) -> ContextRequest:
    domain, _ = about(request)
    return _asking(request, f"why hypotheses fail in {domain}", {"domain": domain})


def _principles(request: ContextRequest) -> ContextRequest:
    domain, strategy = about(request)
    query = f"principles for {domain}" + (f" using {strategy}" if strategy else "")
    limit = MOST_VALUES if request.limit is None else min(MOST_VALUES, request.limit)
    return replace(_asking(request, query, {}), limit=limit)


def _asking(request: ContextRequest, query: str, where: Mapping[str, Any]) -> ContextRequest:
    return replace(request, query=query, where={"$and": [request.where, where]})


PREMORTEM_QUESTIONS: Mapping[str, Callable[[ContextRequest], ContextRequest | None]] = MappingProxyType(
    {
        "full": _failures,
        "strategy": _outcomes,
        "surprise": _surprises,
        "root_cause": _root_causes,
        "values": _principles,
    }
)
"""Axis, or values → what it is asked in a premortem; None: it is not asked."""
