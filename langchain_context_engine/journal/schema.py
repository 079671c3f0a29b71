"""The journal's file: its tables, its versions, and how it is opened.

One SQLite file in WAL mode: readers never wait for writers, and several processes may write.
Texts of traces stand in a table of their own, so that paging the list reads none of them.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from pathlib import Path

from langchain_context_engine.models.errors import ConfigError

__all__ = ["VERSION", "has_column", "open_reader", "open_writer"]

_APPLICATION_ID = 0x1CE_C0DE  # Marks the file as ours, so that nobody else's database is written to.
_BUSY_SECONDS = 5.0

_FIRST = (
    """CREATE TABLE traces (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        at REAL NOT NULL,
        query TEXT NOT NULL,
        search TEXT NOT NULL,
        sources TEXT NOT NULL,
        candidates INTEGER NOT NULL,
        kept INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        budget INTEGER NOT NULL,
        duplicates INTEGER NOT NULL,
        milliseconds REAL NOT NULL,
        warnings INTEGER NOT NULL,
        status TEXT NOT NULL,
        scope TEXT NOT NULL
    )""",
    "CREATE INDEX traces_by_time ON traces (at)",
    "CREATE INDEX traces_by_status ON traces (status, number)",
    "CREATE INDEX traces_by_scope ON traces (scope, number)",
    "CREATE TABLE bodies (number INTEGER PRIMARY KEY, body BLOB NOT NULL)",
    """CREATE TABLE usage (
        source TEXT NOT NULL, id TEXT NOT NULL, uses INTEGER NOT NULL, at REAL NOT NULL,
        PRIMARY KEY (source, id)
    ) WITHOUT ROWID""",
    """CREATE TABLE feedback (
        source TEXT NOT NULL, id TEXT NOT NULL,
        useful INTEGER NOT NULL, useless INTEGER NOT NULL, at REAL NOT NULL,
        PRIMARY KEY (source, id)
    ) WITHOUT ROWID""",
    """CREATE TABLE judgments (
        query TEXT NOT NULL, source TEXT NOT NULL, id TEXT NOT NULL,
        grade INTEGER NOT NULL, at REAL NOT NULL,
        PRIMARY KEY (query, source, id)
    ) WITHOUT ROWID""",
    """CREATE TABLE activity (
        user TEXT NOT NULL, kind TEXT NOT NULL, source TEXT NOT NULL, id TEXT NOT NULL,
        times INTEGER NOT NULL, at REAL NOT NULL,
        PRIMARY KEY (user, kind, source, id)
    ) WITHOUT ROWID""",
    "CREATE INDEX activity_by_time ON activity (user, at)",
    "CREATE TABLE secrets (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    "INSERT INTO secrets VALUES ('scope', randomblob(32))",
)

_SECOND = (
    # What the list filters by and what the figures over time are made of, without reading a body.
    "ALTER TABLE traces ADD COLUMN cut INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE traces ADD COLUMN timings TEXT NOT NULL DEFAULT '{}'",
    "ALTER TABLE traces ADD COLUMN offered TEXT NOT NULL DEFAULT '{}'",
    "CREATE INDEX traces_by_milliseconds ON traces (milliseconds)",
    "CREATE INDEX traces_by_query ON traces (query, number)",
    "ALTER TABLE judgments RENAME TO judgments_of_one",
    """CREATE TABLE judgments (
        query TEXT NOT NULL, source TEXT NOT NULL, id TEXT NOT NULL, rater TEXT NOT NULL DEFAULT '',
        grade INTEGER NOT NULL, at REAL NOT NULL,
        PRIMARY KEY (query, source, id, rater)
    ) WITHOUT ROWID""",
    """INSERT INTO judgments (query, source, id, grade, at)
        SELECT query, source, id, grade, at FROM judgments_of_one""",
    "DROP TABLE judgments_of_one",
    """CREATE TABLE sets (
        name TEXT NOT NULL, query TEXT NOT NULL, trace TEXT NOT NULL, at REAL NOT NULL,
        PRIMARY KEY (name, query)
    ) WITHOUT ROWID""",
)
"""Raters, named sets of questions, and what each stage took."""

_THIRD = ("ALTER TABLE traces ADD COLUMN source_timings TEXT NOT NULL DEFAULT '{}'",)
"""What each source took."""

_MIGRATIONS = (_FIRST, _SECOND, _THIRD)
"""Statements that lead from each version to the next; the file's version is how many were run."""

VERSION = len(_MIGRATIONS)
"""The version of the tables that this package writes."""


def open_writer(path: Path, *, must_exist: bool = False) -> sqlite3.Connection:
    """Return a connection that may write, to a file that is made (mode 0600) where there is none.

    Raises:
        ConfigError: The file cannot be written, is no journal, or is of a newer version.
    """
    if path.is_dir() or not path.parent.is_dir():
        what = "is a folder" if path.is_dir() else f"cannot be made: there is no folder {path.parent}"
        msg = f"journal {path} {what}; give the path of a file in a folder that exists"
        raise ConfigError(msg)
    if must_exist:
        _check_exists(path)
    try:
        # SQLite gives the -wal and -shm files the mode of the main file.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        connection = _connect(f"{path.resolve().as_uri()}?mode=rw")
        _check(connection, path)
        _prepare(connection)
    except (OSError, sqlite3.Error) as error:
        raise _cannot("written", path, error) from error
    return connection


def open_reader(path: Path) -> sqlite3.Connection:
    """Return a connection that only reads; nothing is made.

    Raises:
        ConfigError: There is no such file, it cannot be read, is no journal, or of a newer version.
    """
    _check_exists(path)
    uri = path.resolve().as_uri()
    try:
        try:
            connection = _connect(f"{uri}?mode=ro")
            _check(connection, path)
        except sqlite3.OperationalError:
            # In a folder that may not be written, WAL needs its side files to be there already.
            connection = _connect(f"{uri}?mode=ro&immutable=1")
            _check(connection, path)
    except sqlite3.Error as error:
        raise _cannot("read", path, error) from error
    if _number(connection, "user_version") == 0:
        connection.close()
        msg = f"journal {path} is empty; record a trace into it first"
        raise ConfigError(msg)
    return connection


def _check_exists(path: Path) -> None:
    if not path.is_file():
        msg = f'there is no journal {path}; ContextEngine(..., journal="{path.name}") records one'
        raise ConfigError(msg)


def _connect(uri: str) -> sqlite3.Connection:
    # Without a thread check, since one lock guards each connection; transactions are explicit.
    return sqlite3.connect(
        uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )


def _check(connection: sqlite3.Connection, path: Path) -> None:
    version = _number(connection, "user_version")
    is_ours = _number(connection, "application_id") == _APPLICATION_ID
    is_empty = not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if not is_ours and not is_empty:
        connection.close()
        msg = f"{path} is another program's database, not a journal; give another path"
        raise ConfigError(msg)
    if version > VERSION:
        connection.close()
        msg = (
            f"journal {path} has version {version}, newer than {VERSION}, the newest that this "
            "langchain-context-engine reads; upgrade the package or give another path"
        )
        raise ConfigError(msg)


def _prepare(connection: sqlite3.Connection) -> None:
    _retry(connection, "PRAGMA auto_vacuum = INCREMENTAL")
    _retry(connection, "PRAGMA journal_mode = WAL")
    # In WAL mode NORMAL survives a crash of the program; a power cut may cost the last traces.
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA journal_size_limit = 1048576")
    if _number(connection, "user_version") == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Read again: another process may have come first.
        for version in range(_number(connection, "user_version"), VERSION):
            for statement in _MIGRATIONS[version]:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def has_column(connection: sqlite3.Connection, table: str, column: str) -> bool:
    """Return whether a table has a column: a file of an earlier version is read as it is."""
    found = connection.execute("SELECT 1 FROM pragma_table_info(?) WHERE name = ?", (table, column))
    return found.fetchone() is not None


def _retry(connection: sqlite3.Connection, statement: str) -> None:
    # Changing the journal mode ignores the busy timeout, so processes that start together collide.
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute(statement)
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


def _cannot(what: str, path: Path, error: Exception) -> ConfigError:
    return ConfigError(f"journal {path} cannot be {what}: {error}; give a path that can")
