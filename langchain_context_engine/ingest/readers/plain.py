"""Plain text: underlined titles where it has them, Markdown where it begins as that."""

from __future__ import annotations

import re

from langchain_context_engine.ingest.readers.changelogs import (
    is_changelog_of_entries,
    is_changelog_of_releases,
    read_changelog,
    read_releases,
)
from langchain_context_engine.ingest.readers.generated import refuse_drawn_tree
from langchain_context_engine.ingest.readers.markdown import read_markdown
from langchain_context_engine.ingest.readers.restructured import titled_lines
from langchain_context_engine.ingest.sections import Document, Heading, Section, sections_under
from langchain_context_engine.ingest.skipped import SkippedError

# Headings do not go on in the next line: these are comments among commands.
_COMMENT = re.compile(r"^(#{1,6}) \S.*\n\1 \S", re.MULTILINE)
_ELEMENT = re.compile(r"</?[A-Za-z]")
# A drawing as Android or the web keeps it.
_DRAWING = re.compile(
    r"\s*+(?:<\?[^>]{0,200}>\s*+)?(?:<!--(?:(?!-->)[\s\S]){0,2000}-->\s*+)?<(?:animated-)?(?:vector|svg)[\s>]"
)
_LEAST_LINES, _LEAST_MEAN = 200, 40
_UNSPACED_SHARE = 0.9


def read_plain(path: str, text: str, chunk_size: int) -> Document:
    r"""Return the sections of a text without a format.

    Example:
        >>> [s.titles for s in read_plain("notes.txt", "Notes\n=====\n\nx", 0).sections]
        [('Notes',)]
    """
    if is_changelog_of_entries(path, text):
        return read_changelog(path, text, chunk_size)
    if is_changelog_of_releases(path, text):
        return read_releases(path, text, chunk_size)
    begins = text.lstrip()[:8]
    is_markdown = begins.startswith("#") and begins.lstrip("#")[:1] == " "
    if is_markdown and _COMMENT.search(text):
        return read_lines(path, text, chunk_size)
    if is_markdown:
        return read_markdown(path, text, chunk_size)
    _refuse_list(text)
    refuse_drawn_tree(text)
    titles = [
        each for each in titled_lines(text) if not (_ELEMENT.match(each.title) or _is_fenced(text, each))
    ]
    return Document(text=text, sections=sections_under(text, titles))


def _is_fenced(text: str, heading: Heading) -> bool:
    """Backticks below a line begin or end a block of code, rather than make a title of it."""
    return text[heading.start : heading.end].rstrip().rpartition("\n")[2].startswith("```")


def _refuse_list(text: str) -> None:
    """Refuse a long list of names or addresses, one a line, without a space: it is for programs.

    Raises:
        SkippedError: generated.
    """
    lines = text.split("\n")
    if len(lines) < _LEAST_LINES or len(text) < _LEAST_MEAN * len(lines):
        return
    told = [line for line in lines if line.strip()]
    if sum(" " not in line.strip() and line.isascii() for line in told) >= _UNSPACED_SHARE * len(told):
        raise SkippedError("generated", "a list of names or addresses, none with a space")


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
