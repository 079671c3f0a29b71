"""Keeping a journal's file below its cap: the oldest traces go."""

from __future__ import annotations

import math
import sqlite3

__all__ = ["TRIM_TO", "shrink", "trim"]

TRIM_TO = 0.9


def trim(connection: sqlite3.Connection, max_bytes: int) -> int:
    """Remove the oldest traces until the file's content is a tenth below the cap; return how many."""
    removed = 0
    if _used_bytes(connection) <= max_bytes:
        return removed
    while _used_bytes(connection) > max_bytes * TRIM_TO:
        total = connection.execute("SELECT count(*) FROM traces").fetchone()[0]
        if not total:
            break
        last = connection.execute(
            "SELECT number FROM traces ORDER BY number LIMIT 1 OFFSET ?", (max(0, math.ceil(total / 50) - 1),)
        ).fetchone()[0]
        connection.execute("DELETE FROM bodies WHERE number <= ?", (last,))
        removed += connection.execute("DELETE FROM traces WHERE number <= ?", (last,)).rowcount
    return removed


def shrink(connection: sqlite3.Connection) -> None:
    """Give the free pages back to the disk, outside any transaction.

    A statement of Python's own stops after its first step, which frees one page; a script is run to its end.
    """
    if _number(connection, "freelist_count"):
        connection.executescript("PRAGMA incremental_vacuum")


def _used_bytes(connection: sqlite3.Connection) -> int:
    pages = _number(connection, "page_count") - _number(connection, "freelist_count")
    return pages * _number(connection, "page_size")


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])
