"""Plain text: underlined titles where it has them, Markdown where it begins as that."""

from __future__ import annotations

import re

from langchain_context_engine.ingest.readers.changelogs import (
    is_changelog_of_entries,
    is_changelog_of_releases,
    read_changelog,
    read_releases,
)
from langchain_context_engine.ingest.readers.markdown import read_markdown
from langchain_context_engine.ingest.readers.restructured import read_restructured
from langchain_context_engine.ingest.sections import Document, Section

# Headings do not go on in the next line: these are comments among commands.
_COMMENT = re.compile(r"^(#{1,6}) \S.*\n\1 \S", re.MULTILINE)


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
    return (read_markdown if is_markdown else read_restructured)(path, text, chunk_size)


def read_lines(path: str, text: str, chunk_size: int) -> Document:
    """Return a text as one section, cut where it is too long."""
    del path, chunk_size
    return Document(text=text, sections=(Section(start=0, end=len(text)),))
