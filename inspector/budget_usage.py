"""Usage of a budget: by group and by passage, as figures and as bars of HTML. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from inspector.palette import GREY, OTHERS, RED, ROOM, colours_of, fell_for
from inspector.settings_diff import budget_of
from inspector.wording import counted, number, option_of
from langchain_context_engine.models.budget import split_tokens
from langchain_context_engine.models.types import Candidate, Key
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.explain import Row

FRAME, RESERVED, LEFT, OVER = "frame", "reserved", "left over", "over budget"

_HATCHED = f"repeating-linear-gradient(45deg,{GREY} 0 3px,transparent 3px 7px)"
_FRAME_COLOURS = {FRAME: GREY, RESERVED: _HATCHED, LEFT: "transparent", OVER: RED}
_NAMED = 7
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


def group_of(candidate: Candidate, settings: Mapping[str, Any]) -> str:
    """Return the group whose share a candidate takes from."""
    return candidate.kind if settings.get("group_by") == "kind" else candidate.origin


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
    named = [*_FRAME_COLOURS, *[name for name in parts if name not in _FRAME_COLOURS][:_NAMED]]
    key = "".join(_key(name, tokens, colours[name]) for name, tokens in parts.items() if name in named)
    if others := [tokens for name, tokens in parts.items() if name not in named]:
        key += _key(counted(len(others), "other source"), sum(others), OTHERS)
    if shared := shared_tokens(context):
        # Without it the figures would not add up to the budget.
        key += f'<span title="Joined, the passages take so many tokens less.">joined −{shared:,}</span>'
    return f'<div class="ce-spend">{bar}</div><div class="ce-keys">{key}</div>'


def group_bars(context: Context, rows: Sequence[Row]) -> str:
    """Return a row a group: its bar, of which each segment leads to its passage, and its figures."""
    groups = groups_of(context)
    labels = {row.key: row.label for row in rows}
    colours = colours_of(group.name for group in groups)
    most = max((max(group.tokens, group.share or 0) for group in groups), default=1) or 1
    names = ("Source", "A segment a passage", "Tokens", "Share promised", "Passages", "Candidates", "No room")
    head = "".join(f"<th{' class=n' if place > 1 else ''}>{name}</th>" for place, name in enumerate(names))
    lines = ""
    for group in groups:
        bar = "".join(
            _piece(labels.get(key, key[1]), tokens, most, colours[group.name], option_of(key))
            for key, tokens in group.segments.items()
        )
        figures = (group.tokens, group.share, len(group.segments), group.candidates, group.no_room)
        cells = "".join(f'<td class="n">{number(figure)}</td>' for figure in figures)
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
