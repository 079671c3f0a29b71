"""Two texts beside each other: only what differs, word by word, with the words around it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
_AROUND = 16
"""Words and spaces that are shown around what differs."""

_FEWEST_SKIPPED = 80
"""So few equal characters are shown: a line that says how many are left out would take their room."""

LONGEST = 6000
"""Characters of each text that are compared, from a little before they begin to differ."""

_MARGIN = 800
"""Characters before and after what differs that are compared too, to be shown around it."""

Sides = tuple[Sequence[str], Sequence[str]]
"""Words of the first text, and those that stand in their place in the second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One side of a place where two texts differ: (text, whether it differs), in order.

    Attributes:
        left: Of the first text.
        right: Of the second text.
        skipped: Characters of the first text, equal in both, that were left out before it. The last one of
            some may have only these: the equal end.
    """

    left: tuple[tuple[str, bool], ...]
    right: tuple[tuple[str, bool], ...]
    skipped: int


def differences(first: str, second: str) -> tuple[list[Difference], bool]:
    """Return where two texts differ, each with a few words around it, and whether all of them was compared.

    What both begin and end with is found at once, however long it is. Between, `LONGEST` characters are
    compared, in time that grows with the square of their words and little more: not with what they repeat.

    Example:
        >>> found, is_all = differences("due on 3 May", "due on 4 May")
        >>> found[0].left
        (('due on ', False), ('3', True), (' May', False))
        >>> differences("same", "same")
        ([], True)
    """
    if first == second:
        return [], True
    start, end = _ends(first, second)
    middles = first[start : len(first) - end], second[start : len(second) - end]
    is_all = max(map(len, middles)) <= LONGEST
    a, b = (_WORDS.findall(middle[:LONGEST]) for middle in middles)
    found, rest = _told(_runs(a, b), start)
    rest += end if is_all else 0
    if found and rest:
        found.append(Difference(left=(), right=(), skipped=rest))
    return found, is_all


def _ends(first: str, second: str) -> tuple[int, int]:
    """Return how many characters at the start and at the end of both need not be compared."""
    start = max(0, _equal(first, second) - _MARGIN)
    return start, max(0, _equal(first[start:][::-1], second[start:][::-1]) - _MARGIN)


def _equal(first: str, second: str) -> int:
    """Return how many characters both begin with."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _runs(a: Sequence[str], b: Sequence[str]) -> list[tuple[bool, Sides]]:
    """Return the words of both in runs that are equal or differ, in turn."""
    # Imported when it is used: the engine itself never compares two texts so.
    from rapidfuzz.distance import Indel

    steps = Indel.opcodes(a, b)
    runs = []
    for is_equal, some in groupby(steps, key=lambda step: step.tag == "equal"):
        of_run = list(some)
        left = a[of_run[0].src_start : of_run[-1].src_end]
        right = b[of_run[0].dest_start : of_run[-1].dest_end]
        runs.append((is_equal, (left, right)))
    return runs


def _told(runs: Sequence[tuple[bool, Sides]], skipped: int) -> tuple[list[Difference], int]:
    """Return the places that differ, and how many equal characters stand after the last one.

    Args:
        runs: From `_runs`.
        skipped: Equal characters before the first run.
    """
    found: list[Difference] = []
    place: list[tuple[bool, Sides]] = []
    for number, (is_equal, (left, right)) in enumerate(runs):
        before, after = number > 0, number + 1 < len(runs)
        shown = _AROUND * (before + after)
        gap = left[_AROUND if before else 0 : len(left) - (_AROUND if after else 0)]
        if not is_equal or len(left) <= shown or len("".join(gap)) < _FEWEST_SKIPPED:
            place.append((is_equal, (left, right)))
            continue
        if before:
            place.append((True, (left[:_AROUND], left[:_AROUND])))
            found.append(_difference(place, skipped))
            skipped, place = 0, []
        skipped += len("".join(gap))
        if after:
            place.append((True, (left[-_AROUND:], left[-_AROUND:])))
    if place:
        found.append(_difference(place, skipped))
        skipped = 0
    return found, skipped


def _difference(place: Iterable[tuple[bool, Sides]], skipped: int) -> Difference:
    sides: list[tuple[tuple[str, bool], ...]] = []
    for side in (0, 1):
        pieces = (("".join(both[side]), not is_equal) for is_equal, both in place)
        sides.append(tuple(piece for piece in pieces if piece[0]))
    return Difference(left=sides[0], right=sides[1], skipped=skipped)
