"""What is given with a request, not searched: pinned texts and candidates, and the conversation so far."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.filters import scope_test
from langchain_context_engine.models.request import ContextRequest, Message
from langchain_context_engine.models.source import source_repr
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.search.records import to_candidate


class PinnedSource:
    """Texts, candidates and LangChain Documents that are offered with every request, pinned.

    Those of `request.pinned` follow; its (source, id) keys are records of other sources, which the
    engine reads. A plain text is the words of whoever runs the program, so it counts as in every
    scope; a candidate or Document is in scope only by its own metadata.

    Args:
        items: What is always pinned.
        name: How people know the source.
        kind: The kind of what names none.

    Raises:
        ConfigError: An item is neither text, candidate nor Document.

    Example:
        >>> PinnedSource(["Answer in French."]).fetch(ContextRequest())[0].is_pinned
        True
    """

    __repr__ = source_repr

    def __init__(self, items: Iterable[Any] = (), *, name: str = "pinned", kind: str = "pinned") -> None:
        self.name = name
        self.kind = kind
        self._items = (items,) if isinstance(items, str) else tuple(items)
        for item in self._items:
            self._read(item, ContextRequest())

    def fetch(self, request: ContextRequest) -> list[Candidate]:
        """Return what is pinned and in scope, in its order; nothing at `limit` 0.

        Raises:
            ConfigError: An item of `request.pinned` is neither text, candidate, Document nor key.
        """
        if request.limit == 0:
            return []
        given = (item for item in request.pinned if not is_key(item))
        read = [self._read(item, request) for item in (*self._items, *given)]
        unique = {candidate.key: candidate for candidate in filter(scope_test(request), read)}
        return list(unique.values())

    def _read(self, item: Any, request: ContextRequest) -> Candidate:
        if isinstance(item, Candidate):
            return replace(item, is_pinned=True, relevance=1.0, source=item.source or self.name)
        if isinstance(item, str):
            return Candidate(
                id=digest(item),
                text=item,
                source=self.name,
                kind=self.kind,
                relevance=1.0,
                metadata=scope_as_metadata(request),
                is_pinned=True,
            )
        if hasattr(item, "page_content"):
            record = {"documents": item.page_content, "metadatas": item.metadata}
            id_ = str(item.id) if item.id else digest(item.page_content)
            found = to_candidate(id_, record, source=self.name, kind=self.kind, relevance=1.0)
            return replace(found, is_pinned=True)
        raise ConfigError(
            f"what is pinned is a text, a Candidate, a Document or a (source, id) key, got {item!r}"
        )


def is_key(item: Any) -> bool:
    """Tell whether a pinned item is the (source, id) key of a record."""
    return isinstance(item, tuple) and [isinstance(part, str) for part in item] == [True, True]


def scope_as_metadata(request: ContextRequest) -> Mapping[str, Any]:
    """Return metadata that lie within the request's scope: what the asker says belongs to the asker."""
    values = {}
    for key, allowed in request.scope.items():
        choices = list(allowed) if isinstance(allowed, (list, tuple, set, frozenset)) else [allowed]
        if choices:
            values[key] = min(choices, key=repr)
    return values


def digest(text: str) -> str:
    """Return a short id of what has none: a hash of its text."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


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
