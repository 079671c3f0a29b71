"""Two texts beside each other: only what differs, word by word, with the words around it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

__all__ = ["Difference", "differences"]

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
_AROUND = 16
"""Words and spaces that are shown around what differs."""

_LONGEST = 6000
"""Characters of each text that are compared: word by word takes the square of its time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One side of a place where two texts differ: (text, whether it differs), in order.

    Attributes:
        left: Of the first text.
        right: Of the second text.
        skipped: Characters of the first text, equal in both, that were left out before it.
    """

    left: tuple[tuple[str, bool], ...]
    right: tuple[tuple[str, bool], ...]
    skipped: int


def differences(first: str, second: str) -> tuple[list[Difference], bool]:
    """Return where two texts differ, each with a few words around it, and whether all of them was compared.

    Example:
        >>> found, is_all = differences("due on 3 May", "due on 4 May")
        >>> found[0].left
        (('due on ', False), ('3', True), (' May', False))
        >>> differences("same", "same")
        ([], True)
    """
    a, b = _WORDS.findall(first[:_LONGEST]), _WORDS.findall(second[:_LONGEST])
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    found, before = [], 0
    for group in matcher.get_grouped_opcodes(_AROUND):
        if all(tag == "equal" for tag, *_ in group):
            continue
        start = group[0][1]
        found.append(
            Difference(
                left=_side(a, [(tag, i, j) for tag, i, j, _, _ in group]),
                right=_side(b, [(tag, k, m) for tag, _, _, k, m in group]),
                skipped=len("".join(a[before:start])),
            )
        )
        before = group[-1][2]
    return found, max(len(first), len(second)) <= _LONGEST


def _side(words: Sequence[str], parts: Sequence[tuple[str, int, int]]) -> tuple[tuple[str, bool], ...]:
    pieces = [("".join(words[start:stop]), tag != "equal") for tag, start, stop in parts]
    return tuple(piece for piece in pieces if piece[0])
