"""Who links to a block, in every form in which links are read: a list, a JSON list, a text split at commas.

A store finds an id in a list; within a text it cannot look. So what the texts name is kept beside it, and
read anew when the store was written to.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from langchain_context_engine.models.locks import ForkSafeLock
from langchain_context_engine.models.metadata import read_list
from langchain_context_engine.search.collection import CollectionHandle
from langchain_context_engine.search.folders import store_stamp

__all__ = ["StatedLinks"]

_READ_EVERY_TIME = 3000
"""Records up to which all are read for each question, where a store does not tell that it was written to."""

_STALE_SECONDS = 60.0
"""How long a change in place may stay unseen in a larger store of that kind."""


class StatedLinks:
    """The ids of blocks by what their `links` name. Thread-safe.

    Args:
        handle: The collection.
    """

    def __init__(self, handle: CollectionHandle) -> None:
        self._handle = handle
        self._linking: dict[str, set[str]] = {}
        self._seen: Any = None
        self._read_at = float("-inf")
        self._lock = ForkSafeLock()

    def to(self, ids: Iterable[str]) -> list[str]:
        """Return the ids of the blocks that name one of these, of every scope, sorted."""
        with self._lock:
            self._sync()
            return sorted({other for id_ in ids for other in self._linking.get(id_, ())})

    def _sync(self) -> None:
        stamp, count = store_stamp(self._handle), self._handle.count()
        is_told = stamp is not None or (
            count > _READ_EVERY_TIME and time.monotonic() - self._read_at < _STALE_SECONDS
        )
        if is_told and self._seen == (self._handle.collection.id, stamp, count):
            return
        linking: dict[str, set[str]] = {}
        for id_, metadata in self._handle.metadata(None).items():
            for link in read_list(metadata.get("links")):
                linking.setdefault(str(link), set()).add(id_)
        self._linking, self._read_at = linking, time.monotonic()
        self._seen = (self._handle.collection.id, stamp, count)
