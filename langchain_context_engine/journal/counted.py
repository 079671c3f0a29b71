"""Counts of several journals as one: what each journal counted itself, once, however often it is merged.

A journal that was merged into knows of each other journal how far its counts had come. A total is the sum
over journals, and of two tellings of one journal the larger one holds, since counts only grow. So it matters
neither how often nor in which order journals are merged, nor whether one reaches another by two ways.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

__all__ = ["Count", "add_counts", "counts_of", "origin_of"]

_MERGED = """CREATE TABLE IF NOT EXISTS merged (
    origin TEXT NOT NULL, what TEXT NOT NULL, key TEXT NOT NULL, count INTEGER NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (origin, what, key)
) WITHOUT ROWID"""

_KEYS = {
    ("usage", "uses"): ("source", "id"),
    ("feedback", "useful"): ("source", "id"),
    ("feedback", "useless"): ("source", "id"),
    ("activity", "times"): ("user", "kind", "source", "id"),
}
"""(table, column that counts) → the columns that say what is counted."""

_Name = tuple[str, str, str]
"""(journal, table and column, the key's columns as JSON)."""


@dataclass(frozen=True, slots=True)
class Count:
    """How often something was counted by one journal, and when last (epoch seconds)."""

    count: int
    at: float


def origin_of(secret: bytes) -> str:
    """Return what tells a journal from others, wherever its file is; a copy of it counts as the same one."""
    return hashlib.blake2b(secret, digest_size=16, person=b"journal").hexdigest()


def counts_of(connection: sqlite3.Connection, origin: str) -> dict[_Name, Count]:
    """Return what each journal counted, of those that this one knows of, itself among them.

    Args:
        connection: One that reads.
        origin: This journal's.
    """
    told = dict(_told(connection))
    own: dict[_Name, Count] = {}
    others: dict[tuple[str, str], int] = {}
    for (who, what, key), count in told.items():
        if who != origin:
            others[what, key] = others.get((what, key), 0) + count.count
    for (table, column), names in _KEYS.items():
        what = f"{table}.{column}"
        asked = f"SELECT {column}, at, {', '.join(names)} FROM {table}"  # noqa: S608 - constants only
        for total, at, *values in connection.execute(asked):
            key = json.dumps(values, ensure_ascii=False)
            rest = int(total) - others.get((what, key), 0)
            if rest > 0:
                own[origin, what, key] = Count(rest, at)
    return {name: count for name, count in told.items() if name[0] != origin} | own


def add_counts(connection: sqlite3.Connection, origin: str, told: Mapping[_Name, Count]) -> int:
    """Add what journals counted, as far as it is not known yet; return how many counts grew.

    Args:
        connection: One that writes, within a transaction.
        origin: The origin of the journal that is written; what others say of it, it knows better.
        told: See `counts_of`.
    """
    connection.execute(_MERGED)
    known = dict(_told(connection))
    grown = 0
    for name, count in told.items():
        who, what, key = name
        before = known[name].count if name in known else 0
        if who == origin or count.count <= before:
            continue
        grown += 1
        connection.execute(
            "INSERT OR REPLACE INTO merged VALUES (?, ?, ?, ?, ?)", (*name, count.count, count.at)
        )
        table, column = what.split(".")
        names = _KEYS[table, column]
        fields = {**dict.fromkeys(_counting(table), 0), column: count.count - before}
        columns = (*names, *fields, "at")
        connection.execute(
            f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))}) "  # noqa: S608
            f"ON CONFLICT DO UPDATE SET {column} = {column} + excluded.{column}, at = max(at, excluded.at)",
            (*json.loads(key), *fields.values(), count.at),
        )
    return grown


def _told(connection: sqlite3.Connection) -> Iterator[tuple[_Name, Count]]:
    there = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'merged'").fetchone()
    if there is None:
        return
    for origin, what, key, count, at in connection.execute("SELECT origin, what, key, count, at FROM merged"):
        table, _, column = what.partition(".")
        if (table, column) in _KEYS:
            yield (origin, what, key), Count(int(count), float(at))


def _counting(table: str) -> list[str]:
    return [column for owner, column in _KEYS if owner == table]
