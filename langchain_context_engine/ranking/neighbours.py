"""What stands around a passage lends to it: talk and prose go on, a program's next function hardly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from langchain_context_engine.models.types import Candidate, Key
from langchain_context_engine.text.units import is_prose

NEAR, OTHER_SIDE, TWO_STEPS = 1 / 2, 1 / 6, 1 / 3
"""How the better neighbour counts, the other one, and the better of those two steps away.

Talk and prose go on over several passages. A program's neighbour is another function: only the better one
counts, by `NEAR_IN_CODE`.
"""

NEAR_IN_CODE = 1 / 3


def lent_by_neighbours(
    candidates: Sequence[Candidate], relevance: Sequence[float], place: Mapping[Key, int]
) -> dict[int, tuple[int, float]]:
    """Return, for each candidate with neighbours in the pool, the better one and what all lend, 0–1."""
    near = [
        [place[key] for n in candidate.neighbours if (key := (candidate.source, n)) in place]
        for candidate in candidates
    ]
    lent = {}
    for i, beside in enumerate(near):
        if not beside:
            continue
        best, *others = sorted(beside, key=lambda j: (-relevance[j], j))
        if not candidates[i].metadata.get("symbol") and is_prose(candidates[i].text, candidates[i].kind):
            further = [relevance[k] for j in beside for k in near[j] if k != i and k not in beside]
            value = NEAR * relevance[best] + TWO_STEPS * max(further, default=0.0)
            lent[i] = best, value + OTHER_SIDE * (relevance[others[0]] if others else 0.0)
        else:
            lent[i] = best, NEAR_IN_CODE * relevance[best]
    return lent
