"""Who links to a block, in every form in which links are read: a list, a JSON list, a text split at commas.

A store finds an id in a list; within a text it cannot look. So what the texts name is kept beside it, brought
up to date with what was written since the last question.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from langchain_context_engine.models.locks import ForkSafeLock
from langchain_context_engine.models.metadata import read_list
from langchain_context_engine.search.collection import CollectionHandle
from langchain_context_engine.search.watches import watch

__all__ = ["StatedLinks"]

_READ_EVERY_TIME = 3000
"""Records up to which all are read for each question, where a store does not tell of changes in place."""

_STALE_SECONDS = 60.0
"""How long a change in place may stay unseen in a larger store of that kind."""


class _Links(dict[str, tuple[str, ...]]):
    """What each block names, of every block there is."""

    def all_ids(self) -> Collection[str]:
        """Return the ids of all blocks, as a watch asks for them."""
        return self.keys()


class StatedLinks:
    """The ids of blocks by what their `links` name. Thread-safe.

    Args:
        handle: The collection.
    """

    def __init__(self, handle: CollectionHandle) -> None:
        self._handle = handle
        self._watch = watch(handle)
        self._links = _Links()
        self._linking: dict[str, set[str]] = {}
        self._read_at = float("-inf")
        self._lock = ForkSafeLock(self._forget)

    def _forget(self) -> None:
        """Read all anew: another thread may have been in the middle of it."""
        self._links, self._linking = _Links(), {}

    def to(self, ids: Iterable[str]) -> list[str]:
        """Return the ids of the blocks that name one of these, of every scope, sorted."""
        with self._lock:
            self._sync()
            return sorted({other for id_ in ids for other in self._linking.get(id_, ())})

    def _sync(self) -> None:
        is_stale = time.monotonic() - self._read_at > _STALE_SECONDS
        is_small = len(self._links) <= _READ_EVERY_TIME
        if not self._links or (not self._watch.is_exact and (is_small or is_stale)):
            self._read_all()
            return
        try:
            changes = self._watch.changes(self._links)
        except sqlite3.Error:
            self._read_all()
            return
        for id_ in changes.gone:
            self._put(id_, None)
        read = self._handle.read(list(changes.written), ("metadatas",)) if changes.written else {}
        for id_, record in read.items():
            self._put(id_, record.get("metadatas") or {})

    def _read_all(self) -> None:
        try:
            self._watch.begin()  # what comes later is told from here on
        except sqlite3.Error:
            self._watch = watch(self._handle)
        self._links, self._linking = _Links(), {}
        for id_, metadata in self._handle.metadata(None).items():
            self._put(id_, metadata)
        self._read_at = time.monotonic()

    def _put(self, id_: str, metadata: Mapping[str, Any] | None) -> None:
        for target in self._links.pop(id_, ()):
            self._linking.get(target, set()).discard(id_)
        if metadata is None:
            return
        # Every record is known, so that what is new can be told; most of them link to nothing.
        links = self._links[id_] = tuple(str(link) for link in read_list(metadata.get("links")))
        for target in links:
            self._linking.setdefault(target, set()).add(id_)
