"""A search over trial weights of signals, on judged traces.

A trace's raw signals do not depend on weights, so the library's `rank` reads them once; then the
ranking under trial weights is a product and a stable sort. The search alone goes by that. Every
figure that is told is of the ranking that the library's `order` gives.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from langchain_context_engine.evaluation.judged import JudgedTrace, K, Metric, Numbers

__all__ = ["Search", "varying"]

Point = tuple[float, ...]
"""Trial weights in the order of the signals; their sum is 1."""

_SHARES = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_MOST_ROUNDS = 10
_DECIMALS = 12  # scores that differ by rounding alone are equal, as they are for exact sums
_RISE = 1e-9


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
    What is a duplicate of what stays as it is under the present weights.

    Args:
        traces: Those to learn from.
        names: The signals.
        raw: Of each trace, what `JudgedTrace.signals` gave.
        metric: What to raise.
        present: Scores of the present weights, one for each trace.
        weights: The present ones: where the ascent begins.
    """

    def __init__(
        self,
        traces: Sequence[JudgedTrace],
        *,
        names: Sequence[str],
        raw: Sequence[Numbers],
        metric: Metric,
        present: Numbers,
        weights: Mapping[str, float],
    ) -> None:
        found = [trace.survivors() for trace in traces]
        width = max(K, *(len(survivors) for survivors, _ in found))
        self._names = names
        self._present = present
        self._start = _start(names, weights)
        self._discounts = np.array(metric.discounts)
        self._values = np.zeros((len(names), len(traces), width))
        self._gains = np.zeros((len(traces), width))
        self._is_there = np.zeros((len(traces), width), dtype=bool)
        self._ideal = np.zeros(len(traces))
        for row, (trace, (survivors, elsewhere)) in enumerate(zip(traces, found, strict=True)):
            kept = [place for place, c in enumerate(trace.context.candidates) if c.key in survivors]
            grades = [survivors[trace.context.candidates[place].key] for place in kept]
            self._values[:, row, : len(kept)] = raw[row][:, kept]
            self._gains[row, : len(kept)] = [metric.gains[grade] for grade in grades]
            self._is_there[row, : len(kept)] = True
            best = sorted((metric.gains[grade] for grade in (*grades, *elsewhere)), reverse=True)[:K]
            self._ideal[row] = np.dot(best, self._discounts[: len(best)])
        self._known: dict[Point, Numbers] = {}

    def scores(self, point: Point) -> Numbers:
        """Return the metric of every trace under trial weights; ties keep the engine's order."""
        if point not in self._known:
            total = sum((weight * self._values[i] for i, weight in enumerate(point)), np.zeros(()))
            total = np.where(self._is_there, np.round(total, _DECIMALS), -1.0)
            first = np.argsort(-total, axis=1, kind="stable")[:, :K]
            gained = np.take_along_axis(self._gains, first, axis=1) @ self._discounts
            self._known[point] = gained / self._ideal
        return self._known[point]

    def learn(self, rows: NDArray[np.intp]) -> dict[str, float] | None:
        """Return the weights learned from some of the traces; None: the present ones are as good."""
        tried = self._ascend(rows)
        best = self.scores(max(tried, key=lambda point: tried[point]))[rows]
        if _is_as_good(self._present[rows], best):
            return None
        near = sorted(tried, key=lambda point: (math.dist(point, self._start), point))
        taken = next(point for point in near if _is_as_good(self.scores(point)[rows], best))
        return {name: weight for name, weight in zip(self._names, taken, strict=True) if weight}

    def _ascend(self, rows: NDArray[np.intp]) -> dict[Point, float]:
        """Return the mean of all weights that were tried, on some of the traces alone."""
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
        return tried


def _start(names: Sequence[str], weights: Mapping[str, float]) -> Point:
    """Return the weights of the named ones, scaled; where none of them weighs anything, the first alone."""
    total = math.fsum(weights.get(name, 0.0) for name in names)
    return tuple(weights.get(name, 0.0) / total if total else float(i == 0) for i, name in enumerate(names))


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
