"""The journal's small tables: usage counts, feedback, judgments and activity."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from langchain_context_engine.journal.file import JournalFile
from langchain_context_engine.journal.schema import has_column
from langchain_context_engine.journal.values import Activity, Feedback, Judgment
from langchain_context_engine.models.freeze import clean_text
from langchain_context_engine.models.types import Key

__all__ = [
    "add_activity",
    "add_feedback",
    "add_judgment",
    "add_usage",
    "feedback_of",
    "judgments_of",
    "read_secret",
    "recent_of",
    "remove_judgment",
    "usage_of",
]


def read_secret(file: JournalFile) -> bytes:
    """Return the key of the digests of scopes; one that was lost is made anew where that may be written."""
    asked = "SELECT value FROM secrets WHERE name = 'scope'"
    with file.reading() as connection:
        found = connection.execute(asked).fetchone()
    if found is None and not file.is_read_only:
        with file.writing() as connection:
            connection.execute("INSERT OR IGNORE INTO secrets VALUES ('scope', randomblob(32))")
            found = connection.execute(asked).fetchone()
    return bytes(found[0]) if found else b""


def add_usage(connection: sqlite3.Connection, uses: Mapping[Key, int], at: float) -> None:
    """Count more uses of each key."""
    connection.executemany(
        "INSERT INTO usage VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
        "uses = uses + excluded.uses, at = max(at, excluded.at)",
        [(*_clean(key), times, at) for key, times in uses.items()],
    )


def usage_of(connection: sqlite3.Connection, keys: Iterable[Key]) -> dict[Key, int]:
    """Return how often each key was used; 0 for one that never was."""
    counts = {}
    for key in keys:
        found = connection.execute(
            "SELECT uses FROM usage WHERE source = ? AND id = ?", _clean(key)
        ).fetchone()
        counts[key] = int(found[0]) if found else 0
    return counts


def add_feedback(connection: sqlite3.Connection, key: Key, useful: bool, at: float) -> None:
    """Count one more opinion."""
    connection.execute(
        "INSERT INTO feedback VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
        "useful = useful + excluded.useful, useless = useless + excluded.useless, at = max(at, excluded.at)",
        (*_clean(key), int(useful), int(not useful), at),
    )


def feedback_of(connection: sqlite3.Connection, keys: Iterable[Key]) -> dict[Key, Feedback]:
    """Return the opinions on each key."""
    opinions = {}
    for key in keys:
        found = connection.execute(
            "SELECT useful, useless FROM feedback WHERE source = ? AND id = ?", _clean(key)
        ).fetchone()
        opinions[key] = Feedback(useful=found[0], useless=found[1]) if found else Feedback()
    return opinions


def add_judgment(
    connection: sqlite3.Connection, query: str, key: Key, grade: int, *, at: float, rater: str = ""
) -> None:
    """Write a grade, over an earlier one of the same question, key and rater."""
    connection.execute(
        "INSERT OR REPLACE INTO judgments (query, source, id, rater, grade, at) VALUES (?, ?, ?, ?, ?, ?)",
        (clean_text(query), *_clean(key), clean_text(rater), grade, at),
    )


def remove_judgment(connection: sqlite3.Connection, query: str, key: Key, rater: str = "") -> None:
    """Take a rater's grade back; where there is none, nothing happens."""
    connection.execute(
        "DELETE FROM judgments WHERE query = ? AND source = ? AND id = ? AND rater = ?",
        (clean_text(query), *_clean(key), clean_text(rater)),
    )


def judgments_of(connection: sqlite3.Connection, query: str | None) -> list[Judgment]:
    """Return all judgments, or one question's, by question, source, id and rater."""
    where, values = ("", []) if query is None else (" WHERE query = ?", [clean_text(query)])
    rater = "rater" if has_column(connection, "judgments", "rater") else "'' AS rater"
    cursor = connection.execute(
        f"SELECT query, source, id, {rater}, grade, at FROM judgments{where} "  # noqa: S608 - constants only
        "ORDER BY query, source, id, rater",
        values,
    )
    return [
        Judgment(
            query=asked, key=(source, item), rater=who, grade=grade, time=datetime.fromtimestamp(at, tz=UTC)
        )
        for asked, source, item, who, grade, at in cursor
    ]


def add_activity(connection: sqlite3.Connection, user: str, kind: str, key: Key, at: float) -> None:
    """Count one more view or edit."""
    connection.execute(
        "INSERT INTO activity VALUES (?, ?, ?, ?, 1, ?) ON CONFLICT DO UPDATE SET "
        "times = times + 1, at = max(at, excluded.at)",
        (clean_text(user), kind, *_clean(key), at),
    )


def recent_of(
    connection: sqlite3.Connection, user: str, kind: str | None, since: datetime | None, limit: int
) -> list[Activity]:
    """Return what a user viewed or edited, latest first; ties by source and id."""
    where, values = "user = ?", [clean_text(user)]
    if kind is not None:
        where, values = f"{where} AND kind = ?", [*values, kind]
    earliest = since.timestamp() if since else float("-inf")
    cursor = connection.execute(
        f"SELECT user, kind, source, id, times, at FROM activity WHERE {where} AND at >= ? "  # noqa: S608
        "ORDER BY at DESC, source, id LIMIT ?",
        [*values, earliest, limit],
    )
    return [
        Activity(
            user=who, kind=what, key=(source, item), times=times, time=datetime.fromtimestamp(at, tz=UTC)
        )
        for who, what, source, item, times, at in cursor
    ]


def _clean(key: Key) -> tuple[str, str]:
    source, item = key
    return clean_text(str(source)), clean_text(str(item))
