"""Two contexts, before and after, candidate by candidate. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from inspector import wording
from inspector.columns import Column, GridRow
from inspector.palette import fate_of
from inspector.tables import label_of, one_line, option_of
from langchain_context_engine.models.types import Key
from langchain_context_engine.trace.diff import Diff
from langchain_context_engine.trace.explain import Row

__all__ = [
    "MOVE_COLUMNS",
    "arrow",
    "moves",
    "told",
    "told_moves",
]

_NAMED = 3
_LONGEST = 64

MOVE_COLUMNS: Sequence[Column] = (
    {"name": "place", "label": "#", "kind": "number", "width": 34, "narrow": True},
    {"name": "moved", "label": "Moved", "width": 62, "narrow": True},
    {"name": "change", "label": "Change", "width": 72, "narrow": True},
    {"name": "fate", "label": "Fate", "kind": "fate", "width": 128},
    {"name": "before", "label": "Fate before", "kind": "fate", "width": 128},
    {"name": "where", "label": "Place", "kind": "place", "width": 150},
    {"name": "text", "label": "Text", "narrow": True},
    {"name": "tokens", "label": "Tokens", "kind": "number", "width": 58},
    {"name": "score", "label": "Score", "kind": "number", "width": 54},
)


def moves(
    before: Sequence[Row], after: Sequence[Row], difference: Diff, where: Mapping[Key, str], *, only: bool
) -> list[GridRow]:
    """Return one row a candidate: where it stood, where it stands, and what became of it.

    Ordered by the place after; those no longer ranked last.

    Args:
        before: What was recorded.
        after: What is tried.
        difference: From the one to the other.
        where: Where each candidate is from.
        only: Those whose place, fate or text changed.
    """
    was = {row.key: row for row in before}
    table: list[GridRow] = []
    for row in after:
        old = was.get(row.key)
        moved = arrow(old.place if old else None, row.place)
        change, fate_before = _change(row, difference), _other_fate(old, row)
        if only and not change and not fate_before and moved in {"=", ""}:
            continue
        table.append(
            {
                "id": option_of(row.key),
                "label": label_of(row, where.get(row.key, "")),
                "cells": {
                    "place": str(row.place or ""),
                    "moved": moved,
                    "change": change,
                    "fate": fate_of(row.verdict, row.reason),
                    "before": fate_before,
                    "where": where.get(row.key) or row.title,
                    "text": one_line(row.text),
                    "tokens": wording.number(row.tokens) if row.tokens else "",
                    "score": wording.ratio(row.score) if row.score is not None else "",
                },
            }
        )
    return table


def _change(row: Row, difference: Diff) -> str:
    changed = {"entered": difference.entered, "left": difference.left, "cut anew": difference.recut}
    return next((name for name, keys in changed.items() if row.key in keys), "")


def _other_fate(old: Row | None, row: Row) -> str:
    if old is None or (old.verdict, old.reason) == (row.verdict, row.reason):
        return ""
    return fate_of(old.verdict, old.reason)


def arrow(before: int | None, after: int | None) -> str:
    """Return how far a candidate moved, in words a table can show.

    Example:
        >>> arrow(5, 2), arrow(2, 5), arrow(3, 3), arrow(None, 1)
        ('▲ 3', '▼ 3', '=', 'new')
    """
    if after is None:
        return "" if before is None else "unranked"
    if before is None:
        return "new"
    if before == after:
        return "="
    return f"▲ {before - after}" if after < before else f"▼ {after - before}"


def told(difference: Diff) -> str:
    """Return a difference in one sentence.

    Example:
        >>> from langchain_context_engine import Context, diff
        >>> told(diff(Context(), Context()))
        'Nothing changed in the text.'
    """
    return _counted({"entered": difference.entered, "left": difference.left, **_stayed(difference)})


def _stayed(difference: Diff) -> dict[str, Collection[Key]]:
    return {"moved": difference.moved, "cut anew": difference.recut}


def _counted(told: Mapping[str, Collection[Key]]) -> str:
    parts = [f"{len(keys)} {name}" for name, keys in told.items() if keys]
    return f"{', '.join(parts)}.".capitalize() if parts else "Nothing changed in the text."


def _end_of(place: str) -> str:
    """Return a place; of a long one its end, where the file and its lines stand."""
    return place if len(place) <= _LONGEST else f"…{place[1 - _LONGEST :]}"


def told_moves(difference: Diff, rows: Sequence[Row], where: Mapping[Key, str]) -> str:
    """Return a difference in words, with the names of what entered and left."""
    titles = {row.key: _end_of(where.get(row.key, "")) or one_line(row.title or row.text, 50) for row in rows}
    parts = []
    for verb, keys in (("Entered", difference.entered), ("Left", difference.left)):
        if keys:
            names = "; ".join(wording.isolated(titles.get(key) or key[1]) for key in keys[:_NAMED])
            more = f" and {len(keys) - _NAMED} more" if len(keys) > _NAMED else ""
            parts.append(f"{verb}: {names}{more}.")
    # What is named need not be counted; "8 left" could be read as those that remain.
    stayed = any(_stayed(difference).values())
    return " ".join((*parts, *([_counted(_stayed(difference))] if stayed or not parts else [])))
