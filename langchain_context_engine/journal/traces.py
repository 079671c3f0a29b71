"""The journal's traces: written in batches, found by what they tell, listed without their texts."""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.journal.values import TraceRow
from langchain_context_engine.models.clock import read_instant
from langchain_context_engine.models.freeze import clean_text
from langchain_context_engine.models.types import Verdict
from langchain_context_engine.trace.context import Context

__all__ = ["COLUMNS", "Encoded", "body_of", "encode", "insert", "order_by", "rows", "scope_digest", "where"]

Encoded = tuple[tuple[Any, ...], bytes]
"""A trace as the values of its row and its compressed body."""

COLUMNS = (
    "id, at, query, search, candidates, kept, cut, tokens, budget, duplicates, milliseconds, warnings, "
    "status, scope, offered, timings, source_timings, bytes"
)
_LISTED = ("number", *COLUMNS.replace(" search,", "").removesuffix(", bytes").split(", "))
_COUNTED = ("offered", "timings", "source_timings")
_SORTED = {
    "time": "at", "question": "search", "used": "1.0 * tokens / max(budget, 1)",
    **{name: name for name in ("candidates", "kept", "tokens", "budget", "duplicates", "milliseconds")},
    **{name: name for name in ("warnings", "status", "cut")},
}  # fmt: skip
"""What a list can be sorted by."""

_CONDITIONS = {
    "status": "status = ?", "scope": "scope = ?", "query": "query = ?", "since": "at >= ?",
    "until": "at <= ?", "after": "number > ?",
}  # fmt: skip
# What another scope took must not show in which of one are slow.
_SLOW = """milliseconds >= (
    SELECT milliseconds FROM traces WHERE :scope IS NULL OR scope = :scope ORDER BY milliseconds DESC
    LIMIT 1 OFFSET (SELECT count(*) / 20 FROM traces WHERE :scope IS NULL OR scope = :scope)
)"""
_FLAGS = {"is_bare": "kept = 0", "is_cut": "cut > 0", "is_slow": _SLOW}
_LEVEL = 3  # zlib's: twice as fast as its default for a twentieth more bytes


def where(search: str, conditions: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the condition in SQL, with its values, of what `Journal.traces` was given.

    Raises:
        ConfigError: A condition is unknown.
    """
    unknown = sorted(set(conditions) - _CONDITIONS.keys() - _FLAGS.keys() - {"sort", "ascending"})
    if unknown:
        known = ", ".join(["search", *_CONDITIONS, *_FLAGS])
        raise ConfigError(f"traces are not filtered by {', '.join(unknown)}; known are {known}")
    terms, values = [], {"scope": conditions.get("scope")}
    for place, word in enumerate(_folded(search).split()):
        terms.append(f"instr(search, :word{place}) > 0")
        values[f"word{place}"] = word
    for name, term in _CONDITIONS.items():
        if (value := conditions.get(name)) is not None:
            terms.append(term.replace("?", f":{name}"))
            values[name] = _as_stored(name, value)
    terms += [term for name, term in _FLAGS.items() if conditions.get(name)]
    return (f" WHERE {' AND '.join(terms)}" if terms else ""), values


def _as_stored(name: str, value: Any) -> Any:
    if name in {"since", "until"}:
        instant = read_instant(value)
        return value if instant is None else instant.timestamp()
    return value if name == "after" else clean_text(str(value))


def order_by(*, sort: str = "time", ascending: bool = False, **_: Any) -> str:
    """Return the order in SQL; equals come latest first.

    Raises:
        ConfigError: Traces are not sorted by that.
    """
    if sort not in _SORTED:
        raise ConfigError(f"traces are sorted by {', '.join(_SORTED)}, not by {sort!r}")
    return f"{_SORTED[sort]} {'ASC' if ascending else 'DESC'}, at DESC, number DESC"


def rows(
    connection: sqlite3.Connection,
    condition: tuple[str, Mapping[str, Any]],
    page: tuple[int, int],
    order: str,
) -> list[TraceRow]:
    """Return a page of traces.

    Args:
        connection: One that reads.
        condition: See `where`.
        page: How many, and how many are before.
        order: See `order_by`.
    """
    term, values = condition
    cursor = connection.execute(
        f"SELECT {', '.join(_LISTED)} FROM traces{term} ORDER BY {order} LIMIT :limit OFFSET :offset",  # noqa: S608
        {**values, "limit": page[0], "offset": page[1]},
    )
    return [_row(dict(zip(_LISTED, found, strict=True))) for found in cursor]


def _row(named: dict[str, Any]) -> TraceRow:
    named |= {name: json.loads(named[name]) for name in _COUNTED}
    return TraceRow(time=datetime.fromtimestamp(named.pop("at"), tz=UTC), **named)


def encode(trace_id: str, at: float, context: Context, most_bytes: int) -> Encoded:
    """Return a trace as it is written.

    Args:
        trace_id: Its id.
        at: When it was recorded, epoch seconds.
        context: The whole of it.
        most_bytes: How large its body may be.

    Raises:
        ConfigError: The body is larger.
    """
    body = zlib.compress(context.to_json().encode(), _LEVEL)
    if len(body) > most_bytes:
        raise ConfigError(
            f"a trace of {len(body):,} bytes is too large for the journal; give it a larger max_bytes"
        )
    offered = Counter(clean_text(str(candidate.origin)) for candidate in context.candidates)
    query = context.request.query
    row = (
        trace_id, at, clean_text(query), _folded("\n".join([query, *offered])), len(context.candidates),
        len(context.passages), sum(passage.is_truncated for passage in context.passages), context.tokens,
        context.budget, sum(d.verdict is not Verdict.CHANGED and d.is_duplicate for d in context.decisions),
        _milliseconds(context), len(context.warnings), str(context.status),
        scope_digest(context.request.scope), _as_json(offered), _as_json(context.timings),
        _as_json(context.source_timings), len(body),
    )  # fmt: skip
    return row, body


def insert(connection: sqlite3.Connection, encoded: Sequence[Encoded]) -> None:
    """Write encoded traces."""
    marks = ", ".join("?" * len(COLUMNS.split(",")))
    connection.executemany(
        f"INSERT INTO traces ({COLUMNS}) VALUES ({marks})",  # noqa: S608 - constants only
        [row for row, _ in encoded],
    )
    connection.executemany("INSERT INTO bodies VALUES (?, ?)", [(row[0], body) for row, body in encoded])


def body_of(connection: sqlite3.Connection, trace_id: str) -> Context | None:
    """Return a whole trace, or None where there is none of that id.

    Raises:
        ConfigError: It cannot be read.
    """
    found = connection.execute("SELECT body FROM bodies WHERE id = ?", (trace_id,)).fetchone()
    if found is None:
        return None
    try:
        data = json.loads(zlib.decompress(found[0]))
    except (zlib.error, ValueError, RecursionError) as error:
        raise ConfigError(f"trace {trace_id} is damaged: {type(error).__name__}") from error
    return Context.from_dict(data)


def scope_digest(scope: object) -> str:
    """Return a digest of a scope, whatever the order of its keys and of a list's values; "" of none."""
    if not isinstance(scope, Mapping) or not scope:
        return ""
    parts = sorted(
        (str(name), sorted(map(repr, value)) if isinstance(value, (list, tuple, set)) else [repr(value)])
        for name, value in scope.items()
    )
    return hashlib.blake2b(repr(parts).encode("utf-8", "replace"), digest_size=8).hexdigest()


def _milliseconds(context: Context) -> float:
    total = context.timings.get("total")
    elapsed = math.fsum(context.timings.values()) if total is None else float(total)
    return elapsed if math.isfinite(elapsed) else 0.0


def _as_json(figures: Mapping[str, float]) -> str:
    return json.dumps({clean_text(name): round(figure, 3) for name, figure in figures.items()})


def _folded(text: str) -> str:
    return clean_text(text).casefold()
