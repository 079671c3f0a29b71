"""Judgments of people: how far they agree, the one grade that stands for several, and JSON Lines of them."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median_low

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.journal.values import HIGHEST_GRADE, Judgment, check_grade
from langchain_context_engine.models.types import Key

Given = tuple[str, Key, str, int]
"""Question, candidate, who says so ("" for nobody named), grade 0–3."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How far raters agree, over every pair of grades that two of them gave one candidate; NaN without one.

    `same` is the share of equal grades, `near` of those at most one apart, `kappa` Cohen's with quadratic
    weights (Cohen 1968): 1 is full agreement, 0 what chance gives, NaN where all grades are one.
    """

    pairs: int
    same: float
    near: float
    kappa: float


def agreement(judgments: Iterable[Judgment]) -> Agreement:
    """Return how far the raters of these judgments agree."""
    by_candidate: dict[tuple[str, Key], dict[str, int]] = {}
    for judgment in judgments:
        by_candidate.setdefault((judgment.query, judgment.key), {})[judgment.rater] = judgment.grade
    pairs = [
        (grades[first], grades[second])
        for grades in by_candidate.values()
        for first, second in itertools.combinations(sorted(grades), 2)
    ]
    if not pairs:
        return Agreement(pairs=0, same=math.nan, near=math.nan, kappa=math.nan)
    return Agreement(
        pairs=len(pairs),
        same=sum(a == b for a, b in pairs) / len(pairs),
        near=sum(abs(a - b) <= 1 for a, b in pairs) / len(pairs),
        kappa=_kappa(pairs),
    )


def _kappa(pairs: list[tuple[int, int]]) -> float:
    grades = range(HIGHEST_GRADE + 1)
    # Which of two raters comes first says nothing, so each pair counts both ways.
    both = [*pairs, *((b, a) for a, b in pairs)]
    share = [sum(a == grade for a, _ in both) / len(both) for grade in grades]
    observed = sum((a - b) ** 2 for a, b in both) / len(both)
    expected = sum(share[a] * share[b] * (a - b) ** 2 for a in grades for b in grades)
    return 1 - observed / expected if expected else math.nan


def agreed_grades(judgments: Iterable[Judgment]) -> dict[str, dict[Key, int]]:
    """Return question → candidate → grade: the median of its raters, of an even number the lower middle."""
    given: dict[str, dict[Key, list[int]]] = {}
    for judgment in judgments:
        given.setdefault(judgment.query, {}).setdefault(judgment.key, []).append(judgment.grade)
    return {
        query: {key: median_low(grades) for key, grades in by_key.items()} for query, by_key in given.items()
    }


def judgments_as_lines(judgments: Iterable[Given]) -> bytes:
    """Return judgments as JSON Lines, in the order of questions, candidates and raters."""
    told = [
        {"query": query, "source": key[0], "id": key[1], "grade": grade} | ({"rater": rater} if rater else {})
        for query, key, rater, grade in sorted(judgments)
    ]
    return "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in told).encode()


def read_judgments(data: bytes) -> list[Given]:
    """Return the judgments that `judgments_as_lines` gave; `rater` may be left out.

    Raises:
        ConfigError: A line is no judgment; the message names it.
    """
    found: list[Given] = []
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            item = json.loads(line)
            key = (str(item["source"]), str(item["id"]))
            found.append((str(item["query"]), key, str(item.get("rater") or ""), check_grade(item["grade"])))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ConfigError(
                f"line {number} is no judgment ({error});"
                ' one is {"query": …, "source": …, "id": …, "grade": 0 to 3}'
            ) from error
    return found
