"""The way from what was collected to what was packed, with what fell on it, and why. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from langchain_context_engine.models.types import Decision, Reason, Verdict
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.explain import final_decisions

__all__ = ["Step", "funnel"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """How many candidates a stage left, and what fell at it, reason → how many, the most first."""

    stage: str
    count: int
    fell: Mapping[Reason, int]


def funnel(context: Context) -> list[Step]:
    """Return the steps collected, expanded, unique and packed; a duplicate falls at unique."""
    final = final_decisions(context)
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
