"""Splitting a long text into pieces of bounded length, at the best places to break.

Tables break between rows, below their header; a fenced block is whole where it may be, else each piece of it
is below the line that opens it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.text.text_tables import Table, fenced_blocks, tables_of

Span = tuple[int, int]
"""Half-open character offsets."""

_NON_SPACE = re.compile(r"\S")
# From the best place to break to the worst: a blank line, an entry of a list, a line that ends a sentence,
# a line, the end of a sentence, a word.
_BREAKS = tuple(
    map(
        re.compile,
        (r"\n\n", r"\n(?=[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t])", r"[.!?:;。]\n", r"\n", r"\. |。", " "),
    )
)
# A block comment that begins a line, and what it is about, on its last line or the next.
_COMMENTED = re.compile(
    r"^[ \t]*+/\*.*?(?:\Z|\*/(?:[^\n]*\S[^\n]*|[^\n]*\n[^\n]*|[^\n]*))", re.MULTILINE | re.DOTALL
)
# Where a comment is cut that is too long: before a tag, at a line that says nothing, between sentences.
_COMMENT_BREAKS = tuple(
    map(re.compile, (r"\n(?=[ \t]*+\*?[ \t]*+[@\\]\w)", r"\n[ \t]*+\*?[ \t]*+\n", r"[.!?]\n"))
)
# A table's header that takes more than this part of a passage is not shown again.
_HEADER_SHARE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Splitter:
    r"""Splits a text into spans of at most `chunk_size` characters.

    Attributes:
        chunk_size: Most characters a piece may have, 1 or more.
        class_size: Most characters of a class that stays whole, its methods with it; 0: each method is a
            piece, and a class its outline. The default is some 250 tokens: with 800 or less fewer questions
            of how a program works are answered, with 1200 or more fewer at a small budget.

    Raises:
        ConfigError: A size is no such number.

    Example:
        >>> text = "First paragraph.\n\nSecond paragraph."
        >>> [text[a:b] for a, b in Splitter(chunk_size=20)(text)]
        ['First paragraph.', 'Second paragraph.']
    """

    chunk_size: int = 1600
    class_size: int = 1000

    def __post_init__(self) -> None:
        check_number("chunk_size", self.chunk_size, 1)
        check_number("class_size", self.class_size, 0)

    def __call__(self, text: str, *, is_code: bool = False) -> list[Span]:
        """Return the spans in order, without outer white space; together they cover all other text.

        Args:
            text: What is split.
            is_code: Break where the least is open, before the line that is indented least, in no block
                comment, and keep the indentation of a span's first line.
        """
        code = _COMMENTED.sub(_closed, text) if is_code else None
        return [span for span, _ in self._pieces(text, code=code)]

    def with_headers(self, text: str) -> Iterator[tuple[Span, str]]:
        r"""Yield the spans of a text, each with what opens the table or fenced block it goes on with, or "".

        A passage is no longer than others, its header included; rows that fit are whole.

        Example:
            >>> text = "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 6
            >>> [(text[a:b], head) for (a, b), head in Splitter(chunk_size=60).with_headers(text)][1]
            ('| 1 | 2 |\n| 1 | 2 |\n| 1 | 2 |', '| a | b |\n|---|---|')
        """
        is_long = len(text) > self.chunk_size
        tables = [t for t in tables_of(text) if self.shows_header(t.head - t.start)] if is_long else ()
        return self._pieces(text, tables, fenced_blocks(text) if is_long else ())

    def shows_header(self, length: int) -> bool:
        """Say whether a table's header of that many characters is shown above each passage with its rows."""
        return length * _HEADER_SHARE <= self.chunk_size

    def _pieces(
        self, text: str, tables: Sequence[Table] = (), fences: Sequence[Span] = (), code: str | None = None
    ) -> Iterator[tuple[Span, str]]:
        is_code = code is not None
        rows = [begin for table in tables for begin, _ in table.rows]
        start = _skip_space(text, 0, keeps_indent=is_code)
        while start < len(text):
            head, stop, place = "", len(text), bisect_right(rows, start)
            if table := next((t for t in tables if t.head <= start < t.end), None):
                stop = table.end
                if not text[rows[place - 1] : start].strip():
                    head = text[table.start : table.head]
                elif place < len(rows):  # of a row that is too long: the next one has the header again
                    stop = min(stop, rows[place])
            elif fence := _around(fences, start):
                opener = text[fence[0] : text.find("\n", *fence)]
                head = opener if self.shows_header(len(opener)) else ""
            limit = start + self.chunk_size - len(head) - bool(head)
            cut = _around(fences, limit)
            if cut and cut[0] > start + (limit - start) // 2:  # whole in the next piece, or begun there
                stop = min(stop, cut[0])
            end = _end(text, (start, limit), code) if limit < stop else stop
            if place < (after := bisect_left(rows, end)) and rows[after - 1] > start:
                end = rows[after - 1] if end < stop else end
            yield (start, start + len(text[start:end].rstrip())), head
            start = _skip_space(text, end, keeps_indent=is_code or _around(fences, end) is not None)


def _around(spans: Sequence[Span], offset: int) -> Span | None:
    """Return the one of some spans in order that an offset lies in, its first character aside."""
    place = bisect_right(spans, offset, key=itemgetter(1))
    return spans[place] if place < len(spans) and spans[place][0] < offset else None


def _end(text: str, span: Span, code: str | None) -> int:
    """Return the best place to break in the second half of a span, or its end."""
    start, limit = span
    floor = start + (limit - start) // 2
    if code and (line := _outermost_line(code, floor, limit)):
        return line
    for mark in (*_COMMENT_BREAKS, *_BREAKS) if code else _BREAKS:
        if ends := [found.end() for found in mark.finditer(text, floor, limit)]:
            return ends[-1]
    return limit


def _closed(comment: re.Match[str]) -> str:
    """Return a comment with brackets for its lines, but for the first: no piece begins before a bracket."""
    first, *others = comment[0].split("\n")
    return "\n".join((first, *("}" * len(line) for line in others)))


def check_number(name: str, value: object, least: int) -> int:
    """Return a whole number of `least` or more, and refuse (ConfigError) anything else."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ConfigError(f"{name} must be a whole number of {least} or more, got {value!r}")
    return value


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
