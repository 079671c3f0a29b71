"""A source asked in another way: its question changed before, its answer shaped after."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.source import (
    Source,
    SupportsAsync,
    SupportsGet,
    SupportsSharing,
    collection_of,
)
from langchain_context_engine.models.types import Candidate, Offer
from langchain_context_engine.sources.shared import SharedResources

Ask = Callable[[ContextRequest], ContextRequest | None]
"""Gives the request that the source is asked in place of the engine's; None: it is not asked."""

Keep = Callable[[Candidate], bool]
"""Tells which candidates of an answer are offered."""

Shape = Callable[[Sequence[Candidate], ContextRequest], Sequence[Candidate]]
"""Gives the candidates that are offered in place of the source's; the request is the engine's."""


class AdaptedSource:
    """A source under a name of its own, with its question and its answer adapted.

    The engine checks what comes out of it as it checks any source: scope, filters and limit are those
    of the engine's request, so that an adaptation can narrow but never widen.

    Args:
        source: Any source.
        name: How people know it.
        ask: What to ask in place of the request; the request itself by default.
        keep: Which candidates of an answer to offer; all by default. What is read by its id is not asked.
        shape: What to offer in place of the answer, or of what is read by its id; itself by default.

    Example:
        >>> from langchain_context_engine.sources.given import HistorySource
        >>> said = AdaptedSource(HistorySource(), name="said", shape=lambda found, request: found[:1])
        >>> [c.text for c in said.fetch(ContextRequest(history=["Hello", "Still there?"]))]
        ['Still there?']
    """

    def __init__(
        self,
        source: Any,
        *,
        name: str,
        ask: Ask | None = None,
        keep: Keep | None = None,
        shape: Shape | None = None,
    ) -> None:
        self.source = source
        self.name = name
        self.collection_name: str = collection_of(source)
        self._ask = ask
        self._keep = keep
        self._shape = shape
        # It can be asked as the source can, and in no other way: the engine looks for what there is.
        if isinstance(source, Source):
            self.fetch = self._fetch
        if isinstance(source, SupportsAsync):
            self.afetch = self._afetch
        if isinstance(source, SupportsGet):
            self.get = self._get

    def share(self, shared: SharedResources) -> AdaptedSource:
        """Return a copy over a source that uses what the sources of an engine share."""
        source = self.source.share(shared) if isinstance(self.source, SupportsSharing) else self.source
        return AdaptedSource(source, name=self.name, ask=self._ask, keep=self._keep, shape=self._shape)

    def _fetch(self, request: ContextRequest) -> Sequence[Candidate]:
        asked = self._asked(request)
        return [] if asked is None else self._offered(self.source.fetch(asked), request)

    async def _afetch(self, request: ContextRequest) -> Sequence[Candidate]:
        asked = self._asked(request)
        return [] if asked is None else self._offered(await self.source.afetch(asked), request)

    def _get(self, ids: Sequence[str], request: ContextRequest) -> Sequence[Candidate]:
        return self._shaped(self.source.get(ids, request), request)

    def _asked(self, request: ContextRequest) -> ContextRequest | None:
        return request if self._ask is None else self._ask(request)

    def _offered(self, found: Sequence[Candidate], request: ContextRequest) -> Sequence[Candidate]:
        kept = found if self._keep is None else [candidate for candidate in found if self._keep(candidate)]
        return _told_of(found, self._shaped(kept, request))

    def _shaped(self, found: Sequence[Candidate], request: ContextRequest) -> Sequence[Candidate]:
        return found if self._shape is None else self._shape(found, request)


def _told_of(found: Sequence[Candidate], shaped: Sequence[Candidate]) -> Sequence[Candidate]:
    """Return what is offered with all that the source told of its answer: its warnings, how it searched."""
    if not isinstance(found, Offer) or shaped is found:
        return shaped
    own = shaped if isinstance(shaped, Offer) else Offer()
    warnings = dict.fromkeys((*found.warnings, *own.warnings))
    return Offer(
        shaped,
        warnings=warnings,
        searched=own.searched or found.searched,
        trouble=own.trouble or found.trouble,
    )
