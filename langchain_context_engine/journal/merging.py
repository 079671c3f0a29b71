"""Several machines' journals brought together in one file."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from langchain_context_engine.errors import ConfigError, ContextEngineError
from langchain_context_engine.journal.database import TRIM_TO, Database, trim
from langchain_context_engine.journal.traces import COLUMNS

__all__ = ["MergedJournal", "merge_journals"]

_OF_A_ROW = 1500
"""Bytes that a trace takes beside its body, roughly."""

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
    WHERE at >= ? AND bytes <= ? AND id IN (SELECT id FROM other.bodies)"""  # noqa: S608 - constants only
_BELONGING = """INSERT INTO main.{0} SELECT * FROM other.{0} WHERE {1} IN (SELECT id FROM main.traces)
    AND {1} NOT IN (SELECT {1} FROM main.{0})"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedJournal:
    """What one journal gave to another.

    Attributes:
        path: Its file.
        traces: Traces that are new.
        counts: Usage, feedback and activity that grew.
        judgments: Grades that are new or later than those that were there.
        error: Why nothing of it could be taken; "" where all went well.
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
    if any(_is_same(path, target) for path in sources):
        raise ConfigError(f"journal {target} cannot be merged into itself; give another file to --into")
    database = Database(target)
    return [_merged(database, path, max_bytes) for path in sources]


def _merged(database: Database, path: Path, max_bytes: int) -> MergedJournal:
    try:
        with database.reading() as connection:
            database.attach(connection, path)
            earliest = _earliest(connection, max_bytes)
        with database.writing(path) as connection:
            told = MergedJournal(
                path=path,
                traces=connection.execute(_TRACES, (earliest, max_bytes // 2)).rowcount,
                counts=connection.execute(_COUNTS).rowcount,
                judgments=connection.execute(_JUDGMENTS).rowcount,
            )
            for table, column in (("bodies", "id"), ("answers", "trace")):
                connection.execute(_BELONGING.format(table, column))
            for (name,) in connection.execute(_LATER_SETS).fetchall():
                connection.execute("DELETE FROM sets WHERE name = ?", (name,))
                connection.execute("INSERT INTO sets SELECT * FROM other.sets WHERE name = ?", (name,))
            trim(connection, max_bytes)
    except ContextEngineError as error:
        return MergedJournal(path=path, error=f"{path}: {error}; nothing of it was taken")
    return told


def _earliest(connection: sqlite3.Connection, max_bytes: int) -> float:
    """Return from when on there is room for the traces of both: what has none is not even copied."""
    room = max_bytes * TRIM_TO
    earliest = float("-inf")
    listed = "SELECT id, at, bytes FROM traces UNION SELECT id, at, bytes FROM other.traces ORDER BY at DESC"
    for _, at, size in connection.execute(listed):
        room -= size + _OF_A_ROW
        if room < 0:
            return earliest
        earliest = at
    return float("-inf")


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        return path == other
