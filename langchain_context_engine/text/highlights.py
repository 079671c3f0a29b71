"""Marks what a question's words match in a text: `We <<<bill>>> monthly`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from langchain_context_engine.text.words import terms

__all__ = ["MARKS", "mark_matches", "match_spans"]

MARKS = ("<<<", ">>>")
"""What stands before and after a match."""

_WORD = re.compile(r"\w+(?:[.'’]\w+)*")
_FIRST_UNSPACED = "\u0e00"
"""From here on are the scripts without spaces, whose terms are pairs of characters within a run."""


def mark_matches(text: str, wanted: Iterable[str], marks: tuple[str, str] = MARKS) -> str:
    """Return the text with marks around every word that has one of the terms; the rest stays verbatim.

    Args:
        text: Any text.
        wanted: Terms, as `query_terms` gives them: a word matches in all its English forms.
        marks: What stands before and after a match.

    Example:
        >>> mark_matches("We bill monthly; billing is done.", ["bill"])
        'We <<<bill>>> monthly; <<<billing>>> is done.'
    """
    pieces: list[str] = []
    end = 0
    for start, stop in match_spans(text, wanted):
        pieces += (text[end:start], marks[0], text[start:stop], marks[1])
        end = stop
    return "".join((*pieces, text[end:]))


def match_spans(text: str, wanted: Iterable[str]) -> list[tuple[int, int]]:
    """Return where the words stand that have one of the terms, as (start, stop) in order.

    Args:
        text: Any text.
        wanted: Terms, as `query_terms` gives them.

    Example:
        >>> match_spans("We bill monthly.", ["bill"])
        [(3, 7)]
    """
    return _joined(sorted(_matches(text, frozenset(wanted))))


def _matches(text: str, asked: frozenset[str]) -> Iterator[tuple[int, int]]:
    spaced = {term for term in asked if term < _FIRST_UNSPACED}
    if spaced:
        for word in _WORD.finditer(text):
            if not spaced.isdisjoint(terms(word[0])):
                yield word.span()
    for term in asked - spaced:
        for found in re.finditer(re.escape(term), text):
            yield found.span()


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return sorted spans with those that overlap joined into one."""
    joined: list[tuple[int, int]] = []
    for start, stop in spans:
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(stop, joined[-1][1]))
        else:
            joined.append((start, stop))
    return joined
