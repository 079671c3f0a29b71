"""Fates of candidates: how many fell where, what a score is made of, which rows a person means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inspector.figures.budget_usage import ROOM
from langchain_context_engine.models.types import Candidate, Decision, Key, Reason, Verdict
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.explain import Row

SHOWN = ("All", "In the context", "Near misses", "Left out")
"""What rows can be narrowed to: near misses lacked nothing but room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """How many candidates a stage left, and what fell at it, reason → how many, the most first."""

    stage: str
    count: int
    fell: Mapping[Reason, int]


def funnel(context: Context) -> list[Step]:
    """Return the steps collected, expanded, unique and packed; a duplicate falls at unique."""
    final = context.final_decisions()
    added = {d.key for d in context.decisions if d.stage == "expand" and d.reason is Reason.EXPANDED}
    fell: dict[str, list[Decision]] = {"expand": [], "dedupe": [], "pack": []}
    for decision in final.values():
        if decision.verdict is Verdict.DROPPED:
            fell[_stage_of(decision)].append(decision)
    count = len(final)
    steps = [Step(stage="collected", count=count - len(added), fell={})]
    for name, stage in (("expanded", "expand"), ("unique", "dedupe"), ("packed", "pack")):
        count -= len(fell[stage])
        steps.append(Step(stage=name, count=count, fell=_counted(fell[stage])))
    return steps


def _stage_of(decision: Decision) -> str:
    if decision.is_duplicate or decision.stage in {"rank", "dedupe"}:
        return "dedupe"
    return "pack" if decision.stage == "pack" else "expand"


def _counted(decisions: Sequence[Decision]) -> dict[Reason, int]:
    reasons = (Reason.DUPLICATE if decision.is_duplicate else decision.reason for decision in decisions)
    return dict(Counter(reasons).most_common())


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorePart:
    """One signal of a score.

    Attributes:
        name: The signal.
        depth: 1 for a part of the relevance, else 0.
        value: The signal, 0–1; None where it is not known.
        weight: What it is multiplied by; None where that cannot be told.
        adds: Weight times value; None for what adds nothing of its own.
    """

    name: str
    depth: int = 0
    value: float | None = None
    weight: float | None = None
    adds: float | None = None


def score_parts(row: Row) -> list[ScorePart]:
    """Return what a score is made of, what adds most first; the parts of relevance stand under it.

    Signals without a weight come last.
    """
    found = []
    parts = {name: value for name, value in row.signals.items() if name not in row.contributions}
    for name, adds in sorted(row.contributions.items(), key=lambda item: -item[1]):
        value = row.signals.get(name)
        found.append(ScorePart(name=name, value=value, weight=adds / value if value else None, adds=adds))
        if name == "relevance":
            found += [ScorePart(name=part, depth=1, value=number) for part, number in parts.items()]
            parts = {}
    return found + [ScorePart(name=part, value=number) for part, number in parts.items()]


def rows_like(
    rows: Sequence[Row], shown: str = "All", search: str = "", where: Mapping[Key, str] | None = None
) -> list[Row]:
    """Return the rows of one kind of `SHOWN` that hold every word searched, whatever its case.

    Args:
        rows: From ``rows``.
        shown: The kind.
        search: Words of the text, the place, the title, the id or the source.
        where: Where each is from.
    """
    words = search.casefold().split()
    return [row for row in rows if _is_shown(row, shown) and _holds(row, words, where or {})]


def meant_by(rows: Sequence[Row], search: str, where: Mapping[Key, str] | None = None) -> Row | None:
    """Return what a person means who asks why something is missing: the best ranked that was left out.

    Where all that is like it stands in the context, the best ranked of that; None where nothing is like it
    or nothing is searched.

    Args:
        rows: From ``rows``, best ranked first.
        search: Words of the text, the place, the title, the id or the source.
        where: Where each is from.
    """
    words = search.casefold().split()
    like = [row for row in rows if words and _holds(row, words, where or {})]
    return next((row for row in like if row.verdict is Verdict.DROPPED), like[0] if like else None)


def _is_shown(row: Row, shown: str) -> bool:
    if shown == "In the context":
        return row.verdict is Verdict.KEPT
    if shown == "Near misses":
        return row.reason in ROOM
    return shown != "Left out" or row.verdict is Verdict.DROPPED


def _holds(row: Row, words: Sequence[str], where: Mapping[Key, str]) -> bool:
    if not words:
        return True
    text = f"{row.key[0]} {row.key[1]} {where.get(row.key, '')} {row.title} {row.text}".casefold()
    return all(word in text for word in words)


def known_by(candidate: Candidate) -> str:
    """Return what a person knows a candidate by: its place, its title, or its kind and day; never a hash.

    Example:
        >>> known_by(Candidate(id="9f3a", metadata={"path": "a.py", "start_line": 3, "end_line": 9}))
        'a.py:3-9'
        >>> known_by(Candidate(id="9f3a", kind="memory", created_at="2026-01-12"))
        'memory of 12 Jan 2026'
    """
    created = candidate.created_at
    kind = candidate.kind or candidate.source
    dated = f"{kind} of {created.day} {created:%b %Y}" if created else kind
    return candidate.place or str(candidate.metadata.get("title") or "") or dated
