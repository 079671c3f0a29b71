"""How good contexts are by people's grades: figures for a question, and over all judged ones. Pure."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inspector.palette import fate_of
from inspector.tables import one_line, option_of
from langchain_context_engine import ConfigError, Context
from langchain_context_engine.answering.explain import Row, final_decisions
from langchain_context_engine.evaluation.metrics import (
    Evidence,
    judged_share,
    ndcg,
    precision_at,
    score_evidence,
)
from langchain_context_engine.journal.values import check_grade
from langchain_context_engine.values.types import Key

if TYPE_CHECKING:
    from langchain_context_engine.evaluation.tune import Tuning

__all__ = [
    "GRADES",
    "Grades",
    "Quality",
    "grade_table",
    "judgments_as_lines",
    "means",
    "quality",
    "quality_table",
    "read_judgments",
    "tally",
    "weights_table",
]

Grades = Mapping[Key, int]
"""Candidate → how well it answers the question, 0–3."""

GRADES = {0: "0 · no", 1: "1 · a little", 2: "2 · well", 3: "3 · exactly"}
"""What a grade means."""

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


def grade_table(rows: Iterable[Row], grades: Grades, *, only_unjudged: bool = False) -> list[dict[str, Any]]:
    """Return the candidates of a question to be graded, best ranked first."""
    return [
        {
            "option": option_of(row.key),
            "grade": GRADES.get(grades[row.key]) if row.key in grades else None,
            "#": row.place,
            "fate": [fate_of(row.verdict, row.reason)],
            "source": row.key[0],
            "candidate": one_line(f"{row.title} — {row.text}" if row.title else row.text, 400),
        }
        for row in rows
        if not (only_unjudged and row.key in grades)
    ]


def quality_table(judged: Iterable[tuple[str, Quality, Quality]]) -> list[dict[str, Any]]:
    """Return one row a question: the figures as recorded and as tried: regressions, then the worst first.

    Args:
        judged: Question, figures of the baseline, figures of what is tried.
    """
    table = [
        {
            "asked": query,
            "question": one_line(query),
            "nDCG@10": after.ndcg,
            "change": after.ndcg - before.ndcg,
            "precision": after.precision,
            "evidence": after.recall,
            "budget used": after.utilisation,
            "judged": after.coverage,
            "verdict": _verdict(before, after),
        }
        for query, before, after in judged
    ]
    return sorted(table, key=_badness)


def _badness(row: Mapping[str, Any]) -> tuple[bool, float]:
    return row["verdict"] != _REGRESSION, math.inf if math.isnan(row["nDCG@10"]) else row["nDCG@10"]


def tally(table: Iterable[Mapping[str, Any]]) -> str:
    """Return how many questions of a `quality_table` became better or worse, in words."""
    count = Counter(row["verdict"] for row in table)
    told = {"better": "better", _REGRESSION: "worse", "unchanged": "unchanged"}
    return ", ".join(f"{count[verdict]} {words}" for verdict, words in told.items())


_NOISE, _REGRESSION = 0.005, "regression"


def _verdict(before: Quality, after: Quality) -> str:
    change = after.ndcg - before.ndcg
    if math.isnan(change) or abs(change) < _NOISE:
        return "unchanged"
    return "better" if change > 0 else _REGRESSION


def weights_table(learned: Tuning) -> list[dict[str, Any]]:
    """Return one row a signal: its weight now and as learned, the largest learned first."""
    now = learned.present or {"relevance": 1.0}
    names = sorted({*now, *learned.learned}, key=lambda name: (-learned.learned.get(name, 0.0), name))
    return [
        {
            "signal": name,
            "now": round(now.get(name, 0.0), 3),
            "learned": round(learned.learned.get(name, 0.0), 3),
        }
        for name in names
    ]


def means(qualities: Iterable[Quality]) -> Quality:
    """Return the mean of each figure over the questions that have it."""
    every = list(qualities)

    def mean(name: str) -> float:
        numbers = [value for q in every if not math.isnan(value := getattr(q, name))]
        return math.fsum(numbers) / len(numbers) if numbers else math.nan

    return Quality(**{name: mean(name) for name in Quality.__dataclass_fields__})


def judgments_as_lines(judgments: Mapping[str, Grades]) -> bytes:
    """Return judgments as JSON Lines, one a line, in the order of questions and candidates."""
    lines = [
        json.dumps({"query": query, "source": key[0], "id": key[1], "grade": grade}, ensure_ascii=False)
        for query, grades in sorted(judgments.items())
        for key, grade in sorted(grades.items())
    ]
    return "".join(f"{line}\n" for line in lines).encode()


def read_judgments(data: bytes) -> dict[str, dict[Key, int]]:
    """Return the judgments that `judgments_as_lines` gave.

    Raises:
        ConfigError: A line is no judgment; the message names it.
    """
    found: dict[str, dict[Key, int]] = {}
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            item = json.loads(line)
            query, key = item["query"], (item["source"], item["id"])
            found.setdefault(str(query), {})[str(key[0]), str(key[1])] = check_grade(item["grade"])
        except (ValueError, TypeError, KeyError) as error:
            raise ConfigError(
                f"line {number} is no judgment ({error});"
                ' one is {"query": …, "source": …, "id": …, "grade": 0 to 3}'
            ) from error
    return found
