"""Usage of a budget: by group, by passage, and what kept the rest free."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_context_engine.models.budget import split_tokens
from langchain_context_engine.models.types import Candidate, Key, Reason, Verdict
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.explain import Row

ROOM = frozenset({Reason.OVER_BUDGET, Reason.OVER_SHARE, Reason.OVER_ITEM_CAP})
"""Reasons that are a lack of room."""

FRAME, RESERVED, LEFT, OVER = "frame", "reserved", "left over", "over budget"


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of the budget bar: a group's passages, or what stands around and beside them."""

    name: str
    tokens: int


def group_of(candidate: Candidate, settings: Mapping[str, Any]) -> str:
    """Return the group whose share a candidate takes from."""
    return candidate.kind if settings.get("group_by") == "kind" else candidate.origin


def budget_parts(context: Context) -> list[Part]:
    """Return the parts of the budget: groups in the order of `groups_of`, frame, reserve, what is left over.

    They add up to it, but for tokens that passages share where they are joined: see `shared_tokens`.
    """
    used: Counter[str] = Counter()
    for passage in context.passages:
        used[group_of(passage.ranked.candidate, context.settings)] += passage.tokens
    inside = sum(used.values())
    parts = [Part(name, tokens) for name, tokens in sorted(used.items(), key=lambda one: (-one[1], one[0]))]
    if context.tokens > inside:
        parts.append(Part(FRAME, context.tokens - inside))
    reserved = min(_reserve(context), max(0, context.budget - context.tokens))
    left = context.budget - context.tokens - reserved
    rest = [Part(RESERVED, reserved), Part(LEFT, left), Part(OVER, -left)]
    return [*parts, *(part for part in rest if part.tokens > 0)]


def shared_tokens(context: Context) -> int:
    """Return how many tokens fewer the text has than its passages counted one by one; 0 mostly."""
    return max(0, sum(passage.tokens for passage in context.passages) - context.tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """What one passage took of its group's tokens."""

    key: Key
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """What one group offered, got, was promised, and lost for room.

    Attributes:
        name: The source, or the kind where shares are by kind.
        candidates: How many it offered.
        tokens: What its passages took.
        segments: Its passages, in text order.
        share: Tokens promised to it, or None.
        no_room: Its candidates that were left out for room.
    """

    name: str
    candidates: int
    tokens: int
    segments: tuple[Segment, ...]
    share: int | None
    no_room: int


def groups_of(context: Context) -> list[Group]:
    """Return every group, those that took most first."""
    settings = context.settings
    groups = {c.key: group_of(c, settings) for c in context.candidates}
    offered = Counter(groups.values())
    segments: dict[str, list[Segment]] = {}
    for passage in context.passages:
        group = group_of(passage.ranked.candidate, settings)
        segments.setdefault(group, []).append(Segment(key=passage.key, tokens=passage.tokens))
    missed = Counter(
        groups.get(d.key, d.key[0]) for d in context.final_decisions().values() if d.reason in ROOM
    )
    shares = _shares(context)
    found = [
        Group(
            name=name,
            candidates=offered[name],
            tokens=sum(segment.tokens for segment in segments.get(name, ())),
            segments=tuple(segments.get(name, ())),
            share=shares.get(name),
            no_room=missed[name],
        )
        for name in {*offered, *segments}
    ]
    return sorted(found, key=lambda group: (-group.tokens, group.name))


def _budget(context: Context) -> Mapping[str, Any]:
    budget = context.settings.get("budget")
    return budget if isinstance(budget, Mapping) else {}


def _reserve(context: Context) -> int:
    return int(_budget(context).get("reserve") or 0)


def _shares(context: Context) -> dict[str, int]:
    weights = _budget(context).get("shares") or {}
    return split_tokens(max(0, context.budget - _reserve(context)), weights) if weights else {}


def used(tokens: int, budget: int) -> float | None:
    """Return the share of a budget that is used, 0–1 but for a soft one; None without a budget."""
    return tokens / budget if budget else None


def near_misses(rows: Sequence[Row], count: int = 5) -> list[Row]:
    """Return the candidates that only lacked room, best ranked first."""
    return [row for row in rows if row.reason in ROOM][:count]


def last_kept(rows: Sequence[Row]) -> int | None:
    """Return the last of ranked rows that got in, where something below it lacked room."""
    kept = max((i for i, row in enumerate(rows) if row.verdict is Verdict.KEPT), default=-1)
    return kept if kept >= 0 and near_misses(rows[kept + 1 :], 1) else None
