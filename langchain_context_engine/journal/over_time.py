"""Figures over time, by day, from the rows of the journal alone. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, tzinfo

import numpy as np

from langchain_context_engine.journal.values import TraceRow

__all__ = ["WHOLE", "Day", "Spread", "Timed", "by_day", "of_sources", "of_stages", "spread", "took"]

_UNTIMED = {"total", "cache"}

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


def spread(values: Iterable[float]) -> Spread:
    """Return the spread of some values: the nearest-rank percentiles.

    Example:
        >>> spread([5, 1, 3])
        Spread(count=3, p50=3.0, p95=5.0)
    """
    given = list(values)
    p50, p95 = np.percentile(given, [50, 95], method="inverted_cdf") if given else (math.nan, math.nan)
    return Spread(count=len(given), p50=float(p50), p95=float(p95))


def took(row: TraceRow, what: Timed) -> float | None:
    """Return the milliseconds that a stage, a source or the whole answer took; None where it had no part."""
    kind, name = what
    known = {"stage": row.timings, "source": row.source_timings}.get(kind)
    return row.milliseconds if known is None else known.get(name)


def by_day(rows: Iterable[TraceRow], zone: tzinfo, what: Timed = WHOLE) -> list[Day]:
    """Return one entry a day that has questions, the latest first.

    Args:
        rows: From `Journal.traces`.
        zone: Where the days begin and end.
        what: Whose milliseconds a day tells.
    """
    days: dict[date, list[TraceRow]] = {}
    for row in rows:
        days.setdefault(row.time.astimezone(zone).date(), []).append(row)
    return [_day(day, days[day], what) for day in sorted(days, reverse=True)]


def _day(day: date, rows: Sequence[TraceRow], what: Timed) -> Day:
    unused = [1 - row.tokens / row.budget for row in rows if row.budget]
    statuses = Counter(row.status for row in rows)
    return Day(
        day=day,
        questions=len(rows),
        doubtful=statuses["doubtful"],
        partial=statuses["partial"],
        failed=statuses["failed"],
        bare=sum(not row.kept for row in rows),
        milliseconds=spread(found for row in rows if (found := took(row, what)) is not None),
        unused=math.fsum(unused) / len(unused) if unused else math.nan,
        duplicates=sum(row.duplicates for row in rows) / len(rows),
    )


def of_stages(rows: Iterable[TraceRow]) -> Mapping[str, Spread]:
    """Return stage → what it took, in milliseconds, the slowest first."""
    found = _by_name(rows, lambda row: row.timings)
    return {name: spread for name, spread in found.items() if name not in _UNTIMED}


def of_sources(rows: Iterable[TraceRow]) -> Mapping[str, Spread]:
    """Return source → the milliseconds until its answers were there, the slowest first."""
    return _by_name(rows, lambda row: row.source_timings)


def _by_name(
    rows: Iterable[TraceRow], timings: Callable[[TraceRow], Mapping[str, float]]
) -> dict[str, Spread]:
    found: dict[str, list[float]] = {}
    for row in rows:
        for name, milliseconds in timings(row).items():
            found.setdefault(name, []).append(milliseconds)
    spreads = {name: spread(values) for name, values in found.items()}
    return dict(sorted(spreads.items(), key=lambda item: (-item[1].p95, item[0])))
