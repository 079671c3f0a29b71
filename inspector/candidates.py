"""Candidates as rows, and what they took of the budget: fates, scores, groups, bars of HTML. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from html import escape
from typing import NamedTuple

from inspector import wording
from inspector.grid import Column, GridRow
from inspector.knobs import budget_of, group_of
from inspector.marking import ALIKE, pieces
from inspector.palette import GREY, OTHERS, RED, ROOM, colours_of, fate_of, fell_for, stacked
from inspector.wording import one_line, option_of
from langchain_context_engine.journal.traces import folded
from langchain_context_engine.models.budget import split_tokens
from langchain_context_engine.models.types import Decision, Key, Reason, Verdict
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.explain import Names, Row
from langchain_context_engine.trace.labels import meant

SHOWN = ("All", "In the context", "Near misses", "Left out", "Duplicates")
"""What rows can be narrowed to: near misses lacked only room; duplicates have what they repeat beside."""

RANKED_COLUMNS: Sequence[Column] = (
    {"name": "place", "label": "#", "kind": "number", "width": 46, "help": "rank"},
    {"name": "where", "label": "Place", "kind": "place", "width": 212, "narrow": True},
    {"name": "fate", "label": "Fate", "kind": "fate", "width": 126, "narrow": True},
    {"name": "score", "label": "Score", "kind": "number", "width": 52, "narrow": True},
    {"name": "bar", "label": "Made of", "kind": "bar", "width": 62, "help": "weight × signal, stacked"},
    {"name": "text", "label": "Text"},
    {
        "name": "tokens",
        "label": "Tokens",
        "kind": "number",
        "width": 70,
        "help": "What it takes with marker and place; in part/whole; of what is out, what it needed.",
    },
    {"name": "cite", "label": "Cite", "width": 40},
)

ROOM_COLUMNS: Sequence[Column] = (
    {"name": "left", "label": "Left", "kind": "number", "width": 60, "help": "tokens left at its turn"},
    {
        "name": "from",
        "label": "In with budget",
        "width": 190,
        "help": "≤: not every smaller one was tried; out: one above it does not; how many enter and leave",
    },
)


def fates_told(context: Context) -> str:
    """Return in one line how many candidates were offered, how many are in, and what the others fell for."""
    final = context.final_decisions().values()
    fell = Counter(fell_for(one) for one in final if one.verdict is Verdict.DROPPED)
    told = [f"{len(final):,} offered", f"{len(final) - fell.total():,} in"]
    for reason, count in fell.most_common():
        words = fate_of(Verdict.DROPPED, reason).removeprefix("out · ")
        told.append(wording.counted(count, words) if reason is Reason.DUPLICATE else f"{count:,} {words}")
    return " · ".join(told)


class Part(NamedTuple):
    """A line of what a score is made of: its depth, value and weight, what it adds, its share of the whole.

    Value, weight and share are 0–1; the last three are None where a signal has no weight of its own.
    """

    depth: int
    name: str
    value: float | None
    weight: float | None = None
    adds: float | None = None
    share: float | None = None


def score_tree(row: Row) -> list[Part]:
    """Return what a score is made of; what adds most comes first.

    The parts of relevance stand under it; signals without a weight come last.
    """
    lines: list[Part] = []
    parts = {name: value for name, value in row.signals.items() if name not in row.contributions}
    for name, adds in sorted(row.contributions.items(), key=lambda item: -item[1]):
        value = row.signals.get(name)
        share = adds / row.score if row.score else None
        lines.append(Part(0, name, value, adds / value if value else None, adds, share))
        if name == "relevance":
            lines += [Part(1, *part) for part in parts.items()]
            parts = {}
    return lines + [Part(0, *part) for part in parts.items()]


def rows_like(
    rows: Sequence[Row], shown: str = "All", search: str = "", context: Context | None = None
) -> list[Row]:
    """Return the rows of one kind of `SHOWN` that hold every word searched, whatever its case and accents.

    Where none does, those that are meant by it in their context: what holds a line of a file, say.
    """
    words = folded(search).split()
    told = (row.details.get(name) for row in rows for name in ("winner", "duplicate_of"))
    repeated = {tuple(key) for key in told if key}
    of_kind = [row for row in rows if _is_shown(row, shown, repeated)]
    if (like := [row for row in of_kind if _holds(row, words)]) or context is None:
        return like
    keys = set(meant(search, context))
    return [row for row in of_kind if row.key in keys]


def meant_by(rows: Sequence[Row], search: str) -> Row | None:
    """Return what a person means who asks why something is missing: the best ranked that was left out.

    Where all that is like it stands in the context, the best ranked of that; None where nothing is like it
    or nothing is searched.
    """
    like = rows_like(rows, search=search) if search.strip() else []
    return next((row for row in like if row.verdict is Verdict.DROPPED), like[0] if like else None)


def _is_shown(row: Row, shown: str, repeated: Collection[Key]) -> bool:
    if shown == "Duplicates":
        return fell_for(row) is Reason.DUPLICATE or row.key in repeated
    if shown == "In the context":
        return row.verdict is Verdict.KEPT
    if shown == "Near misses":
        return fell_for(row) in ROOM
    return shown != "Left out" or row.verdict is Verdict.DROPPED


def _holds(row: Row, words: Sequence[str]) -> bool:
    text = folded(f"{row.key[0]} {row.key[1]} {row.label} {row.title} {row.text}") if words else ""
    return all(word in text for word in words)


def sources_told(context: Context, search: str) -> list[str]:
    """Return what became of asked sources whose name holds every word searched: late, failed, answered."""
    words, offered = folded(search).split(), Counter(candidate.origin for candidate in context.candidates)
    told = []
    for source, waited in context.source_timings.items():
        if words and all(word in folded(source) for word in words):
            failed = [one for one in context.warnings if one.startswith(f"source {source!r} failed")]
            most = context.settings.get("timeout_seconds")
            of = f" of {1000 * most:,.0f}" if failed and isinstance(most, int | float) else ""
            what = (
                "; ".join(failed)
                or f"source {source!r} answered with {wording.counted(offered[source], 'candidate')}"
            )
            told.append(f"{wording.sentence(what)[:-1]} (waited {waited:,.0f}{of} ms).")
    return told


def ranked_columns(signals: int) -> list[Column]:
    """Return the columns of `ranked_rows`: of one signal the score says all."""
    return [column for column in RANKED_COLUMNS if signals > 1 or column["name"] != "bar"]


def ranked_rows(
    context: Context,
    rows: Sequence[Row],
    colours: Mapping[str, str],
    terms: Sequence[str],
    *,
    everyone: Sequence[Row] | None = None,
    wholes: Mapping[Key, int] | None = None,
    admits: Mapping[Key, str] | None = None,
) -> list[GridRow]:
    """Return one row for each candidate, and where `rows` are everyone's a line where the budget cut.

    Of what stands, or lacked room, in part its `wholes` are told beside it.
    What is in no ranking since it repeats another stands beneath that, which tells how many there are.
    """
    rows, copies = beneath(context, rows)
    known = {row.key: f"#{row.place}" if row.place else row.label for row in everyone or rows}
    final = context.final_decisions()
    full = max((row.score or 0.0 for row in rows), default=0.0) or 1.0
    # Its labels take milliseconds, which each step of a walk would wait for.
    names = Names(context) if any(row.details.get("similarity") == ALIKE for row in rows) else None
    table: list[GridRow] = []
    line = last_kept(rows) if everyone is None or len(everyone) == len(rows) else None
    for index, row in enumerate(rows):
        cells = base_cells(row) | {
            "bar": stacked(row.contributions, colours, full=full) or None,
            "cite": row.citation,
            "from": (admits or {}).get(row.key, ""),
        }
        told = (
            f"stands for {copies[row.key]} "
            if copies[row.key]
            else repeats_told(row, final[row.key], names, known)
        )
        text = pieces(one_line(row.text), terms)
        cells["text"] = [(told, True), *text] if told else text
        if wholes and row.key in wholes and row.verdict is Verdict.KEPT:
            cells["tokens"] = f"{cells['tokens']}/{wording.number(wholes[row.key])}"
        table.append({"id": option_of(row.key), "label": row.label, "cells": cells})
        if index == line:
            told = f"{context.tokens:,} of {context.budget:,} tokens are used"
            table.append({"line": f"Nothing below this line got in: {told}"})
    return table


def repeats_told(row: Row, decision: Decision, names: Names | None, known: Mapping[Key, str]) -> str:
    """Return whom a duplicate repeats, and how alike they are; "" of others.

    No share is told of what is alike in all that was compared: by what is.
    """
    if decision.repeats is None:
        return ""
    alike = row.details.get("similarity")
    how = names.how_alike(decision) if names else ""
    if isinstance(alike, int | float) and alike < ALIKE:
        how = f"{math.floor(alike)} % alike"
    return f"repeats {known.get(decision.repeats, decision.repeats[1])}{f', {how}' if how else ''} "


def beneath(context: Context, rows: Sequence[Row]) -> tuple[list[Row], Counter[Key]]:
    """Return rows with what repeats another, and has no rank, beneath that; and how many each has there."""
    final, shown = context.final_decisions(), {row.key for row in rows}
    of = {row.key: final[row.key].repeats for row in rows if row.place is None and row.key in final}
    of = {key: winner for key, winner in of.items() if winner in shown and winner not in of}
    first = [row for row in rows if row.key not in of]
    grouped = [
        one for row in first for one in (row, *(other for other in rows if of.get(other.key) == row.key))
    ]
    return grouped, Counter(winner for winner in of.values() if winner is not None)


def base_cells(row: Row) -> dict[str, object]:
    """Return the cells of a candidate that every table of candidates has."""
    tokens = row.tokens or row.details.get("needed")
    # What fell for its score has one, though it is in no ranking.
    own = row.details.get("score") if row.reason is Reason.BELOW_THRESHOLD else None
    score = row.score if row.score is not None else own
    return {
        "place": str(row.place or ""),
        "fate": fate_of(row.verdict, fell_for(row)),
        "score": wording.ratio(score) if isinstance(score, float) else "",
        "where": row.label,
        "text": one_line(row.text),
        "tokens": wording.number(tokens) if tokens else "",
        "left": wording.number(row.details.get("left")) if fell_for(row) in ROOM else "",
        "source": row.key[0],
    }


def last_kept(rows: Sequence[Row]) -> int | None:
    """Return the last of ranked rows that got in, where something below it lacked room."""
    kept = max((i for i, row in enumerate(rows) if row.verdict is Verdict.KEPT), default=-1)
    return kept if kept >= 0 and near_misses(rows[kept + 1 :], 1) else None


FRAME, RESERVED, LEFT, OVER = "frame", "reserved", "left over", "over budget"

_HATCHED = f"repeating-linear-gradient(45deg,{GREY} 0 3px,transparent 3px 7px)"
_FRAME_COLOURS = {FRAME: GREY, RESERVED: _HATCHED, LEFT: "transparent", OVER: RED}
_COLOURED = 7
"""Groups that have a colour of their own; the others share one."""


class Group(NamedTuple):
    """A source, or a kind where shares are by kind: what it offered, got, was promised, and lost for room.

    `segments` are what its passages took, in text order; `share` is tokens, or None where none is promised.
    """

    name: str
    candidates: int
    segments: Mapping[Key, int]
    share: int | None
    no_room: int

    @property
    def tokens(self) -> int:
        """What its passages took."""
        return sum(self.segments.values())


def groups_of(context: Context) -> list[Group]:
    """Return every group, those that took most first."""
    settings, budget = context.settings, budget_of(context.settings)
    groups = {c.key: group_of(c, settings) for c in context.candidates}
    segments: dict[str, dict[Key, int]] = {}
    for passage in context.passages:
        group = group_of(passage.ranked.candidate, settings)
        segments.setdefault(group, {})[passage.key] = passage.tokens
    final = context.final_decisions().values()
    missed = Counter(groups.get(d.key, d.key[0]) for d in final if fell_for(d) in ROOM)
    offered = Counter(groups.values())
    promised = budget.get("shares") or {}
    free = max(0, context.budget - int(budget.get("reserve") or 0))
    shares = split_tokens(free, promised) if promised else {}
    found = [
        Group(name, offered[name], segments.get(name, {}), shares.get(name), missed[name])
        for name in {*offered, *segments}
    ]
    return sorted(found, key=lambda group: (-group.tokens, group.name))


def budget_parts(context: Context) -> dict[str, int]:
    """Return the tokens of the parts of a budget: groups that took some, frame, reserve, what is left over.

    They add up to it, but for tokens that passages share where they are joined: see `shared_tokens`.
    """
    parts = {group.name: group.tokens for group in groups_of(context) if group.segments}
    frame = context.tokens - sum(parts.values())
    free = context.budget - context.tokens
    reserved = min(int(budget_of(context.settings).get("reserve") or 0), max(0, free))
    rest = {FRAME: frame, RESERVED: reserved, LEFT: free - reserved, OVER: reserved - free}
    return parts | {name: tokens for name, tokens in rest.items() if tokens > 0}


def shared_tokens(context: Context) -> int:
    """Return how many tokens fewer the text has than its passages counted one by one; 0 mostly."""
    return max(0, sum(passage.tokens for passage in context.passages) - context.tokens)


def near_misses(rows: Sequence[Row], count: int = 5) -> list[Row]:
    """Return the candidates that only lacked room, best ranked first."""
    return [row for row in rows if fell_for(row) in ROOM][:count]


def budget_bar(context: Context) -> str:
    """Return the budget as one bar of 24 pixels with its key: groups, frame, reserve, what is left over."""
    parts = budget_parts(context)
    colours = colours_of(name for name in parts if name not in _FRAME_COLOURS) | _FRAME_COLOURS
    whole = max(context.budget, sum(parts.values()), 1)
    bar = "".join(_piece(name, tokens, whole, colours[name]) for name, tokens in parts.items())
    named = [*_FRAME_COLOURS, *[name for name in parts if name not in _FRAME_COLOURS][:_COLOURED]]
    key = "".join(_key(name, tokens, colours[name]) for name, tokens in parts.items() if name in named)
    if others := [tokens for name, tokens in parts.items() if name not in named]:
        key += _key(wording.counted(len(others), "other source"), sum(others), OTHERS)
    if shared := shared_tokens(context):
        # Without it the figures would not add up to the budget.
        told = "Joined, the passages take fewer tokens than one by one."
        key += f'<span title="{told}">by joining −{shared:,}</span>'
    return f'<div class="ce-spend">{bar}</div><div class="ce-keys">{key}</div>'


def group_bars(context: Context, rows: Sequence[Row]) -> str:
    """Return a row a group: its bar, of which each segment leads to its passage, and its figures."""
    groups = groups_of(context)
    labels = {row.key: row.label for row in rows}
    colours = colours_of(group.name for group in groups)
    most = max((max(group.tokens, group.share or 0) for group in groups), default=1) or 1
    has_shares = any(group.share is not None for group in groups)
    share = ("Share promised",) if has_shares else ()
    names = ("Source", "A segment a passage", "Tokens", *share, "Passages", "Candidates", "No room")
    head = "".join(f"<th{' class=n' if place > 1 else ''}>{name}</th>" for place, name in enumerate(names))
    lines = ""
    for group in groups:
        bar = "".join(
            _piece(labels.get(key, key[1]), tokens, most, colours[group.name], option_of(key))
            for key, tokens in group.segments.items()
        )
        promised = (group.share,) if has_shares else ()
        figures = (group.tokens, *promised, len(group.segments), group.candidates, group.no_room)
        cells = "".join(f'<td class="n">{wording.number(figure)}</td>' for figure in figures)
        lines += (
            f'<tr><td>{escape(group.name)}</td><td><div class="ce-spend" style="height:16px">{bar}</div></td>'
            f"{cells}</tr>"
        )
    return f'<div class="ce-wide"><table class="ce-groups ce-sources"><tr>{head}</tr>{lines}</table></div>'


def _piece(name: str, tokens: int, whole: int, colour: str, leads_to: str = "") -> str:
    told = escape(f"{name}: {tokens:,} tokens")
    leads = f' data-leads-to="{escape(leads_to)}"' if leads_to else ""
    style = f"width:{100 * tokens / whole:.2f}%;background:{colour}"
    return f'<span title="{told}"{leads} style="{style}"></span>'


def _key(name: str, tokens: int, colour: str) -> str:
    return f'<span><b style="background:{colour}"></b>{escape(name)} {tokens:,}</span>'
