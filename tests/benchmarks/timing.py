"""Two ways of answering the same questions, timed in turn."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of each answer, by the order of the questions."""

    ours: list[float]
    theirs: list[float]

    def ratio(self, share: float) -> float:
        """Return ours over theirs at a quantile, 0–1."""
        return quantile(self.ours, share) / quantile(self.theirs, share)


def quantile(seconds: Sequence[float], share: float) -> float:
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def milliseconds(seconds: Sequence[float]) -> str:
    return f"{1000 * quantile(seconds, 0.5):.2f} ms"


def side_by_side(
    questions: Sequence[Any], ours: Callable[[Any], object], theirs: Callable[[Any], object]
) -> Times:
    """Ask each question of both, now one first, now the other."""
    gc.collect()
    times = Times([], [])
    for number, question in enumerate(questions):
        pair = [(ours, times.ours), (theirs, times.theirs)]
        for answer, seconds in pair if number % 2 else reversed(pair):
            start = time.perf_counter()
            answer(question)
            seconds.append(time.perf_counter() - start)
    return times
