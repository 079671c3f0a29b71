"""How good one context is by people's grades: its order, what it holds, what it costs. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from langchain_context_engine.evaluation.metrics import (
    Evidence,
    judged_share,
    ndcg,
    precision_at,
    score_evidence,
)
from langchain_context_engine.models.types import Key
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.explain import Row, final_decisions

__all__ = ["Grades", "Judged", "Quality", "change", "means", "quality", "verdict", "worst_first"]

Grades = Mapping[Key, int]
"""Candidate → how well it answers the question, 0–3."""

NOISE = 0.005
"""A smaller change of nDCG@10 is none."""

K = 10
RELEVANT_FROM = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """How good one context is, each figure 0–1; NaN where nothing judged could tell.

    Attributes:
        ndcg: Of the ranking's first ten.
        precision: Share of the first ten that answer well (grade 2 and more).
        recall: Share of the well-answering texts that stands in the context.
        utilisation: Share of the budget that is used.
        coverage: Share of the first ten that were judged at all.
    """

    ndcg: float
    precision: float
    recall: float
    utilisation: float
    coverage: float


def quality(context: Context, rows: Sequence[Row], grades: Grades) -> Quality:
    """Return a context's figures. A survivor has the best grade of the duplicates it stands for.

    Args:
        context: What was built.
        rows: Its candidates, best first.
        grades: What people said of them.
    """
    standing = _by_survivor(context, grades)
    first = [standing.get(row.key) for row in rows if row.place is not None][:K]
    known = [grade or 0 for grade in first]
    texts = {c.key: c.text for c in context.candidates}
    golds = [[texts[key]] for key, grade in grades.items() if grade >= RELEVANT_FROM and texts.get(key)]
    recall = score_evidence(context.text, Evidence.of(golds)).recall if golds else math.nan
    return Quality(
        ndcg=ndcg(known, standing.values(), K) if any(standing.values()) else math.nan,
        precision=precision_at(known, K, RELEVANT_FROM) if standing else math.nan,
        recall=recall,
        utilisation=context.tokens / context.budget if context.budget else math.nan,
        coverage=judged_share(first, K),
    )


def _by_survivor(context: Context, grades: Grades) -> dict[Key, int]:
    standing: dict[Key, int] = {}
    final = final_decisions(context)
    for key, grade in grades.items():
        decision = final.get(key)
        stands = (decision.repeats if decision else None) or key
        standing[stands] = max(grade, standing.get(stands, 0))
    return standing


def means(qualities: Iterable[Quality]) -> Quality:
    """Return the mean of each figure over the questions that have it."""
    every = list(qualities)

    def mean(name: str) -> float:
        numbers = [value for q in every if not math.isnan(value := getattr(q, name))]
        return math.fsum(numbers) / len(numbers) if numbers else math.nan

    return Quality(**{name: mean(name) for name in Quality.__dataclass_fields__})


Judged = tuple[str, Quality, Quality]
"""A question, its figures before and after."""


def change(before: Quality, after: Quality) -> float:
    """Return by how much nDCG@10 changed; NaN where one of them is not known."""
    return after.ndcg - before.ndcg


def verdict(before: Quality, after: Quality) -> str:
    """Return what became of a question: "better", "regression" or "unchanged"."""
    changed = change(before, after)
    if math.isnan(changed) or abs(changed) < NOISE:
        return "unchanged"
    return "better" if changed > 0 else "regression"


def worst_first(judged: Iterable[Judged]) -> list[Judged]:
    """Return the questions that became worse first, then by nDCG@10, the lowest first."""

    def badness(entry: Judged) -> tuple[bool, float, str]:
        query, before, after = entry
        known = math.inf if math.isnan(after.ndcg) else after.ndcg
        return verdict(before, after) != "regression", known, query

    return sorted(judged, key=badness)
