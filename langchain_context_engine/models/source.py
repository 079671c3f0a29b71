"""The protocol of a source: what it must do, and what it may do beside that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, Self, runtime_checkable

from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate

Progress = Callable[[int, int], None]
"""Told how many records are read, and how many there are."""


@runtime_checkable
class Source(Protocol):
    """Anything with a name that offers candidates for a request.

    The request of an engine always has `limit` and `now` filled; `offset` skips so many of the best, so
    that pages neither overlap nor skip. What is fetched may be an `Offer`, whose warnings the context
    carries. Where the `source` of the candidates is not the name, `collection_name` says what it is. All
    else that a source may do is one of the `Supports…` protocols: it has the method, or it has not.

    Example:
        >>> class Greeting:
        ...     name = "greeting"
        ...     def fetch(self, request):
        ...         return [Candidate(id="1", text="hello", source=self.name, relevance=1.0)]
        >>> isinstance(Greeting(), Source), isinstance(Greeting(), SupportsGet)
        (True, False)
    """

    name: str

    def fetch(self, request: ContextRequest) -> Sequence[Candidate]:
        """Return the candidates for a request, best first."""
        ...


@runtime_checkable
class SupportsAsync(Protocol):
    """A source that can be awaited, beside `fetch` or in its place."""

    async def afetch(self, request: ContextRequest) -> Sequence[Candidate]:
        """Return the same as `fetch`."""
        ...


@runtime_checkable
class SupportsGet(Protocol):
    """A source that reads its records by id: what links, neighbours and pins by key lead to."""

    name: str

    def get(self, ids: Sequence[str], request: ContextRequest) -> Sequence[Candidate]:
        """Return the candidates of these ids in their order; what is missing or out of scope is left out."""
        ...


@runtime_checkable
class SupportsLinks(Protocol):
    """A source whose records other texts name: by title, or by path and symbol."""

    def link_named(self, text: str, request: ContextRequest) -> Sequence[str]:
        """Return the ids, in scope, of what a text names verbatim."""
        ...


@runtime_checkable
class SupportsLookup(Protocol):
    """A source that finds records by what a person calls them: an id, a place, a piece of text."""

    def look_up(self, named: str, request: ContextRequest) -> Sequence[Candidate]:
        """Return the few records in scope that are meant, whether or not the question would find them."""
        ...


@runtime_checkable
class SupportsOpening(Protocol):
    """A source whose store may be large: the first question waits for it beyond the deadline."""

    @property
    def is_cold(self) -> bool:
        """Whether it is large and was not asked yet in this process."""
        ...


@runtime_checkable
class SupportsPrepare(Protocol):
    """A source that can be read ahead of the first question."""

    def prepare(self, *, progress: Progress | None = None) -> None:
        """Read it now; what was read before stays read."""
        ...


@runtime_checkable
class SupportsSharing(Protocol):
    """A source that uses what the sources of one engine share."""

    def share(self, shared: Any) -> Self:
        """Return a copy of it that uses an engine's `SharedResources`."""
        ...


def collection_of(source: Any) -> str:
    """Return what the candidates of a source name as their `source`."""
    name: str = getattr(source, "collection_name", source.name)
    return name


def readers(sources: Iterable[Any]) -> dict[str, SupportsGet]:
    """Return collection → the first source that reads its records by id."""
    found: dict[str, SupportsGet] = {}
    for source in sources:
        if isinstance(source, SupportsGet):
            found.setdefault(collection_of(source), source)
    return found


def source_repr(source: Any) -> str:
    """Return a source's class, name and kind, as its `__repr__`: no record, no secret."""
    kind = getattr(source, "kind", "")
    return f"{type(source).__name__}(name={source.name!r}{f', kind={kind!r}' if kind else ''})"
