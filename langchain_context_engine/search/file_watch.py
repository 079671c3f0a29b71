"""The changes of a local persistent collection, read from Chroma's own SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from langchain_context_engine.search.changes import Changes, Known, Page
from langchain_context_engine.search.collection import CollectionHandle
from langchain_context_engine.search.forks import leave, renew_after_fork

_LOCKED_SECONDS = 0.25
_LOOKED_BACK = 2000
_DELETED = 3
"""What Chroma's log calls an operation that deletes."""


class FileWatch:
    """Reads Chroma's own SQLite file beside it, read-only: no write of any process is missed.

    Chroma numbers each write and keeps a log of the latest, with their vectors; and SQLite counts commits.
    """

    is_exact = True

    def __init__(self, path: str, handle: CollectionHandle, collection_id: str) -> None:
        self.path = path
        self.handle = handle
        self.collection_id = collection_id
        self._database: sqlite3.Connection | None = None
        self._version = -1
        self._sequence = -1
        renew_after_fork(self)

    def begin(self) -> int:
        """Return the number of the last write, from which changes are told."""
        self._sequence = self._last_write()
        self._version = -1
        return self._sequence

    def resume(self, sequence: int) -> None:
        """Tell changes after a write."""
        self._sequence, self._version = sequence, -1

    def pages(self, read_to: int, size: int) -> Iterator[Page]:
        """Yield all ids from a row of Chroma's on, in the order of adding."""
        while True:
            segment = self._segment()
            found = (
                self._rows(
                    "SELECT id, embedding_id FROM embeddings"
                    " WHERE id > ? AND segment_id = ? ORDER BY id LIMIT ?",
                    read_to,
                    segment,
                    size,
                )
                if segment
                else []
            )
            if not found:
                return
            read_to = found[-1][0]
            yield Page(tuple(id_ for _, id_ in found), read_to)

    def changes(self, known: Known) -> Changes:
        """Return what was written since the last call.

        Raises:
            sqlite3.Error: The file is locked or is not as this version of Chroma writes it.
        """
        version = self._rows("PRAGMA data_version")[0][0]
        if version == self._version:
            return Changes(sequence=self._sequence)
        segment = self._segment()
        if not segment:
            self.handle.count()  # the store says whether it is gone, and a recreated one is reopened
            return Changes(gone=tuple(known.all_ids()))
        applied = self._applied(segment)
        if self._logged_last() > applied:
            self.handle.count()  # has Chroma take in what is only in its log
            applied = self._applied(segment)
        is_logged = applied <= self._sequence or self._is_logged_since()
        changes = self._logged(applied) if is_logged else self._compared(segment, known)
        self._version, self._sequence = version, changes.sequence
        return changes

    def _applied(self, segment: str) -> int:
        """Return the last write that the collection's records have taken in."""
        return self._rows("SELECT max(seq_id) FROM max_seq_id WHERE segment_id = ?", segment)[0][0] or 0

    def _logged_last(self) -> int:
        """Return the last write to the collection that the log has."""
        last = self._rows(
            "SELECT seq_id FROM embeddings_queue WHERE seq_id > ? AND topic LIKE ?"
            " ORDER BY seq_id DESC LIMIT 1",
            self._sequence,
            f"%{self.collection_id}",
        )
        return int(last[0][0]) if last else 0

    def _is_logged_since(self) -> bool:
        """Tell whether the log still holds a write up to the last one that was told, so all after it."""
        return bool(
            self._rows(
                "SELECT 1 FROM embeddings_queue WHERE seq_id BETWEEN ? AND ? AND topic LIKE ? LIMIT 1",
                self._sequence - _LOOKED_BACK,
                self._sequence,
                f"%{self.collection_id}",
            )
        )

    def is_behind(self, sequence: int) -> bool:
        """Tell whether the store never had so many writes: it is an older copy, or another one."""
        return self._last_write() < sequence

    def _logged(self, applied: int) -> Changes:
        """Return the changes from Chroma's log, which has them all."""
        rows = self._rows(
            "SELECT seq_id, operation, topic, id, encoding, vector FROM embeddings_queue"
            " WHERE seq_id > ? AND seq_id <= ? ORDER BY seq_id",
            self._sequence,
            applied,
        )
        written: dict[str, bytes | None] = {}
        gone: dict[str, None] = {}
        for _, operation, topic, id_, encoding, vector in rows:
            if not topic.endswith(self.collection_id):
                continue
            if operation == _DELETED:
                written.pop(id_, None)
                gone[id_] = None
            else:
                gone.pop(id_, None)
                is_plain = vector is not None and encoding == "FLOAT32"
                written[id_] = vector if is_plain else written.get(id_)
        # What is in the log and not yet in the records is told when it is.
        last = max(self._sequence, applied)
        vectors = {id_: vector for id_, vector in written.items() if vector is not None}
        return Changes(tuple(written), tuple(gone), vectors, last)

    def _compared(self, segment: str, known: Known) -> Changes:
        """Return the changes by looking at all records, whose log is gone."""
        written = self._rows(
            "SELECT embedding_id, seq_id FROM embeddings WHERE segment_id = ? AND seq_id > ? ORDER BY seq_id",
            segment,
            self._sequence,
        )
        ids = tuple(dict.fromkeys(row[0] for row in written))
        there = {
            row[0] for row in self._rows("SELECT embedding_id FROM embeddings WHERE segment_id = ?", segment)
        }
        gone = tuple(id_ for id_ in known.all_ids() if id_ not in there)
        sequence = max((row[1] for row in written), default=self._sequence)
        return Changes(ids, gone, {}, max(sequence, self._sequence))

    def _last_write(self) -> int:
        applied = self._rows("SELECT max(seq_id) FROM max_seq_id")[0][0] or 0
        logged = self._rows("SELECT max(seq_id) FROM embeddings_queue")[0][0] or 0
        return max(int(applied), int(logged), 0)

    def _segment(self) -> str:
        found = self._rows(
            "SELECT id FROM segments WHERE collection = ? AND scope = 'METADATA'", self.collection_id
        )
        return str(found[0][0]) if found else ""

    def renew(self) -> None:
        """Leave the connection to the parent of a forked process."""
        leave(self._database)
        self._database, self._version = None, -1

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
