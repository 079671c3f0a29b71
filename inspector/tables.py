"""Rows that the pages draw, from traces and contexts. Pure: no Streamlit, no store, no clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import tzinfo

from inspector import wording
from inspector.columns import Column, GridRow
from inspector.figures.budget_usage import last_kept, near_misses, used
from inspector.figures.fates import known_by, score_parts
from inspector.marking import pieces
from inspector.palette import fate_of, stacked
from langchain_context_engine.journal.values import TraceRow
from langchain_context_engine.models.types import Candidate, Key
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.explain import Row

__all__ = [
    "MISS_COLUMNS",
    "TRACE_COLUMNS",
    "WITHOUT_WORDS",
    "label_of",
    "miss_rows",
    "one_line",
    "option_of",
    "options",
    "places",
    "ranked_columns",
    "ranked_rows",
    "score_tree",
    "trace_rows",
]

_SNIPPET = 160
WITHOUT_WORDS = "(asked without words)"
"""What stands for a question that has none: it was asked by a vector, or is blank."""

TRACE_COLUMNS: Sequence[Column] = (
    {"name": "tick", "label": "Compare", "kind": "tick", "width": 66, "narrow": True},
    {"name": "time", "label": "Asked", "width": 158, "sorts": True},
    {"name": "question", "label": "Question", "sorts": True, "narrow": True},
    {"name": "status", "label": "Status", "width": 72, "sorts": True, "narrow": True},
    {"name": "kept", "label": "Passages", "kind": "number", "width": 86, "sorts": True},
    {"name": "candidates", "label": "Candidates", "kind": "number", "width": 94, "sorts": True},
    {"name": "cut", "label": "Cut", "kind": "number", "width": 48, "sorts": True},
    {"name": "duplicates", "label": "Duplicates", "kind": "number", "width": 90, "sorts": True},
    {"name": "tokens", "label": "Tokens", "kind": "number", "width": 74, "sorts": True},
    {"name": "used", "label": "Budget used", "kind": "share", "width": 112, "sorts": True},
    {"name": "milliseconds", "label": "ms", "kind": "number", "width": 60, "sorts": True},
    {"name": "warnings", "label": "Warnings", "kind": "number", "width": 84, "sorts": True},
)

RANKED_COLUMNS: Sequence[Column] = (
    {"name": "place", "label": "#", "kind": "number", "width": 34, "narrow": True},
    {"name": "fate", "label": "Fate", "kind": "fate", "width": 126, "narrow": True},
    {"name": "score", "label": "Score", "kind": "number", "width": 52},
    {"name": "bar", "label": "Made of", "kind": "bar", "width": 62, "help": "weight × signal, stacked"},
    {"name": "where", "label": "Place", "kind": "place", "width": 150},
    {"name": "text", "label": "Text", "narrow": True},
    {"name": "tokens", "label": "Tokens", "kind": "number", "width": 56},
    {"name": "cite", "label": "Cite", "width": 40},
    {"name": "source", "label": "Source", "width": 80},
)


MISS_COLUMNS: Sequence[Column] = (
    {"name": "place", "label": "#", "kind": "number", "width": 34},
    {"name": "where", "label": "Place", "kind": "place", "width": 300},
    {"name": "text", "label": "Text"},
    {"name": "why", "label": "Why it is not in", "width": 460},
)


def ranked_columns(signals: int) -> list[Column]:
    """Return the columns of `ranked_rows`: of one signal the score says all, and its place has the room."""
    if signals > 1:
        return list(RANKED_COLUMNS)
    wide: Column = {"name": "where", "label": "Place", "kind": "place", "width": 212}
    return [wide if c["name"] == "where" else c for c in RANKED_COLUMNS if c["name"] != "bar"]


def trace_rows(traces: Iterable[TraceRow], zone: tzinfo) -> list[GridRow]:
    """Return one row for each recorded question, in the order given, times where the viewer is."""
    return [
        {
            "id": trace.id,
            "label": one_line(trace.query, 60),
            "cells": {
                "time": wording.time(trace.time, zone),
                "question": one_line(trace.query) or WITHOUT_WORDS,
                "status": str(trace.status),
                "kept": wording.number(trace.kept),
                "candidates": wording.number(trace.candidates),
                "cut": wording.number(trace.cut) if trace.cut else "",
                "duplicates": wording.number(trace.duplicates) if trace.duplicates else "",
                "tokens": wording.number(trace.tokens),
                "used": _used(trace),
                "milliseconds": wording.number(trace.milliseconds),
                "warnings": wording.number(trace.warnings) if trace.warnings else "",
            },
        }
        for trace in traces
    ]


def _used(trace: TraceRow) -> tuple[float, str] | None:
    share = used(trace.tokens, trace.budget)
    return None if share is None else (min(1.0, share), wording.share(share))


def option_of(key: Key) -> str:
    """Return what stands for a candidate in an address and a list: source/id, no two alike.

    Example:
        >>> option_of(("notes", "a/b")), option_of(("notes/a", "b"))
        ('notes/a/b', 'notes%2Fa/b')
    """
    source = key[0].replace("%", "%25").replace("/", "%2F")
    return f"{source}/{key[1]}"


def options(rows: Iterable[Row]) -> dict[str, Row]:
    """Return the rows by what stands for them."""
    return {option_of(row.key): row for row in rows}


def places(candidates: Iterable[Candidate]) -> dict[Key, str]:
    """Return where each candidate is from."""
    return {candidate.key: known_by(candidate) for candidate in candidates}


def label_of(row: Row, place: str = "") -> str:
    """Return a candidate in one line: its rank, where it is from, what it begins with."""
    rank = f"{row.place}." if row.place else "–"
    # A title that its place tells already says nothing more; its text does.
    told = row.text if not row.title or row.title in place else row.title
    return f"{rank} {place or row.key[0]} · {one_line(told, 60)}"


def one_line(text: str, length: int = _SNIPPET) -> str:
    """Return a text's beginning on one line."""
    line = " ".join(text[: 4 * length].split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


def miss_rows(rows: Sequence[Row], where: Mapping[Key, str]) -> list[GridRow]:
    """Return one row for each of `near_misses`: its rank, where it is from, its beginning, the reason."""
    return [
        {
            "id": option_of(row.key),
            "label": label_of(row, where.get(row.key, "")),
            "cells": {
                "place": str(row.place or ""),
                "where": where.get(row.key) or row.title,
                "text": one_line(row.text),
                "why": row.sentence.removeprefix("dropped: "),
            },
        }
        for row in near_misses(rows)
    ]


def ranked_rows(
    context: Context,
    rows: Sequence[Row],
    colours: Mapping[str, str],
    terms: Sequence[str],
    *,
    everyone: Sequence[Row] | None = None,
) -> list[GridRow]:
    """Return one row for each candidate, and a line where the budget cut, drawn from all rows or not at all.

    Args:
        context: What was built.
        rows: From `explain.rows`, best first, perhaps filtered.
        colours: Signal → colour.
        terms: What the question asks for, marked in every text.
        everyone: All rows, where `rows` are filtered.
    """
    full = max((row.score or 0.0 for row in rows), default=0.0) or 1.0
    where = places(context.candidates)
    table: list[GridRow] = []
    line = last_kept(rows) if everyone is None or len(everyone) == len(rows) else None
    for index, row in enumerate(rows):
        table.append(
            {
                "id": option_of(row.key),
                "label": label_of(row, where.get(row.key, "")),
                "cells": {
                    "place": str(row.place or ""),
                    "fate": fate_of(row.verdict, row.reason),
                    "score": wording.ratio(row.score) if row.score is not None else "",
                    "bar": stacked(row.contributions, colours, full=full) or None,
                    "where": where.get(row.key) or row.title,
                    "text": pieces(one_line(row.text), terms),
                    "tokens": wording.number(row.tokens or row.details.get("needed") or None)
                    if row.tokens or row.details.get("needed")
                    else "",
                    "cite": row.citation,
                    "source": row.key[0],
                },
            }
        )
        if index == line:
            used = f"{context.tokens:,} of {context.budget:,} tokens are used"
            table.append({"line": f"Nothing below this line got in: {used}"})
    return table


def score_tree(row: Row) -> list[tuple[int, str, str]]:
    """Return what a score is made of, as lines: how deep, what, its numbers; a signal's parts under it.

    Signals without a weight come last, at the top level.
    """
    lines = []
    for part in score_parts(row):
        if part.adds is None:
            told = wording.ratio(part.value) + ("" if part.depth else " (no weight)")
        else:
            told = wording.ratio(part.value)
            if part.weight is not None:
                told += f" × {part.weight:.2f} (weight) = {wording.ratio(part.adds)}"
        lines.append((part.depth, part.name, told))
    return lines
