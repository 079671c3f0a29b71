"""The records of one collection beside its words: one SQLite file, or memory. Nothing here is read whole.

A row's number is never given twice, so what was read of it stays true. A record that changes is a new row.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from langchain_context_engine.search.bags import Bag
from langchain_context_engine.search.kept import Record, Sequencing, name_starts
from langchain_context_engine.search.records import position_of

_SCHEMA = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS records (
    row INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, digest BLOB NOT NULL,
    metadata TEXT NOT NULL, document TEXT, bag BLOB NOT NULL, vector BLOB
);
CREATE TABLE IF NOT EXISTS gone (row INTEGER PRIMARY KEY, id TEXT NOT NULL, metadata TEXT, bag BLOB);
CREATE TABLE IF NOT EXISTS names (start TEXT, row INTEGER, PRIMARY KEY (start, row)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS names_of_row ON names (row);
CREATE TABLE IF NOT EXISTS places (
    keys TEXT, grp TEXT, ord REAL, id TEXT, row INTEGER, PRIMARY KEY (keys, grp, ord, id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS places_of_row ON places (row);
"""
_COLUMNS = "row, id, digest, metadata, document, bag"
_BUSY_SECONDS = 10.0
_AT_ONCE = 500
MOST_NAMESAKES = 1000
"""Records whose names begin alike, over all scopes, up to which they are looked at."""


class Rows:
    """The rows of one collection; thread-safe.

    Args:
        path: The file; None keeps them in memory.

    Raises:
        sqlite3.Error: The file is damaged or cannot be opened.
    """

    def __init__(self, path: Path | None, *, is_writer: bool = False) -> None:
        self.lock = threading.RLock()
        self._database = sqlite3.connect(
            ":memory:" if path is None else str(path),
            timeout=_BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        # What is lost with the machine's power is read again from the store.
        self._database.execute("PRAGMA synchronous = NORMAL")
        if path is None or is_writer:
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.executescript(_SCHEMA)

    def close(self) -> None:
        """Close the file."""
        with self.lock:
            self._database.close()

    def version(self) -> int:
        """Return a number that changes when another connection has written."""
        return int(self.fetch("PRAGMA data_version")[0][0])

    def facts(self) -> dict[str, str]:
        """Return what is noted of the whole."""
        return dict(self.fetch("SELECT name, value FROM facts"))

    def count(self) -> int:
        """Return how many records there are."""
        return int(self.fetch("SELECT count(*) FROM records")[0][0])

    def by_row(self, rows: Sequence[int]) -> dict[int, Record]:
        """Return row → record of those that exist."""
        found = self._in(f"SELECT {_COLUMNS} FROM records WHERE row IN", rows)  # noqa: S608
        return {record.row: record for record in map(_record, found)}

    def by_id(self, ids: Sequence[str]) -> dict[str, Record]:
        """Return id → record of those that exist."""
        found = self._in(f"SELECT {_COLUMNS} FROM records WHERE id IN", ids)  # noqa: S608
        return {record.id: record for record in map(_record, found)}

    def posted(self, ids: Sequence[str], upto: int) -> dict[str, Record]:
        """Return id → record as the words' last commit has them, whatever was written since."""
        now = self._in(f"SELECT {_COLUMNS} FROM records WHERE row <= {int(upto)} AND id IN", ids)  # noqa: S608
        old = self._in("SELECT row, id, x'', metadata, NULL, bag FROM gone WHERE id IN", ids)
        return {record.id: record for record in map(_record, [*now, *old])}

    def rows_of(self, ids: Sequence[str]) -> dict[str, int]:
        """Return id → row of those that exist."""
        return dict(self._in("SELECT id, row FROM records WHERE id IN", ids))

    def digests(self, ids: Sequence[str]) -> dict[str, bytes]:
        """Return id → digest of those that exist."""
        return dict(self._in("SELECT id, digest FROM records WHERE id IN", ids))

    def all_digests(self) -> list[tuple[str, bytes]]:
        """Return the id and digest of each record."""
        return self.fetch("SELECT id, digest FROM records")

    def having(self, key: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the id and metadata of the records whose metadata have a key."""
        # Its letters stand in them; those of a value may too, which costs only the reading.
        for id_, metadata in self.fetch(
            "SELECT id, metadata FROM records WHERE instr(metadata, ?)", json.dumps(key)
        ):
            yield id_, json.loads(metadata)

    def ids(self) -> list[str]:
        """Return all ids."""
        return [row[0] for row in self.fetch("SELECT id FROM records")]

    def metadata(self, ids: Sequence[str]) -> dict[str, Mapping[str, Any]]:
        """Return id → metadata of those that exist."""
        found = self._in("SELECT id, metadata FROM records WHERE id IN", ids)
        return {id_: json.loads(metadata) for id_, metadata in found}

    def ids_of(self, rows: Sequence[int]) -> list[str]:
        """Return the ids of those rows that exist."""
        return [id_ for (id_,) in self._in("SELECT id FROM records WHERE row IN", rows)]

    def every(self) -> Iterator[Record]:
        """Yield all records, read some hundreds at a time."""
        return map(_record, self._paged(_COLUMNS))

    def vectors(self) -> Iterator[tuple[str, bytes | None]]:
        """Yield the id and vector of each record, read some hundreds at a time."""
        return ((id_, vector) for _, id_, vector in self._paged("row, id, vector"))

    def vector_bytes(self) -> int:
        """Return how many bytes a vector takes; 0 where none is kept."""
        found = self.fetch("SELECT length(vector) FROM records WHERE vector IS NOT NULL LIMIT 1")
        return int(found[0][0]) if found else 0

    def borne(self, starts: Sequence[str]) -> set[str]:
        """Return those starts with which a name of a record begins."""
        found = self.fetch(
            "SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM names WHERE start = value)",
            json.dumps(starts),
        )
        return {start for (start,) in found}

    def namesakes(self, start: str) -> list[int]:
        """Return the rows of records with a name that begins so."""
        found = self.fetch("SELECT row FROM names WHERE start = ? LIMIT ?", start, MOST_NAMESAKES)
        return [row for (row,) in found]

    def beside(
        self, keys: Sequencing, place: tuple[str, float], id_: str, *, before: bool, skipped: int
    ) -> list[tuple[float, str, int]]:
        """Return (order, id, row) of the next few records before or after a place, nearest first."""
        sign, way = ("<", "DESC") if before else (">", "ASC")
        statement = (
            f"SELECT ord, id, row FROM places WHERE keys = ? AND grp = ? AND (ord, id) {sign} (?, ?)"  # noqa: S608
            f" ORDER BY ord {way}, id {way} LIMIT 8 OFFSET ?"
        )
        return self.fetch(statement, json.dumps(keys), *place, id_, skipped)

    def fetch(self, statement: str, *values: object) -> list[Any]:
        """Return the rows that a statement gives."""
        with self.lock:
            return self._database.execute(statement, values).fetchall()

    def _paged(self, columns: str) -> Iterator[Any]:
        """Yield columns, the row before others, of all records in order of their rows."""
        last = 0
        while True:
            found = self.fetch(
                f"SELECT {columns} FROM records WHERE row > ? ORDER BY row LIMIT ?",  # noqa: S608
                last,
                _AT_ONCE,
            )
            yield from found
            if len(found) < _AT_ONCE:
                return
            last = found[-1][0]

    def _in(self, statement: str, values: Sequence[Any]) -> list[Any]:
        found: list[Any] = []
        for start in range(0, len(values), _AT_ONCE):
            some = values[start : start + _AT_ONCE]
            found += self.fetch(f"{statement} ({','.join('?' * len(some))})", *some)
        return found

    # What follows is the writer's.

    def put(
        self,
        changes: Iterable[tuple[str, Record | None, bytes | None]],
        keys: Iterable[Sequencing],
        facts: Mapping[str, object],
    ) -> None:
        """Write records (id, record or None where it is gone, vector) and facts in one transaction."""
        sequencings = list(keys)
        with self._transaction():
            written = list(changes)
            known = self.rows_of([id_ for id_, _, _ in written])
            names: dict[int, set[str]] = {}
            for id_, record, vector in written:
                if id_ in known:
                    names.pop(known[id_], None)
                    self._remove(known.pop(id_))
                if record is not None:
                    known[id_] = row = self._insert(record, vector, sequencings)
                    names[row] = name_starts(record.metadata)
            self._database.executemany(
                "INSERT INTO names VALUES (?, ?)",
                ((start, row) for row, starts in names.items() for start in starts),
            )
            self._note(facts)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """Write all of a block or nothing; an error leaves no transaction behind that keeps others out."""
        with self.lock:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._database.execute("COMMIT")
            except BaseException:
                # One that met a full disk SQLite has ended itself, and to end it again would hide why.
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise

    def settle(self, facts: Mapping[str, object]) -> None:
        """Note that the words are written: what is gone is forgotten."""
        with self._transaction():
            self._database.execute("DELETE FROM gone")
            self._note(facts)

    def arrange(self, keys: Sequencing) -> None:
        """Note the places of all records by a pair of keys that was not asked for before."""
        with self._transaction():
            for record in list(self.every()):
                self._place(record, record.row, keys)

    def outstanding(self, after: int) -> list[tuple[int, str]]:
        """Return the row and id of the records after a row, in order."""
        return self.fetch("SELECT row, id FROM records WHERE row > ? ORDER BY row", after)

    def gone(self) -> list[int]:
        """Return the rows that the words still have and the records no longer."""
        return [row for (row,) in self.fetch("SELECT row FROM gone")]

    def last_row(self) -> int:
        """Return the highest row there is."""
        return int(self.fetch("SELECT coalesce(max(row), 0) FROM records")[0][0])

    def _remove(self, row: int) -> None:
        run = self._database.execute
        run("INSERT OR REPLACE INTO gone SELECT row, id, metadata, bag FROM records WHERE row = ?", (row,))
        for table in ("records", "names", "places"):
            run(f"DELETE FROM {table} WHERE row = ?", (row,))  # noqa: S608

    def _insert(self, record: Record, vector: bytes | None, keys: Sequence[Sequencing]) -> int:
        run = self._database.execute
        metadata = json.dumps(record.metadata)
        row = run(
            "INSERT INTO records (id, digest, metadata, document, bag, vector) VALUES (?, ?, ?, ?, ?, ?)",
            (record.id, record.digest, metadata, record.document, record.bag.packed, vector),
        ).lastrowid
        row = int(row or 0)
        for each in keys:
            self._place(record, row, each)
        return row

    def _place(self, record: Record, row: int, keys: Sequencing) -> None:
        place = position_of(record.metadata, keys)
        if place is not None:
            values = (json.dumps(keys), *place, record.id, row)
            self._database.execute("INSERT OR REPLACE INTO places VALUES (?, ?, ?, ?, ?)", values)

    def _note(self, facts: Mapping[str, object]) -> None:
        for name, value in facts.items():
            self._database.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, str(value)))


def _record(found: Sequence[Any]) -> Record:
    row, id_, digest, metadata, document, bag = found
    return Record(row, id_, digest, json.loads(metadata), document, Bag(bag))
