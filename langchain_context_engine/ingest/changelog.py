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
    r"(\d{1,6}(?:\.\d{1,6}){1,3}(?:[-.]?(?:a|b|rc|alpha|beta|dev|pre|post)[-.]?\d{0,4})?)(?![\w.]*\w)",
    re.IGNORECASE,
)
_DEBIAN = re.compile(r"^[a-z0-9][a-z0-9+.-]{1,60} \(([^)\s]{1,60})\) [^;\n]{1,80};")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})[a-z]{{0,6}}\.?"
_DAY = r"(?<!\d)(?P<day>\d\d?)(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)(?!\d)"
_DATES = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"(?<!\d)(?P<year>(?:19|20)\d\d)([-/.])(?P<month>\d\d?)\2(?P<day>\d\d?)(?!\d)",
        rf"{_DAY}\s{_MONTH},?\s{_YEAR}",
        rf"\b{_MONTH}\s{{1,2}}{_DAY}(?:,|\s[\d:]{{5,8}})?(?:\s[A-Z]{{3,5}})?\s{_YEAR}",
    )
)
_BEFORE = re.compile(
    r"[\W_]*+(?:release[ds]?(?: date)?|date|published)?[\W_]*+(?:on )?(?:[^\W\d_]{3,9}, )?", re.IGNORECASE
)
_AFTER = re.compile(r"[\W_]*+|[,;(][^.]{0,60}")
_UNRELEASED = re.compile(
    r"\b(?:unreleased|not (?:yet )?released|to be released|release date tbd|in development|upcoming)\b",
    re.IGNORECASE,
)
_SIGNED = re.compile(r"^ -- [^<\n]{1,200}<[^>\n]{0,200}>[ \t]+", re.MULTILINE)
_HEAD, _MOST_LINES, _LONGEST_LINE = 400, 4, 40


def is_changelog(path: str) -> bool:
    """Return whether a file is named as changelogs are."""
    return _CHANGELOG.match(PurePosixPath(path).name) is not None


def release_of(path: str, titles: Sequence[str]) -> dict[str, Any]:
    """Return `version` and `created_at` of the heading that names a release; {} without one.

    A heading with a date counts everywhere, one without in a document that is named as changelogs are, where
    a date alone does too.

    Example:
        >>> release_of("CHANGELOG.md", ["Changelog", "0.13.0 (2026-08-04)", "Removed"])
        {'version': '0.13.0', 'created_at': 1785801600}
        >>> release_of("guide.md", ["1.2 Install"])
        {}
    """
    is_named = _CHANGELOG.search(PurePosixPath(path).stem) is not None
    undated: dict[str, Any] = {}
    for title in reversed(titles):
        text = " ".join(title[:_LONGEST_TITLE].split())
        date = date_in(text)
        version = _DEBIAN.match(text) or _VERSION.search(_DATES[0].sub(" ", text))
        if date and (version or is_named):
            return {"version": version[1], "created_at": date} if version else {"created_at": date}
        if version and is_named:  # of several the outermost: those within speak of other versions
            undated = {"version": version[1]}
    return undated


def is_dated_release(title: str) -> bool:
    """Return whether a heading names a release and its date.

    Example:
        >>> is_dated_release("[3.14.2](https://x.example/3.14.2) (2022-06-20)"), is_dated_release("3.14.2")
        (True, False)
    """
    return "version" in (found := release_of("", [title])) and "created_at" in found


def date_below(text: str) -> int | None:
    r"""Return the date, epoch seconds, that stands on a line of its own below a heading, or signs an entry.

    Example:
        >>> date_below("## Version 0.8.0\n\n_2014-04-24_\n\n * Fixed on 2013-01-01.")
        1398297600
        >>> date_below("## Version 0.8.0\n\n * Fixed what came on 2013-01-01 with the parser.")
    """
    if signed := _SIGNED.search(text):
        return date_in(text[signed.end() : signed.end() + _LONGEST_LINE])
    for line in [line.strip() for line in text[:_HEAD].splitlines() if line.strip()][:_MOST_LINES]:
        begin = _BEFORE.match(line)
        start = begin.end() if begin else 0
        if any((found := form.match(line, start)) and _AFTER.fullmatch(line, found.end()) for form in _DATES):
            return date_in(line)
    return None


def is_unreleased(titles: Sequence[str], text: str) -> bool:
    r"""Return whether a release is told as one to come, in its heading or on a short line right below.

    Example:
        >>> is_unreleased(["Version 8.5.0"], "## Version 8.5.0\n\nUnreleased\n\n- Add a shell.")
        True
    """
    lines = [line.strip() for line in text[:_HEAD].splitlines() if line.strip()][1:_MOST_LINES]
    below = [line for line in lines if len(line) <= _LONGEST_LINE and line[0] not in "-*+"]
    return any(_UNRELEASED.search(line[:_LONGEST_TITLE]) for line in [*titles, *below])


def date_in(text: str) -> int | None:
    """Return the first date that a line names, as epoch seconds at midnight, or None."""
    found = next((found for form in _DATES if (found := form.search(text))), None)
    if found is None:
        return None
    month = found["month"].lower()
    number = int(month) if month.isdigit() else 1 + _MONTHS.index(month[:3])
    try:
        return int(datetime(int(found["year"]), number, int(found["day"]), tzinfo=UTC).timestamp())
    except ValueError:
        return None
