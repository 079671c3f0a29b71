"""Figures over time, by day, from the rows of the journal alone. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, tzinfo

from langchain_context_engine.journal.values import TraceRow

__all__ = ["WHOLE", "Day", "Spread", "Timed", "by_day", "of_sources", "of_stages", "spread", "took"]

_UNTIMED = {"total", "cache"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Half of the values are at most `p50`, nineteen of twenty at most `p95`; NaN of none."""

    count: int
    p50: float
    p95: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """What one day's questions were like.

    Attributes:
        day: The day, where the viewer is.
        questions: How many.
        doubtful: With the status doubtful.
        partial: A source failed.
        failed: Every source failed.
        bare: Nothing was kept.
        milliseconds: What the answers took, or what was asked of them took.
        unused: Mean share of the budget that was left over, 0–1; NaN without a budget.
        duplicates: Candidates that repeat another, a question.
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
        Spread(count=3, p50=3, p95=5)
    """
    ordered = sorted(values)

    def at(share: float) -> float:
        return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else math.nan

    return Spread(count=len(ordered), p50=at(0.5), p95=at(0.95))


Timed = tuple[str, str]
"""What is timed: `("stage", "collect")`, `("source", "notes")`, or `WHOLE`."""

WHOLE: Timed = ("", "")
"""The whole answer."""


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
    def count(is_one: Callable[[TraceRow], bool]) -> int:
        return sum(map(is_one, rows))

    unused = [1 - row.tokens / row.budget for row in rows if row.budget]
    return Day(
        day=day,
        questions=len(rows),
        doubtful=count(lambda row: row.status == "doubtful"),
        partial=count(lambda row: row.status == "partial"),
        failed=count(lambda row: row.status == "failed"),
        bare=count(lambda row: not row.kept),
        milliseconds=spread(found for row in rows if (found := took(row, what)) is not None),
        unused=math.fsum(unused) / len(unused) if unused else math.nan,
        duplicates=sum(row.duplicates for row in rows) / len(rows),
    )


def of_stages(rows: Iterable[TraceRow]) -> Mapping[str, Spread]:
    """Return stage → what it took, in milliseconds, the slowest first."""
    found: dict[str, list[float]] = {}
    for row in rows:
        for stage, took in row.timings.items():
            if stage not in _UNTIMED:
                found.setdefault(stage, []).append(took)
    return _slowest_first(found)


def of_sources(rows: Iterable[TraceRow]) -> Mapping[str, Spread]:
    """Return source → the milliseconds until its answers were there, the slowest first."""
    found: dict[str, list[float]] = {}
    for row in rows:
        for source, milliseconds in row.source_timings.items():
            found.setdefault(source, []).append(milliseconds)
    return _slowest_first(found)


def _slowest_first(found: Mapping[str, Sequence[float]]) -> Mapping[str, Spread]:
    spreads = {name: spread(values) for name, values in found.items()}
    return dict(sorted(spreads.items(), key=lambda item: (-item[1].p95, item[0])))
