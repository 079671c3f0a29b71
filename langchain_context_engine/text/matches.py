"""What a question's words match in a text: marked (`We <<<bill>>> monthly`), and where most of it stands."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from langchain_context_engine.text.text_tables import join_spans
from langchain_context_engine.text.words import terms

MARKS = ("<<<", ">>>")
"""What stands before and after a match."""

_WORDS = re.compile(r"\w+(?:[.'’]\w+)*")
_FIRST_UNSPACED = "\u0e00"
"""From here on are the scripts without spaces, whose terms are pairs of characters within a run."""

_SHORTEST_STEM = 5
_LOOKED_FOR_SPACE = 200
_SENTENCE, _SPACES = re.compile(r"[.!?\n]\s+"), re.compile(r"\s+")


def mark_matches(text: str, wanted: Iterable[str]) -> str:
    """Return the text with `MARKS` around every word that has one of the terms, in any English form.

    Example:
        >>> mark_matches("We bill monthly; billing is done.", ["bill"])
        'We <<<bill>>> monthly; <<<billing>>> is done.'
    """
    pieces: list[str] = []
    end = 0
    for start, stop in match_spans(text, wanted):
        pieces += (text[end:start], MARKS[0], text[start:stop], MARKS[1])
        end = stop
    return "".join((*pieces, text[end:]))


def match_spans(text: str, wanted: Iterable[str]) -> list[tuple[int, int]]:
    """Return where the words stand that have one of the terms, as (start, stop) in order, none in another.

    Example:
        >>> match_spans("We bill monthly.", ["bill"])
        [(3, 7)]
    """
    asked = frozenset(wanted)
    spaced = {term for term in asked if term < _FIRST_UNSPACED}
    words = _WORDS.finditer(text) if spaced else ()
    spans = [word.span() for word in words if not spaced.isdisjoint(terms(word[0]))]
    for term in asked - spaced:
        spans += (found.span() for found in re.finditer(re.escape(term), text))
    return join_spans(sorted(spans), lambda before, span: span[0] < before[1])


def densest(text: str, wanted: Iterable[str], width: int) -> str:
    """Return a piece of at most `width` characters, where most of the wanted terms stand; else the beginning.

    A term counts the more the fewer places have it. A text of some megabytes takes some hundredths of a
    second: words are looked for by how they begin, place by place.

    Args:
        text: Any text; a short one is returned as it is.
        wanted: Terms, as `query_terms` gives them.
        width: Characters at most, 1 or more.

    Example:
        >>> piece = densest("It rains. " * 90 + "Ana left the harbor. " + "It snows. " * 90, ["harbor"], 80)
        >>> "Ana left the harbor." in piece, len(piece) <= 80
        (True, True)
    """
    return text if len(text) <= width else _densest(text, tuple(sorted(set(wanted))), width)


@lru_cache(maxsize=8)
def _densest(text: str, wanted: Sequence[str], width: int) -> str:
    """Do so; several sources ask the same of one text."""
    step = max(1, width // 4)
    places = [text[start : start + step].lower() for start in range(0, len(text), step)]
    worth = [0.0] * len(places)
    for term in wanted:
        # The forms of a word share their beginning: `compani` is the stem of company and companies.
        root = term[:-1] if len(term) > _SHORTEST_STEM and term < _FIRST_UNSPACED else term
        having = [i for i, place in enumerate(places) if _stands(root, place)]
        for i in having:
            worth[i] += math.log1p(len(places) / len(having))
    # The place with most of them, and of several such the one with more beside it.
    beside = [0.0, *worth, 0.0]
    best = max(range(len(places)), key=lambda i: (worth[i] + (beside[i] + beside[i + 2]) / 4, -i))
    start = min(max(0, best * step - (width - step) // 2), len(text) - width) if any(worth) else 0
    return _trimmed(text, start, width)


def _stands(root: str, place: str) -> bool:
    """Return whether a place has a word that begins so; a short beginning stands in too many words."""
    if len(root) >= _SHORTEST_STEM or root >= _FIRST_UNSPACED:
        return root in place
    return place.startswith(root) or any(before + root in place for before in ' \n\t"(')


def _trimmed(text: str, start: int, width: int) -> str:
    """Return a piece that begins and ends between sentences, or words, where such are near."""
    end = min(len(text), start + width)
    if start:
        near = min(end, start + _LOOKED_FOR_SPACE, start + width // 4)
        space = _SENTENCE.search(text, start, near) or _SPACES.search(text, start, near)
        start = space.end() if space else start
    if end < len(text):
        cut = text.rfind(" ", max(start, end - _LOOKED_FOR_SPACE, end - width // 4), end)
        end = cut if cut > start else end
    return text[start:end].strip()
