"""Contexts side by side, candidate by candidate: before and after, or several answers. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from inspector import wording
from inspector.candidates import base_cells
from inspector.grid import Column, GridRow
from inspector.knobs import differing
from inspector.wording import one_line, option_of
from langchain_context_engine import Context
from langchain_context_engine.models.types import Key
from langchain_context_engine.trace.explain import Row
from langchain_context_engine.trace.replay import Diff

NOT_OFFERED = "not offered"
_NAMED = 3
_CHANGES = 6
_LONGEST_NAME, _LONGEST = 64, 80
_UNRANKED = 10**6
_FEW = 3
_GROUPS = ("Not alike in the texts", "In no text, for different reasons", "Treated alike")
_ALIKE = 2


def told_moves(difference: Diff, rows: Sequence[Row]) -> str:
    """Return a difference in words, with the names of what entered and left."""
    names = {row.key: row.label for row in rows}
    told = told_keys({"Entered": difference.entered, "Left": difference.left}, names)
    # What is named need not be counted; "8 left" could be read as those that remain.
    stayed = (("moved", difference.moved), ("cut anew", difference.recut))
    if counted := ", ".join(f"{len(keys)} {name}" for name, keys in stayed if keys):
        told += f" {counted}."
    return told.strip() or "Nothing changed in the text."


def told_keys(
    keys_by_verb: Mapping[str, Sequence[Key]], names: Mapping[Key, str], *, most: int = _NAMED
) -> str:
    """Return what becomes of some candidates in words, each by its name; of many the first few."""
    parts = []
    for verb, keys in keys_by_verb.items():
        if keys:
            first = "; ".join(_name(names.get(key) or key[1]) for key in keys[:most])
            more = f" and {len(keys) - most} more" if len(keys) > most else ""
            parts.append(f"{verb}: {first}{more}.")
    return " ".join(parts)


def _name(label: str) -> str:
    """Return a name; of a long one file and last heading, or its last words.

    One that is written from right to left turns nothing else round.
    """
    shown = " ".join(label.split())
    file, *steps = shown.split(" › ")
    if len(shown) > _LONGEST_NAME and len(steps) > 1:
        shown = f"{file} › … › {steps[-1]}"
    if len(shown) > _LONGEST_NAME:
        first = len(shown) - _LONGEST_NAME + 1
        begins = (found.end() for found in re.finditer("[ /]", shown))
        # A word that is longer than that itself is cut.
        shown = f"…{shown[next((place for place in begins if place >= first), first) :]}"
    return shown if shown.isascii() else f"\u2068{shown}\u2069"


def aligned_columns(names: Sequence[str]) -> list[Column]:
    """Return the columns of `aligned`: fate, rank, place in the text and score of each context."""
    columns: list[Column] = [
        {
            "name": "where",
            "label": "Place",
            "kind": "place",
            "width": 190 if len(names) <= _FEW else 150,
            "narrow": True,
        },
        {"name": "text", "label": "Text"},
    ]
    for name in names:
        columns += [
            {"name": f"{name} fate", "label": f"{name} fate", "kind": "fate", "width": 112, "narrow": True},
            {"name": f"{name} place", "label": f"{name} #", "kind": "number", "width": 38, "help": "rank"},
            {"name": f"{name} in text", "label": f"{name} in text", "kind": "number", "width": 62},
            {"name": f"{name} score", "label": f"{name} score", "kind": "number", "width": 58},
        ]
    return columns


def aligned(
    columns: Mapping[str, Sequence[Row]], contexts: Mapping[str, Context], *, only: bool
) -> list[GridRow]:
    """Return one row a candidate that any of several contexts ranked: its fate, rank, place and score.

    Returns:
        Under a line each: what is not alike in the texts, what is in none for different reasons, what is
        treated alike; in each by the best place anywhere.
    """
    groups: list[list[tuple[int, GridRow]]] = [[] for _ in _GROUPS]
    texts = [{passage.key: passage.text for passage in contexts[name].passages} for name in columns]
    places = [{key: str(place) for place, key in enumerate(text, 1)} for text in texts]
    for key, by_name in by_key(columns).items():
        of_each = [by_name.get(name) for name in columns]
        first = next(iter(by_name.values()))
        cells: dict[str, Any] = {"where": first.label, "text": one_line(first.text)}
        for name, own, in_text in zip(columns, of_each, places, strict=True):
            said = base_cells(own) if own else {"fate": NOT_OFFERED}
            cells |= {f"{name} {what}": said.get(what, "") for what in ("fate", "place", "tokens", "score")}
            cells[f"{name} in text"] = in_text.get(key, "")
        best = min(row.place or _UNRANKED for row in by_name.values())
        if len({text.get(key) for text in texts}) > 1:
            kind = 0
        else:
            kind = _ALIKE if len({row and row.reason for row in of_each}) == 1 else 1
        groups[kind].append((best, {"id": option_of(key), "cells": cells}))
    table: list[GridRow] = []
    for name, group in list(zip(_GROUPS, groups, strict=True))[: _ALIKE if only else None]:
        if group:
            table.append({"line": f"{name}: {wording.number(len(group))}"})
            table += [entry for _, entry in sorted(group, key=lambda item: (item[0], item[1]["id"]))]
    return table


def by_key(columns: Mapping[str, Sequence[Row]]) -> dict[Key, dict[str, Row]]:
    """Return the rows of each candidate: key → what a context is called → its row there."""
    found: dict[Key, dict[str, Row]] = {}
    for name, rows in columns.items():
        for row in rows:
            found.setdefault(row.key, {})[name] = row
    return found


def changed(first: Context, other: Context) -> str:
    """Return in one line what was asked or set otherwise than for the first answer; "" for nothing."""
    told = [
        "another question" if setting == "question" else f"{setting} {_short(was)} → {_short(now)}"
        for setting, (was, now) in differing(first, other).items()
    ]
    more = [f"and {len(told) - _CHANGES} more"] if len(told) > _CHANGES else []
    return "; ".join(told[:_CHANGES] + more)


def _short(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return wording.number(value)
    return wording.UNKNOWN if value is None else one_line(str(value), _LONGEST)
