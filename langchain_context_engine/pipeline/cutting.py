"""Cutting: what does not fit whole is shortened to the room that it has, as it will be written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from langchain_context_engine.models.types import Passage, Ranked
from langchain_context_engine.pipeline.basket import Basket
from langchain_context_engine.pipeline.packing import Packing
from langchain_context_engine.pipeline.telling import tells_cut

RECUTS = 4
"""How often one item is cut shorter because the written text came out too long."""


@dataclass(frozen=True, slots=True)
class Shortened:
    """A passage that fits, what it costs as it will be written, and whether a compactor wrote it."""

    passage: Passage
    cost: int
    is_compacted: bool


class Cutter:
    """Shortens items; a compactor is asked once for each.

    Args:
        items: Ranked, best first.
        packing: How pack works.
        basket: Where they are to go: it knows what stands around them, and costs.
        least_left: Item → the least share of it that a cut must leave.

    Attributes:
        warnings: What went wrong with compactors.
    """

    def __init__(
        self, items: Sequence[Ranked], packing: Packing, basket: Basket, least_left: Mapping[int, float]
    ) -> None:
        self.warnings: list[str] = []
        self._items = items
        self._packing = packing
        self._basket = basket
        self._least_left = least_left
        self._tried: set[int] = set()

    def __call__(self, item: int, room: int) -> Shortened | None:
        """Return an item shortened to some tokens, or None where nothing of it fits and says something."""
        ranked, packing = self._items[item], self._packing
        shorten = packing.shorten_of(ranked.candidate)
        allowance = self._basket.text_room(item, room)
        if shorten is None or allowance <= 0:
            return None
        # What stands around it (the note of its kind, a fence that must be closed) is known once it is cut.
        for _ in range(RECUTS):
            # A second try is a plain cut.
            if item in self._tried:
                shorten = replace(shorten, compactor=None)
            self._tried.add(item)
            short = shorten(ranked.candidate.text, allowance, packing.count)
            self.warnings += short.warnings
            if not short.text:
                return None
            # All of it with a note that says otherwise would cost more, and be remembered so.
            is_cut = short.text != ranked.candidate.text
            passage = Passage(
                ranked=ranked, text=short.text, is_truncated=is_cut, spans=short.spans, also_in=ranked.also_in
            )
            cost = self._basket.cut_cost(item, passage)
            if cost <= room:
                is_read = short.is_compacted or self._is_read(item, short.text)
                return Shortened(passage, cost, short.is_compacted) if is_read else None
            allowance -= cost - room
        return None

    def _is_read(self, item: int, cut: str) -> bool:
        """Return whether what a cut leaves says something; of what is pinned anything is read."""
        candidate = self._items[item].candidate
        least = self._least_left.get(item, 0.0)
        return candidate.is_pinned or tells_cut(candidate, cut, least, item)
