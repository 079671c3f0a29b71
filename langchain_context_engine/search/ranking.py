"""Cutting a ranking where it is settled, and merging two."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence


def deeper(rung: int, goal: int) -> int:
    """Return the first depth of the ladder `rung`, 4·`rung`, 16·`rung`, … that reaches a goal.

    Example:
        >>> deeper(200, 150), deeper(200, 201)
        (200, 800)
    """
    while rung < goal:
        rung *= 4
    return rung


def settled(
    hits: Sequence[tuple[str, float]], admits: Callable[[str], bool], needed: int, *, is_all: bool
) -> list[tuple[str, float]] | None:
    """Return the first `needed` admitted hits, or None where the hits are too few to tell.

    Hits that score like the last one may go on beyond it, so only those before it are settled.
    """
    found: list[tuple[str, float]] = []
    for id_, measure in hits:
        if len(found) == needed:
            break
        if not is_all and measure == hits[-1][1]:
            return None
        if admits(id_):
            found.append((id_, measure))
    return found if is_all or len(found) == needed else None


def merge_by_rank(*rankings: Sequence[str]) -> list[str]:
    """Return the ids of several rankings by their best rank; among equals, an earlier ranking's first.

    The first n of the merge of longer rankings are the merge of shorter ones.

    Example:
        >>> merge_by_rank(["a", "b", "c"], ["c", "d"])
        ['a', 'c', 'b', 'd']
    """
    in_turn = itertools.chain.from_iterable(itertools.zip_longest(*rankings))
    return [id_ for id_ in dict.fromkeys(in_turn) if id_ is not None]
