"""Judged traces: which traces the judgments speak of, how their candidates rank, and how good that is."""

from __future__ import annotations

import functools
import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from langchain_context_engine.evaluation.agreement import agreed_grades
from langchain_context_engine.evaluation.metrics import ndcg
from langchain_context_engine.journal.values import Judgment, check_grade
from langchain_context_engine.models.kept import kept_property
from langchain_context_engine.models.types import Key, Ranked
from langchain_context_engine.pipeline.rank import rank
from langchain_context_engine.trace.assemble import Parts, order
from langchain_context_engine.trace.config import EngineConfig
from langchain_context_engine.trace.context import Context

if TYPE_CHECKING:
    from langchain_context_engine.journal import Journal

__all__ = [
    "METRICS",
    "JudgedTrace",
    "Judgments",
    "K",
    "Metric",
    "Numbers",
    "by_query",
    "judged_traces",
    "traces_of",
]

K = 10
RELEVANT_FROM = 2
"""Grade from which a candidate answers well."""

Judgments = Mapping[str, Mapping[Key, int]]
"""Question → candidate → grade."""

Numbers = NDArray[np.float64]
"""An array of numbers."""

# The settings that decide a ranking. The others, a tokenizer for example, need not be at hand.
_RANKING_SETTINGS = (
    "signals", "fusion", "min_score", "thresholds", "dedupe_threshold", "dedupe_rules", "dedupe_key",
)  # fmt: skip
_TRACES_TRIED = 5
_PAGE = 1000


def _recall(grades: Sequence[float], ideal: Sequence[float]) -> float:
    """Return the share of what answers well and finds room among the first k that stands there."""
    most = min(K, sum(grade >= RELEVANT_FROM for grade in ideal))
    return sum(grade >= RELEVANT_FROM for grade in grades[:K]) / most if most else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """How good a ranking is, 0–1.

    Attributes:
        label: Its name in tables.
        score: Of the grades of a ranking, best first, and of all grades that there are.
        gains: What a grade from 0 to 3 is worth.
        discounts: What each of the first k places is worth.
    """

    label: str
    score: Callable[[Sequence[float], Sequence[float]], float]
    gains: tuple[float, ...]
    discounts: tuple[float, ...]


METRICS: Mapping[str, Metric] = {
    "ndcg": Metric(
        label=f"nDCG@{K}",
        score=functools.partial(ndcg, k=K),
        gains=(0.0, 1.0, 3.0, 7.0),
        discounts=tuple(1 / math.log2(place + 2) for place in range(K)),
    ),
    "recall": Metric(label=f"recall@{K}", score=_recall, gains=(0.0, 0.0, 1.0, 1.0), discounts=(1.0,) * K),
}
"""What can be tuned for, by name."""


@dataclass(frozen=True, kw_only=True)
class JudgedTrace:
    """A trace whose candidates were graded.

    Attributes:
        context: The trace.
        parts: How its candidates are ranked, under the present weights.
        grades: Candidate → grade; an unjudged one counts as 0.
    """

    context: Context
    parts: Parts
    grades: Mapping[Key, int]

    @kept_property
    def present(self) -> tuple[Ranked, ...]:
        """What the present weights give, best first."""
        return self._order(self.parts)

    def present_score(self, metric: Metric) -> float:
        """Return the metric of the ranking that the present weights give."""
        return self._score(metric, self.present)

    def score(self, metric: Metric, weights: Mapping[str, float]) -> float:
        """Return the metric of the ranking that some weights give."""
        return self._score(metric, self._order(replace(self.parts, weights=weights)))

    def signals(self, names: Sequence[str]) -> Numbers:
        """Return the raw value of each signal (rows) for every candidate, in the engine's order."""
        request, candidates = self.context.request, self.context.candidates
        weights = dict.fromkeys(names, 1 / len(names))
        ranking = rank(
            candidates, request, signals=self.parts.signals, weights=weights, fusion=self.parts.fusion
        )
        raw = {item.key: item.signals for item in ranking.items}
        return np.array([[raw[c.key][name] for c in candidates] for name in names], dtype=float)

    def survivors(self) -> tuple[dict[Key, int], list[int]]:
        """Return the grade of each candidate that is no duplicate now, and the grades of the rest."""
        is_whole = self.parts.min_score is None
        items = self.present if is_whole else self._order(replace(self.parts, min_score=None))
        return {item.key: self._grade(item) for item in items}, self._elsewhere(items)

    def _order(self, parts: Parts) -> tuple[Ranked, ...]:
        return order(self.context.candidates, self.context.request, parts).items

    def _score(self, metric: Metric, items: Sequence[Ranked]) -> float:
        standing = [self._grade(item) for item in items]
        return metric.score(standing, [*standing, *self._elsewhere(items)])

    def _grade(self, item: Ranked) -> int:
        # A survivor has the best grade of those that it stands for.
        return max(self.grades.get(key, 0) for key in (item.key, *item.also_in))

    def _elsewhere(self, items: Sequence[Ranked]) -> list[int]:
        there = {key for item in items for key in (item.key, *item.also_in)}
        return [grade for key, grade in self.grades.items() if key not in there]


def by_query(judgments: Judgments | Iterable[Judgment]) -> Judgments:
    """Return judgments by question, whichever way they were given; of several raters, the median.

    Raises:
        ConfigError: A grade is no whole number from 0 to 3.
    """
    if not isinstance(judgments, Mapping):
        return agreed_grades(judgments)
    return {
        query: {key: check_grade(grade) for key, grade in grades.items()}
        for query, grades in judgments.items()
    }


def judged_traces(
    traces: Iterable[Context], judgments: Judgments, metric: Metric, engine: Any = None
) -> list[JudgedTrace]:
    """Return one trace of each judged question in which there is something to find, by question.

    All are ranked under the weights that most of them have. Of several traces of one question, the
    one with most judged candidates is taken, the first at a tie.

    Raises:
        ConfigError: A part of a trace was given as a function, and `engine` has it not.
    """
    own = None if engine is None else engine.config
    known: dict[str, Parts] = {}
    chosen = _chosen(traces, judgments, metric)
    weights = _most_common_weights(chosen)
    judged = []
    for trace in chosen:
        told = {name: trace.settings[name] for name in _RANKING_SETTINGS if name in trace.settings}
        name = json.dumps(told, sort_keys=True)
        if name not in known:
            settings = {**told, "weights": weights, "tokenizer": "estimate"}
            known[name] = EngineConfig.read(settings, own).parts()
        judged.append(JudgedTrace(context=trace, parts=known[name], grades=judgments[trace.request.query]))
    return judged


def _chosen(traces: Iterable[Context], judgments: Judgments, metric: Metric) -> list[Context]:
    best: dict[str, tuple[int, Context]] = {}
    for trace in traces:
        query = trace.request.query
        grades = judgments.get(query, {})
        graded = [grades[c.key] for c in trace.candidates if c.key in grades]
        if not trace.settings or not any(metric.gains[grade] for grade in graded):
            continue
        if query not in best or len(graded) > best[query][0]:
            best[query] = (len(graded), trace)
    return [trace for _, (_, trace) in sorted(best.items())]


def _most_common_weights(traces: Iterable[Context]) -> Any:
    counts = Counter(json.dumps(trace.settings.get("weights"), sort_keys=True) for trace in traces)
    return json.loads(counts.most_common(1)[0][0]) if counts else None


def traces_of(journal: Journal, judgments: Judgments) -> Iterator[Context]:
    """Return the latest trace of each judged question that has a judged candidate.

    One question may have been asked in several scopes; a few of its traces are looked at.
    """
    left = dict.fromkeys(judgments, _TRACES_TRIED)
    for offset in itertools.count(step=_PAGE):
        rows = journal.traces(limit=_PAGE, offset=offset)
        for row in rows:
            if row.query not in left:
                continue
            context = journal.trace(row.id)
            left[row.query] -= 1
            is_found = any(candidate.key in judgments[row.query] for candidate in context.candidates)
            if is_found:
                yield context
            if is_found or not left[row.query]:
                del left[row.query]
        if not rows or not left:
            return
