"""Weights learned from your own judgments: tried on held-out questions, shown before they are taken.

Nothing is written anywhere. Below about fifty judged questions, learned weights were measured to be
worse as often as better, so fewer are refused; and of weights that are as good, the present ones win.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from langchain_context_engine.evaluation.bootstrap import Interval, paired_bootstrap
from langchain_context_engine.evaluation.judged import (
    METRICS,
    JudgedTrace,
    Judgments,
    Metric,
    Numbers,
    by_query,
    judged_traces,
    traces_of,
)
from langchain_context_engine.evaluation.tuning import Search, varying
from langchain_context_engine.journal.values import Judgment
from langchain_context_engine.models.errors import ConfigError
from langchain_context_engine.models.freeze import as_names
from langchain_context_engine.models.registry import Registry
from langchain_context_engine.ranking.signals import SIGNALS
from langchain_context_engine.trace.context import Context

if TYPE_CHECKING:
    from langchain_context_engine.journal import Journal

__all__ = ["MIN_QUERIES", "SIGNALS_TRIED", "Tuning", "suggest", "tune"]

MIN_QUERIES = 50
"""Judged questions that are needed by default."""

_CONFIDENCE = 0.99
"""A set of weights was chosen among many, so a gain by chance is likelier than a single test allows for."""

_LEAST_GAIN = 0.02
"""A smaller gain is within what grading the same questions again would move."""

SIGNALS_TRIED = ("relevance", "recency", "confidence", "importance", "keyword", "usage")
"""Signals that are tried by default, beside those that weigh something now and the engine's own."""

# Where a question does not ask for the latest.
_DEFAULT_WEIGHTS = {"relevance": 1.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """What was learned, and whether to take it.

    Attributes:
        present: The weights now, summing to 1; None: the default ones.
        learned: The weights learned from all judged questions; the present ones where nothing else
            is better by more than one standard error.
        metric: Name of the metric, as in the table.
        before: Mean of the metric under the present weights, 0–1; NaN without a judged question.
        after: Mean on questions held out while learning; equal to `before` where nothing was learned.
        gain: `after` less `before` with its 99 % interval; None where nothing was learned.
        queries: Judged questions it rests on.
        is_worth_it: The gain is beyond chance.
        reason: Why, in one sentence.
    """

    present: Mapping[str, float] | None
    learned: Mapping[str, float]
    metric: str
    before: float
    after: float
    gain: Interval | None
    queries: int
    is_worth_it: bool
    reason: str

    @property
    def weights(self) -> Mapping[str, float] | None:
        """The weights to use: the learned ones where they are worth it, else the present ones."""
        return self.learned if self.is_worth_it else self.present

    def table(self) -> str:
        """Return the change as two Markdown tables: the weights, and what they do to the metric."""
        now = self.present or _DEFAULT_WEIGHTS
        names = sorted({*now, *self.learned}, key=lambda name: (-self.learned.get(name, 0.0), name))
        lines = ["| signal | now | learned |", "| --- | ---: | ---: |"]
        lines += [
            f"| {name} | {now.get(name, 0.0):.2f} | {self.learned.get(name, 0.0):.2f} |" for name in names
        ]
        lines += [
            "",
            f"| {self.metric} | now | held out | gain | 99 % interval |",
            "| --- | ---: | ---: | ---: | --- |",
        ]
        if self.gain is None:
            cells = [_decimals(self.before), "–", "–", "–"]
        else:
            interval = f"{self.gain.low:+.3f} to {self.gain.high:+.3f}"
            cells = [_decimals(self.before), _decimals(self.after), f"{self.gain.difference:+.3f}", interval]
        return "\n".join([*lines, f"| {self.queries} questions | {' | '.join(cells)} |"])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-ready data; what is not a number is None."""
        data = {"weights": self.weights, **dataclasses.asdict(self)}
        return {name: None if value != value else value for name, value in data.items()}  # noqa: PLR0124 - NaN


def tune(
    traces: Iterable[Context],
    judgments: Judgments | Iterable[Judgment],
    *,
    signals: Sequence[str] | None = None,
    metric: str = "ndcg",
    folds: int = 5,
    seed: int = 0,
    min_queries: int = MIN_QUERIES,
    engine: Any = None,
) -> Tuning:
    """Return weights learned from judgments, and whether they are better than the present ones.

    Pure: the stored candidates are ranked again, by the functions that answered. The judged questions
    are dealt into folds; each fold is ranked under weights learned from the others, and a paired
    bootstrap over all questions says whether the gain is real. The present weights are those that most
    of the traces have. A question counts where a trace of it has something to find; of several traces
    of one question, the one with most judged candidates counts, the first at a tie.

    Args:
        traces: Contexts, or traces read back; those without settings cannot be ranked again.
        judgments: What `Journal.judgments` gives, or question → candidate → grade, 0–3.
        signals: Names of signals to weigh; by default `SIGNALS_TRIED`, the engine's own and those that
            weigh something now. One that does not vary within any question is left out.
        metric: `ndcg` or `recall`, of the first ten; for `recall`, grades 2 and 3 are to be found.
        folds: Into how many parts the questions are dealt, 2 or more.
        seed: The same seed gives the same tuning.
        min_queries: With fewer judged questions nothing is learned.
        engine: Where parts that were given as functions come from.

    Raises:
        ConfigError: An argument is wrong, or a part of a trace was a function and `engine` has it not.

    Example:
        >>> tune([], []).reason
        'only 0 judged questions have something to find, and 50 are needed: fewer mislead; judge more'
    """
    measure = Registry("metric", METRICS)[metric]
    if folds < 2 or min_queries < folds:  # noqa: PLR2004 - without a second there is nothing held out
        raise ConfigError(f"folds must be from 2 to min_queries, got {folds} of {min_queries}")
    judged = judged_traces(traces, by_query(judgments), measure, engine)
    present = judged[0].parts.weights if judged else None
    before = np.array([trace.present_score(measure) for trace in judged])
    kept = _kept(present, measure, before)
    if len(judged) < min_queries:
        told = f"only {len(judged)} judged questions have something to find, and {min_queries} are needed"
        return replace(kept, reason=f"{told}: fewer mislead; judge more")
    now = present or _DEFAULT_WEIGHTS
    names, raw = varying(judged, _names(judged, signals, now))
    if len(names) < 2:  # noqa: PLR2004 - one signal has nothing to be weighed against
        told = f"only {names[0]} tells" if names else "no signal tells"
        return replace(kept, reason=f"{told} candidates of a question apart: there is nothing to weigh")
    search = Search(judged, names=names, raw=raw, metric=measure, present=before, weights=now)
    everyone, after = np.arange(len(judged)), before.copy()
    for fold in np.array_split(np.random.default_rng(seed).permutation(everyone), folds):
        weights = search.learn(np.setdiff1d(everyone, fold))
        if weights is not None:
            after[fold] = [judged[row].score(measure, weights) for row in fold]
    weights = search.learn(everyone)
    if weights is None:
        told = "no other weights are better than the present ones by more than a standard error"
        return replace(kept, reason=told)
    return _learned(kept, weights, before, after, seed)


def suggest(journal: Journal, **options: Any) -> Tuning:
    """Return what `tune` learns from a journal: its judgments, and its traces of the judged questions.

    Args:
        journal: Read only.
        **options: Those of `tune`.

    Raises:
        ConfigError: As `tune`, or a trace cannot be read.
    """
    grades = by_query(journal.judgments())
    return tune(traces_of(journal, grades), grades, **options)


def _kept(present: Mapping[str, float] | None, metric: Metric, before: Numbers) -> Tuning:
    mean = float(before.mean()) if len(before) else math.nan
    return Tuning(
        present=present,
        learned=present or _DEFAULT_WEIGHTS,
        metric=metric.label,
        before=mean,
        after=mean,
        gain=None,
        queries=len(before),
        is_worth_it=False,
        reason="",
    )


def _learned(
    kept: Tuning, weights: Mapping[str, float], before: Numbers, after: Numbers, seed: int
) -> Tuning:
    gain = paired_bootstrap(list(before), list(after), seed=seed, confidence=_CONFIDENCE)
    is_worth_it = gain.low > 0 and gain.difference >= _LEAST_GAIN
    told = "beyond chance" if is_worth_it else "within chance, so keep the present weights"
    return replace(
        kept,
        learned=weights,
        after=float(after.mean()),
        gain=gain,
        is_worth_it=is_worth_it,
        reason=f"on held-out questions {kept.metric} changes by {gain.difference:+.3f}, 99 % interval"
        f" {gain.low:+.3f} to {gain.high:+.3f}: {told}",
    )


def _names(
    judged: Sequence[JudgedTrace], signals: Sequence[str] | None, present: Mapping[str, float]
) -> list[str]:
    known = judged[0].parts.signals
    own = [name for name in known if name not in SIGNALS]
    tried = (*SIGNALS_TRIED, *own) if signals is None else as_names(signals) or ()
    names = list(dict.fromkeys((*tried, *present)))
    for name in names:
        known[name]  # raises for an unknown one
    return names


def _decimals(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}"
