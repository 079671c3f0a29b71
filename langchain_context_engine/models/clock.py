"""Instants: whatever a store calls a date as one aware UTC datetime."""

from __future__ import annotations

import math
import re
import time
from contextvars import ContextVar
from datetime import UTC, date, datetime
from functools import lru_cache

from langchain_context_engine.models.freeze import as_data

asked_at: ContextVar[tuple[float, float] | None] = ContextVar("asked_at", default=None)
"""When the sources that answer in this context were asked, and until when, on `time.monotonic()`'s clock."""

_USUAL_SECONDS = 2.0
"""How long an answer is waited for where nobody says."""

# Epoch seconds reach this only in the year 5138; anything beyond is milliseconds, and so on for finer ones.
_MILLISECONDS_FROM = 1e11
_FINER = 1000
_END_OF_CENTURIES = 4_102_444_800
_FIRST_YEAR, _AFTER_LAST_YEAR = 1900, 2100
_DAY_FORMATS = {4: "%Y", 6: "%Y%m", 7: "%Y%j", 8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
_MONTH_OR_DAY_OF_YEAR = re.compile(r"\d{4}-\d{2,3}", re.ASCII)
# A zone behind a space, as git and databases print it, and its name beside it.
_ZONE = re.compile(r"(?<=\d) *(?:UTC|GMT|Z|([+-]\d{2}:?\d{2})(?: +\(?[A-Z]{3,4}\)?)?)$")
_WRITTEN = re.compile(r"[\w,. :/+\-]{6,80}")
_DAY_FIRST = re.compile(r"\d{1,2}\.\d{1,2}\.\d{4}")
_LONGEST_KEPT, _MOST_KEPT = 40, 2**13
"""Characters of a text whose instant is kept, and how many are: questions read the same dates again."""


def moment_asked() -> float:
    """Return `asked_at`, or now where nobody says: what was written before that must be seen."""
    asked = asked_at.get()
    return time.monotonic() if asked is None else asked[0]


def moment_over(share: float) -> float:
    """Return when a share, 0–1, of the time is over in which sources may answer."""
    asked, due = asked_at.get() or (now := time.monotonic(), now + _USUAL_SECONDS)
    return asked + share * (due - asked)


def read_instant(value: object) -> datetime | None:
    """Return the instant that a value names, in UTC, or None where none can be read.

    Read are: datetimes and dates, ISO 8601 strings (a month or a year is its first day), dates as people,
    mail, git and databases write them (English months; of two numbers before a year of four digits the day
    is the one above twelve, and where both could be a month only dots tell), epoch seconds and finer ones as
    numbers or numeric strings. Naive values are UTC. Digits that are a year, month, day, minute or second
    between 1900 and 2100 are that: as epoch seconds they would be in 1970.
    """
    try:
        if type(value) in {int, float} or (type(value) is str and len(value) <= _LONGEST_KEPT):
            return _read_plain(value)
        value = as_data(value)
        if isinstance(value, datetime):
            return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        if isinstance(value, date):
            return datetime(value.year, value.month, value.day, tzinfo=UTC)
        if isinstance(value, (str, int, float)) and not isinstance(value, bool):
            return _read(value)
    except (OverflowError, TypeError, ValueError, OSError, RecursionError):
        return None
    return None


def _read(value: str | float) -> datetime | None:
    if isinstance(value, str):
        return _read_text(value.strip())
    return _read_day(str(value)) or _read_epoch(float(value))


_read_plain = lru_cache(maxsize=_MOST_KEPT, typed=True)(_read)


def _read_text(text: str) -> datetime | None:
    text = text.partition("[")[0]  # a zone's name, as Java and JavaScript add it
    if _MONTH_OR_DAY_OF_YEAR.fullmatch(text):
        return _read_digits(text.replace("-", ""))
    if day := _read_day(text):
        return day
    if "_" not in text:  # which Python takes for one between the digits of a number
        try:
            return _read_epoch(float(text))
        except ValueError:
            pass
    try:
        return read_instant(datetime.fromisoformat(_ZONE.sub(lambda zone: zone[1] or "Z", text).upper()))
    except ValueError:
        return _read_written(text)


def _read_written(text: str) -> datetime | None:
    """Return the instant of a date in words or with slashes; None where it may be either of two days."""
    from dateutil import parser

    if not _WRITTEN.fullmatch(text):
        return None
    readings = {
        parser.parse(text, dayfirst=day_first, yearfirst=year_first, default=default, tzinfos=_zone)
        for day_first in _orders(text)
        for year_first in (False, True)
        # What is taken from the default was not written: a time alone, a month without its year.
        for default in (datetime(2004, 1, 1, tzinfo=UTC), datetime(2008, 3, 2, tzinfo=UTC))
    }
    found = readings.pop()
    return None if readings else read_instant(found)


def _zone(name: str | None, seconds: int | None) -> int | None:
    """Return a zone's seconds east; one that has but a name may be any of several."""
    if name and seconds is None:
        raise ValueError(f"the zone {name} is not known")
    return seconds


def _orders(text: str) -> tuple[bool, ...]:
    """Return whether the day may stand before the month: never behind a year, always where dots join them."""
    if text[:4].isdigit():
        return (False,)
    return (True,) if _DAY_FIRST.match(text) else (True, False)


def _read_day(text: str) -> datetime | None:
    """Return the instant that the digits of a date of these centuries name, or None."""
    text = text.removesuffix(".0")
    if len(text) not in _DAY_FORMATS or not (text.isascii() and text.isdigit()):
        return None
    return _read_digits(text) if _FIRST_YEAR <= int(text[:4]) < _AFTER_LAST_YEAR else None


def _read_digits(text: str) -> datetime | None:
    """Return the instant that the digits of a date name, by how many they are, or None."""
    try:
        found = datetime.strptime(text, _DAY_FORMATS[len(text)]).replace(tzinfo=UTC)
    except ValueError:
        return None
    return found if found.year == int(text[:4]) else None  # which day 366 of a shorter year is not


def _read_epoch(seconds: float) -> datetime | None:
    if not math.isfinite(seconds):
        return None
    if abs(seconds) < _MILLISECONDS_FROM:
        return datetime.fromtimestamp(seconds, tz=UTC)
    seconds /= _FINER
    if abs(seconds) >= _MILLISECONDS_FROM:  # micro or nano, where that is a date of these centuries
        seconds = next(
            (s for s in (seconds / _FINER, seconds / _FINER**2) if 0 < s < _END_OF_CENTURIES), math.inf
        )
    return datetime.fromtimestamp(seconds, tz=UTC)
