"""The budget as HTML: one bar, and a bar a source with a segment a passage. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from inspector.figures.budget_usage import (
    FRAME,
    LEFT,
    OVER,
    RESERVED,
    Group,
    Part,
    budget_parts,
    groups_of,
    shared_tokens,
)
from inspector.figures.fates import known_by
from inspector.palette import GREY, RED, colours_of
from inspector.wording import counted, number
from langchain_context_engine.models.types import Key
from langchain_context_engine.trace.context import Context

__all__ = ["budget_bar", "group_bars"]

_HATCHED = f"repeating-linear-gradient(45deg,{GREY} 0 3px,transparent 3px 7px)"
_FRAME_COLOURS = {FRAME: GREY, RESERVED: _HATCHED, LEFT: "transparent", OVER: RED}
_NAMED = 7
"""Groups that have a colour of their own; the others share one."""


def budget_bar(context: Context) -> str:
    """Return the budget as one bar of 24 pixels with its key: groups, frame, reserve, what is left over."""
    parts = budget_parts(context)
    colours = _colours(parts)
    whole = max(context.budget, sum(part.tokens for part in parts), 1)
    bar = "".join(_piece(part.name, part.tokens, whole, colours[part.name]) for part in parts)
    named = [part for part in parts if part.name in _FRAME_COLOURS] + [
        part for part in parts if part.name not in _FRAME_COLOURS
    ][:_NAMED]
    others = [part for part in parts if part not in named]
    key = "".join(_key(part.name, part.tokens, colours[part.name]) for part in parts if part in named)
    if others:
        key += _key(counted(len(others), "other source"), sum(part.tokens for part in others), "#6b6b6b")
    if shared := shared_tokens(context):
        # Without it the figures would not add up to the budget.
        key += f'<span title="Joined, the passages take so many tokens less.">joined −{shared:,}</span>'
    return f'<div class="ce-spend">{bar}</div><div class="ce-keys">{key}</div>'


def group_bars(context: Context) -> str:
    """Return a row a group: its bar with a segment a passage (title and tokens on hover), and its figures."""
    groups = groups_of(context)
    titles = {c.key: known_by(c) for c in context.candidates}
    colours = _colours([Part(group.name, group.tokens) for group in groups])
    most = max((max(group.tokens, group.share or 0) for group in groups), default=1) or 1
    head = (
        '<tr><th style="width:18%">Source</th><th>A segment a passage</th>'
        '<th class="n" style="width:9%">Tokens</th>'
        '<th class="n" style="width:11%">Share promised</th><th class="n" style="width:9%">Passages</th>'
        '<th class="n" style="width:11%">Candidates</th><th class="n" style="width:10%">No room</th></tr>'
    )
    rows = "".join(_group_row(group, most, colours[group.name], titles) for group in groups)
    return f'<div class="ce-wide"><table class="ce-groups">{head}{rows}</table></div>'


def _group_row(group: Group, most: int, colour: str, titles: Mapping[Key, str]) -> str:
    bar = "".join(
        _piece(titles.get(segment.key, segment.key[1]), segment.tokens, most, colour)
        for segment in group.segments
    )
    figures = (group.tokens, group.share, len(group.segments), group.candidates, group.no_room)
    cells = "".join(f'<td class="n">{number(figure)}</td>' for figure in figures)
    return (
        f'<tr><td>{escape(group.name)}</td><td><div class="ce-spend" style="height:16px">{bar}</div></td>'
        f"{cells}</tr>"
    )


def _piece(name: str, tokens: int, whole: int, colour: str) -> str:
    told = escape(f"{name}: {tokens:,} tokens", quote=True)
    return f'<span title="{told}" style="width:{100 * tokens / whole:.2f}%;background:{colour}"></span>'


def _key(name: str, tokens: int, colour: str) -> str:
    return f'<span><b style="background:{colour}"></b>{escape(name)} {tokens:,}</span>'


def _colours(parts: Sequence[Part]) -> dict[str, str]:
    own = [part.name for part in parts if part.name not in _FRAME_COLOURS]
    return {**colours_of(own), **_FRAME_COLOURS}
