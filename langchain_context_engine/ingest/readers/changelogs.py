"""Changelogs as GNU, Debian and CPAN keep them: an entry is an author's day, or a release, with its date."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import PurePosixPath
from typing import Any

from langchain_context_engine.ingest.changelog import is_dated_release, is_unreleased
from langchain_context_engine.ingest.sections import Document, Section

_MAIL = r"[ \t]*[<(][^<>()\n]{0,200}[>)][ \t\r]*$"
_NAME = r"(?P<author>[^<(\n]{1,200}?)"
_HEAD = re.compile(
    rf"^(?P<day>\d{{4}}-\d\d-\d\d)[ \t]+{_NAME}{_MAIL}"
    r"|^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?P<old>[A-Z][a-z]{2} [ \d]?\d \d\d:\d\d:\d\d) (?:[A-Z]{3,5} )?"
    rf"(?P<year>\d{{4}})[ \t]+{_NAME.replace('author', 'writer')}{_MAIL}"
    r"|^[a-z0-9][a-z0-9+.-]{1,60} \((?P<version>[^)\s]{1,60})\) [^;\n]{1,80};[ \t]*[a-z-]+=[^\n]*$",
    re.MULTILINE,
)
_SIGNED = re.compile(
    r"^ -- (?P<author>[^<\n]{1,200}?)[ \t]*<[^>\n]{0,200}>[ \t]+(?P<at>[^\n]{10,60}?)[ \t\r]*$", re.MULTILINE
)


# A release and its date on a line that is not indented, what changed below it: as CPAN says, and Ruby.
_RELEASE = re.compile(
    r"^(?:[=*#]{1,4} )?(?:v|version |release )?\d[^\n]{0,120}$", re.MULTILINE | re.IGNORECASE
)
_UNDERLINE = re.compile(r"\r?\n([=~^*+#-])\1\1")
_NAMED = re.compile(r"change|history|news|release", re.IGNORECASE)


def is_changelog_of_entries(path: str, text: str) -> bool:
    r"""Return whether a file is a changelog by its name and begins with an entry's line.

    Example:
        >>> is_changelog_of_entries("ChangeLog", "2024-01-02  Ana  <ana@x.example>\n\n\t* a.c: New.\n")
        True
    """
    is_named = PurePosixPath(path).name.lower().startswith("changelog")
    return is_named and _HEAD.match(text.lstrip("\ufeff\r\n \t")) is not None


def read_changelog(path: str, text: str, chunk_size: int) -> Document:
    """Return the entries of a changelog, each with its date, and its author or version."""
    del path, chunk_size
    heads = list(_HEAD.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    sections = [
        Section(start=head.start(), end=end, titles=(_title(head),), metadata=_told(head, text, end))
        for head, end in zip(heads, ends, strict=True)
    ]
    return Document(text=text, sections=tuple(sections))


def is_changelog_of_releases(path: str, text: str) -> bool:
    r"""Return whether a plain text is named as changelogs are, and tells of releases line by line.

    Example:
        >>> is_changelog_of_releases("Changes", "9.32  2023-05-09\n  - Fixed it.\n")
        True
        >>> is_changelog_of_releases("Changes", "9.32 (2023-05-09)\n-----------------\n\nFixed it.\n")
        False
    """
    return _NAMED.match(PurePosixPath(path).name) is not None and any(_releases(text))


def read_releases(path: str, text: str, chunk_size: int) -> Document:
    """Return the releases of a changelog, and what stands above the first; the headings tell their dates."""
    del path, chunk_size
    heads = list(_releases(text))
    starts = [(0, ()), *((head.start(), (" ".join(head[0].strip("=*# \t\r").split()),)) for head in heads)]
    ends = [*(start for start, _ in starts[1:]), len(text)]
    sections = [
        Section(start=start, end=end, titles=titles)
        for (start, titles), end in zip(starts, ends, strict=True)
        if text[start:end].strip()
    ]
    return Document(text=text, sections=tuple(sections))


def _releases(text: str) -> Iterator[re.Match[str]]:
    """Yield the lines that name a release and its date; underlined ones are headings, which others read."""
    for line in _RELEASE.finditer(text):
        is_told = is_dated_release(line[0]) or is_unreleased([line[0]], "")
        if is_told and not _UNDERLINE.match(text, line.end()):
            yield line


def _title(head: re.Match[str]) -> str:
    if head["version"]:
        return " ".join(head[0].partition(";")[0].split())
    day = head["day"] or f"{head['old'][:6]} {head['year']}"
    return f"{' '.join(day.split())}, {' '.join((head['author'] or head['writer']).split())}"


def _told(head: re.Match[str], text: str, end: int) -> dict[str, Any]:
    """Return what an entry's lines say of it; a date that is none is left out."""
    return {name: value for name, value in _found(head, text, end) if value is not None}


def _found(head: re.Match[str], text: str, end: int) -> Iterator[tuple[str, Any]]:
    if head["version"]:
        signed = _SIGNED.search(text, head.end(), end)
        yield "version", head["version"]
        yield "author", signed["author"] if signed else None
        yield "created_at", _epoch(signed["at"], "") if signed else None
    elif head["day"]:
        yield "author", " ".join(head["author"].split())
        yield "created_at", _epoch(head["day"], "%Y-%m-%d")
    else:
        yield "author", " ".join(head["writer"].split())
        yield "created_at", _epoch(f"{head['old']} {head['year']}", "%b %d %H:%M:%S %Y")


def _epoch(said: str, form: str) -> int | None:
    """Return a date as epoch seconds, by a form, or as mail writes it; None where it is none."""
    try:
        found = datetime.strptime(said, form).replace(tzinfo=UTC) if form else parsedate_to_datetime(said)
        return int(found.timestamp())
    except (ValueError, OverflowError):
        return None
