"""The journal's SQLite file: its tables, how it is opened for one piece of work at a time, and merging.

No connection outlives its work. So the file is whole whenever nobody works on it, may be copied, replaced
or deleted meanwhile, and a fork, which waits for the lock, takes nothing of SQLite's along.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from langchain_context_engine.errors import ConfigError, ContextEngineError
from langchain_context_engine.models.locks import awaited_lock
from langchain_context_engine.models.redact import refusal

_APPLICATION_ID = 0x1CE_C0DE  # Marks the file as ours, so that nobody else's database is written to.
VERSION = 4
_BUSY_SECONDS = 5.0
_TRIM_TO = 0.9

_INSIDE = awaited_lock()
"""Held by who is inside SQLite: the child of a fork would share what was open, and its locks."""

# Bodies stand apart, so that paging the list reads none of them. What is counted is counted for each journal
# that it came from (`origin`): merging takes the larger of two counts of one origin, whichever way they come.
_TABLES = """
CREATE TABLE origin (id TEXT NOT NULL, lost INTEGER NOT NULL DEFAULT 0);
CREATE TABLE traces (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, at REAL NOT NULL, query TEXT NOT NULL,
    search TEXT NOT NULL, candidates INTEGER NOT NULL, kept INTEGER NOT NULL, cut INTEGER NOT NULL,
    tokens INTEGER NOT NULL, budget INTEGER NOT NULL, duplicates INTEGER NOT NULL, milliseconds REAL NOT NULL,
    warnings INTEGER NOT NULL, status TEXT NOT NULL, scope TEXT NOT NULL, offered TEXT NOT NULL,
    timings TEXT NOT NULL, source_timings TEXT NOT NULL, bytes INTEGER NOT NULL
);
CREATE INDEX traces_by_time ON traces (at, number);
CREATE INDEX traces_by_status ON traces (status, at);
CREATE INDEX traces_by_scope ON traces (scope, at);
CREATE INDEX traces_by_query ON traces (query, at);
CREATE INDEX traces_by_milliseconds ON traces (milliseconds);
CREATE TABLE bodies (id TEXT PRIMARY KEY REFERENCES traces (id) ON DELETE CASCADE, body BLOB NOT NULL);
CREATE TABLE answers (
    trace TEXT PRIMARY KEY REFERENCES traces (id) ON DELETE CASCADE, at REAL NOT NULL, query TEXT NOT NULL,
    text TEXT NOT NULL, cited TEXT NOT NULL, unused TEXT NOT NULL
);
CREATE TABLE counts (
    user TEXT NOT NULL, source TEXT NOT NULL, id TEXT NOT NULL, what TEXT NOT NULL, origin TEXT NOT NULL,
    times INTEGER NOT NULL, at REAL NOT NULL, PRIMARY KEY (user, source, id, what, origin)
) WITHOUT ROWID;
CREATE TABLE judgments (
    query TEXT NOT NULL, source TEXT NOT NULL, id TEXT NOT NULL, rater TEXT NOT NULL, grade INTEGER,
    at REAL NOT NULL, PRIMARY KEY (query, source, id, rater)
) WITHOUT ROWID;
CREATE TABLE sets (
    name TEXT NOT NULL, query TEXT NOT NULL, trace TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY (name, query)
) WITHOUT ROWID;
"""

COLUMNS = (
    "id, at, query, search, candidates, kept, cut, tokens, budget, duplicates, milliseconds, warnings, "
    "status, scope, offered, timings, source_timings, bytes"
)
"""Of the table of traces, but for the number that SQLite gives."""


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
        """Lend a connection that reads.

        Raises:
            ConfigError: The journal is closed, gone, or none.
            ContextEngineError: It cannot be read.
        """
        with self._opened("read") as connection:
            connection.execute("PRAGMA query_only = ON")
            yield connection

    @contextlib.contextmanager
    def writing(self, other: Path | None = None) -> Iterator[sqlite3.Connection]:
        """Lend a connection that writes, within one transaction; a file that has gone is made anew.

        Args:
            other: Another journal that is attached as `other`, only to be read.

        Raises:
            ConfigError: The journal is closed, is only to be read, or none; or the other is none.
            ContextEngineError: The disk is full, another process kept the file for seconds, …
        """
        if self.is_read_only:
            raise ConfigError(f"journal {self.path} was opened to be read only")
        self._make()
        with self._opened("written") as connection:
            if other is not None:
                _attach(connection, other)
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def _opened(self, what: str) -> Iterator[sqlite3.Connection]:
        with _INSIDE:
            if self.is_closed:
                raise ConfigError(f"journal {self.path} is closed")
            _require_file(self.path)
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
        """Make the file, its owner's alone, where there is none.

        Raises:
            ConfigError: It cannot be made.
        """
        try:
            if self.path.is_file() and not _is_empty(self.path):
                return
            if self.path.is_dir() or not self.path.parent.is_dir():
                missing = f"cannot be made: there is no folder {self.path.parent}"
                told = "is a folder" if self.path.is_dir() else missing
                raise ConfigError(f"journal {self.path} {told}; give the path of a file in a folder there is")
            with _INSIDE:
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
    with _INSIDE, path.open("rb") as file:
        header = file.read(32)
    return not header or (header.startswith(b"SQLite format 3\0") and int.from_bytes(header[28:]) == 1)


def _fill(connection: sqlite3.Connection) -> None:
    for statement in filter(str.strip, _TABLES.split(";")):
        connection.execute(statement)
    connection.execute("INSERT INTO origin (id) VALUES (?)", (uuid.uuid4().hex,))
    connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _require_file(path: Path) -> None:
    if not path.is_file():
        raise ConfigError(
            f'there is no journal {path}; ContextEngine(..., journal="{path.name}") records one'
        )


def _attach(connection: sqlite3.Connection, other: Path) -> None:
    _require_file(other)
    connection.execute("ATTACH ? AS other", (f"{other.resolve().as_uri()}?mode=ro",))
    _check(connection, other, "other.")


def _check(connection: sqlite3.Connection, path: Path, schema: str = "") -> None:
    try:
        is_ours = _number(connection, f"{schema}application_id") == _APPLICATION_ID
        version = _number(connection, f"{schema}user_version")
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_NOTADB:
            raise
        raise ConfigError(f"{path} is not a database; give another path") from None
    if _number(connection, f"{schema}page_count") <= 1:
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
        oldest = "SELECT number FROM traces ORDER BY at, number LIMIT ?"
        removed = connection.execute(
            f"DELETE FROM traces WHERE number IN ({oldest})",  # noqa: S608 - constants only
            (total // 50 + 1,),
        )
        if not removed.rowcount:
            return


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


# A total is the sum over journals (origins); of two tellings of one journal the larger one holds, since
# counts only grow. So it matters neither how often nor in which order journals are merged, nor how many ways.
_COUNTS = """INSERT INTO counts SELECT * FROM other.counts WHERE true
    ON CONFLICT DO UPDATE SET times = excluded.times, at = max(at, excluded.at)
    WHERE excluded.times > times"""
_JUDGMENTS = """INSERT INTO judgments SELECT * FROM other.judgments WHERE true
    ON CONFLICT DO UPDATE SET grade = excluded.grade, at = excluded.at WHERE excluded.at > at"""
_LATER_SETS = """SELECT name FROM other.sets AS theirs GROUP BY name HAVING max(at) > coalesce(
    (SELECT max(at) FROM main.sets AS ours WHERE ours.name = theirs.name), 0)"""
_TRACES = f"""INSERT OR IGNORE INTO traces ({COLUMNS}) SELECT {COLUMNS} FROM other.traces
    WHERE id IN (SELECT id FROM other.bodies)"""  # noqa: S608 - constants only
_BELONGING = """INSERT INTO main.{0} SELECT * FROM other.{0} WHERE {1} IN (SELECT id FROM main.traces)
    AND {1} NOT IN (SELECT {1} FROM main.{0})"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedJournal:
    """What one journal gave to another: how many traces, counts and judgments are new or later.

    `error` is why nothing of it could be taken; "" where all went well.
    """

    path: Path
    traces: int = 0
    counts: int = 0
    judgments: int = 0
    error: str = ""


def merge_journals(
    paths: Iterable[str | os.PathLike[str]],
    into: str | os.PathLike[str],
    *,
    max_bytes: int = 256_000_000,
) -> list[MergedJournal]:
    """Bring journals together in one; return what each gave, in order. They are only read, also while in use.

    A trace is known by its id. Usage, feedback and activity are counted once, whichever way and however often
    they come. Of two grades by one rater, and of two sets of one name, the later one holds. Merging again
    adds what is new. A copy of a journal counts as that journal.

    Args:
        paths: Journals. One that is damaged or none at all costs itself: see `MergedJournal.error`.
        into: The journal that is written; it is made where there is none.
        max_bytes: Its size, as `Journal`'s: the oldest traces go first.

    Raises:
        ConfigError: `into` is no journal, cannot be written, or is one of `paths`.
    """
    target = Path(into).absolute()
    sources = [Path(path).absolute() for path in paths]
    if any(path.resolve() == target.resolve() for path in sources):
        raise ConfigError(f"journal {target} cannot be merged into itself; give another file to --into")
    database = Database(target)
    return [_merged(database, path, max_bytes) for path in sources]


def _merged(database: Database, path: Path, max_bytes: int) -> MergedJournal:
    try:
        with database.writing(path) as connection:
            shared = "SELECT count(*) FROM traces WHERE id IN (SELECT id FROM other.traces)"
            before = connection.execute(shared).fetchone()[0]
            connection.execute(_TRACES)
            counts = connection.execute(_COUNTS).rowcount
            judgments = connection.execute(_JUDGMENTS).rowcount
            for table, column in (("bodies", "id"), ("answers", "trace")):
                connection.execute(_BELONGING.format(table, column))
            for (name,) in connection.execute(_LATER_SETS).fetchall():
                connection.execute("DELETE FROM sets WHERE name = ?", (name,))
                connection.execute("INSERT INTO sets SELECT * FROM other.sets WHERE name = ?", (name,))
            trim(connection, max_bytes)
            traces = max(0, connection.execute(shared).fetchone()[0] - before)
    except ContextEngineError as error:
        return MergedJournal(path=path, error=f"{path}: {error}; nothing of it was taken")
    return MergedJournal(path=path, traces=traces, counts=counts, judgments=judgments)
