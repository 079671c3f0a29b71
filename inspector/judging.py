"""Grades as the tables of the pages. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from inspector import wording
from inspector.columns import Column, GridRow
from inspector.palette import fate_of
from inspector.tables import label_of, one_line, option_of
from langchain_context_engine.evaluation.quality import Judged, change, verdict, worst_first
from langchain_context_engine.journal import Judgment
from langchain_context_engine.models.types import Key
from langchain_context_engine.trace.explain import Row

if TYPE_CHECKING:
    from langchain_context_engine.evaluation.tune import Tuning

__all__ = [
    "GRADES",
    "QUALITY_COLUMNS",
    "grade_columns",
    "grade_rows",
    "quality_rows",
    "tally",
    "weights_table",
]

GRADES = {0: "0 · no", 1: "1 · a little", 2: "2 · well", 3: "3 · exactly"}
"""What a grade means."""

UNJUDGED = "unjudged"


def grade_columns(raters: Sequence[str], own: str) -> list[Column]:
    """Return the columns of `grade_rows`: the rater's own grade to pick, those of the others beside it."""
    options = [UNJUDGED, *GRADES.values()]
    others: list[Column] = [
        {"name": f"by {name}", "label": name or "unnamed", "width": 78} for name in raters if name != own
    ]
    return [
        {
            "name": "grade",
            "label": "Grade",
            "kind": "pick",
            "width": 112,
            "options": options,
            "narrow": True,
        },
        *others,
        {"name": "place", "label": "#", "kind": "number", "width": 34},
        {"name": "fate", "label": "Fate", "kind": "fate", "width": 128},
        {"name": "where", "label": "Place", "kind": "place", "width": 150},
        {"name": "text", "label": "Text", "narrow": True},
        {"name": "source", "label": "Source", "width": 88},
    ]


def grade_rows(
    rows: Iterable[Row],
    judgments: Sequence[Judgment],
    own: str,
    where: Mapping[Key, str],
    *,
    only_unjudged: bool = False,
) -> list[GridRow]:
    """Return the candidates of a question to be graded, best ranked first.

    Args:
        rows: The candidates.
        judgments: Everyone's, of this question.
        own: The rater whose grades are picked.
        where: Where each candidate is from.
        only_unjudged: Leave out what the rater graded.
    """
    by_key: dict[Key, dict[str, int]] = {}
    for judgment in judgments:
        by_key.setdefault(judgment.key, {})[judgment.rater] = judgment.grade
    table: list[GridRow] = []
    for row in rows:
        grades = by_key.get(row.key, {})
        if only_unjudged and own in grades:
            continue
        table.append(
            {
                "id": option_of(row.key),
                "label": label_of(row, where.get(row.key, "")),
                "cells": {
                    "grade": GRADES[grades[own]] if own in grades else UNJUDGED,
                    **{f"by {name}": str(grade) for name, grade in grades.items()},
                    "place": str(row.place or ""),
                    "fate": fate_of(row.verdict, row.reason),
                    "where": where.get(row.key) or row.title,
                    "text": one_line(row.text, 300),
                    "source": row.key[0],
                },
            }
        )
    return table


QUALITY_COLUMNS: Sequence[Column] = (
    {"name": "question", "label": "Question"},
    {"name": "ndcg", "label": "nDCG@10", "kind": "number", "width": 80},
    {"name": "change", "label": "Change", "kind": "number", "width": 76},
    {"name": "precision", "label": "Precision@10", "kind": "number", "width": 100},
    {"name": "recall", "label": "Evidence", "kind": "number", "width": 76},
    {"name": "used", "label": "Budget used", "kind": "number", "width": 96},
    {"name": "judged", "label": "Judged", "kind": "number", "width": 70},
    {"name": "verdict", "label": "Verdict", "width": 92},
)


def quality_rows(judged: Iterable[Judged]) -> list[GridRow]:
    """Return one row a question: the figures as recorded and as tried: regressions, then the worst first.

    Args:
        judged: Question, figures of the baseline, figures of what is tried.
    """
    return [
        {
            "id": query,
            "label": one_line(query, 60),
            "cells": {
                "question": one_line(query),
                "ndcg": wording.ratio(after.ndcg),
                "change": wording.signed(round(change(before, after), 3)),
                "precision": wording.ratio(after.precision),
                "recall": wording.share(after.recall),
                "used": wording.share(after.utilisation),
                "judged": wording.share(after.coverage),
                "verdict": verdict(before, after),
            },
        }
        for query, before, after in worst_first(judged)
    ]


def tally(judged: Iterable[Judged]) -> str:
    """Return how many questions became better or worse, in words."""
    count = Counter(verdict(before, after) for _, before, after in judged)
    told = {"better": "better", "regression": "worse", "unchanged": "unchanged"}
    return ", ".join(f"{count[name]} {words}" for name, words in told.items())


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
