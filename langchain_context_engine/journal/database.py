"""The journal's SQLite file: its tables, and how it is opened for one piece of work at a time.

No connection outlives its work. So the file is whole whenever nobody works on it, may be copied, replaced
or deleted meanwhile, and a fork, which waits for the lock, takes nothing of SQLite's along.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from langchain_context_engine.errors import ConfigError, ContextEngineError
from langchain_context_engine.models.locks import FORKING
from langchain_context_engine.models.redact import refusal

_APPLICATION_ID = 0x1CE_C0DE  # Marks the file as ours, so that nobody else's database is written to.
VERSION = 6
_BUSY_SECONDS = 5.0
_TRIM_TO = 0.9

# Bodies and words stand apart, so that paging the list reads none of them.
_TABLES = """
CREATE TABLE losses (answers INTEGER NOT NULL);
INSERT INTO losses VALUES (0);
CREATE TABLE traces (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, at REAL NOT NULL, query TEXT NOT NULL,
    candidates INTEGER NOT NULL, kept INTEGER NOT NULL, cut INTEGER NOT NULL, tokens INTEGER NOT NULL,
    budget INTEGER NOT NULL, duplicates INTEGER NOT NULL, milliseconds REAL NOT NULL,
    warnings INTEGER NOT NULL, status TEXT NOT NULL, scope TEXT NOT NULL, offered TEXT NOT NULL,
    timings TEXT NOT NULL, source_timings TEXT NOT NULL, note TEXT NOT NULL DEFAULT '',
    tags TEXT NOT NULL DEFAULT '[]'
);
CREATE INDEX traces_by_time ON traces (at, number);
CREATE INDEX traces_by_status ON traces (status, at);
CREATE INDEX traces_by_scope ON traces (scope, at);
CREATE INDEX traces_by_query ON traces (query, at);
CREATE INDEX traces_by_milliseconds ON traces (milliseconds);
CREATE TABLE bodies (id TEXT PRIMARY KEY REFERENCES traces (id) ON DELETE CASCADE, body BLOB NOT NULL);
CREATE TABLE words (
    trace TEXT NOT NULL REFERENCES traces (id) ON DELETE CASCADE, said_by TEXT NOT NULL, words TEXT NOT NULL,
    PRIMARY KEY (trace, said_by)
);
CREATE TABLE answers (
    trace TEXT PRIMARY KEY REFERENCES traces (id) ON DELETE CASCADE, at REAL NOT NULL, query TEXT NOT NULL,
    text TEXT NOT NULL, cited TEXT NOT NULL, unused TEXT NOT NULL
);
CREATE TABLE counts (
    user TEXT NOT NULL, source TEXT NOT NULL, id TEXT NOT NULL, what TEXT NOT NULL, times INTEGER NOT NULL,
    at REAL NOT NULL, PRIMARY KEY (user, source, id, what)
) WITHOUT ROWID;
CREATE TABLE judgments (
    query TEXT NOT NULL, source TEXT NOT NULL, id TEXT NOT NULL, rater TEXT NOT NULL, grade INTEGER,
    at REAL NOT NULL, PRIMARY KEY (query, source, id, rater)
) WITHOUT ROWID;
CREATE TABLE sets (
    name TEXT NOT NULL, query TEXT NOT NULL, trace TEXT NOT NULL, PRIMARY KEY (name, query)
) WITHOUT ROWID;
CREATE TABLE views (name TEXT PRIMARY KEY, filters TEXT NOT NULL) WITHOUT ROWID;
"""


class Database:
    """A journal's file.

    Args:
        path: The file.
        read_only: Make nothing and write nothing.
        must_exist: Make nothing.

    Raises:
        ConfigError: The file cannot be opened that way, is no journal, or of another version.
    """

    def __init__(self, path: Path, *, read_only: bool = False, must_exist: bool = False) -> None:
        self.path = path
        self.is_read_only = read_only
        self.is_closed = False
        if not read_only and not must_exist:
            self._make()
        with self.reading():
            pass

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection that reads."""
        with self._opened("read") as connection:
            connection.execute("PRAGMA query_only = ON")
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection that writes, within one transaction; a file that has gone is made anew."""
        if self.is_read_only:
            raise ConfigError(f"journal {self.path} was opened to be read only")
        self._make()
        with self._opened("written") as connection:
            connection.execute("BEGIN IMMEDIATE")
            with connection:  # commits, or takes back
                yield connection

    @contextlib.contextmanager
    def _opened(self, what: str) -> Iterator[sqlite3.Connection]:
        with FORKING:
            if self.is_closed:
                raise ConfigError(f"journal {self.path} is closed")
            if not self.path.is_file():
                told = f'ContextEngine(..., journal="{self.path.name}") records one'
                raise ConfigError(f"there is no journal {self.path}; {told}")
            # Whoever may write also reads so: it can take back what a killed process had half written.
            mode = "rw" if os.access(self.path, os.W_OK) else "ro"
            connection: sqlite3.Connection | None = None
            try:
                connection = sqlite3.connect(
                    f"{self.path.resolve().as_uri()}?mode={mode}",
                    uri=True, timeout=_BUSY_SECONDS, isolation_level=None,
                )  # fmt: skip
                _check(connection, self.path)
                connection.execute("PRAGMA foreign_keys = ON")
                yield connection
            except (sqlite3.Error, OSError) as error:
                told = refusal(error, self.path.parent)
                raise ContextEngineError(f"journal {self.path} cannot be {what}: {told}") from error
            finally:
                if connection is not None:
                    connection.close()

    def _make(self) -> None:
        """Make the file, its owner's alone, where there is none."""
        try:
            if self.path.is_file() and not _is_empty(self.path):
                return
            with FORKING:
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
                uri = f"{self.path.resolve().as_uri()}?mode=rw"
                connection = sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
                with contextlib.closing(connection):
                    connection.execute("PRAGMA auto_vacuum = FULL")
                    connection.execute("BEGIN IMMEDIATE")
                    if not _number(connection, "user_version"):  # another process may have come first
                        _fill(connection)
                    connection.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            told = refusal(error, self.path.parent)
            raise ConfigError(
                f"journal {str(self.path)[:200]} cannot be written: {told}; give a path that can"
            ) from error


def _is_empty(path: Path) -> bool:
    """Whether a file has no bytes, or the one page that SQLite writes before a database's first table.

    Setting `auto_vacuum` writes that page in a step of its own: another process may see it, or be killed
    after it. (https://www.sqlite.org/fileformat2.html: the number of pages stands at 28.)
    """
    with FORKING, path.open("rb") as file:
        header = file.read(32)
    return not header or (header.startswith(b"SQLite format 3\0") and int.from_bytes(header[28:]) == 1)


def _fill(connection: sqlite3.Connection) -> None:
    for statement in filter(str.strip, _TABLES.split(";")):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _check(connection: sqlite3.Connection, path: Path) -> None:
    try:
        is_ours = _number(connection, "application_id") == _APPLICATION_ID
        version = _number(connection, "user_version")
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_NOTADB:
            raise
        raise ConfigError(f"{path} is not a database; give another path") from None
    if _number(connection, "page_count") <= 1:
        raise ConfigError(f"journal {path} is empty; record a trace into it first")
    if not is_ours:
        raise ConfigError(f"{path} is another program's database, not a journal; give another path")
    if version != VERSION:
        raise ConfigError(
            f"journal {path} has version {version}, this langchain-context-engine reads {VERSION}; "
            "use the package that wrote it, or give another path"
        )


def trim(connection: sqlite3.Connection, max_bytes: int) -> None:
    """Remove the oldest traces until the file is a tenth below the cap, where it is above."""

    def used() -> int:
        pages = _number(connection, "page_count") - _number(connection, "freelist_count")
        return pages * _number(connection, "page_size")

    if used() <= max_bytes:
        return
    while used() > max_bytes * _TRIM_TO:
        total = connection.execute("SELECT count(*) FROM traces").fetchone()[0]
        oldest = "DELETE FROM traces WHERE number IN (SELECT number FROM traces ORDER BY at, number LIMIT ?)"
        removed = connection.execute(oldest, (total // 50 + 1,))
        if not removed.rowcount:
            return


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])
