"""Where the budget went: rows for the budget bars. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inspector.tables import ROOM
from langchain_context_engine.answering.context import Context
from langchain_context_engine.answering.explain import final_decisions
from langchain_context_engine.values.budget import split_tokens
from langchain_context_engine.values.types import Candidate

__all__ = [
    "FRAME",
    "LEFT",
    "OVER",
    "RESERVED",
    "Part",
    "budget_parts",
    "group_of",
    "group_table",
    "shared_tokens",
]

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
    """Return the parts of the budget: groups, frame, reserve, what is left over.

    They add up to it, but for tokens that passages share where they are joined: see `shared_tokens`.
    """
    used: Counter[str] = Counter()
    for passage in context.passages:
        used[group_of(passage.ranked.candidate, context.settings)] += passage.tokens
    inside = sum(used.values())
    parts = [Part(name, tokens) for name, tokens in used.most_common()]
    if context.tokens > inside:
        parts.append(Part(FRAME, context.tokens - inside))
    reserved = min(_reserve(context), max(0, context.budget - context.tokens))
    left = context.budget - context.tokens - reserved
    rest = [Part(RESERVED, reserved), Part(LEFT, left), Part(OVER, -left)]
    return [*parts, *(part for part in rest if part.tokens > 0)]


def shared_tokens(context: Context) -> int:
    """Return how many tokens fewer the text has than its passages counted one by one; 0 mostly."""
    return max(0, sum(passage.tokens for passage in context.passages) - context.tokens)


def group_table(context: Context) -> list[dict[str, Any]]:
    """Return one row for each group: what it offered, got, was promised, and lost for room."""
    settings = context.settings
    groups = {c.key: group_of(c, settings) for c in context.candidates}
    offered = Counter(groups.values())
    kept: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    for passage in context.passages:
        group = group_of(passage.ranked.candidate, settings)
        kept[group] += 1
        tokens[group] += passage.tokens
    missed = Counter(
        groups.get(d.key, d.key[0]) for d in final_decisions(context).values() if d.reason in ROOM
    )
    shares = _shares(context)
    return [
        {
            "group": group,
            "candidates": offered[group],
            "passages": kept[group],
            "tokens": tokens[group],
            "share": shares.get(group),
            "no room": missed[group],
        }
        for group in sorted({*offered, *kept}, key=lambda name: (-tokens[name], name))
    ]


def _budget(context: Context) -> Mapping[str, Any]:
    budget = context.settings.get("budget")
    return budget if isinstance(budget, Mapping) else {}


def _reserve(context: Context) -> int:
    return int(_budget(context).get("reserve") or 0)


def _shares(context: Context) -> dict[str, int]:
    weights = _budget(context).get("shares") or {}
    return split_tokens(max(0, context.budget - _reserve(context)), weights) if weights else {}
