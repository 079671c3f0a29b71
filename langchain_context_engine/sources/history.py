"""The conversation so far as a source."""

from __future__ import annotations

from collections import Counter

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.models.request import ContextRequest, Message
from langchain_context_engine.models.source import source_repr
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.sources.pinned import digest, scope_as_metadata


class HistorySource:
    """The latest messages of `request.history`, newest first, of kind `message`.

    A message's relevance falls evenly from 1 for the newest. Its `role` stands in its metadata, its
    place in the conversation in `position`. Messages belong to the asker, so they are in scope.

    Args:
        last: How many messages are offered.
        name: How people know the source.

    Raises:
        ConfigError: `last` is not a whole number of 0 or more.

    Example:
        >>> request = ContextRequest(history=[("user", "Hello"), ("assistant", "Hi")])
        >>> [(c.text, c.relevance) for c in HistorySource(last=20).fetch(request)]
        [('Hi', 1.0), ('Hello', 0.5)]
    """

    __repr__ = source_repr

    def __init__(self, last: int = 20, *, name: str = "history") -> None:
        if isinstance(last, bool) or not isinstance(last, int) or last < 0:
            raise ConfigError(f"last must be a whole number of 0 or more, got {last!r}")
        self.last = last
        self.name = name

    def fetch(self, request: ContextRequest) -> list[Candidate]:
        """Return up to `limit` of the last messages after `offset`, newest first; empty ones are skipped."""
        said = [(place, message) for place, message in enumerate(request.history) if message.text.strip()]
        latest = said[-self.last :] if self.last else []
        ids = _ids_of([message for _, message in said])[len(said) - len(latest) :]
        metadata = scope_as_metadata(request)
        found = [
            Candidate(
                id=id_,
                text=message.text,
                source=self.name,
                kind="message",
                relevance=(rank + 1) / len(latest),
                created_at=message.created_at,
                metadata={**metadata, "role": message.role},
                position=("history", float(place)),
            )
            for rank, (id_, (place, message)) in enumerate(zip(ids, latest, strict=True))
        ]
        found.reverse()
        end = None if request.limit is None else request.offset + request.limit
        return found[request.offset : end]


def _ids_of(messages: list[Message]) -> list[str]:
    """Return the messages' own ids, else a digest of each with how often it was said before."""
    ids: list[str] = []
    seen: Counter[str] = Counter()
    for message in messages:
        id_ = message.id or digest(f"{message.role}\x00{message.text}")
        ids.append(f"{id_}-{seen[id_]}" if seen[id_] else id_)
        seen[id_] += 1
    return ids
