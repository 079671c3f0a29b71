"""Pieces of a text as one text: verbatim, in order, an ellipsis where something is left out."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import attrgetter

from langchain_context_engine.text.tables import Span, Table, tables_of

__all__ = ["BLOCK_ELLIPSIS", "ELLIPSIS", "locate", "merge", "pieces"]

ELLIPSIS = " … "
"""What joins two pieces that are apart in the original."""

BLOCK_ELLIPSIS = "\n\n…\n\n"
"""What joins them where a Markdown block ends or begins there: a fence, a list, a table, a heading."""

_ROW = "…"

_BLOCK_START = re.compile(
    r"[ \t]*(?:#{1,6}[ \t]|[-*+•][ \t]|\d+[.)][ \t]|>|\||`{3}|~{3}|:{3}|<[A-Za-z!/]"
    r"|\S[^\n]*\n[=~^-]{3,}[ \t]*(?:\n|\Z))"
)
_BLOCK_LAST = re.compile(
    r"[ \t]*+(?:#{1,6}[ \t].*|\|.*|.*\|[ \t]*|`{3,}[ \t]*|~{3,}[ \t]*|:{3,}[ \t]*|<.*>[ \t]*|[=~^-]{3,}[ \t]*"
    r"|[-*+•][ \t].*|\d+[.)][ \t].*)"
)
_ANY_ELLIPSIS = re.compile(r"(?: |\n\n)…(?: |\n\n)|\n[ \t]*…\n")
_INDENT = re.compile(r"[ \t]*+")


def pieces(text: str, spans: Iterable[Span], found: Sequence[Table] | None = None) -> str:
    r"""Return spans of a text as one text: verbatim where only space is between them, else with an ellipsis.

    It stands on a line of its own where a Markdown block ends or begins, so that both parse as they did;
    between rows of a table it is a row of one cell.

    Args:
        text: The text.
        spans: Half-open offsets.
        found: Its tables that may be cut into rows; None: all.

    Example:
        >>> pieces("One.  Two. Three. Four.", [(18, 23), (0, 4), (6, 10)])
        'One.  Two. … Four.'
        >>> pieces("```\nx\n```\nOne. Two.", [(0, 9), (15, 19)])
        '```\nx\n```\n\n…\n\nTwo.'
    """
    merged = merge(text, spans)
    if len(merged) <= 1:
        return "".join(text[start:end] for start, end in merged)
    found = tables_of(text) if found is None else found
    written = [text[slice(*merged[0])]]
    for before, after in pairwise(merged):
        part = text[slice(*after)]
        between = _between_rows(text, found, before[1], after[0]) if found else ""
        written += (between or _ellipsis_between(text[slice(*before)], part), part)
    return "".join(written)


def _between_rows(text: str, found: Sequence[Table], end: int, start: int) -> str:
    """Return what stands where rows are left out, or between a table and what follows it; "" elsewhere."""
    at = bisect_right(found, end, key=attrgetter("head")) - 1
    if at < 0 or end > found[at].end:
        return BLOCK_ELLIPSIS if any(table.start == start for table in found[at + 1 : at + 2]) else ""
    if start >= found[at].end:
        return BLOCK_ELLIPSIS
    indent = _INDENT.match(text, start)
    return f"\n{indent[0] if indent else ''}{_ROW}\n"


def _ellipsis_between(before: str, after: str) -> str:
    last = before[before.rfind("\n") + 1 :]
    is_block = _BLOCK_LAST.fullmatch(last) or _BLOCK_START.match(after)
    return BLOCK_ELLIPSIS if is_block else ELLIPSIS


def merge(text: str, spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return the spans in order, those with only space between them as one.

    Example:
        >>> merge("One.  Two. Three. Four.", [(18, 23), (0, 4), (6, 10)])
        ((0, 10), (18, 23))
    """
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and (start <= merged[-1][1] or not text[merged[-1][1] : start].strip()):
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


def locate(text: str, piece: str) -> tuple[Span, ...]:
    """Return the spans of a text that a truncator's result consists of; () if it does not.

    Example:
        >>> locate("One. Two. Three.", "One. … Three.")
        ((0, 4), (10, 16))
    """
    start = (
        len(text) - len(piece) if text.endswith(piece) and not text.startswith(piece) else text.find(piece)
    )
    if start >= 0:
        return ((start, start + len(piece)),) if piece else ()
    spans: list[Span] = []
    position = 0
    for part in _ANY_ELLIPSIS.split(piece):
        start = text.find(part, position)
        if start < 0 or not part:
            return ()
        position = start + len(part)
        spans.append((start, position))
    return tuple(spans)
