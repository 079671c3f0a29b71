"""Where in a very long text most of a question's words stand: what is worth reading of it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

__all__ = ["densest"]

_FIRST_UNSPACED = "\u0e00"
_SHORTEST_STEM = 5
_LOOKED_FOR_SPACE = 200
_REMEMBERED = 8
_SENTENCE, _WORD = re.compile(r"[.!?\n]\s+"), re.compile(r"\s+")


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


@lru_cache(maxsize=_REMEMBERED)
def _densest(text: str, wanted: Sequence[str], width: int) -> str:
    """Do so; several sources ask the same of one text."""
    step = max(1, width // 4)
    roots = [_root(term) for term in wanted]
    places = [text[start : start + step].lower() for start in range(0, len(text), step)]
    having = {root: [i for i, place in enumerate(places) if _stands(root, place)] for root in roots}
    worth = [0.0] * len(places)
    for root in roots:
        for i in having[root]:
            worth[i] += math.log1p(len(places) / len(having[root]))
    if not any(worth):
        return _trimmed(text, 0, width)
    # The place with most of them, and of several such the one with more beside it.
    beside = [0.0, *worth, 0.0]
    best = max(range(len(places)), key=lambda i: (worth[i] + (beside[i] + beside[i + 2]) / 4, -i))
    start = min(max(0, best * step - (width - step) // 2), len(text) - width)
    return _trimmed(text, start, width)


def _root(term: str) -> str:
    """Return the beginning that the forms of a word share: `compani` is the stem of company and companies."""
    return term[:-1] if len(term) > _SHORTEST_STEM and term < _FIRST_UNSPACED else term


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
        space = _SENTENCE.search(text, start, near) or _WORD.search(text, start, near)
        start = space.end() if space else start
    if end < len(text):
        cut = text.rfind(" ", max(start, end - _LOOKED_FOR_SPACE, end - width // 4), end)
        end = cut if cut > start else end
    return text[start:end].strip()
