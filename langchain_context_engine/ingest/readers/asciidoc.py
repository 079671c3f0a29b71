"""AsciiDoc: its section titles, outside of delimited blocks."""

from __future__ import annotations

import re

from langchain_context_engine.ingest.sections import Document, Heading, sections_under

_TITLE = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S[^\n]{0,400})")
_DELIMITER = re.compile(r"(?:-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|`{3,}|~{3,}|--|[|,:!]={3,})[ \t]*$")


def read_asciidoc(path: str, text: str, chunk_size: int) -> Document:
    r"""Return the sections of an AsciiDoc document.

    Example:
        >>> [s.titles for s in read_asciidoc("a.adoc", "= A\n\n----\n== no\n----\n\n== B\n\nx", 0).sections]
        [('A',), ('A', 'B')]
    """
    del path, chunk_size
    headings: list[Heading] = []
    block, position = "", 0
    for line in text.split("\n"):
        end = position + len(line) + 1
        mark = line.rstrip() if len(line) < 200 and _DELIMITER.match(line) else ""  # noqa: PLR2004
        if block:
            block = "" if mark == block else block
        elif mark:
            block = mark
        elif title := _TITLE.match(line):
            headings.append(
                Heading(
                    level=len(title[1]),
                    title=title[2].rstrip("=# \t"),
                    start=position,
                    end=min(end, len(text)),
                )
            )
        position = end
    return Document(text=text, sections=sections_under(text, headings))
