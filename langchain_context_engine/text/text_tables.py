"""Tables in a text: their header, which no row is understood without, and their rows.

A Markdown table has a row of cells above a line of dashes; HTML's stand in tags; others are drawn in text:
reStructuredText's grid and simple ones, AsciiDoc's between bars. A text that is rows of separated values as a
whole (CSV, TSV) is a table too. One pass over the text, in linear time.
"""

from __future__ import annotations

import csv
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise, zip_longest
from typing import NamedTuple

from langchain_context_engine.text.boilerplate import opens
from langchain_context_engine.text.memoize import memoize

Span = tuple[int, int]

_GRID = re.compile(r"^[ \t]{0,3}\+(?:=++\+)++[ \t\r]*+$", re.MULTILINE)
_BORDER = re.compile(r"[ \t]{0,3}\+[-+]+\+[ \t\r]*$")
_GRID_LINE = re.compile(r"[ \t]{0,3}[+|]")
_SIMPLE = re.compile(r"^[ \t]{0,3}={2,}+(?:[ \t]++={2,}+)++[ \t\r]*+$", re.MULTILINE)
_BARS = re.compile(r"^[|,:!]={3,}[ \t\r]*$", re.MULTILINE)

_TABLE_TAG = re.compile(r"<(/?)table\b[^<>]*>", re.IGNORECASE)
_ROW_TAG = re.compile(r"<tr\b", re.IGNORECASE)
_HEAD_CELL, _HEAD_END = re.compile(r"<th\b", re.IGNORECASE), re.compile("</thead", re.IGNORECASE)

_MOST_HEADER_LINES = 6


class Table(NamedTuple):
    """A table as it stands in a text.

    Attributes:
        start: Offset of its header.
        head: Offset where its header ends, the line of dashes included.
        rows: The spans of its rows, each with what it is indented by, without the line's end.
    """

    start: int
    head: int
    rows: tuple[Span, ...]

    @property
    def end(self) -> int:
        """Offset after its last row."""
        return self.rows[-1][1] if self.rows else self.head


def _grids(text: str) -> Iterator[Table]:
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
        yield Table(start, _trimmed(text, first, rule.end()), tuple(rows))


def _simples(text: str) -> Iterator[Table]:
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
        yield Table(top[0], _trimmed(text, *below), tuple(rows))
        place += 3


def _between_bars(text: str) -> Iterator[Table]:
    bars = [bar.span() for bar in _BARS.finditer(text)]
    for (start, after), (before, end) in zip(bars[::2], bars[1::2], strict=False):
        head = _end_of_line(text, after + 1)
        is_header = text.startswith("\n", head + 1) and text[after + 1 : head].strip() and head < before
        if not is_header:
            continue
        rows = _by_records(text, line_spans(text, head + 1, before))
        if rows:
            rows[-1] = (rows[-1][0], _trimmed(text, rows[-1][0], end))
        yield Table(start, _trimmed(text, after + 1, head), tuple(rows))


def _tagged(text: str) -> Iterator[Table]:
    """Yield HTML's tables with a header, none that holds another."""
    tags = [*_TABLE_TAG.finditer(text)]
    for tag, after in zip_longest(tags, tags[1:]):
        if tag[1] or (after and not after[1]):
            continue
        start, end = tag.start(), after.end() if after else len(text)
        rows = [row.start() for row in _ROW_TAG.finditer(text, start, end)]
        head = _HEAD_END.search(text, start, end)
        has_names = bool(rows[1:] and _HEAD_CELL.search(text, start, rows[1]))
        headers = bisect_left(rows, head.start()) if head else int(has_names)
        if 0 < headers < len(rows):
            spans = tuple((a, _trimmed(text, a, b)) for a, b in pairwise([*rows[headers:], end]))
            yield Table(start, _trimmed(text, start, rows[headers]), spans)


def _by_records(text: str, lines: list[Span]) -> list[Span]:
    """Join the lines of one row: where empty lines part rows, each cell may stand on a line of its own."""
    is_parted = any("\n\n" in text[a[1] : b[0]] for a, b in pairwise(lines))
    return join_spans(
        lines,
        lambda row, line: (
            not text.startswith("|", line[0]) or (is_parted and "\n\n" not in text[row[1] : line[0]])
        ),
    )


def join_spans(spans: Iterable[Span], goes_on: Callable[[Span, Span], bool]) -> list[Span]:
    """Return spans in order, each joined to the one before where `goes_on(before, span)`."""
    joined: list[Span] = []
    for span in spans:
        if joined and goes_on(joined[-1], span):
            joined[-1] = (joined[-1][0], max(joined[-1][1], span[1]))
        else:
            joined.append(span)
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


_FEW_BYTES = 2**23

FENCE = re.compile(
    r"(?:\A|(?<=[\n\r]))( {0,3}(?:(?:[-+*]|[0-9]{1,9}[.)]) {1,4})++| *+)(`{3,}|~{3,})([^\n\r]*)"
)
"""A line that may open or close a fenced block: its indent or list markers, the run, what follows that."""

_MARKER = re.compile(r"\S{1,10} {1,4}")

_DEEPEST = 3
"""Spaces that may indent a fence, beyond what indents the item that it stands in."""

_RULE = re.compile(
    r"^[ \t]*+\|?+(?:[ \t]*+:?+-++:?+[ \t]*+\|)++(?:[ \t]*+:?+-++:?+)?+[ \t\r]*+$", re.MULTILINE
)
_SPACE = re.compile(r"\s*+")

_LEAST_UNDERLINE = 4
_DEEP = re.compile(r" {4}| {0,3}\t")
"""A table that is indented so far stands in a list of a list; without that it is no table."""

_LEAST_VALUES = 3
"""Lines of separated values that are told from prose with commas, the header included."""

_DELIMITERS = ",;\t"


def tables(text: str) -> list[tuple[int, int, int]]:
    r"""Return each Markdown table as three offsets: where it starts, where its first row does, its end.

    Example:
        >>> tables("| a |\n|---|\n| 1 |\nEnd.")
        [(0, 12, 17)]
    """
    found: list[tuple[int, int, int]] = []
    end = 0
    for rule in _RULE.finditer(text) if "|" in text else ():
        start = text.rfind("\n", 0, max(0, rule.start() - 1)) + 1
        if rule.start() == 0 or start < end or text.find("|", start, rule.start()) < 0:
            continue
        end, body = rule.end(), min(rule.end() + 1, len(text))
        while end < len(text):
            stop = text.find("\n", end + 1)
            stop = len(text) if stop < 0 else stop
            if text.find("|", end, stop) < 0:
                break
            end = stop
        found.append((start, body, end))
    return found


def fenced_blocks(text: str) -> list[Span]:
    """Return the spans of the fenced blocks, one that is never closed up to the end."""
    found = fences(text, is_read=True)
    return [(opener.start(), closer.end() if closer else len(text)) for opener, closer in found]


def fences(text: str, *, is_read: bool = False) -> Iterator[tuple[re.Match[str], re.Match[str] | None]]:
    """Yield the opening and the closing line of each fenced block, None for one that is never closed.

    As in CommonMark: three or more backticks or tildes, indented by at most three spaces; what follows the
    backticks on that line holds none; closed by a line of at least as many of the same and nothing else.
    One that stands behind a list marker is none where a line outside the item comes before its end.

    Args:
        text: The text.
        is_read: As its author means it: marks below a title, as reStructuredText has them, open nothing.
            Without it as Markdown shows it, where they do.
    """
    opener: re.Match[str] | None = None
    items = [0]  # what indents the items that the line stands in, as far as fences tell
    indent = seen = 0
    for fence in FENCE.finditer(text) if "```" in text or "~~~" in text else ():
        is_listed = bool(fence[1].strip())
        while items[-1] and _leaves(text[seen : fence.end()], items[-1]):
            items.pop()
        if indent > items[-1]:
            opener, indent = None, 0
        seen = fence.end()
        if opener is None:
            is_near = is_listed or len(fence[1]) <= items[-1] + _DEEPEST
            is_opener = is_near and (fence[2][0] == "~" or "`" not in fence[3])
            if is_opener and not (is_read and _underlines(text, fence)):
                items += [marker.end() for marker in _MARKER.finditer(fence[1])]
                opener, indent = fence, items[-1]
        elif (
            not is_listed
            and len(fence[1]) <= indent + _DEEPEST
            and fence[2].startswith(opener[2])
            and not fence[3].strip()
        ):
            yield opener, fence
            opener, indent = None, 0
    if opener is not None and not (indent and _leaves(text[seen:], indent)):
        yield opener, None


def _leaves(text: str, indent: int) -> bool:
    """Return whether a line of a text stands outside what is indented so far."""
    return any(line.strip() and line[:indent].strip() for line in text.splitlines())


def _underlines(text: str, fence: re.Match[str]) -> bool:
    """Return whether marks are the line below a heading of reStructuredText: at least as long as it."""
    line = text[text.rfind("\n", 0, max(0, fence.start() - 1)) + 1 : fence.start()].strip()
    return bool(line) and not fence[3].strip() and len(fence[2]) >= max(len(line), _LEAST_UNDERLINE)


def tables_of(text: str) -> tuple[Table, ...]:
    r"""Return the tables of two rows or more, none of a fenced block, in order.

    Example:
        >>> text = "| a |\n|---|\n| 1 |\n| 2 |\n"
        >>> [(text[t.start : t.head], [text[a:b] for a, b in t.rows]) for t in tables_of(text)]
        [('| a |\n|---|', ['| 1 |', '| 2 |'])]
    """
    may_have = "|" in text or "== " in text or "<t" in text or "<T" in text or _delimiter(text)
    return _tables_of(text) if may_have else ()


@memoize(_FEW_BYTES)
def _tables_of(text: str) -> tuple[Table, ...]:
    if values := _value_rows(text):
        (start, head), *rows = values
        return (Table(start, head, tuple(rows)),)
    found = [*_grids(text), *_simples(text), *_between_bars(text), *_tagged(text)]
    for start, body, end in tables(text):
        if not (_DEEP.match(text, start) or _DEEP.match(text, body)):
            found.append(Table(start, _trimmed(text, start, body), tuple(line_spans(text, body, end))))
    fences, reach = fenced_blocks(text), 0
    apart = []  # none in another or in a fenced block
    for table in sorted(table for table in found if len(table.rows) > 1):
        if table.start >= reach and not any(a <= table.start < b for a, b in fences):
            apart.append(table)
            reach = table.end
    return tuple(apart)


def by_rows(text: str, spans: Sequence[Span], most: int) -> tuple[list[Span], list[int]]:
    r"""Return the spans with each table as its rows, and for each span the place of its header, or -1.

    A header is its own. What introduces a table belongs to its header, what closes it to its last row.

    Args:
        text: The text.
        spans: In order.
        most: So many rows of a table are told apart; of more, several in a row are one.

    Example:
        >>> text = "Ports:\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |"
        >>> by_rows(text, [(0, len(text))], 9)
        ([(0, 26), (27, 36), (37, 46)], [0, 0, 0])
    """
    parts: list[Span] = []
    heads: list[int] = []
    waiting = [*reversed(spans)]
    found = tables_of(text)
    for number, table in enumerate(found, 1):
        while waiting and waiting[-1][1] <= table.start:
            parts.append(waiting.pop())
            heads.append(-1)
        if not waiting:
            break
        first = last = waiting.pop()
        while waiting and waiting[-1][0] < table.end:
            last = waiting.pop()
        begin = _skip_space(text, table.start)
        lead = _lead(text, min(first[0], begin), begin)
        if first[0] < lead:
            parts.append((first[0], first[0] + len(text[first[0] : lead].rstrip())))
            heads.append(-1)
        head = len(parts)
        parts.append((lead, table.head))
        parts += at_most(most, table.rows)
        heads += [head] * (len(parts) - head)
        if number < len(found) and found[number].start < last[1]:
            waiting.append((_skip_space(text, table.end), last[1]))
        else:
            parts[-1] = (parts[-1][0], max(table.end, last[1]))
    parts += reversed(waiting)
    heads += [-1] * len(waiting)
    return parts, heads


def _lead(text: str, start: int, table: int) -> int:
    """Return where the paragraphs begin that introduce a table, of those between two offsets."""
    lead = table
    while lead > start:
        blank = text.rfind("\n\n", start, lead - 1)
        begin = _skip_space(text, blank) if blank >= 0 else start
        if begin >= lead or not opens(text[begin:lead].rstrip()):
            break
        lead = begin
    return lead


def at_most(most: int, spans: Sequence[Span]) -> list[Span]:
    """Join so many spans in a row that no more than `most` are left."""
    run = -(-len(spans) // most)
    if run <= 1:
        return [*spans]
    return [(spans[i][0], spans[min(i + run, len(spans)) - 1][1]) for i in range(0, len(spans), run)]


def _skip_space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position


def is_rows(text: str) -> bool:
    r"""Return whether a text is lines of separated values below their names, and nothing else.

    Each line has as many values as there are names; a name begins with a letter and no space, since prose
    has a space behind a comma.

    Example:
        >>> is_rows("day,sum\n1,2\n3,4\n"), is_rows("Ana, Bo\nsang, danced\nleft, stayed\n")
        (True, False)
    """
    return bool(_value_rows(text))


def _delimiter(text: str) -> str:
    """Return what parts the values of a text's first line, "" where nothing does."""
    first = text[: max(0, text.find("\n"))]
    delimiter = max(_DELIMITERS, key=first.count)
    return delimiter if delimiter in first else ""


def _value_rows(text: str) -> list[Span]:
    """Return the spans of the rows of a text of separated values, the names first; [] for any other."""
    if not (delimiter := _delimiter(text)):
        return []
    first = text[: max(0, text.find("\n"))]
    names = [name.strip().strip('"') for name in first.split(delimiter)]
    is_header = len(names) > 1 and len(set(names)) == len(names) and all(map(_is_name, names))
    if not is_header or (delimiter == "," and ", " in first):
        return []
    rows = line_spans(text, 0, len(text)) if '"' not in text else _quoted(text, delimiter)
    is_even = '"' in text or all(text.count(delimiter, a, b) == len(names) - 1 for a, b in rows)
    return rows if is_even and len(rows) >= _LEAST_VALUES else []


def _is_name(name: str) -> bool:
    """Return whether a value may name a column: no sentence, no pair, nothing of a program."""
    is_begun = bool(name) and (name[0].isalpha() or name[0] in "_$#")
    return is_begun and name[-1] not in ".!?{" and ":" not in name


def _quoted(text: str, delimiter: str) -> list[Span]:
    """Return the spans of rows whose values may stand in quotes, over several lines; [] where some differ."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter)
    found: list[Span] = []
    before, width = 0, 0
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                width = width or len(cells)
                if len(cells) != width:
                    return []
                start = starts[before]
                found.append((start, start + len(text[start : starts[reader.line_num] - 1].rstrip())))
            before = reader.line_num
    except csv.Error:
        return []
    return found
