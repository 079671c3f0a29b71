"""Reading instants: whatever a store calls a date becomes one aware UTC datetime."""

from __future__ import annotations

import math
import time
from contextvars import ContextVar
from datetime import UTC, date, datetime

asked_at: ContextVar[float | None] = ContextVar("asked_at", default=None)
"""When the sources were asked that are answering in this context, on `time.monotonic()`'s clock."""

# Epoch seconds reach this only in the year 5138; anything beyond is milliseconds.
_MILLISECONDS_FROM = 1e11
_DAY_FORMATS = {8: "%Y%m%d", 14: "%Y%m%d%H%M%S"}
_FIRST_YEAR, _AFTER_LAST_YEAR = 1900, 2100


def moment_asked() -> float:
    """Return `asked_at`, or now where nobody says: what was written before that must be seen."""
    asked = asked_at.get()
    return time.monotonic() if asked is None else asked


def read_instant(value: object) -> datetime | None:
    """Return the instant that a value names, in UTC, or None where none can be read.

    Read are: datetimes and dates, ISO 8601 strings (`Z` and the basic forms without hyphens
    included), epoch seconds and milliseconds as numbers or numeric strings. Naive values are UTC.
    Eight digits that are a day between 1900 and 2100 are that day, as a number too: as epoch seconds
    they would be one in 1970.

    Example:
        >>> read_instant("2024-05-01T08:00:00Z") == read_instant(1714550400000)
        True
        >>> read_instant("20240501") == read_instant(20240501) == read_instant("2024-05-01")
        True
        >>> read_instant("not a date") is None
        True
    """
    try:
        if isinstance(value, datetime):
            instant = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
            return instant if instant == instant else None  # noqa: PLR0124 - pandas' missing date is a datetime
        if isinstance(value, date):
            return datetime(value.year, value.month, value.day, tzinfo=UTC)
        if isinstance(value, str):
            return _read_text(value.strip())
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return _read_day(str(value)) or _read_epoch(float(value))
    except (OverflowError, ValueError, OSError, RecursionError):
        return None
    return None


def _read_text(text: str) -> datetime | None:
    if day := _read_day(text):
        return day
    try:
        return _read_epoch(float(text))
    except ValueError:
        return read_instant(datetime.fromisoformat(text.upper()))


def _read_day(text: str) -> datetime | None:
    """Return the day that eight digits name, or its second that fourteen name, or None."""
    text = text.removesuffix(".0")
    if len(text) not in _DAY_FORMATS or not (text.isascii() and text.isdigit()):
        return None
    if not _FIRST_YEAR <= int(text[:4]) < _AFTER_LAST_YEAR:
        return None
    try:
        return datetime.strptime(text, _DAY_FORMATS[len(text)]).replace(tzinfo=UTC)
    except ValueError:
        return None


def _read_epoch(seconds: float) -> datetime | None:
    if not math.isfinite(seconds):
        return None
    if abs(seconds) >= _MILLISECONDS_FROM:
        seconds /= 1000
    return datetime.fromtimestamp(seconds, tz=UTC)
