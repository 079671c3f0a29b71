"""Tables that are drawn in text: reStructuredText's grid and simple ones, AsciiDoc's between bars.

Each is found as (where it starts, where its header ends, the spans of its rows). One pass over the lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

__all__ = ["Span", "drawn_tables", "line_spans"]

Span = tuple[int, int]

_GRID = re.compile(r"^[ \t]{0,3}\+(?:=++\+)++[ \t\r]*+$", re.MULTILINE)
_BORDER = re.compile(r"[ \t]{0,3}\+[-+]+\+[ \t\r]*$")
_GRID_LINE = re.compile(r"[ \t]{0,3}[+|]")
_SIMPLE = re.compile(r"^[ \t]{0,3}={2,}+(?:[ \t]++={2,}+)++[ \t\r]*+$", re.MULTILINE)
_BARS = re.compile(r"^[|,:!]={3,}[ \t\r]*$", re.MULTILINE)

_MOST_HEADER_LINES = 6


def drawn_tables(text: str) -> list[tuple[int, int, list[Span]]]:
    r"""Return the drawn tables that have a header, in order.

    Example:
        >>> text = "== ==\na  b\n== ==\n1  2\n3  4\n== ==\n"
        >>> [(text[start:head], [text[a:b] for a, b in rows]) for start, head, rows in drawn_tables(text)]
        [('== ==\na  b\n== ==', ['1  2', '3  4\n== =='])]
    """
    found: list[tuple[int, int, list[Span]]] = []
    if "+=" in text:
        found += _grids(text)
    if "== " in text:
        found += _simples(text)
    if "|===" in text:
        found += _between_bars(text)
    return sorted(found)


def _grids(text: str) -> Iterator[tuple[int, int, list[Span]]]:
    reach = 0
    for rule in _GRID.finditer(text):
        start = first = rule.start()
        if start < reach:
            continue
        for _ in range(_MOST_HEADER_LINES):
            if not start:
                break
            line = text.rfind("\n", 0, start - 1) + 1
            if not _GRID_LINE.match(text, line):
                break
            start = line
        if start == first:
            continue
        rows: list[Span] = []
        row = position = rule.end() + 1
        while position < len(text) and _GRID_LINE.match(text, position):
            end = _end_of_line(text, position)
            if _BORDER.match(text[position:end]):
                rows.append((row, _trimmed(text, row, end)))
                row = end + 1
            position = end + 1
        reach = position
        yield start, _trimmed(text, first, rule.end()), rows


def _simples(text: str) -> Iterator[tuple[int, int, list[Span]]]:
    rules = [rule.span() for rule in _SIMPLE.finditer(text)]
    place = 0
    while place + 2 < len(rules):
        top, below, bottom = rules[place : place + 3]
        is_header = 0 < text.count("\n", top[1], below[0]) - 1 <= _MOST_HEADER_LINES
        if not is_header or text[top[1] : below[0]].isspace() or "\n\n" in text[top[1] : below[0]]:
            place += 1
            continue
        rows = line_spans(text, below[1] + 1, bottom[0])
        if rows:
            rows[-1] = (rows[-1][0], _trimmed(text, rows[-1][0], bottom[1]))
        yield top[0], _trimmed(text, below[0], below[1]), rows
        place += 3


def _between_bars(text: str) -> Iterator[tuple[int, int, list[Span]]]:
    bars = [bar.span() for bar in _BARS.finditer(text)]
    for (start, after), (before, end) in zip(bars[::2], bars[1::2], strict=False):
        head = _end_of_line(text, after + 1)
        is_header = text.startswith("\n", head + 1) and text[after + 1 : head].strip() and head < before
        if not is_header:
            continue
        rows = line_spans(text, head + 1, before)
        rows = _by_records(text, rows)
        if rows:
            rows[-1] = (rows[-1][0], _trimmed(text, rows[-1][0], end))
        yield start, _trimmed(text, after + 1, head), rows


def _by_records(text: str, lines: list[Span]) -> list[Span]:
    """Join the lines of one row: where empty lines part rows, each cell may stand on a line of its own."""
    joined: list[Span] = []
    is_parted = any("\n\n" in text[a[1] : b[0]] for a, b in pairwise(lines))
    for start, end in lines:
        goes_on = joined and (
            not text.startswith("|", start) or (is_parted and "\n\n" not in text[joined[-1][1] : start])
        )
        if goes_on:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def line_spans(text: str, start: int, end: int) -> list[Span]:
    """Return the spans of the lines between two offsets, without space at their ends and empty ones."""
    found: list[Span] = []
    while start < end:
        stop = min(end, _end_of_line(text, start))
        if text[start:stop].strip():
            found.append((start, _trimmed(text, start, stop)))
        start = stop + 1
    return found


def _end_of_line(text: str, position: int) -> int:
    stop = text.find("\n", position)
    return len(text) if stop < 0 else stop


def _trimmed(text: str, start: int, end: int) -> int:
    return start + len(text[start:end].rstrip())
