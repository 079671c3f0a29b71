"""Where a record stands in what a person knows: `httpx/_client.py:430-471 · Client.send`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

LONGEST_PLACE = 120
"""Characters of a place that are shown; of a longer one its end, where it is most particular."""

_SHORT_SHA = 8
_LONGEST_HEADINGS = 1000
# What a trace keeps of a value that was no data: its type's name.
_NO_DATA = re.compile(r"<[\w.]+>")
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")


def place_from(metadata: Mapping[str, Any], created_at: datetime | None = None) -> str:
    """Return where a record stands, on one line; "" where its metadata say nothing of it.

    The metadata's own `place`, if it is a text that is not blank. Else a path with its lines and symbol,
    or with its headings; else a commit's hash (eight digits), its date and author.

    Args:
        metadata: `place`; or `path`, `start_line` and `end_line` (from 1), `symbol`, `headings` (joined, or a
            list); or `sha` and `author`.
        created_at: The date of a commit.

    Example:
        >>> place_from({"path": "a.py", "start_line": 3, "end_line": 9, "symbol": "Tea.brew"})
        'a.py:3-9 · Tea.brew'
        >>> place_from({"path": "a.md", "headings": ["0.2", "Removed"]}), place_from({"topic": "tea"})
        ('a.md › 0.2 › Removed', '')
    """
    given = metadata.get("place")
    if isinstance(given, str) and (place := _line(given)):
        return _clipped(place)
    if path := _line(metadata.get("path")):
        return _clipped(_in_file(path, metadata))
    if sha := _line(metadata.get("sha")):
        day = "" if created_at is None else created_at.date().isoformat()
        return _clipped(
            ", ".join(filter(None, (sha[:_SHORT_SHA].strip(), day, _line(metadata.get("author")))))
        )
    return ""


def has_place(metadata: Mapping[str, Any]) -> bool:
    """Return whether metadata say where a record stands: whether its `place_from` is a text."""
    return any(_line(metadata.get(name)) for name in ("place", "path", "sha"))


def _in_file(path: str, metadata: Mapping[str, Any]) -> str:
    if symbol := _line(metadata.get("symbol")):
        return f"{path}{_lines(metadata)} · {symbol}"
    if headings := _headings(metadata.get("headings")):
        return f"{path} › {headings}"
    return path + _lines(metadata)


def _lines(metadata: Mapping[str, Any]) -> str:
    first, last = (_number(metadata.get(name)) for name in ("start_line", "end_line"))
    if first is None:
        return ""
    return f":{first}" if last is None or last <= first else f":{first}-{last}"


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _headings(value: object) -> str:
    """Return headings joined, of a link in one its text."""
    shown = " › ".join(filter(None, map(_line, value))) if isinstance(value, (list, tuple)) else _line(value)
    return _LINK.sub(r"\1", shown[:_LONGEST_HEADINGS])


def _line(value: object) -> str:
    """Return a text on one line, without what does not print; "" for what is no text."""
    if not isinstance(value, str) or _NO_DATA.fullmatch(value):
        return ""
    if not value.isprintable():
        value = "".join(c if c.isprintable() else " " for c in value)
    return " ".join(value.split())


def _clipped(place: str) -> str:
    return place if len(place) <= LONGEST_PLACE else f"…{place[1 - LONGEST_PLACE :]}"
