"""Perl's plain old documentation: headings by their commands, the rest as it stands."""

from __future__ import annotations

import re

from langchain_context_engine.ingest.sections import Document, Heading, sections_under

_HEADING = re.compile(r"^=head([1-6])[ \t]+([^\n]{1,300})$", re.MULTILINE)
# C<code>, L<link>, E<gt>: one level, as in titles.
_CODE = re.compile(r"\b[A-Z]<{1,4} ?([^<>\n]{1,200}) ?>{1,4}")
_COMMANDS = re.compile(r"(?:=[^\n]*\n|[ \t\r]*\n)*+")


def read_pod(path: str, text: str, chunk_size: int) -> Document:
    r"""Return the sections under the headings of a document in POD.

    Example:
        >>> text = "=head1 GUIDE\n\nOf all.\n\n=head2 The C<get> method\n\nGets.\n"
        >>> [section.titles for section in read_pod("a.pod", text, 0).sections]
        [('GUIDE',), ('GUIDE', 'The get method')]
    """
    del path, chunk_size
    headings = [
        Heading(
            level=int(found[1]),
            title=" ".join(_CODE.sub(r"\1", found[2]).split()),
            start=found.start(),
            end=found.end(),
        )
        for found in _HEADING.finditer(text)
    ]
    sections = sections_under(text, headings)
    if len(sections) > 1 and _COMMANDS.fullmatch(text, sections[0].start, sections[0].end):
        sections = sections[1:]  # `=encoding utf8` alone
    return Document(text=text, sections=sections)
