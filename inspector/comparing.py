"""Two or more contexts side by side, candidate by candidate. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from inspector import wording
from inspector.columns import Column, GridRow
from inspector.palette import fate_of
from inspector.tables import label_of, one_line, option_of, places
from langchain_context_engine import Context
from langchain_context_engine.answering.deviations import differing
from langchain_context_engine.answering.explain import Row
from langchain_context_engine.answering.traces import Diff
from langchain_context_engine.values.types import Key, Verdict

__all__ = [
    "MOVE_COLUMNS",
    "aligned",
    "aligned_columns",
    "arrow",
    "moves",
    "settings_table",
    "told",
    "told_moves",
]

_SHORT = 400
_NAMED = 3

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


def told_moves(difference: Diff, rows: Sequence[Row], where: Mapping[Key, str]) -> str:
    """Return a difference in words, with the names of what entered and left."""
    titles = {row.key: where.get(row.key) or one_line(row.title or row.text, 50) for row in rows}
    parts = []
    for verb, keys in (("Entered", difference.entered), ("Left", difference.left)):
        if keys:
            names = "; ".join(titles.get(key) or key[1] for key in keys[:_NAMED])
            more = f" and {len(keys) - _NAMED} more" if len(keys) > _NAMED else ""
            parts.append(f"{verb}: {names}{more}.")
    # What is named need not be counted; "8 left" could be read as those that remain.
    stayed = any(_stayed(difference).values())
    return " ".join((*parts, *([_counted(_stayed(difference))] if stayed or not parts else [])))


def aligned_columns(names: Sequence[str]) -> list[Column]:
    """Return the columns of `aligned`: fate, place and score of each context."""
    columns: list[Column] = [
        {"name": "where", "label": "Place", "kind": "place", "width": 150},
        {"name": "text", "label": "Text"},
    ]
    for name in names:
        columns += [
            {"name": f"{name} fate", "label": f"{name} fate", "kind": "fate", "width": 122},
            {"name": f"{name} place", "label": f"{name} #", "kind": "number", "width": 44},
            {"name": f"{name} score", "label": f"{name} score", "kind": "number", "width": 64},
        ]
    return columns


def aligned(
    columns: Mapping[str, Sequence[Row]], contexts: Mapping[str, Context], *, only: bool
) -> list[GridRow]:
    """Return one row a candidate that any of several contexts ranked: its fate, place and score in each.

    Args:
        columns: What each context is called → its rows.
        contexts: What each is called → the context.
        only: Those that the contexts treat differently.

    Returns:
        Rows by the best place anywhere.
    """
    where = {key: place for context in contexts.values() for key, place in places(context.candidates).items()}
    found: dict[Key, dict[str, Row]] = {}
    for name, rows in columns.items():
        for row in rows:
            found.setdefault(row.key, {})[name] = row
    table: list[tuple[int, GridRow]] = []
    for key, by_name in found.items():
        if only and len({_inside(by_name.get(name)) for name in columns}) == 1:
            continue
        text = next(iter(by_name.values()))
        cells: dict[str, Any] = {"where": where.get(key) or text.title, "text": one_line(text.text)}
        for name in columns:
            own = by_name.get(name)
            cells[f"{name} fate"] = fate_of(own.verdict, own.reason) if own else "not offered"
            cells[f"{name} place"] = str(own.place or "") if own else ""
            cells[f"{name} score"] = wording.ratio(own.score) if own and own.score is not None else ""
        best = min((row.place or 10**6 for row in by_name.values()), default=10**6)
        table.append((best, {"id": option_of(key), "cells": cells}))
    return [entry for _, entry in sorted(table, key=lambda item: (item[0], item[1]["id"]))]


def _inside(row: Row | None) -> str:
    return str(row.reason) if row is not None and row.verdict is Verdict.KEPT else "out"


def settings_table(contexts: Mapping[str, Context]) -> list[dict[str, str]]:
    """Return the settings in which some contexts differ, one row a setting; the question's fields too."""
    return [
        {"setting": setting, **{name: _short(value) for name, value in values.items()}}
        for setting, values in differing(contexts).items()
    ]


def _short(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return wording.number(value)
    return wording.UNKNOWN if value is None else str(value)[:_SHORT]
