"""The best watch for a collection's client, told as cheaply as the client allows."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_context_engine.search.changes import Changes, Known, Page, Watch
from langchain_context_engine.search.collection import CollectionHandle
from langchain_context_engine.search.file_watch import FileWatch
from langchain_context_engine.search.folders import settings_of

_PROBED_UP_TO = 3000
"""Records up to which the last id is looked at: Chroma walks there, about a microsecond a record."""


@dataclass(slots=True)
class CountWatch:
    """Compares the count and the last id, and all ids where they differ: for servers and memory.

    The last id is left out of it in a large collection.

    A record rewritten in place goes unseen here; the index compares what it is shown with what it
    knows, and now and then the whole collection.
    """

    handle: CollectionHandle
    is_exact: bool = False
    _newest: str = ""

    def changes(self, known: Known) -> Changes:
        """Return new and vanished ids; none where the count and the last id are the known ones."""
        count = self.handle.count()
        newest = self._last(count)
        if count == len(known) and newest == self._newest:
            return Changes()
        changes = compare_ids(self.handle, known.all_ids())
        self._newest = newest
        return changes

    def begin(self) -> int:
        """Return nothing to count by."""
        self._newest = self._last(self.handle.count())
        return -1

    def pages(self, read_to: int, size: int) -> Iterator[Page]:
        """Yield all ids from a place on; what goes meanwhile is found by comparing afterwards."""
        while True:
            ids = self.handle.ids_from(read_to, size)
            if not ids:
                return
            read_to += len(ids)
            yield Page(tuple(ids), read_to)

    def resume(self, sequence: int) -> None:
        """Do nothing: the first look compares all ids."""

    def _last(self, count: int) -> str:
        return self.handle.id_at(count - 1) if 0 < count <= _PROBED_UP_TO else ""


def watch(handle: CollectionHandle) -> Watch:
    """Return the best watch for a collection's client."""
    path = _file_of(handle)
    if path is None:
        return CountWatch(handle)
    return FileWatch(path, handle, str(handle.collection.id))


def compare_ids(handle: CollectionHandle, known: Collection[str]) -> Changes:
    """Return new and vanished ids by reading all ids there are."""
    there, had = handle.find(), set(known)
    seen = set(there)
    return Changes(
        tuple(id_ for id_ in there if id_ not in had), tuple(id_ for id_ in had if id_ not in seen)
    )


def _file_of(handle: CollectionHandle) -> str | None:
    settings: Any = settings_of(handle)
    if settings is None or not settings.is_persistent:
        return None
    path = Path(str(settings.persist_directory)) / "chroma.sqlite3"
    return str(path) if path.is_file() else None
