"""Weights learned from your own judgments: tried on held-out questions, shown before they are taken.

Nothing is written anywhere. Below about fifty judged questions, learned weights were measured to be
worse as often as better, so fewer are refused; and of weights that are as good, the present ones win.
"""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median_low
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from langchain_context_engine.config import EngineConfig, Parts
from langchain_context_engine.errors import ConfigError
from langchain_context_engine.evaluation.metrics import Interval, ndcg, paired_bootstrap
from langchain_context_engine.evaluation.quality import K
from langchain_context_engine.journal.values import HIGHEST_GRADE, Judgment, check_grade
from langchain_context_engine.models.types import Key
from langchain_context_engine.pipeline.rank import rank
from langchain_context_engine.ranking.signals import SIGNALS
from langchain_context_engine.trace.assemble import order
from langchain_context_engine.trace.context import Context

if TYPE_CHECKING:
    from langchain_context_engine.journal import Journal

MIN_QUERIES = 50
"""Judged questions that are needed by default."""

SIGNALS_TRIED = ("relevance", "recency", "confidence", "importance", "keyword", "usage")
"""Signals that are tried, beside those that weigh something now and the engine's own."""

Judgments = Mapping[str, Mapping[Key, int]]
"""Question → candidate → grade."""

Numbers = NDArray[np.float64]
"""An array of numbers."""

Point = tuple[float, ...]
"""Trial weights in the order of the signals; their sum is 1."""

_CONFIDENCE = 0.99  # one set of weights was chosen among many: a gain by chance is likelier than in one test
_LEAST_GAIN = 0.02  # a smaller one is within what grading the same questions again would move
_DEFAULT_WEIGHTS = {"relevance": 1.0}
_SHARES = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_MOST_ROUNDS = 10
_FOLDS = 5
_DECIMALS = 12  # scores that differ by rounding alone are equal, as they are for exact sums
_RISE = 1e-9
_TRACES_TRIED = 5
# The settings that decide a ranking. The others, a tokenizer for example, need not be at hand.
_RANKING_SETTINGS = (
    "signals", "fusion", "min_score", "thresholds", "dedupe_threshold", "dedupe_rules", "dedupe_key",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """What was learned, and whether to take it.

    Attributes:
        present: The weights now, summing to 1; None: the default ones.
        learned: The weights learned from all judged questions; the present ones where nothing else
            is better by more than one standard error.
        before: Mean of the metric under the present weights, 0–1; NaN without a judged question.
        after: Mean on questions held out while learning; equal to `before` where nothing was learned.
        gain: `after` less `before` with its 99 % interval; None where nothing was learned.
        queries: Judged questions it rests on.
        is_worth_it: The gain is beyond chance.
        reason: Why, in one sentence.
        metric: Name of the metric.
    """

    present: Mapping[str, float] | None
    learned: Mapping[str, float]
    before: float
    after: float
    gain: Interval | None
    queries: int
    is_worth_it: bool
    reason: str
    metric: str = f"nDCG@{K}"


def tune(traces: Iterable[Context], judgments: Judgments, *, min_queries: int = MIN_QUERIES) -> Tuning:
    """Return weights learned from judgments, and whether they are better than the present ones.

    Pure: the stored candidates are ranked again, by the functions that answered. The judged questions
    are dealt into folds; each fold is ranked under weights learned from the others, and a paired
    bootstrap over all questions says whether the gain is real. The present weights are those that most
    of the traces have. A question counts where a trace of it has something to find; of several traces
    of one question, the one with most judged candidates counts, the first at a tie.

    Args:
        traces: Contexts, or traces read back; those without settings cannot be ranked again.
        judgments: Question → candidate → grade, 0–3: what `agreed_grades` makes of a journal's judgments.
        min_queries: With fewer judged questions nothing is learned.

    Raises:
        ConfigError: A part of a trace was given as a function.

    Example:
        >>> tune([], []).reason
        'only 0 judged questions have something to find, and 50 are needed: fewer mislead; judge more'
    """
    judged = judged_traces(traces, judgments)
    present = judged[0].parts.weights if judged else None
    now = present or _DEFAULT_WEIGHTS
    before = np.array([trace.score() for trace in judged])
    mean = float(before.mean()) if len(before) else math.nan
    kept = Tuning(
        present=present, learned=now, before=mean, after=mean, gain=None,
        queries=len(before), is_worth_it=False, reason="",
    )  # fmt: skip
    if len(judged) < max(min_queries, _FOLDS):
        have = "question has" if len(judged) == 1 else "questions have"
        told = f"only {len(judged)} judged {have} something to find, and {min_queries} are needed"
        return replace(kept, reason=f"{told}: fewer mislead; judge more")
    names, raw = varying(judged, _names(judged, now))
    if len(names) <= 1:
        told = f"only {names[0]} tells" if names else "no signal tells"
        return replace(kept, reason=f"{told} candidates of a question apart: there is nothing to weigh")
    search = Search(judged, names=names, raw=raw, weights=now)
    everyone, after = np.arange(len(judged)), before.copy()
    for fold in np.array_split(np.random.default_rng(0).permutation(everyone), _FOLDS):
        weights = search.learn(np.setdiff1d(everyone, fold), before)
        if weights is not None:
            after[fold] = [judged[row].score(weights) for row in fold]
    weights = search.learn(everyone, before)
    if weights is None:
        told = "no other weights are better than the present ones by more than a standard error"
        return replace(kept, reason=told)
    gain = paired_bootstrap(list(before), list(after), confidence=_CONFIDENCE)
    is_worth_it = gain.low > 0 and gain.difference >= _LEAST_GAIN
    told = "beyond chance" if is_worth_it else "within chance, so keep the present weights"
    reason = (
        f"on held-out questions {kept.metric} changes by {gain.difference:+.3f}, 99 % interval"
        f" {gain.low:+.3f} to {gain.high:+.3f}: {told}"
    )
    return replace(
        kept, learned=weights, after=float(after.mean()), gain=gain, is_worth_it=is_worth_it, reason=reason
    )


def suggest(journal: Journal) -> Tuning:
    """Return what `tune` learns from a journal: its judgments, and its traces of the judged questions.

    Raises:
        ConfigError: As `tune`, or a trace cannot be read.
    """
    grades = agreed_grades(journal.judgments())
    traces: list[Context] = []
    for query, judged in grades.items():
        # One question may have been asked in several scopes: the latest of a few with a judged candidate.
        latest = (journal.trace(row.id) for row in journal.traces(_TRACES_TRIED, query=query))
        found = (context for context in latest if any(c.key in judged for c in context.candidates))
        traces += itertools.islice(found, 1)
    return tune(traces, grades)


def _names(judged: Sequence[JudgedTrace], present: Mapping[str, float]) -> list[str]:
    own = (name for name in judged[0].parts.signals if name not in SIGNALS)
    return list(dict.fromkeys((*SIGNALS_TRIED, *own, *present)))


@dataclass(frozen=True, kw_only=True)
class JudgedTrace:
    """A trace whose candidates were graded."""

    context: Context
    parts: Parts
    grades: Mapping[Key, int]

    def score(self, weights: Mapping[str, float] | None = None) -> float:
        """Return nDCG@10 of the ranking that some weights give, or the present ones."""
        parts = self.parts if weights is None else replace(self.parts, weights=weights)
        standing, elsewhere = self.graded(parts)
        return ndcg([*standing.values()], [*standing.values(), *elsewhere], K)

    def graded(self, parts: Parts) -> tuple[dict[Key, int], list[int]]:
        """Return the grade of each candidate that a ranking leaves, best first, and those of the rest."""
        items = order(self.context.candidates, self.context.request, parts).items
        named = {item.key: (item.key, *item.also_in) for item in items}
        # A survivor has the best grade of those that it stands for.
        standing = {key: max(self.grades.get(each, 0) for each in names) for key, names in named.items()}
        there = {each for names in named.values() for each in names}
        return standing, [grade for key, grade in self.grades.items() if key not in there]

    def signals(self, names: Sequence[str]) -> Numbers:
        """Return the raw value of each signal (rows) for every candidate, in the engine's order."""
        candidates, parts = self.context.candidates, self.parts
        weights = dict.fromkeys(names, 1 / len(names))
        ranking = rank(
            candidates,
            self.context.request,
            signals=parts.signals,
            weights=weights,
            fusion=parts.config.fusion,
        )
        raw = {item.key: item.signals for item in ranking.items}
        return np.array([[raw[c.key][name] for c in candidates] for name in names], dtype=float)


def judged_traces(traces: Iterable[Context], judgments: Judgments) -> list[JudgedTrace]:
    """Return one trace of each judged question in which there is something to find, by question.

    All are ranked under the weights that most of them have. Of several traces of one question, the
    one with most judged candidates is taken, the first at a tie.

    Raises:
        ConfigError: A part of a trace was given as a function.
    """
    best: dict[str, tuple[int, Context]] = {}
    for trace in traces:
        query = trace.request.query
        grades = judgments.get(query, {})
        graded = [grades[c.key] for c in trace.candidates if c.key in grades]
        has_something = trace.settings and max(graded, default=0) > 0
        if has_something and (query not in best or len(graded) > best[query][0]):
            best[query] = (len(graded), trace)
    chosen = [trace for _, (_, trace) in sorted(best.items())]
    counts = Counter(json.dumps(trace.settings.get("weights"), sort_keys=True) for trace in chosen)
    weights = json.loads(counts.most_common(1)[0][0]) if counts else None
    judged = []
    for trace in chosen:
        told = {name: trace.settings[name] for name in _RANKING_SETTINGS if name in trace.settings}
        parts = EngineConfig.read({**told, "weights": weights, "tokenizer": "estimate"}).parts()
        judged.append(JudgedTrace(context=trace, parts=parts, grades=judgments[trace.request.query]))
    return judged


def varying(traces: Sequence[JudgedTrace], names: Sequence[str]) -> tuple[list[str], list[Numbers]]:
    """Return the signals that differ between candidates of some trace, and their values of each trace."""
    raw = [trace.signals(names) for trace in traces]
    differ = [i for i in range(len(names)) if any(np.ptp(values[i]) > 0 for values in raw)]
    return [names[i] for i in differ], [values[differ] for values in raw]


class Search:
    """Coordinate ascent over weights whose sum is 1 (Metzler & Croft 2007), with a bias to stay.

    One weight after another is set to a few shares of the whole, the others keeping their
    proportions; the best share is kept while the mean of the metric rises. Of all that was tried,
    the weights nearest to the present ones are taken that are within one standard error of the best.
    A trace's raw signals do not depend on weights, so a ranking under trial weights is a product and a
    stable sort; what is a duplicate of what stays as it is under the present weights. Every figure that
    is told is of the ranking that the library's `order` gives.
    """

    def __init__(
        self,
        traces: Sequence[JudgedTrace],
        *,
        names: Sequence[str],
        raw: Sequence[Numbers],
        weights: Mapping[str, float],
    ) -> None:
        total = math.fsum(weights.get(name, 0.0) for name in names)
        self._names = names
        # Where none of the named ones weighs anything, the first alone.
        self._start = tuple(
            weights.get(name, 0.0) / total if total else float(i == 0) for i, name in enumerate(names)
        )
        self._tables = []
        for trace, values in zip(traces, raw, strict=True):
            all_kept = trace.parts.config.model_copy(update={"min_score": None})
            survivors, elsewhere = trace.graded(all_kept.parts())
            there = [place for place, c in enumerate(trace.context.candidates) if c.key in survivors]
            grades = np.array([survivors[trace.context.candidates[place].key] for place in there])
            self._tables.append((values[:, there], grades, [*grades, *elsewhere]))
        self._known: dict[Point, Numbers] = {}

    def scores(self, point: Point) -> Numbers:
        """Return the metric of every trace under trial weights; ties keep the engine's order."""
        if point not in self._known:
            self._known[point] = np.array([self._score(point, *table) for table in self._tables])
        return self._known[point]

    def _score(self, point: Point, values: Numbers, grades: NDArray[np.int_], ideal: Sequence[int]) -> float:
        totals = np.round(sum(weight * row for weight, row in zip(point, values, strict=True)), _DECIMALS)
        return ndcg(grades[np.argsort(-totals, kind="stable")[:K]].tolist(), ideal, K)

    def learn(self, rows: NDArray[np.intp], present: Numbers) -> dict[str, float] | None:
        """Return the weights learned from some of the traces; None: the present ones are as good.

        Args:
            rows: Which traces.
            present: The metric of every trace under the present weights.
        """
        at = self._start
        tried = {at: float(self.scores(at)[rows].mean())}
        for _ in range(_MOST_ROUNDS):
            before = at
            for signal in range(len(at)):
                for point in _with_share(at, signal):
                    tried.setdefault(point, float(self.scores(point)[rows].mean()))
                    if tried[point] > tried[at] + _RISE:
                        at = point
            if at == before:
                break
        best = self.scores(max(tried, key=lambda point: tried[point]))[rows]
        if _is_as_good(present[rows], best):
            return None
        near = sorted(tried, key=lambda point: (math.dist(point, self._start), point))
        taken = next(point for point in near if _is_as_good(self.scores(point)[rows], best))
        return {name: weight for name, weight in zip(self._names, taken, strict=True) if weight}


def _with_share(point: Point, signal: int) -> list[Point]:
    """Return the weights with one signal's share changed; none where no other signal has any."""
    others = math.fsum(point) - point[signal]
    if others < _RISE:
        return []
    return [
        tuple(
            round(share if i == signal else weight * (1 - share) / others, 4)
            for i, weight in enumerate(point)
        )
        for share in _SHARES
    ]


def _is_as_good(scores: Numbers, best: Numbers) -> bool:
    """Whether the best is not better by more than one standard error of the paired difference."""
    difference = best - scores
    return bool(difference.mean() <= difference.std(ddof=1) / math.sqrt(len(difference)))


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
    """Return the judgments that `judgments_as_lines` gave; `rater` may be left out."""
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
