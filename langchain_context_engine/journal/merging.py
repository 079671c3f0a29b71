"""Several machines' journals brought together in one file."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from langchain_context_engine.journal import tables, traces, trimming
from langchain_context_engine.journal.counted import Count, add_counts, counts_of, origin_of
from langchain_context_engine.journal.file import JournalFile
from langchain_context_engine.journal.moving import number_by_time, take
from langchain_context_engine.journal.schema import has_column, open_reader
from langchain_context_engine.models.errors import ConfigError, ContextEngineError

__all__ = ["MergedJournal", "merge_journals"]

_BATCH = 100
_OF_A_ROW = 1500
"""Bytes that a trace takes beside its body, roughly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedJournal:
    """What one journal gave to another.

    Attributes:
        path: Its file.
        traces: Traces that are new.
        damaged: Traces that cannot be read, or are larger than half the journal; they are left out.
        counts: Usage, feedback and activity that grew.
        judgments: Grades that are new or later than those that were there.
        error: Why nothing of it could be taken; "" where all went well.
    """

    path: Path
    traces: int = 0
    damaged: int = 0
    counts: int = 0
    judgments: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True)
class _Read:
    """What a journal holds but for its traces' bodies: of each trace its (id, time, bytes), and the rest."""

    path: Path
    traces: list[tuple[str, float, int]]
    counts: dict[tuple[str, str, str], Count]
    judgments: list[tuple[Any, ...]]
    sets: list[tuple[Any, ...]]


def merge_journals(
    paths: Iterable[str | os.PathLike[str]],
    into: str | os.PathLike[str],
    *,
    max_bytes: int = 256_000_000,
) -> list[MergedJournal]:
    """Bring journals together in one; return what each gave, in order. They are only read, also while in use.

    A trace is known by its id. Usage, feedback and activity are counted once, whichever way and however often
    they come. Of two grades by one rater, and of two sets of one name, the later one holds; one that was
    taken back in its journal after a merge stands until it is taken back here too. Merging again adds what
    is new. A copy of a journal counts as that journal.

    Args:
        paths: Journals. One that is damaged or none at all costs itself: see `MergedJournal.error`.
        into: The journal that is written; it is made where there is none.
        max_bytes: Its size, as `Journal`'s: the oldest traces go first.

    Raises:
        ConfigError: `into` is no journal, or one of `paths`.
        ContextEngineError: It cannot be written.
    """
    target = Path(into).absolute()
    sources = [Path(path).absolute() for path in paths]
    if any(_is_same(path, target) for path in sources):
        raise ConfigError(f"journal {target} cannot be merged into itself; give another file to --into")
    file = JournalFile(target)
    try:
        secret = tables.read_secret(file)
        read = [_read(path) for path in sources]
        chosen = _chosen(file, [each for each in read if isinstance(each, _Read)], max_bytes)
        told = [
            each if isinstance(each, MergedJournal) else _merge(file, each, chosen, secret, max_bytes)
            for each in read
        ]
        _tidy(file, max_bytes)
    except (sqlite3.Error, OSError) as error:
        raise ContextEngineError(f"journal {target} cannot be written: {error}") from error
    finally:
        file.close()
    return told


def _read(path: Path) -> _Read | MergedJournal:
    try:
        with closing(open_reader(path)) as connection:
            connection.execute("BEGIN")  # one moment of a file that others may be writing
            secret = connection.execute("SELECT value FROM secrets WHERE name = 'scope'").fetchone()
            if secret is None:
                return MergedJournal(
                    path=path, error=f"journal {path} has lost what it is known by; open it once"
                )
            listed = "SELECT id, at, length(body) FROM traces JOIN bodies USING (number)"
            rater = "rater" if has_column(connection, "judgments", "rater") else "''"
            graded = f"SELECT query, source, id, {rater}, grade, at FROM judgments"  # noqa: S608 - constants only
            has_sets = has_column(connection, "sets", "name")
            return _Read(
                path,
                connection.execute(listed).fetchall(),
                counts_of(connection, origin_of(bytes(secret[0]))),
                connection.execute(graded).fetchall(),
                connection.execute("SELECT name, query, trace, at FROM sets").fetchall() if has_sets else [],
            )
    except ConfigError as error:
        return MergedJournal(path=path, error=str(error))
    except (sqlite3.Error, TypeError, ValueError) as error:
        return MergedJournal(path=path, error=f"journal {path} is damaged: {error}; nothing of it was taken")


def _chosen(file: JournalFile, read: Sequence[_Read], max_bytes: int) -> set[str]:
    """Return the ids of the newest traces of all, as many as there is room for."""
    with file.reading() as connection:
        there = connection.execute(
            "SELECT id, at, length(body) FROM traces JOIN bodies USING (number)"
        ).fetchall()
    known = {
        id_: (at, size) for traces_ in (there, *(each.traces for each in read)) for id_, at, size in traces_
    }
    chosen: set[str] = set()
    room = max_bytes * trimming.TRIM_TO
    for id_, (_, size) in sorted(known.items(), key=lambda item: (-item[1][0], item[0])):
        room -= size + _OF_A_ROW
        if room < 0:
            break
        chosen.add(id_)
    return chosen


def _merge(file: JournalFile, read: _Read, chosen: set[str], secret: bytes, max_bytes: int) -> MergedJournal:
    most = max_bytes // 2
    wanted = [id_ for id_, _, size in read.traces if id_ in chosen and size <= most]
    with file.writing() as connection:
        counts = add_counts(connection, origin_of(secret), read.counts)
        judgments = sum(_add_judgment(connection, row) for row in read.judgments)
        _add_sets(connection, read.sets)
    told = MergedJournal(
        path=read.path,
        damaged=sum(size > most for _, _, size in read.traces),
        counts=counts,
        judgments=judgments,
    )
    try:
        with closing(open_reader(read.path)) as source:
            for start in range(0, len(wanted), _BATCH):
                new, damaged = _take(file, source, wanted[start : start + _BATCH], secret)
                told = replace(told, traces=told.traces + new, damaged=told.damaged + damaged)
    except ConfigError as error:  # it has gone since
        told = replace(told, error=str(error))
    return told


def _take(
    file: JournalFile, source: sqlite3.Connection, ids: Sequence[str], secret: bytes
) -> tuple[int, int]:
    """Copy traces that are not there yet; return how many, and how many cannot be read."""
    with file.writing() as connection:
        asked = "SELECT 1 FROM traces WHERE id = ?"
        missing = [id_ for id_ in ids if connection.execute(asked, (id_,)).fetchone() is None]
        taken = [take(source, id_, secret) for id_ in missing]
        whole = [each for each in taken if each is not None]
        traces.insert(connection, whole)
    return len(whole), len(taken) - len(whole)


def _add_judgment(connection: sqlite3.Connection, row: tuple[Any, ...]) -> bool:
    done = connection.execute(
        "INSERT INTO judgments (query, source, id, rater, grade, at) VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT DO UPDATE SET grade = excluded.grade, at = excluded.at WHERE excluded.at > at",
        row,
    )
    return done.rowcount > 0


def _add_sets(connection: sqlite3.Connection, rows: Sequence[tuple[Any, ...]]) -> None:
    for name in sorted({row[0] for row in rows}):
        latest = max(row[3] for row in rows if row[0] == name)
        (there,) = connection.execute("SELECT max(at) FROM sets WHERE name = ?", (name,)).fetchone()
        if there is None or latest > there:
            connection.execute("DELETE FROM sets WHERE name = ?", (name,))
            connection.executemany(
                "INSERT INTO sets (name, query, trace, at) VALUES (?, ?, ?, ?)",
                [row for row in rows if row[0] == name],
            )


def _tidy(file: JournalFile, max_bytes: int) -> None:
    """Number the traces by time, since lists and the cap go by their numbers, and keep the cap."""
    with file.writing() as connection:
        number_by_time(connection)
        removed = trimming.trim(connection, max_bytes)
    if removed:
        with file.alone() as connection:
            trimming.shrink(connection)
    file.tidy()


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        return path == other
