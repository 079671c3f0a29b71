"""Several contexts side by side: every candidate with what became of it in each, and the settings. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from inspector import wording
from inspector.columns import Column, GridRow
from inspector.figures.settings_diff import differing
from inspector.palette import fate_of
from inspector.tables import one_line, option_of, places
from langchain_context_engine import Context
from langchain_context_engine.models.types import Key, Verdict
from langchain_context_engine.trace.explain import Row

__all__ = ["NOT_OFFERED", "aligned", "aligned_columns", "by_key", "changed", "settings_table"]

NOT_OFFERED = "not offered"

_LONGEST, _SHORT = 400, 24
_UNRANKED = 10**6
_FEW = 3
_GROUPS = ("Not alike in the texts", "In no text, for different reasons", "Treated alike")
_ALIKE = 2


def aligned_columns(names: Sequence[str]) -> list[Column]:
    """Return the columns of `aligned`: fate, place and score of each context."""
    columns: list[Column] = [
        {"name": "where", "label": "Place", "kind": "place", "width": 210 if len(names) <= _FEW else 150},
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
        Under a line each: what is not alike in the texts, what is in none for different reasons, what is
        treated alike; in each by the best place anywhere.
    """
    where = {key: place for context in contexts.values() for key, place in places(context.candidates).items()}
    groups: list[list[tuple[int, GridRow]]] = [[] for _ in _GROUPS]
    for key, by_name in by_key(columns).items():
        of_each = [by_name.get(name) for name in columns]
        text = next(iter(by_name.values()))
        cells: dict[str, Any] = {"where": where.get(key) or text.title, "text": one_line(text.text)}
        for name, own in zip(columns, of_each, strict=True):
            cells[f"{name} fate"] = fate_of(own.verdict, own.reason) if own else NOT_OFFERED
            cells[f"{name} place"] = str(own.place or "") if own else ""
            cells[f"{name} score"] = wording.ratio(own.score) if own and own.score is not None else ""
        best = min(row.place or _UNRANKED for row in by_name.values())
        groups[_group(of_each)].append((best, {"id": option_of(key), "cells": cells}))
    table: list[GridRow] = []
    for told, group in list(zip(_GROUPS, groups, strict=True))[: _ALIKE if only else None]:
        if group:
            table.append({"line": f"{told}: {wording.number(len(group))}"})
            table += [entry for _, entry in sorted(group, key=lambda item: (item[0], item[1]["id"]))]
    return table


def by_key(columns: Mapping[str, Sequence[Row]]) -> dict[Key, dict[str, Row]]:
    """Return the rows of each candidate: key → what a context is called → its row there."""
    found: dict[Key, dict[str, Row]] = {}
    for name, rows in columns.items():
        for row in rows:
            found.setdefault(row.key, {})[name] = row
    return found


def _group(of_each: Sequence[Row | None]) -> int:
    if len({_inside(row) for row in of_each}) > 1:
        return 0
    is_alike = len({row and row.reason for row in of_each}) == 1
    return _ALIKE if is_alike else 1


def _inside(row: Row | None) -> str:
    return str(row.reason) if row is not None and row.verdict is Verdict.KEPT else "out"


def settings_table(contexts: Mapping[str, Context]) -> list[dict[str, str]]:
    """Return the settings in which some contexts differ, one row a setting; the question's fields too."""
    return [
        {"setting": setting, **{name: _short(value) for name, value in values.items()}}
        for setting, values in differing(contexts).items()
    ]


def changed(first: Context, other: Context) -> str:
    """Return in one line what was asked or set otherwise than for the first answer; "" for nothing."""
    told = [
        "another question"
        if row["setting"] == "question"
        else f"{row['setting']} {one_line(row['A'], _SHORT)} → {one_line(row['B'], _SHORT)}"
        for row in settings_table({"A": first, "B": other})
    ]
    return "; ".join(told)


def _short(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return wording.number(value)
    return wording.UNKNOWN if value is None else str(value)[:_LONGEST]
