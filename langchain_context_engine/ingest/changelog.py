"""Version and date of a release, from the heading of its section in a changelog or the line below it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC
from pathlib import PurePosixPath
from typing import Any

from dateutil import parser

_CHANGELOG = re.compile(r"change|history|news|release|whats?[-_ ]?new", re.IGNORECASE)
_VERSION = re.compile(
    r"(?:^|[\s\[(])(?:v|version |release )?"
    r"(\d{1,6}(?:\.\d{1,6}){1,3}(?:[-.]?(?:a|b|rc|alpha|beta|dev|pre|post)[-.]?\d{0,4})?)(?![\w.]*\w)",
    re.IGNORECASE,
)
_DEBIAN = re.compile(r"^[a-z0-9][a-z0-9+.-]{1,60} \(([^)\s]{1,60})\) [^;\n]{1,80};")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
_DAY, _YEAR = r"(?<!\d)\d\d?(?:st|nd|rd|th)?", r"(?:19|20)\d\d(?!\d)"
# The last as `date` and mail write it: a time and a zone stand before the year.
_DATE = re.compile(
    rf"(?<!\d)(?:19|20)\d\d([-/.])\d\d?\1\d\d?(?!\d)|{_DAY}\s{_MONTH},?\s{_YEAR}"
    rf"|\b(?P<day>{_MONTH}\s{{1,2}}{_DAY})(?:,|\s[\d:]{{5,8}})?(?:\s[A-Z]{{3,5}})?\s(?P<year>{_YEAR})",
    re.IGNORECASE,
)
# What may stand beside a date on the line below a heading.
_BEFORE = re.compile(
    r"[\W_]*+(?:release[ds]?(?: date)?|date|published)?[\W_]*+(?:on )?(?:[^\W\d_]{3,9}, )?", re.IGNORECASE
)
_AFTER = re.compile(r"[\W_]*+|[,;(][^.]{0,60}")
_UNRELEASED = re.compile(
    r"\b(?:unreleased|not (?:yet )?released|to be released|release date tbd|in development|upcoming)\b",
    re.IGNORECASE,
)
_SIGNED = re.compile(r"^ -- [^<\n]{1,200}<[^>\n]{0,200}>[ \t]+([^\n]{1,40})", re.MULTILINE)
_HEAD, _MOST_LINES, _LONGEST_LINE, _LONGEST_TITLE = 400, 4, 40, 200


def is_changelog(path: str) -> bool:
    """Say whether a file is named as changelogs are."""
    return _CHANGELOG.match(PurePosixPath(path).name) is not None


def is_dated_release(title: str) -> bool:
    """Say whether a heading names a release and its date."""
    return {"version", "created_at"} <= _release("", [title]).keys()


def names_release(title: str) -> bool:
    """Say whether a heading names a version, or what is to come."""
    return bool(_VERSION.search(title[:_LONGEST_TITLE])) or is_unreleased([title], "")


def releases(path: str, sections: Iterable[tuple[Sequence[str], str]]) -> Iterator[dict[str, Any]]:
    """Yield `version` and `created_at` of each section's (titles, text) release; {} without one.

    A heading with a date counts everywhere, one without in a document that is named as changelogs are, where
    a date alone does too. The date may stand below the heading, for all sections of the release. One without
    a date is no newer than the one above it, since the file's own date is of its newest.
    """
    told: dict[str, dict[str, Any]] = {}
    last: int | None = None
    for titles, text in sections:
        release = _release(path, titles)
        version = release.get("version")
        if version and version not in told:
            date = release.get("created_at") or _date_below(text)
            last = date or last
            is_to_come = not date and is_unreleased(titles, text)
            told[version] = {"unreleased": True} if is_to_come else {"created_at": last} if last else {}
        yield release | told[version] if version else release


def _release(path: str, titles: Sequence[str]) -> dict[str, Any]:
    is_named = _CHANGELOG.search(PurePosixPath(path).stem) is not None
    undated: dict[str, Any] = {}
    for title in reversed(titles):
        text = " ".join(title[:_LONGEST_TITLE].split())
        date = date_in(text)
        found = _DEBIAN.match(text) or _VERSION.search(_DATE.sub(" ", text))
        version = {"version": found[1]} if found else {}
        if date and (version or is_named):
            return version | {"created_at": date}
        if version and is_named:  # of several the outermost: those within speak of other versions
            undated = version
    return undated


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text[:_HEAD].splitlines() if line.strip()][:_MOST_LINES]


def _date_below(text: str) -> int | None:
    """Return the date that stands on a line of its own below a heading, or signs an entry."""
    if signed := _SIGNED.search(text):
        return date_in(signed[1])
    for line in _lines(text):
        begin = _BEFORE.match(line)
        date = _DATE.match(line, begin.end() if begin else 0)
        if date and _AFTER.fullmatch(line, date.end()):
            return date_in(line)
    return None


def is_unreleased(titles: Sequence[str], text: str) -> bool:
    """Say whether a release is told as one to come, in its heading or on a short line right below."""
    below = [line for line in _lines(text)[1:] if len(line) <= _LONGEST_LINE and line[0] not in "-*+"]
    return any(_UNRELEASED.search(line[:_LONGEST_TITLE]) for line in [*titles, *below])


def date_in(text: str) -> int | None:
    """Return the first date that a line names, as epoch seconds at midnight, or None."""
    found = _DATE.search(text)
    if found is None:
        return None
    try:
        written = f"{found['day']} {found['year']}" if found["day"] else found[0]
        return int(parser.parse(written).replace(tzinfo=UTC).timestamp())
    except (ValueError, OverflowError):
        return None
