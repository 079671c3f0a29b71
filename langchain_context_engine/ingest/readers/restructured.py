"""reStructuredText: its titles by the rules of the format, in one pass over the lines.

Docutils itself reads 30 kB a second, takes 20 seconds for 160 kB of `a::`, and runs directives; the
only thing needed here is where sections begin. A test compares the two.
"""

from __future__ import annotations

import string

from langchain_context_engine.ingest.sections import Document, Heading, sections_under

_MARKS = frozenset(string.punctuation)
_SHORT = 4  # an underline shorter than its title must have this many marks at least


def read_restructured(path: str, text: str, chunk_size: int) -> Document:
    """Return the sections of a reStructuredText document."""
    del path, chunk_size
    return Document(text=text, sections=sections_under(text, titled_lines(text)))


def titled_lines(text: str) -> list[Heading]:
    r"""Return the titles: a line between or above marks, levels by the order in which styles appear.

    Example:
        >>> [(h.level, h.title) for h in titled_lines("==\nA\n==\n\nx\n\nB\n~~~\n\nC\n~~~\n")]
        [(1, 'A'), (2, 'B'), (2, 'C')]
    """
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    styles: list[tuple[str, bool]] = []
    found: list[Heading] = []
    number = 0
    while number + 1 < len(lines):
        first, after = _title_at(lines, number)
        if not after:
            number += 1
            continue
        style = (lines[after - 1][0], first < after - 2)
        if style not in styles:
            styles.append(style)
        found.append(
            Heading(
                level=1 + styles.index(style),
                title=lines[after - 2].strip(),
                start=starts[first],
                end=min(starts[after], len(text)),
            )
        )
        number = after
    return found


def _title_at(lines: list[str], number: int) -> tuple[int, int]:
    """Return the first line of a title that begins here and the line after it; (0, 0) where none does."""
    if number and lines[number - 1].strip() and not _follows_a_title(lines, number):
        return 0, 0
    line = lines[number].rstrip()
    if _is_rule(line) and number + 2 < len(lines):
        title, under = lines[number + 1].rstrip(), lines[number + 2].rstrip()
        if title.strip() and under == line and not _is_rule(title) and _is_wide(title, line):
            return number, number + 3
    if (
        not line
        or line[0].isspace()
        or line.startswith((".. ", "| ", "- ", "* ", "+ "))
        or (_is_rule(line) and len(line) >= _SHORT)
    ):
        return 0, 0
    under = lines[number + 1].rstrip()
    return (number, number + 2) if _is_rule(under) and _is_wide(line, under) else (0, 0)


def _follows_a_title(lines: list[str], number: int) -> bool:
    """A title may come right below the underline of another."""
    return number > 1 and _is_rule(lines[number - 1].rstrip()) and bool(lines[number - 2].strip())


def _is_wide(title: str, rule: str) -> bool:
    return len(rule) >= min(len(title), _SHORT)


def _is_rule(line: str) -> bool:
    return bool(line) and line[0] in _MARKS and line == line[0] * len(line)
