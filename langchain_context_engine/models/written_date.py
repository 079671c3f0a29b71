"""Dates as people and programs write them beside ISO 8601: a month's name, slashes, dots, twelve hours."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
    "november", "december",
)  # fmt: skip
_NAMED = r"(?P<month>[A-Za-z]{3,9})\.?"
_NUMBERED = r"(?P<month>\d{1,2})"
_DAY, _YEAR = r"(?P<day>\d{1,2})", r"(?P<year>\d{4})"
_CLOCK = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?P<fraction>[.,]\d{1,9})?)?"
    r" ?(?P<half>[AaPp]\.?[Mm]\.?)?"
)
_ZONE = r" {0,2}(?:(?P<zone>[+-]\d{2}:?\d{2}|[Zz]|UTC|GMT)(?: \(?[A-Z]{3,4}\)?)?)?"
_THEN = rf"(?:(?:[Tt_]|,? {{1,2}}(?:at )?){_CLOCK}{_ZONE})?"
_WEEKDAY = r"(?:[A-Z][a-z]{2,8}\.?,? )?"
_SHAPES = tuple(
    re.compile(shape)
    for shape in (
        rf"{_YEAR}-{_NUMBERED}-{_DAY}{_THEN}",
        rf"{_YEAR}/{_NUMBERED}/{_DAY}{_THEN}",
        rf"{_YEAR}\.{_NUMBERED}\.{_DAY}{_THEN}",
        rf"{_YEAR}年{_NUMBERED}月{_DAY}日{_THEN}",
        rf"{_DAY}\.{_NUMBERED}\.{_YEAR}{_THEN}",
        rf"(?P<one>\d{{1,2}})(?P<mark>[/-])(?P<other>\d{{1,2}})(?P=mark){_YEAR}{_THEN}",
        rf"{_WEEKDAY}{_DAY}(?:st|nd|rd|th|\.)?(?: of)?[ -]{_NAMED},?[ -]{_YEAR}{_THEN}",
        rf"{_WEEKDAY}{_NAMED} {_DAY}(?:st|nd|rd|th)?,? {_YEAR}{_THEN}",
        # As C's `ctime` and git print it.
        rf"{_WEEKDAY}{_NAMED} {{1,2}}{_DAY} {_CLOCK} (?:(?:UTC|GMT) )?{_YEAR}{_ZONE}",
    )
)
_IN_BRACKETS = re.compile(r"(?<=[\dZz])\[[A-Za-z0-9/_+=-]{1,60}\]$")
_LONGEST = 80
_NOON, _LAST_HOUR, _LEAP = 12, 24, 60


def read_written(text: str) -> datetime | None:
    """Return the instant that a written date names; None where it is none, or may be either of two days.

    Months are English. Of two numbers before a year the day is the one above twelve; where both could be
    a month only dots tell (the day comes first). Without a zone it is UTC.

    Example:
        >>> read_written("May 1, 2024") == read_written("01.05.2024") == read_written("2024/5/1 0:00")
        True
        >>> read_written("31/12/2024").day, read_written("01/05/2024")
        (31, None)
    """
    if len(text) > _LONGEST:
        return None
    plain = _IN_BRACKETS.sub("", text)  # a zone's name, as Java and JavaScript put behind
    for shape in _SHAPES:
        if found := shape.fullmatch(plain):
            return _instant(found.groupdict())
    return None


def _instant(found: Mapping[str, str | None]) -> datetime | None:
    month, day = _month_and_day(found)
    if not month:
        return None
    hour, second = int(found["hour"] or 0), int(found["second"] or 0)
    if found["half"]:
        if not 1 <= hour <= _NOON:
            return None
        hour = hour % _NOON + (_NOON if found["half"][0] in "Pp" else 0)
    minute, zone = found["minute"] or "00", found["zone"] or "Z"
    # The end of a day, and of a minute that is a second longer, are the beginning of the next.
    more = timedelta(days=hour == _LAST_HOUR and minute == "00" and second == 0, seconds=second == _LEAP)
    clock = f"{0 if more.days else hour:02}:{minute}:{second - more.seconds:02}"
    fraction = (found["fraction"] or "").replace(",", ".")
    zone = "Z" if zone in ("UTC", "GMT") else zone.upper()
    try:
        read = datetime.fromisoformat(f"{found['year']}-{month:02}-{day:02}T{clock}{fraction}{zone}")
        return (read + more).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _month_and_day(found: Mapping[str, str | None]) -> tuple[int, int]:
    """Return the numbers of month and day; 0 for the month where it cannot be told."""
    if found.get("one"):
        one, other = int(found["one"] or 0), int(found["other"] or 0)
        if one != other and max(one, other) <= _NOON:
            return 0, 0
        return (other, one) if one > _NOON else (one, other)
    month = (found["month"] or "").lower()
    if month.isdigit():
        return int(month), int(found["day"] or 0)
    named = [n for n, name in enumerate(_MONTHS, 1) if month in (name, name[:3], "sept"[: 4 * (n == 9)])]  # noqa: PLR2004
    return (named[0] if named else 0), int(found["day"] or 0)
