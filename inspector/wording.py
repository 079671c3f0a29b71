"""How the inspector says numbers, times and names: one format for each. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, tzinfo
from unicodedata import bidirectional
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

__all__ = [
    "NOT_REPLAYED",
    "WITHOUT_TRACE",
    "counted",
    "day",
    "isolated",
    "number",
    "ratio",
    "share",
    "signed",
    "time",
    "unique_labels",
    "zone_of",
]

UNKNOWN = "–"
WITHOUT_TRACE = "Without a trace that can be read here"
NOT_REPLAYED = "Not replayed, since a part of the engine was a function or the trace is damaged"
"""What is said of questions that the figures leave out."""

_TURNING = frozenset({"R", "AL", "RLE", "RLO", "RLI", "LRE", "LRO", "LRI", "FSI", "PDF", "PDI"})


def number(value: float | None) -> str:
    """Return a count in words.

    Example:
        >>> number(1234), number(None)
        ('1,234', '–')
    """
    return UNKNOWN if value is None or math.isnan(value) else f"{value:,.0f}"


def share(value: float | None) -> str:
    """Return a share of 1 in words.

    Example:
        >>> share(0.256), share(float("nan"))
        ('26 %', '–')
    """
    return UNKNOWN if value is None or math.isnan(value) else f"{100 * value:.0f} %"


def ratio(value: float | None) -> str:
    """Return a score or a figure between 0 and 1 with three decimals.

    Example:
        >>> ratio(0.5), ratio(None)
        ('0.500', '–')
    """
    return UNKNOWN if value is None or math.isnan(value) else f"{value:.3f}"


def counted(count: int, one: str, many: str = "") -> str:
    """Return a count with what is counted.

    Example:
        >>> counted(1, "question"), counted(2400, "question"), counted(2, "try", "tries")
        ('1 question', '2,400 questions', '2 tries')
    """
    return f"{number(count)} {one if count == 1 else many or f'{one}s'}"


def signed(value: float) -> str:
    """Return a change with its sign, "" for none.

    Example:
        >>> signed(12), signed(-3), signed(0)
        ('+12', '−3', '')
    """
    if not value or math.isnan(value):
        return ""
    told = f"{abs(value):,.0f}" if float(value).is_integer() else f"{abs(value):.3f}"
    return f"{'+' if value > 0 else '−'}{told}"


def isolated(text: str) -> str:
    r"""Return a text that turns nothing beside it round: what is written from right to left is set apart.

    Example:
        >>> isolated("a.py:3"), ascii(isolated("a\u202eb"))
        ('a.py:3', "'\\u2068a\\u202eb\\u2069'")
    """
    turns = any(bidirectional(sign) in _TURNING for sign in text)
    return f"\u2068{text}\u2069" if turns else text


def zone_of(name: str | None) -> tzinfo:
    """Return the viewer's time zone, or UTC where the browser's is not known here."""
    try:
        return ZoneInfo(name) if name else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def time(instant: datetime, zone: tzinfo = UTC) -> str:
    """Return an instant to the second, with its year, where the viewer is.

    Example:
        >>> time(datetime(2026, 3, 1, 9, 5, 7, tzinfo=UTC))
        '1 Mar 2026, 09:05:07'
    """
    local = instant.astimezone(zone)
    return f"{day(local)}, {local:%H:%M:%S}"


def day(of: date) -> str:
    """Return a day with its year."""
    return f"{of.day} {of:%b %Y}"


def unique_labels(told: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return a label for each id, no two alike.

    Args:
        told: Id → what can be said of it, the most telling first. Where two labels are alike, the next thing
            is said too; where all is alike, the id.

    Example:
        >>> unique_labels({"a1": ("why?", "k 3"), "b2": ("why?", "k 4"), "c3": ("who?", "k 4")})
        {'a1': 'why? · k 3', 'b2': 'why? · k 4', 'c3': 'who?'}
    """
    labels = {name: parts[0] if parts else name for name, parts in told.items()}
    longest = max((len(parts) for parts in told.values()), default=0)
    for depth in range(1, longest + 1):
        counts = Counter(labels.values())
        for name, parts in told.items():
            if counts[labels[name]] > 1:
                more = parts[depth] if depth < len(parts) else name
                labels[name] = f"{labels[name]} · {more}"
    counts = Counter(labels.values())
    return {name: f"{label} · {name}" if counts[label] > 1 else label for name, label in labels.items()}
