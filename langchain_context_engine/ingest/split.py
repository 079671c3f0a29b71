"""Splitting a long text into pieces of bounded length, at the best places to break; tables between rows."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter, itemgetter

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.text.text_tables import Table, tables_of

Span = tuple[int, int]
"""Half-open character offsets."""

_NON_SPACE = re.compile(r"\S")
# From the best place to break to the worst: a blank line, a line, the end of a sentence, a word.
_BREAKS = ("\n\n", "\n", ". ", "。", " ")
HEADER_SHARE = 3
"""A table's header that takes more than this part of a passage is not shown again."""
_DEEPEST_ROW = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Splitter:
    r"""Splits a text into spans of at most `chunk_size` characters.

    Attributes:
        chunk_size: Most characters a piece may have, 1 or more.
        overlap: Characters that a piece may repeat of the one before it, 0 to `chunk_size` − 1.
        class_size: Most characters of a class that stays whole, its methods with it; 0: each method is a
            piece, and a class its outline. The default is some 250 tokens: with 800 or less fewer questions
            of how a program works are answered, with 1200 or more fewer at a small budget.

    Raises:
        ConfigError: A size is no whole number, or the overlap leaves no progress.

    Example:
        >>> text = "First paragraph.\n\nSecond paragraph."
        >>> [text[a:b] for a, b in Splitter(chunk_size=20)(text)]
        ['First paragraph.', 'Second paragraph.']
    """

    chunk_size: int = 1600
    overlap: int = 0
    class_size: int = 1000

    def __post_init__(self) -> None:
        for name, least in (("chunk_size", 1), ("overlap", 0), ("class_size", 0)):
            check_number(name, getattr(self, name), least)
        if self.overlap >= self.chunk_size:
            raise ConfigError(
                f"overlap must be smaller than chunk_size, or splitting makes no progress; "
                f"got overlap {self.overlap} and chunk_size {self.chunk_size}"
            )

    def __call__(self, text: str, *, is_code: bool = False) -> list[Span]:
        """Return the spans in order, without outer white space; together they cover all other text.

        Args:
            text: What is split.
            is_code: Break where the least is open, before the line that is indented least, and keep the
                indentation of a span's first line.
        """
        spans: list[Span] = []
        start = _skip_space(text, 0, keeps_indent=is_code)
        while start < len(text):
            end = self._end(text, start, is_code=is_code)
            spans.append((start, start + len(text[start:end].rstrip())))
            if end >= len(text):
                break
            start = _skip_space(text, self._next_start(text, end), keeps_indent=is_code)
        return spans

    def _end(self, text: str, start: int, *, is_code: bool) -> int:
        limit = start + self.chunk_size
        if limit >= len(text):
            return len(text)
        # A piece is longer than what the next one repeats of it: that is the progress.
        floor = start + max(self.chunk_size // 2, self.overlap)
        if is_code and (line := _outermost_line(text, floor, limit)):
            return line
        for mark in _BREAKS:
            found = text.rfind(mark, floor, limit)
            if found >= 0:
                return found + len(mark)
        return limit

    def _next_start(self, text: str, end: int) -> int:
        if not self.overlap:
            return end
        start = end - self.overlap
        space = text.find(" ", start, end)
        return start if space < 0 else space


def check_number(name: str, value: object, least: int) -> None:
    """Refuse what is no whole number of `least` or more.

    Raises:
        ConfigError: It names the setting and what was given.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ConfigError(f"{name} must be a whole number of {least} or more, got {value!r}")


def _outermost_line(text: str, floor: int, limit: int) -> int:
    """Return where the least indented line begins, of those the last; 0 where no line begins there."""
    best: tuple[int, bool, int] | None = None
    is_after_blank = False
    position = text.find("\n", floor, limit) + 1
    while position:
        following = text.find("\n", position, limit) + 1
        line = text[position : following or limit]
        body = line.lstrip()
        if body and body[0] not in "})]":
            # A blank line outweighs one step of indentation.
            indent = len(line) - len(body) - (4 if is_after_blank else 0)
            if best is None or (-indent, is_after_blank, position) > best:
                best = (-indent, is_after_blank, position)
        is_after_blank = not body
        position = following
    return best[2] if best else 0


def _skip_space(text: str, position: int, *, keeps_indent: bool) -> int:
    found = _NON_SPACE.search(text, position)
    if found is None:
        return len(text)
    return max(position, text.rfind("\n", position, found.start()) + 1) if keeps_indent else found.start()


def with_headers(text: str, splitter: Splitter) -> Iterator[tuple[Span, str]]:
    r"""Yield the spans of a text's passages, each with the header of the table that it goes on with, or "".

    A passage is no longer than others, its header included.

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
        head = text[table.start : table.head] if table is not None and row < end else ""
        room = splitter.chunk_size - len(head) - 1
        if table is None or not head or end - row <= room:
            yield (row if head else start, end), head
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
    return found[at] if length * HEADER_SHARE <= splitter.chunk_size else None


def _row_from(text: str, table: Table, start: int, reached: int) -> int:
    """Return where the first row of a passage begins, after what it repeats; the text's end if none does.

    A row of several lines may go on in it.
    """
    if not text[text.rfind("\n", 0, start) + 1 : start].strip():
        return start
    place = bisect_right(table.rows, start, key=itemgetter(0))
    if place == len(table.rows) or table.rows[place][0] > reached:
        return len(text)
    row = table.rows[place][0]
    indented = text[row : row + _DEEPEST_ROW]
    return row + len(indented) - len(indented.lstrip())
