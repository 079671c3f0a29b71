"""Version and date of a release, from the heading of its section in a changelog."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

_LONGEST_TITLE = 200
_CHANGELOG = re.compile(r"change|history|news|release|whats?[-_ ]?new", re.IGNORECASE)
_VERSION = re.compile(
    r"(?:^|[\s\[(])(?:v|version |release )?"
    r"(\d{1,6}(?:\.\d{1,6}){1,3}(?:[-.]?(?:a|b|rc|alpha|beta|dev|pre|post)[-.]?\d{0,4})?)"
    r"(?![\w.]*\w)",
    re.IGNORECASE,
)
_ISO_DATE = re.compile(r"(?<!\d)((?:19|20)\d\d)([-/.])(\d\d?)\2(\d\d?)(?!\d)")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
_DAY_FIRST = re.compile(rf"(?<!\d)(\d\d?)(?:st|nd|rd|th)?\s{_MONTH},?\s((?:19|20)\d\d)(?!\d)", re.IGNORECASE)
_MONTH_FIRST = re.compile(rf"\b{_MONTH}\s(\d\d?)(?:st|nd|rd|th)?,?\s((?:19|20)\d\d)(?!\d)", re.IGNORECASE)

_HEAD, _MOST_LINES, _LONGEST_NOTE = 400, 4, 40
_UNRELEASED = re.compile(
    r"\b(?:unreleased|not (?:yet )?released|to be released|release date tbd|in development|upcoming)\b",
    re.IGNORECASE,
)
_DATE_LINE = re.compile(
    r"[\W_]*+(?:release[ds]?(?: date)?|date|published)?[\W_]*+(?:on )?(?:[^\W\d_]{3,9},? )?"
    r"(?:\d{4}[-/.]\d\d?[-/.]\d\d?|\d\d?(?:st|nd|rd|th)? [^\W\d_]{3,9}\.?,? \d{4}"
    r"|[^\W\d_]{3,9}\.? \d\d?(?:st|nd|rd|th)?,? \d{4})(?:[\W_]*+|[,;(][^.]{0,60})",
    re.IGNORECASE,
)


def release_of(path: str, titles: Sequence[str]) -> dict[str, Any]:
    """Return `version` and `created_at` of the heading that names a release; {} without one.

    A heading with a date counts everywhere, one without in a document that is named as changelogs are.

    Example:
        >>> release_of("CHANGELOG.md", ["Changelog", "0.13.0 (2026-08-04)", "Removed"])
        {'version': '0.13.0', 'created_at': 1785801600}
        >>> release_of("guide.md", ["1.2 Install"])
        {}
    """
    is_changelog = _CHANGELOG.search(PurePosixPath(path).stem) is not None
    undated: dict[str, Any] = {}
    for title in reversed(titles):
        text = " ".join(title[:_LONGEST_TITLE].split())
        date = _date(text)
        version = _VERSION.search(_ISO_DATE.sub(" ", text))
        if version and date:
            return {"version": version[1], "created_at": int(date.timestamp())}
        if version and is_changelog:  # of several the outermost: those within speak of other versions
            undated = {"version": version[1]}
    return undated


def is_dated_release(title: str) -> bool:
    """Return whether a heading names a release and its date.

    Example:
        >>> is_dated_release("[3.14.2](https://x.example/3.14.2) (2022-06-20)"), is_dated_release("3.14.2")
        (True, False)
    """
    return "created_at" in release_of("", [title])


def is_unreleased(titles: Sequence[str], text: str) -> bool:
    r"""Return whether a release is told as one to come, in its heading or on a short line of its own below.

    Example:
        >>> is_unreleased(["Version 8.5.0"], "## Version 8.5.0\n\nUnreleased\n\n- Add a shell.")
        True
        >>> is_unreleased(["Version 8.4.2"], "## Version 8.4.2\n\n- Fix what was unreleased before now.")
        False
    """
    lines = [line for line in text[:_HEAD].splitlines() if line.strip()][:_MOST_LINES]
    said = [
        *titles,
        *(line for line in lines[1:] if len(line) <= _LONGEST_NOTE and line.lstrip()[0] not in "-*+"),
    ]
    return any(_UNRELEASED.search(line[:_LONGEST_TITLE]) for line in said)


def date_below(text: str) -> int | None:
    r"""Return the date, epoch seconds, that stands on a line of its own below a release's heading, or None.

    Example:
        >>> date_below("## Version 0.8.0\n\n_2014-04-24_\n\n * Fixed on 2013-01-01.")
        1398297600
        >>> date_below("## Version 0.8.0\n\n * Fixed what came on 2013-01-01 with the parser.")
    """
    for line in [line for line in text[:_HEAD].splitlines() if line.strip()][:_MOST_LINES]:
        if _DATE_LINE.fullmatch(line.strip()) and (date := _date(line)):
            return int(date.timestamp())
    return None


def _date(text: str) -> datetime | None:
    if found := _ISO_DATE.search(text):
        year, month, day = int(found[1]), int(found[3]), int(found[4])
    elif found := _DAY_FIRST.search(text):
        year, month, day = int(found[3]), 1 + _MONTHS.index(found[2].lower()), int(found[1])
    elif found := _MONTH_FIRST.search(text):
        year, month, day = int(found[3]), 1 + _MONTHS.index(found[1].lower()), int(found[2])
    else:
        return None
    try:
        return datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return None
