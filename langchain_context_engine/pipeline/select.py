"""In which order whole passages try to get in, and which combination is best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

SELECTIONS = ("adaptive", "score", "density", "knapsack")
"""Adaptive packs the best sentences or whole passages; the others whole passages first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diversity:
    """When one kind dominates, and when there is enough.

    The rule of kinds acts only where there is more than one.

    Attributes:
        kind_share: Above this share of the chosen, a kind is skipped.
        after: The rule starts when more than so many are chosen.
        enough_fill: Stop when more than this share of the budget is used …
        enough_items: … by at least so many passages.
        offers_rest: What is skipped is offered what the other kinds leave over.
    """

    kind_share: float = 0.7
    after: int = 5
    enough_fill: float = 0.9
    enough_items: int = 10
    offers_rest: bool = False

    def skips(self, kind: str, chosen: Counter[str]) -> bool:
        """Return whether one more of this kind would dominate."""
        total = chosen.total()
        return total > self.after and chosen[kind] / total > self.kind_share

    def is_enough(self, spent: int, budget: int, chosen: int) -> bool:
        """Return whether the context is good as it is."""
        return spent > self.enough_fill * budget and chosen >= self.enough_items


def by_density(scores: Sequence[float], costs: Sequence[int]) -> list[int]:
    """Return places by score per token, highest first; ties by place."""
    return sorted(range(len(scores)), key=lambda i: (-scores[i] / max(1, costs[i]), i))


def knapsack(scores: Sequence[float], costs: Sequence[int], budget: int) -> list[int]:
    """Return the places whose scores add up to the most within the budget, by place.

    Exact, by dynamic programming over tokens: O(items × budget). Of equal sums, the one with the
    earlier items wins.

    Example:
        >>> knapsack([0.6, 0.5, 0.5], [6, 5, 5], 10)
        [1, 2]
    """
    if budget <= 0:
        return []
    import numpy as np

    best = np.zeros(budget + 1)
    taken = np.zeros((len(scores), budget + 1), dtype=bool)
    # From the weakest on, so that among equal sums the stronger items are taken last and win.
    for i in reversed(range(len(scores))):
        cost = max(0, costs[i])
        if cost > budget:
            continue
        with_item = np.full(budget + 1, -np.inf)
        with_item[cost:] = best[: budget + 1 - cost] + scores[i]
        taken[i] = with_item >= best
        best = np.where(taken[i], with_item, best)
    chosen, room = [], budget
    for i in range(len(scores)):
        if taken[i, room]:
            chosen.append(i)
            room -= max(0, costs[i])
    return chosen
