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

_FEWEST_SKIPPED = 80
"""So few equal characters are shown: a line that says how many are left out would take their room."""

Opcode = tuple[str, int, int, int, int]
"""What is done to which words of both, as `difflib` tells it."""

_LONGEST = 6000
"""Characters of each text that are compared: word by word takes the square of its time."""


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
    for group in _joined([g for g in matcher.get_grouped_opcodes(_AROUND) if not _is_equal(g)], a, b):
        start = group[0][1]
        found.append(
            Difference(
                left=_side(a, [(tag, i, j) for tag, i, j, _, _ in group]),
                right=_side(b, [(tag, k, m) for tag, _, _, k, m in group]),
                skipped=len("".join(a[before:start])),
            )
        )
        before = group[-1][2]
    if found and before < len(a):
        found.append(Difference(left=(), right=(), skipped=len("".join(a[before:]))))
    return found, max(len(first), len(second)) <= _LONGEST


def _is_equal(group: Sequence[Opcode]) -> bool:
    return all(tag == "equal" for tag, *_ in group)


def _joined(groups: Sequence[list[Opcode]], a: Sequence[str], b: Sequence[str]) -> list[list[Opcode]]:
    """Return the groups with the equal words around and between them that are too few to be left out."""
    joined: list[list[Opcode]] = []
    ends = (0, 0)
    for group in groups:
        _, i, _, k, _ = group[0]
        gap: Opcode = ("equal", ends[0], i, ends[1], k)
        is_short = len("".join(a[gap[1] : i])) < _FEWEST_SKIPPED
        if joined and is_short:
            joined[-1] += [gap, *group]
        else:
            joined.append([gap, *group] if is_short else group)
        ends = (group[-1][2], group[-1][4])
    if joined and len("".join(a[ends[0] :])) < _FEWEST_SKIPPED:
        joined[-1].append(("equal", ends[0], len(a), ends[1], len(b)))
    return joined


def _side(words: Sequence[str], parts: Sequence[tuple[str, int, int]]) -> tuple[tuple[str, bool], ...]:
    pieces = [("".join(words[start:stop]), tag != "equal") for tag, start, stop in parts]
    return tuple(piece for piece in pieces if piece[0])
