"""Where a table goes on in a further passage: it is cut between rows, and its header is shown again."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import attrgetter, itemgetter

from langchain_context_engine.ingest.split import Span, Splitter
from langchain_context_engine.text.tables import Table, tables_of

_LONGEST_HEADER_SHARE = 3
_DEEPEST = 4


def with_headers(text: str, splitter: Splitter) -> Iterator[tuple[Span, str]]:
    r"""Yield the spans of a text's passages, each with the header of the table that it goes on with, or "".

    A passage is no longer than others, its header included; a header that would take more than a third of it
    is not shown again.

    Args:
        text: The text.
        splitter: How it is cut.

    Example:
        >>> text = "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 6
        >>> [(text[a:b], head) for (a, b), head in with_headers(text, Splitter(chunk_size=60))][1]
        ('| 1 | 2 |\n| 1 | 2 |', '| a | b |\n|---|---|')
    """
    spans = splitter(text)
    found = tables_of(text) if len(spans) > 1 else ()
    waiting = [*reversed(spans)]
    reached = 0
    while waiting:
        start, end = waiting.pop()
        table = _continued(found, start, splitter)
        row = _row_from(text, table, start, reached) if table is not None else end
        if table is None or row >= end:
            yield (start, end), ""
            reached = end
            continue
        head = text[table.start : table.head]
        room = splitter.chunk_size - len(head) - 1
        if end - row <= room:
            yield (row, end), head
            reached = end
            continue
        while waiting and waiting[-1][0] < table.end:
            end = waiting.pop()[1]
        after = min(end, table.end)
        again = replace(splitter, chunk_size=room, overlap=min(splitter.overlap, room - 1))
        waiting += reversed([(after + a, after + b) for a, b in splitter(text[after:end])])
        waiting += reversed([(row + a, row + b) for a, b in again(text[row:after])])


def _continued(found: Sequence[Table], start: int, splitter: Splitter) -> Table | None:
    """Return the table within whose rows a passage begins, if its header may be shown again."""
    at = bisect_right(found, start, key=attrgetter("head")) - 1
    if at < 0 or start >= found[at].end:
        return None
    length = found[at].head - found[at].start
    return found[at] if length * _LONGEST_HEADER_SHARE <= splitter.chunk_size else None


def _row_from(text: str, table: Table, start: int, reached: int) -> int:
    """Return where the first row of a passage begins, after what it repeats; the text's end if none does.

    A row of several lines may go on in it.
    """
    if not text[text.rfind("\n", 0, start) + 1 : start].strip():
        return start
    place = bisect_right(table.rows, start, key=itemgetter(0))
    is_known = place < len(table.rows) and table.rows[place][0] <= reached
    return _skip_indent(text, table.rows[place][0]) if is_known else len(text)


def _skip_indent(text: str, position: int) -> int:
    indented = text[position : position + _DEEPEST]
    return position + len(indented) - len(indented.lstrip())
