"""Where a text may be cut: between sentences or words, between table rows, never inside of a character.

What people see as one character (a letter with its accents, a family emoji, a flag, a line break of two
code points) may be several code points. The rules are those of Unicode's extended grapheme clusters
(UAX #29) that the standard library's tables can tell.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import takewhile

from langchain_context_engine.text.sentences import sentence_spans
from langchain_context_engine.text.tables import tables

_ZERO_WIDTH_JOINER = "\u200d"
_MOST_GIVEN_UP = 0.2
"""The share of what is kept that a cut may give up to stand between sentences or words."""

_MOST_FOR_A_BLOCK = 0.1
"""The share of what is kept that a cut of a program may give up to stand before an empty line."""

_WINDOW = 2000
"""Characters looked through for a good place, at most."""

_LEADS_ON = re.compile(r"^\s*+(?:$|//|#|/?\*(?!/)|--|;|@)|[({\[,:=]\s*$")
"""A line that says what comes after it: a comment, a decorator, one that opens a block or breaks off."""

_WORD_WINDOW = 24
"""Characters looked through for a word's end, at least."""


def good_ends(text: str, end: int) -> Iterator[int]:
    """Yield places to end a beginning of a text that is at most `end` long, the best first, down to 0.

    A sentence's end and then a word's within the last fifth, then ever shorter ones.

    Example:
        >>> next(good_ends("One two three four five", 21))
        18
    """
    found = tables(text)
    last = _outside_rows(found, text, end)
    if last == end:
        near = max(0, end - min(int(end * _MOST_GIVEN_UP), _WINDOW))
        ends = [near + b for _, b in sentence_spans(text[near : end + 80]) if near + b <= end]
        if ends:
            yield _character_start(text, ends[-1])
        if end < len(text) and not (text[end].isspace() or text[end - 1].isspace()):
            near = max(0, min(near, end - _WORD_WINDOW))
            head = text[near:end].rsplit(maxsplit=1)
            yield _character_start(text, near + len(head[0]) if len(head) == 2 else end)  # noqa: PLR2004
    step = 0
    while last > 0:
        yield _character_start(text, last)
        step = 2 * step or 1
        last = _outside_rows(found, text, max(0, end - step))


def line_ends(text: str, end: int) -> Iterator[int]:
    r"""Yield places to end a beginning of a program that is at most `end` long, the best first.

    Within the last tenth before an empty line; within the last half after a line that neither opens a block
    nor is a comment to what follows. Then after the last line, and after ever earlier ones.

    Example:
        >>> list(line_ends("a = f(1)\nb = 2\nif a:\n    c = 3", 22))
        [14, 20, 8]
    """
    ends = list(_line_feeds(text, end))
    late = takewhile(lambda at: at >= end * (1 - _MOST_FOR_A_BLOCK), ends)
    of_block = next((at for at in late if not _line_at(text, at + 1).strip()), None)
    later = takewhile(lambda at: 2 * at >= end, ends)
    lines = ((at, _line_at(text, text.rfind("\n", 0, at) + 1)) for at in later)
    whole = next((at for at, line in lines if not _LEADS_ON.search(line)), None)
    yield from dict.fromkeys(at for at in (of_block, whole, *ends) if at is not None)


def _line_feeds(text: str, last: int) -> Iterator[int]:
    """Yield the places of line feeds from a place back to the second character."""
    at = text.rfind("\n", 1, last + 1)
    while at > 0:
        yield at
        at = text.rfind("\n", 1, at)


def _line_at(text: str, start: int) -> str:
    end = text.find("\n", start)
    return text[start:] if end < 0 else text[start:end]


def good_starts(text: str, start: int) -> Iterator[int]:
    """Yield places to begin an ending of a text, at `start` or later, the best first.

    A sentence's start and then a word's within the first fifth, then ever later ones. Rows of a table
    are skipped, since they cannot keep its header.

    Example:
        >>> next(good_starts("One two. Three four.", 7))
        9
    """
    found = tables(text)
    first = _after_table(found, start)
    if first == start:
        reach = start + min(int((len(text) - start) * _MOST_GIVEN_UP), _WINDOW)
        near = max(0, start - 80)
        starts = (near + a for a, _ in sentence_spans(text[near : reach + 1]))
        sentence = next((a for a in starts if start <= a <= reach), None)
        if sentence is not None:
            yield _character_end(text, _after_table(found, sentence))
        if 0 < start < len(text) and not (text[start - 1].isspace() or text[start].isspace()):
            reach = min(len(text), max(reach, start + _WORD_WINDOW))
            tail = text[start:reach].split(maxsplit=1)
            if len(tail) == 2:  # noqa: PLR2004
                yield _character_end(text, reach - len(tail[1]))
    step = 0
    while first < len(text):
        yield _character_end(text, first)
        step = 2 * step or 1
        first = _after_table(found, min(len(text), start + step))


def _outside_rows(found: list[tuple[int, int, int]], text: str, end: int) -> int:
    """Step back from inside a table to the end of a row, or to before a table without any."""
    for start, body, stop in found:
        if start < end < stop:
            row = end if text[end] in "\r\n" else text.rfind("\n", start, end)
            return row if row > body else start
    return end


def _after_table(found: list[tuple[int, int, int]], start: int) -> int:
    return next((stop for top, _, stop in found if top < start < stop), start)


def _character_start(text: str, position: int) -> int:
    while 0 < position < len(text) and not is_boundary(text, position):
        position -= 1
    return position


def _character_end(text: str, position: int) -> int:
    while 0 < position < len(text) and not is_boundary(text, position):
        position += 1
    return position


def is_boundary(text: str, position: int) -> bool:
    r"""Return whether one character, as people see it, ends at a position inside of a text.

    Example:
        >>> is_boundary("e\u0301!", 1), is_boundary("e\u0301!", 2)
        (False, True)
    """
    before, after = text[position - 1], text[position]
    if after < "\u0300":
        return not (before == "\r" and after == "\n") and before != _ZERO_WIDTH_JOINER
    if _ZERO_WIDTH_JOINER in {before, after} or _extends(after):
        return False
    if _is_flag_half(before) and _is_flag_half(after):
        first = position
        while first > 0 and _is_flag_half(text[first - 1]):
            first -= 1
        return (position - first) % 2 == 0
    return True


def _extends(character: str) -> bool:
    """Whether a character belongs to the one before it: accents, skin tones, tags, Korean vowels."""
    return (
        unicodedata.category(character)[0] == "M"
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or "\U000e0020" <= character <= "\U000e007f"
        or "\u1160" <= character <= "\u11ff"
        or "\ud7b0" <= character <= "\ud7fb"
    )


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
