"""Figures over time, by day, from the rows of the journal alone. Pure."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, tzinfo

import numpy as np

from langchain_context_engine.journal.values import TraceRow

Timed = tuple[str, str]
"""What is timed: `("stage", "collect")`, `("source", "notes")`, or `WHOLE`."""

WHOLE: Timed = ("", "")
"""The whole answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Half of the values are at most `p50`, nineteen of twenty at most `p95`; NaN of none."""

    count: int
    p50: float
    p95: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """Return the spread of some values: the nearest-rank percentiles."""
        given = list(values)
        p50, p95 = np.percentile(given, [50, 95], method="inverted_cdf") if given else (math.nan, math.nan)
        return cls(count=len(given), p50=float(p50), p95=float(p95))


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """What one day's questions were like, where the viewer is.

    `bare` counts those for which nothing was kept, `unused` is the mean share of the budget left over (NaN
    without one), `duplicates` the repeating candidates a question.
    """

    day: date
    questions: int
    doubtful: int
    partial: int
    failed: int
    bare: int
    milliseconds: Spread
    unused: float
    duplicates: float


def by_day(rows: Iterable[TraceRow], zone: tzinfo, what: Timed = WHOLE) -> list[Day]:
    """Return one entry a day that has questions, the latest first.

    Args:
        rows: From `Journal.traces`.
        zone: Where the days begin and end.
        what: Whose milliseconds a day tells.
    """
    days: defaultdict[date, list[TraceRow]] = defaultdict(list)
    for row in rows:
        days[row.time.astimezone(zone).date()].append(row)
    return [_day(day, days[day], what) for day in sorted(days, reverse=True)]


def _day(day: date, rows: Sequence[TraceRow], what: Timed) -> Day:
    unused = [1 - row.tokens / row.budget for row in rows if row.budget]
    statuses = Counter(row.status for row in rows)
    took = (
        row.milliseconds
        if what == WHOLE
        else (row.timings if what[0] == "stage" else row.source_timings).get(what[1])
        for row in rows
    )
    return Day(
        day=day,
        questions=len(rows),
        doubtful=statuses["doubtful"],
        partial=statuses["partial"],
        failed=statuses["failed"],
        bare=sum(not row.kept for row in rows),
        milliseconds=Spread.of(value for value in took if value is not None),
        unused=math.fsum(unused) / len(unused) if unused else math.nan,
        duplicates=sum(row.duplicates for row in rows) / len(rows),
    )


def of_stages(rows: Iterable[TraceRow]) -> Mapping[str, Spread]:
    """Return stage → what it took, in milliseconds, the slowest first; what a cache gave had none."""
    found = _by_name(rows, lambda row: row.timings)
    return {name: spread for name, spread in found.items() if name not in {"total", "cache"}}


def of_sources(rows: Iterable[TraceRow]) -> Mapping[str, Spread]:
    """Return source → the milliseconds until its answers were there, the slowest first."""
    return _by_name(rows, lambda row: row.source_timings)


def _by_name(
    rows: Iterable[TraceRow], timings: Callable[[TraceRow], Mapping[str, float]]
) -> dict[str, Spread]:
    found: defaultdict[str, list[float]] = defaultdict(list)
    for row in rows:
        for name, milliseconds in timings(row).items():
            found[name].append(milliseconds)
    spreads = {name: Spread.of(values) for name, values in found.items()}
    return dict(sorted(spreads.items(), key=lambda item: (-item[1].p95, item[0])))
