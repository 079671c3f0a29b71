"""Traces that move from one journal to another."""

from __future__ import annotations

import json
import sqlite3
import zlib
from typing import Any

from langchain_context_engine.journal.traces import COLUMNS, as_there_are, scope_digest
from langchain_context_engine.models.errors import ContextEngineError
from langchain_context_engine.trace.wire import context_from_dict

__all__ = ["number_by_time", "take"]


def take(source: sqlite3.Connection, trace_id: str, key: bytes) -> tuple[tuple[Any, ...], bytes] | None:
    """Return a trace as `insert` writes it into another journal, or None where it cannot be read.

    Args:
        source: A connection that reads the one journal.
        trace_id: Its id.
        key: The other journal's key of digests: in each, equal scopes have one digest of its own.
    """
    columns = as_there_are(source, COLUMNS)
    asked = f"SELECT {columns}, body FROM traces JOIN bodies USING (number) WHERE id = ?"  # noqa: S608
    try:
        found = source.execute(asked, (trace_id,)).fetchone()
        if found is None:  # it made room meanwhile
            return None
        *row, body = found
        data = json.loads(zlib.decompress(body))
        place = _NAMES.index("scope")
        if row[place]:
            row[place] = scope_digest(context_from_dict(data).request.scope, key)
    except (sqlite3.Error, zlib.error, ValueError, TypeError, RecursionError, ContextEngineError):
        return None
    return tuple(row), body


def number_by_time(connection: sqlite3.Connection) -> None:
    """Number a journal's traces by time, those of one moment by id; in a transaction."""
    is_out_of_order = connection.execute(
        "SELECT 1 FROM ("
        "SELECT at, id, lag(at) OVER by_number AS at_before, lag(id) OVER by_number AS id_before FROM traces "
        "WINDOW by_number AS (ORDER BY number)) WHERE (at, id) < (at_before, id_before) LIMIT 1"
    ).fetchone()
    if is_out_of_order is None:
        return
    (last,) = connection.execute("SELECT max(number) FROM traces").fetchone()
    numbers = connection.execute("SELECT number FROM traces ORDER BY at, id").fetchall()
    # Above all that are in use, so that no two have one number meanwhile.
    moved = [(last + place, number) for place, (number,) in enumerate(numbers, start=1)]
    for table in ("traces", "bodies"):
        connection.executemany(f"UPDATE {table} SET number = ? WHERE number = ?", moved)  # noqa: S608


_NAMES = COLUMNS.split(", ")
