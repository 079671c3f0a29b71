"""In which order passages stand in the text. They come best first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from langchain_context_engine.models.types import Key, Passage

Order = Callable[[Sequence[Passage]], list[Passage]]

_NEVER = datetime.min.replace(tzinfo=UTC)


def by_relevance(passages: Sequence[Passage]) -> list[Passage]:
    """Return the best first; passages that adjoin in their source stand together, in reading order."""
    runs = _adjoining(passages)
    placed: set[Key] = set()
    ordered: list[Passage] = []
    for passage in passages:
        if passage.key not in placed:
            run = runs[passage.key]
            ordered += run
            placed.update(member.key for member in run)
    return ordered


def by_edges(passages: Sequence[Passage]) -> list[Passage]:
    """Return the best first and the second best last, the weakest in the middle.

    Models read the edges of a long context best: Liu et al. (2023), Lost in the Middle.
    """
    return [*passages[::2], *reversed(passages[1::2])]


def by_time(passages: Sequence[Passage]) -> list[Passage]:
    """Return the oldest first; the undated, in reading order where they have one, before all."""
    return sorted(passages, key=lambda p: (p.ranked.candidate.created_at or _NEVER, _reading_place(p), p.key))


def by_key(passages: Sequence[Passage]) -> list[Passage]:
    """Return passages by source and id: an order that scores do not move, so prompt caches hold."""
    return sorted(passages, key=lambda p: p.key)


ORDERS: Mapping[str, Order] = {
    "relevance": by_relevance,
    "edges": by_edges,
    "chronological": by_time,
    "stable": by_key,
}
"""The built-in orders by name."""


def _reading_place(passage: Passage) -> tuple[str, float]:
    return passage.ranked.candidate.position or ("", 0.0)


def _adjoining(passages: Sequence[Passage]) -> dict[Key, list[Passage]]:
    """Return, for each passage, the run of passages that adjoin it without a gap, in reading order."""
    runs: dict[Key, list[Passage]] = {passage.key: [passage] for passage in passages}
    for passage in passages:
        candidate = passage.ranked.candidate
        for neighbour in candidate.neighbours:
            near = runs.get((candidate.source, neighbour))
            here = runs[passage.key]
            if near is not None and near is not here:
                joined = sorted([*near, *here], key=_reading_place)
                runs.update((member.key, joined) for member in joined)
    return runs
