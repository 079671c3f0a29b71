"""Sources that answer from memory, asked together: what each would look up for itself is looked up once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from langchain_context_engine.models.offer import Offer
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.pipeline.running import answer_of
from langchain_context_engine.search.lexical import LexicalIndex
from langchain_context_engine.search.postings import LexicalQuery
from langchain_context_engine.search.search import Search


class Searching(Protocol):
    """A source whose search of a collection can be finished by somebody else."""

    def begin(self, request: ContextRequest) -> tuple[Search, Sequence[str]] | None:
        """Return a search and the ids that it found, or None where there is nothing to find."""
        ...


@dataclass(frozen=True, slots=True)
class Together:
    """What the sources of one index share: its words are searched for all of them at once.

    Attributes:
        index: The index.
    """

    index: LexicalIndex

    def __call__(self, sources: Sequence[Searching], request: ContextRequest) -> list[Any]:
        """Return what each source's `fetch` would, or the exception that it raised, in order."""
        begun = [answer_of(source.begin, request) for source in sources]
        asked = [found[0].asks(found[1]) for found in begun if isinstance(found, tuple)]
        scores = answer_of(self.index.scores_of_all, LexicalQuery.of(request.query), asked)
        told = iter(scores if isinstance(scores, list) else [scores] * len(asked))
        return [
            _completed(found[0], found[1], next(told)) if isinstance(found, tuple) else found or []
            for found in begun
        ]


def _completed(search: Search, ids: Sequence[str], scores: Any) -> Any:
    found = scores if isinstance(scores, Exception) else answer_of(search.complete, ids, scores)
    return found if isinstance(found, Exception) else Offer(found, searched=search.searched)
