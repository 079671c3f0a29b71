"""Sources that answer from memory, asked together: what each would look up for itself is looked up once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from langchain_context_engine.errors import SourceError
from langchain_context_engine.redact import safe_message
from langchain_context_engine.request import ContextRequest
from langchain_context_engine.sources.lexical import LexicalIndex
from langchain_context_engine.sources.postings import LexicalQuery
from langchain_context_engine.sources.search import Search


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
        begun = [_answer(source.begin, request) for source in sources]
        asked = [found[0].asks(found[1]) for found in begun if isinstance(found, tuple)]
        scores = _answer(self.index.scores_of_all, LexicalQuery.of(request.query), asked)
        told = iter(scores if isinstance(scores, list) else [scores] * len(asked))
        return [
            _completed(found[0], found[1], next(told)) if isinstance(found, tuple) else found or []
            for found in begun
        ]


def _completed(search: Search, ids: Sequence[str], scores: Any) -> Any:
    return scores if isinstance(scores, Exception) else _answer(search.complete, ids, scores)


def _answer(call: Callable[..., Any], *args: Any) -> Any:
    """Return what a call gives or raises; a panic in a Rust library, which is no `Exception`, is an error."""
    try:
        return call(*args)
    except Exception as error:  # noqa: BLE001 - whatever a source raises costs only that source
        return error
    except BaseException as error:  # noqa: BLE001
        return SourceError(safe_message(error))
