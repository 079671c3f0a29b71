"""The journal's traces: written in batches, listed without their texts, oldest removed first."""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any

from langchain_context_engine.journal.schema import has_column
from langchain_context_engine.journal.values import TraceRow
from langchain_context_engine.models.clock import read_instant
from langchain_context_engine.models.errors import ConfigError
from langchain_context_engine.models.freeze import clean_text
from langchain_context_engine.models.types import Verdict
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.wire import context_from_dict, context_to_dict

__all__ = [
    "TraceFilter",
    "as_there_are",
    "body_of",
    "count",
    "encode",
    "insert",
    "rows",
    "scope_digest",
]

COLUMNS = (
    "id, at, query, search, sources, candidates, kept, tokens, budget, duplicates, milliseconds, "
    "warnings, status, scope, cut, timings, offered, source_timings"
)
_LISTED = COLUMNS.replace(" search,", "")
_ADDED = {
    "cut": (", cut, timings, offered", ", 0 AS cut, '{}' AS timings, '{}' AS offered"),
    "source_timings": (", source_timings", ", '{}' AS source_timings"),
}
"""A column that a later version added → what is read where it is missing."""
_SORTED = {
    "time": "number",
    "question": "search",
    **{name: name for name in ("candidates", "kept", "tokens", "budget", "duplicates", "milliseconds")},
    **{name: name for name in ("warnings", "status", "cut")},
    "used": "1.0 * tokens / max(budget, 1)",
}
"""What a list can be sorted by."""

_CUT = "cut > 0"
_SLOW = """milliseconds >= (
    SELECT milliseconds FROM traces{within} ORDER BY milliseconds DESC
    LIMIT 1 OFFSET (SELECT count(*) / 20 FROM traces{within})
)"""
_LEVEL = 3  # zlib's: twice as fast as its default for a twentieth more bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFilter:
    """Which traces: each given condition must hold.

    Attributes:
        search: Words that the question or a source's name contains, in any order, whatever their case.
        status: ok, partial, empty or failed.
        scope: A digest as in `TraceRow.scope`.
        since: Recorded at this instant or later.
        until: Recorded at this instant or earlier.
        after: Only numbers above this one: what is new for a live tail.
        query: Exactly this question.
        is_bare: Nothing was kept.
        is_cut: A passage stands in the text in part.
        is_slow: Among the slowest twentieth of the journal, or of the scope where one is given.
        sort: What the list is sorted by; by default the time.
        ascending: Smallest first; by default the largest, or latest.
    """

    search: str = ""
    status: str | None = None
    scope: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    after: int | None = None
    query: str | None = None
    is_bare: bool = False
    is_cut: bool = False
    is_slow: bool = False
    sort: str = "time"
    ascending: bool = False

    @classmethod
    def of(cls, search: str, conditions: Mapping[str, Any]) -> TraceFilter:
        """Return the filter of what `Journal.traces` was given.

        Raises:
            ConfigError: A condition is unknown.
        """
        known = {field.name for field in fields(cls)} - {"search"}
        unknown = sorted(set(conditions) - known)
        if unknown:
            names = ", ".join(sorted(known))
            msg = f"traces are not filtered by {', '.join(unknown)}; known are search, {names}"
            raise ConfigError(msg)
        times = {name: read_instant(conditions.get(name)) for name in ("since", "until")}
        return cls(search=search, **{**conditions, **times})

    def order(self) -> str:
        """Return the order in SQL; equals come latest first.

        Raises:
            ConfigError: Traces are not sorted by that.
        """
        if self.sort not in _SORTED:
            msg = f"traces are sorted by {', '.join(_SORTED)}, not by {self.sort!r}"
            raise ConfigError(msg)
        direction = "ASC" if self.ascending else "DESC"
        return f" ORDER BY {_SORTED[self.sort]} {direction}, number DESC"

    def where(self) -> tuple[str, list[Any]]:
        """Return the condition in SQL, with its values."""
        terms: list[tuple[str, Any]] = []
        terms += [("instr(search, ?) > 0", word) for word in _folded(self.search).split()]
        if self.query is not None:
            terms.append(("query = ?", clean_text(self.query)))
        if self.status is not None:
            terms.append(("status = ?", str(self.status)))
        if self.scope is not None:
            terms.append(("scope = ?", self.scope))
        if self.since is not None:
            terms.append(("at >= ?", self.since.timestamp()))
        if self.until is not None:
            terms.append(("at <= ?", self.until.timestamp()))
        if self.after is not None:
            terms.append(("number > ?", self.after))
        values = [value for _, value in terms]
        plain = {"kept = 0": self.is_bare, _CUT: self.is_cut}
        asked = [*(term for term, _ in terms), *(term for term, is_on in plain.items() if is_on)]
        if self.is_slow:
            # What another scope took must not show in which of this one are slow.
            within = "" if self.scope is None else " WHERE scope = ?"
            asked.append(_SLOW.format(within=within))
            values += [self.scope, self.scope] if within else []
        condition = " AND ".join(asked)
        return (f" WHERE {condition}" if condition else ""), values


def encode(
    trace_id: str, at: float, context: Context, key: bytes, most_bytes: int
) -> tuple[tuple[Any, ...], bytes]:
    """Return a trace as the values of its row and its compressed body.

    Raises:
        ConfigError: The body is larger than `most_bytes`.
    """
    request = context.request
    sources = sorted({clean_text(str(candidate.origin)) for candidate in context.candidates})
    row = (
        trace_id,
        at,
        clean_text(request.query),
        _folded("\n".join([request.query, *sources])),
        json.dumps(sources, ensure_ascii=False),
        len(context.candidates),
        len(context.passages),
        context.tokens,
        context.budget,
        sum(d.verdict is not Verdict.CHANGED and d.is_duplicate for d in context.decisions),
        _milliseconds(context),
        len(context.warnings),
        str(context.status),
        scope_digest(request.scope, key),
        sum(passage.is_truncated for passage in context.passages),
        _rounded(context.timings),
        json.dumps(Counter(clean_text(str(c.origin)) for c in context.candidates), ensure_ascii=False),
        _rounded(context.source_timings),
    )
    text = json.dumps(context_to_dict(context), ensure_ascii=False, separators=(",", ":"))
    body = zlib.compress(text.encode(), _LEVEL)
    if len(body) > most_bytes:
        msg = f"a trace of {len(body):,} bytes is too large for the journal; give it a larger max_bytes"
        raise ConfigError(msg)
    return row, body


def _rounded(timings: Mapping[str, float]) -> str:
    took = {clean_text(name): round(float(milliseconds), 3) for name, milliseconds in timings.items()}
    return json.dumps(took, ensure_ascii=False)


def scope_digest(scope: object, key: bytes) -> str:
    """Return a digest of a scope that tells no value without the journal's key; "" of none.

    The order of its keys, and of a list's values, does not matter.
    """
    if not isinstance(scope, dict) or not scope:
        return ""
    parts = sorted(
        (str(name), sorted(map(repr, value)) if isinstance(value, (list, tuple, set)) else [repr(value)])
        for name, value in scope.items()
    )
    return hashlib.blake2b(repr(parts).encode("utf-8", "replace"), key=key, digest_size=6).hexdigest()


def insert(connection: sqlite3.Connection, encoded: Sequence[tuple[tuple[Any, ...], bytes]]) -> None:
    """Write encoded traces."""
    marks = ", ".join("?" * len(COLUMNS.split(",")))
    for row, body in encoded:
        number = connection.execute(
            f"INSERT INTO traces ({COLUMNS}) VALUES ({marks})",  # noqa: S608 - constants only
            row,
        ).lastrowid
        connection.execute("INSERT INTO bodies VALUES (?, ?)", (number, body))


def as_there_are(connection: sqlite3.Connection, columns: str) -> str:
    """Return columns as a file of an earlier version, which this process only reads, has them."""
    for column, (present, earlier) in _ADDED.items():
        if not has_column(connection, "traces", column):
            columns = columns.replace(present, earlier)
    return columns


def _where(connection: sqlite3.Connection, chosen: TraceFilter) -> tuple[str, list[Any]]:
    """Return a filter's condition and values; a file that does not tell what was cut has nothing that was."""
    where, values = chosen.where()
    return (where if has_column(connection, "traces", "cut") else where.replace(_CUT, "0")), values


def rows(connection: sqlite3.Connection, chosen: TraceFilter, limit: int, offset: int) -> list[TraceRow]:
    """Return a page of traces, newest first."""
    where, values = _where(connection, chosen)
    listed = as_there_are(connection, _LISTED)
    cursor = connection.execute(
        f"SELECT number, {listed} FROM traces{where}{chosen.order()} LIMIT ? OFFSET ?",  # noqa: S608
        [*values, limit, offset],
    )
    return [_row(values) for values in cursor]


def count(connection: sqlite3.Connection, chosen: TraceFilter) -> int:
    """Return how many traces there are."""
    where, values = _where(connection, chosen)
    return int(connection.execute(f"SELECT count(*) FROM traces{where}", values).fetchone()[0])  # noqa: S608


def body_of(connection: sqlite3.Connection, trace_id: str) -> Context | None:
    """Return a whole trace, or None where there is none of that id.

    Raises:
        ConfigError: It cannot be read.
    """
    found = connection.execute(
        "SELECT body FROM traces JOIN bodies USING (number) WHERE id = ?", (trace_id,)
    ).fetchone()
    if found is None:
        return None
    try:
        data = json.loads(zlib.decompress(found[0]))
    except (zlib.error, ValueError, RecursionError) as error:
        msg = f"trace {trace_id} is damaged: {error}"
        raise ConfigError(msg) from error
    return context_from_dict(data)


def _row(values: tuple[Any, ...]) -> TraceRow:
    named = dict(zip(("number", *_LISTED.split(", ")), values, strict=True))
    at, sources = named.pop("at"), json.loads(named.pop("sources"))
    named |= {name: json.loads(named[name]) for name in ("timings", "offered", "source_timings")}
    return TraceRow(time=datetime.fromtimestamp(at, tz=UTC), sources=tuple(sources), **named)


def _milliseconds(context: Context) -> float:
    total = context.timings.get("total")
    elapsed = math.fsum(context.timings.values()) if total is None else float(total)
    return elapsed if math.isfinite(elapsed) else 0.0


def _folded(text: str) -> str:
    return clean_text(text).casefold()
