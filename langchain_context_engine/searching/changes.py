"""What changed in a collection since it was last read, told as cheaply as its client allows."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from langchain_context_engine.searching.collection import CollectionHandle

_LOCKED_SECONDS = 0.25
_PROBED_UP_TO = 3000
"""Records up to which the last id is looked at: Chroma walks there, about a microsecond a record."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Ids that are new or were written to, and ids that are gone."""

    written: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.written or self.gone)


class Watch(Protocol):
    """Tells the changes since its last call; `is_exact` says that it misses none."""

    is_exact: bool

    def changes(self, known: Collection[str]) -> Changes:
        """Return the changes, given the ids that are known."""
        ...


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

    def changes(self, known: Collection[str]) -> Changes:
        """Return new and vanished ids; none where the count and the last id are the known ones."""
        count = self.handle.count()
        newest = self.handle.id_at(count - 1) if 0 < count <= _PROBED_UP_TO else ""
        if count == len(known) and newest == self._newest:
            return Changes()
        changes = compare_ids(self.handle, known)
        self._newest = newest
        return changes


@dataclass(slots=True)
class FileWatch:
    """Reads Chroma's own SQLite file beside it, read-only: no write of any process is missed.

    Chroma stamps each record with a rising sequence number, and SQLite counts commits.
    """

    path: str
    handle: CollectionHandle
    collection_id: str
    is_exact: bool = True
    _database: sqlite3.Connection | None = None
    _version: int = -1
    _sequence: int = -1

    def changes(self, known: Collection[str]) -> Changes:
        """Return what was written since the last call.

        Raises:
            sqlite3.Error: The file is locked or is not as this version of Chroma writes it.
        """
        version = self._rows("PRAGMA data_version")[0][0]
        if version == self._version:
            return Changes()
        segment = self._rows(
            "SELECT id FROM segments WHERE collection = ? AND scope = 'METADATA'", self.collection_id
        )
        if not segment:
            self.handle.count()  # the store says whether it is gone, and a recreated one is reopened
            return Changes(gone=tuple(known))
        written = self._rows(
            "SELECT embedding_id, seq_id FROM embeddings WHERE segment_id = ? AND seq_id > ? ORDER BY seq_id",
            segment[0][0],
            self._sequence,
        )
        ids = tuple(dict.fromkeys(row[0] for row in written))
        gone: tuple[str, ...] = ()
        count = self._rows("SELECT count(*) FROM embeddings WHERE segment_id = ?", segment[0][0])[0][0]
        if count != len({*known, *ids} if known else ids):
            there = {
                row[0]
                for row in self._rows(
                    "SELECT embedding_id FROM embeddings WHERE segment_id = ?", segment[0][0]
                )
            }
            gone = tuple(id_ for id_ in known if id_ not in there)
        self._sequence = max((row[1] for row in written), default=self._sequence)
        self._version = version
        return Changes(ids, gone)

    def _rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        if self._database is None:
            self._database = sqlite3.connect(
                f"{Path(self.path).absolute().as_uri()}?mode=ro",
                uri=True,
                check_same_thread=False,
                isolation_level=None,
                timeout=_LOCKED_SECONDS,
            )
        return self._database.execute(statement, values).fetchall()


def watch(handle: CollectionHandle) -> Watch:
    """Return the best watch for a collection's client."""
    path = _file_of(handle)
    if path is None:
        return CountWatch(handle)
    return FileWatch(path, handle, str(handle.collection.id))


def compare_ids(handle: CollectionHandle, known: Collection[str]) -> Changes:
    """Return new and vanished ids by reading all ids there are."""
    there = handle.find()
    seen = set(there)
    return Changes(
        tuple(id_ for id_ in there if id_ not in known), tuple(id_ for id_ in known if id_ not in seen)
    )


def _file_of(handle: CollectionHandle) -> str | None:
    system: Any = getattr(handle.collection._client, "_system", None)  # noqa: SLF001
    settings: Any = getattr(system, "settings", None)
    if settings is None or not settings.is_persistent:
        return None
    path = Path(str(settings.persist_directory)) / "chroma.sqlite3"
    return str(path) if path.is_file() else None
