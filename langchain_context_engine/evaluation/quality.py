"""How good contexts are by people's grades: one, a set of them, and what became of it. Pure."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.evaluation.metrics import Evidence, ndcg, score_evidence
from langchain_context_engine.models.types import Key
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.explain import Row, rows
from langchain_context_engine.trace.replay import diff, replay_ranked

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


def quality(context: Context, ranked: Sequence[Row], grades: Grades) -> Quality:
    """Return a context's figures. A survivor has the best grade of the duplicates it stands for.

    Args:
        context: What was built.
        ranked: Its candidates, best first.
        grades: What people said of them.
    """
    standing = _by_survivor(context, grades)
    first = [standing.get(row.key) for row in ranked if row.place is not None][:K]
    known = [grade or 0 for grade in first]
    texts = {c.key: c.text for c in context.candidates}
    golds = [[texts[key]] for key, grade in grades.items() if grade >= RELEVANT_FROM and texts.get(key)]
    good = sum(grade >= RELEVANT_FROM for grade in known)
    recall = score_evidence(context.text, Evidence.of(golds)).recall if golds else math.nan
    return Quality(
        ndcg=ndcg(known, standing.values(), K) if any(standing.values()) else math.nan,
        precision=good / max(1, len(known)) if standing else math.nan,
        recall=recall,
        utilisation=context.tokens / context.budget if context.budget else math.nan,
        coverage=sum(grade is not None for grade in first) / max(1, len(first)),
    )


def _by_survivor(context: Context, grades: Grades) -> dict[Key, int]:
    standing: dict[Key, int] = {}
    final = context.final_decisions()
    for key, grade in grades.items():
        stands = (final[key].repeats if key in final else None) or key
        standing[stands] = max(grade, standing.get(stands, 0))
    return standing


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
    return sorted(
        judged,
        key=lambda entry: (
            verdict(entry[1], entry[2]) != "regression",
            math.inf if math.isnan(entry[2].ndcg) else entry[2].ndcg,
            entry[0],
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One question of a set under some settings."""

    query: str
    context: Context
    quality: Quality
    tokens: int
    milliseconds: float
    shared: float


def try_settings(
    contexts: Iterable[Context], grades: Mapping[str, Grades], settings: Mapping[str, Any]
) -> list[Tried]:
    """Return what some settings give of each trace, by replay, in their order.

    Those that cannot be replayed (a part was a function, the trace is damaged) are left out.

    Args:
        contexts: One trace a question.
        grades: Question → candidate → grade.
        settings: Changed settings, as `replay` takes them; none gives what was recorded.

    Raises:
        ConfigError: None could be replayed: a setting is wrong.
    """
    found: list[Tried] = []
    failed: ConfigError | None = None
    for recorded in contexts:
        start = time.perf_counter()
        try:
            context, ranked = replay_ranked(recorded, **settings)
        except ConfigError as error:
            failed = failed or error
            continue
        query = recorded.request.query
        tried = Tried(
            query=query,
            context=context,
            quality=quality(context, rows(context, ranked), grades.get(query, {})),
            tokens=context.tokens,
            milliseconds=(time.perf_counter() - start) * 1000,
            shared=diff(recorded, context).overlap,
        )
        found.append(tried)
    if failed is not None and not found:
        raise failed
    return found
