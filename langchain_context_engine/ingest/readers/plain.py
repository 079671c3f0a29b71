"""Plain text: titles, Markdown where it begins as that, a changelog's entries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from langchain_context_engine.ingest.changelog import date_in, is_changelog, is_dated_release, is_unreleased
from langchain_context_engine.ingest.readers.generated import refuse_list
from langchain_context_engine.ingest.readers.markdown import read_markdown
from langchain_context_engine.ingest.readers.markup import titled_lines
from langchain_context_engine.ingest.sections import Document, Heading, Section, sections_under
from langchain_context_engine.ingest.skipped import SkippedError

# Headings do not go on in the next line: these are comments among commands.
_COMMENT = re.compile(r"^(#{1,6}) \S.*\n\1 \S", re.MULTILINE)
_ELEMENT = re.compile(r"</?[A-Za-z]")
# An entry of a changelog as GNU, Debian, CPAN or Ruby keeps it: a line at the margin, what changed below.
_BY = r"[ \t]+(?P<{}>[^<(\n]{{1,200}}?)[ \t]*[<(][^<>()\n]{{0,200}}[>)]"
_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_ENTRY = re.compile(
    rf"^(?:(?P<day>\d{{4}}-\d\d-\d\d){_BY.format('author')}"
    rf"|{_DAY} (?P<date>[A-Z][a-z]{{2}} [ \d]?\d) [\d: A-Z]{{8,14}}(?P<year>\d{{4}}){_BY.format('writer')}"
    r"|(?P<version>[a-z0-9][a-z0-9+.-]{1,60} \([^)\s]{1,60}\) [^;\n]{1,80});[ \t]*[a-z-]+=[^\n]*"
    r"|(?P<release>(?:[=*#]{1,4} )?(?:v|version |release )?\d[^\n]{0,120}))[ \t]*$(?!\n([=~^*+#-])\7\7)",
    re.MULTILINE | re.IGNORECASE,
)
# A drawing as Android or the web keeps it.
_DRAWING = re.compile(
    r"\s*+(?:<\?[^>]{0,200}>\s*+)?(?:<!--(?:(?!-->)[\s\S]){0,2000}-->\s*+)?<(?:animated-)?(?:vector|svg)[\s>]"
)


def read_plain(path: str, text: str, chunk_size: int) -> Document:
    r"""Return the sections of a text without a format.

    Example:
        >>> [s.titles for s in read_plain("notes.txt", "Notes\n=====\n\nx", 0).sections]
        [('Notes',)]
        >>> entry = "2024-01-02  Ana  <ana@x.example>\n\n\t* a.c: New.\n"
        >>> [s.titles for s in read_plain("ChangeLog", entry, 0).sections]
        [('2024-01-02, Ana',)]
    """
    if is_changelog(path) and (entries := list(_entries(text))):
        found = sections_under(text, entries)
        return Document(text=text, sections=tuple(replace(s, metadata=_author_of(s)) for s in found))
    begins = text.lstrip()[:8]
    if begins.startswith("#") and begins.lstrip("#")[:1] == " ":
        read = read_lines if _COMMENT.search(text) else read_markdown
        return read(path, text, chunk_size)
    refuse_list(text)
    titles = [
        each for each in titled_lines(text) if not (_ELEMENT.match(each.title) or _is_fenced(text, each))
    ]
    return Document(text=text, sections=sections_under(text, titles))


def _entries(text: str) -> Iterator[Heading]:
    for found in _ENTRY.finditer(text):
        title = found["release"] or found["version"] or ""
        if found["release"] and not (is_dated_release(title) or is_unreleased([title], "")):
            continue
        if not title:
            day = found["day"] or f"{found['date']} {found['year']}"
            title = f"{day}, {found['author'] or found['writer']}"
        title = " ".join(title.strip("=*# \t\r").split())
        yield Heading(level=1, title=title, start=found.start(), end=found.end())


def _author_of(section: Section) -> dict[str, str]:
    day, comma, author = (section.titles or ("",))[0].partition(", ")
    return {"author": author} if comma and not day[:1].islower() and date_in(day) else {}


def _is_fenced(text: str, heading: Heading) -> bool:
    """Backticks below a line begin or end a block of code, rather than make a title of it."""
    return text[heading.start : heading.end].rstrip().rpartition("\n")[2].startswith("```")


def read_lines(path: str, text: str, chunk_size: int) -> Document:
    """Return a text as one section, cut where it is too long."""
    del path, chunk_size
    return Document(text=text, sections=(Section(start=0, end=len(text)),))


def read_xml(path: str, text: str, chunk_size: int) -> Document:
    """Return a text in XML as one section.

    Raises:
        SkippedError: unsupported: it is a drawing, of which nothing can be read.
    """
    if _DRAWING.match(text):
        raise SkippedError("unsupported", "a drawing")
    return read_lines(path, text, chunk_size)
