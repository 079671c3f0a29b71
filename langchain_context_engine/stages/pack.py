"""Pack: share out the budget. Every ranked item ends whole, by its best sentences, cut, compacted or out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

from langchain_context_engine.stages.basket import Basket
from langchain_context_engine.stages.packing import Packed, Packing
from langchain_context_engine.stages.select import by_density, knapsack
from langchain_context_engine.text.units import Unit, split_units
from langchain_context_engine.values.types import Decision, Passage, Ranked, Reason, Verdict
from langchain_context_engine.writing.layout import Blocks, Written, write

__all__ = ["Packed", "Packing", "pack"]

_REFILLS = 6
"""How often room that recounting frees is offered again."""

_RECUTS = 4
"""How often one item is cut shorter because the written text came out too long."""


def pack(items: Sequence[Ranked], query: str, packing: Packing) -> Packed:
    """Choose what goes into the context.

    Pinned items first; then, where the budget has shares, each group's best within its share; then the
    best of all with what is left. What does not fit is skipped or cut, and smaller ones behind it still
    get in. The written text is recounted, and what is over budget is taken back, latest first.

    Args:
        items: Ranked and unique, best first.
        query: The question, for the worth of sentences.
        packing: The rules.
    """
    return _Packer(items, query, packing).run()


class _Packer:
    """One run of pack: the basket, why items did not get in, and what was noticed."""

    def __init__(self, items: Sequence[Ranked], query: str, packing: Packing) -> None:
        self.items = items
        self.packing = packing
        self.limit = max(0, packing.budget.tokens - packing.budget.reserve)
        self.is_by_units = packing.selection == "adaptive" and packing.splits
        self.units = split_units(items, query, packing.unit_value, packing.count, may_split=self.is_by_units)
        self.basket = Basket(
            items, self.units, packing.layout, packing.count, counts_frame=not packing.budget.is_soft
        )
        self.shares = packing.budget.split(self.limit) if packing.budget.shares else {}
        self.missed: dict[int, tuple[Reason, int, int]] = {}
        self.compacted: set[int] = set()
        self.tried: set[int] = set()
        self.recuts: Counter[int] = Counter()
        self.warnings: list[str] = []
        self.kinds: Counter[str] = Counter()
        kinds = {item.candidate.kind for item in items}
        self.is_diverse = packing.diversity is not None and len(kinds) > 1
        self.blocks: Blocks = {}
        self.written: Written | None = None
        self.written_at = (0, 0)

    def run(self) -> Packed:
        in_order = self._in_order()
        self._fill(self._pinned(), may_cut=True)
        if self.shares:
            self._fill(in_order, within_shares=True, may_cut=not self.is_by_units)
            self._fill(in_order, within_shares=True, may_cut=True)
        self._fill(in_order, may_cut=not self.is_by_units)
        self._refill(in_order)
        if self.is_diverse and self.packing.diversity and self.packing.diversity.offers_rest:
            # Other kinds have had their turn: what they leave over is for those that were skipped.
            self.is_diverse = False
            self._fill(in_order, may_cut=True)
            self._refill(in_order)
        self._recount()
        decisions = [self._decision(i, item) for i, item in enumerate(self.items)]
        return Packed(
            written=self._written(),
            decisions=tuple(decisions),
            warnings=tuple(dict.fromkeys(self.warnings)),
        )

    def _refill(self, in_order: Sequence[Unit]) -> None:
        """Offer again, some times, the room that recounting frees."""
        for refill in range(_REFILLS):
            has_room = self._recount()
            may_cut = refill > 0 or not self.is_by_units
            if not has_room or (not self._fill(in_order, may_cut=may_cut) and may_cut):
                break

    def _pinned(self) -> list[Unit]:
        return [
            unit for i, item in enumerate(self.items) if item.candidate.is_pinned for unit in self.units[i]
        ]

    def _in_order(self) -> list[Unit]:
        """Return all units in the order in which they try to get in."""
        flat = [unit for units in self.units for unit in units]
        selection = self.packing.selection
        if self.is_by_units:
            # They come by item and index, and sorting keeps the order of equals, reversed too.
            return sorted(flat, key=attrgetter("value"), reverse=True)
        if selection in {"adaptive", "score"}:
            return flat
        scores = [item.score for item in self.items]
        costs = [self.basket.cost(unit) for unit in flat]
        if selection == "density":
            return [flat[i] for i in by_density(scores, costs)]
        best = knapsack(scores, costs, self.limit - self.basket.spent)
        return [flat[i] for i in dict.fromkeys((*best, *range(len(flat))))]

    def _fill(self, units: Sequence[Unit], *, may_cut: bool, within_shares: bool = False) -> bool:
        """Take what fits, in order; return whether anything was taken."""
        basket, before = self.basket, self.basket.steps
        is_plain = not within_shares and self.packing.has_only_a_budget
        looked_at: Iterable[Unit] = units
        if is_plain:
            self.missed = {i: why for i, why in self.missed.items() if why[0] is not Reason.OVER_SHARE}
            looked_at = self._fitting(units, is_cutting=may_cut and self._has_room_to_cut())
        for unit in basket.open_units(looked_at, within_shares=within_shares):
            if self._bar(unit.item):
                continue
            cost = basket.cost(unit)
            room, reason = self._room(unit.item, within_shares=within_shares)
            if cost <= room:
                self._take(unit, cost)
                continue
            if not is_plain and self.missed.get(unit.item, (None,))[0] is not Reason.OVER_BUDGET:
                self.missed[unit.item] = (reason, cost, room)
            is_lone = unit.item not in basket or unit.item in basket.cuts
            # What is too long for its cap never gets in whole, so waiting for room would not help.
            is_due = may_cut or reason is Reason.OVER_ITEM_CAP
            if not is_due and unit.item == 0 and unit.size > self.limit:
                # The best of all, too long for any budget like this: its beginning, in half of it.
                is_due, room = True, min(room, self.limit // 2)
            if is_due and is_lone and self._is_worth_cutting(unit.item, room):
                # Where shares are filled and something is left over, such an item may grow.
                self._cut(unit.item, room, is_by_share=within_shares and reason is not Reason.OVER_BUDGET)
        return basket.steps != before

    def _fitting(self, units: Sequence[Unit], *, is_cutting: bool) -> Iterator[Unit]:
        """Yield the units that may get in at this moment; of what is too large, pack tells at the end."""
        basket, cuttable = self.basket, {0, *self.basket.cuts}
        for unit in units:
            if (
                unit.size <= self.limit - basket.spent + basket.slack
                or unit.item in cuttable
                or (is_cutting and unit.item not in basket.chosen)
            ):
                yield unit

    def _has_room_to_cut(self) -> bool:
        left = self.basket.most_text_room(self.limit - self.basket.spent)
        return left >= self.packing.budget.minimum_cut or bool(self._pinned())

    def _is_worth_cutting(self, item: int, room: int) -> bool:
        """Return whether enough is left for the text itself; what is pinned gets in however short."""
        if self.items[item].candidate.is_pinned:
            return True
        return self.basket.text_room(item, room) >= self.packing.budget.minimum_cut

    def _bar(self, item: int) -> bool:
        """Return whether a rule about numbers of passages keeps a new passage out."""
        if item in self.basket:
            return False
        candidate = self.items[item].candidate
        reason = None
        rule = self.packing.diversity
        if self.packing.k is not None and len(self.basket) >= self.packing.k:
            reason = Reason.OVER_K
        elif rule is not None and rule.is_enough(self.basket.spent, self.limit, len(self.basket)):
            reason = Reason.ENOUGH
        elif rule and self.is_diverse and not candidate.is_pinned and rule.skips(candidate.kind, self.kinds):
            reason = Reason.DIVERSITY
        if reason is not None:
            self.missed[item] = (reason, 0, 0)
        return reason is not None

    def _room(self, item: int, *, within_shares: bool) -> tuple[int, Reason]:
        """Return the tokens that an item may still have, and what bounds them."""
        budget, basket = self.packing.budget, self.basket
        group = basket.groups[item]
        room, reason = self.limit - basket.spent, Reason.OVER_BUDGET
        in_group = basket.spent_by[group]
        if within_shares and (left := self.shares.get(group, 0) - in_group) < room:
            room, reason = left, Reason.OVER_SHARE
        if budget.source_cap is not None and (left := int(budget.source_cap * self.limit) - in_group) < room:
            room, reason = left, Reason.OVER_SHARE
        if budget.item_cap is not None:
            whole = self.shares.get(group, self.limit) if within_shares else self.limit
            if (left := int(budget.item_cap * whole) - basket.spent_on[item]) < room:
                room, reason = left, Reason.OVER_ITEM_CAP
        return room + basket.refund(item), reason

    def _take(self, unit: Unit, cost: int) -> None:
        self._count_kind(unit.item)
        self.basket.release(unit.item)
        self.basket.take(unit, cost)

    def _count_kind(self, item: int) -> None:
        if item not in self.basket:
            self.kinds[self.items[item].candidate.kind] += 1

    def _cut(self, item: int, room: int, *, is_by_share: bool = False) -> bool:
        """Put an item's shortened text in, if there is one that fits; one already in makes way."""
        shorten = self.packing.shorten
        allowance = self.basket.text_room(item, room)
        if shorten is None or allowance <= 0:
            return False
        ranked = self.items[item]
        cost = room + 1
        # What stands around it (the note of its kind, a fence that must be closed) is known once it is cut.
        for _ in range(_RECUTS):
            # A compactor is asked once for an item; a second try is a plain cut.
            if item in self.tried:
                shorten = replace(shorten, compactor=None)
            self.tried.add(item)
            short = shorten(ranked.candidate.text, allowance, self.packing.count)
            self.warnings += short.warnings
            if not short.text:
                return False
            passage = Passage(
                ranked=ranked, text=short.text, is_truncated=True, spans=short.spans, also_in=ranked.also_in
            )
            cost = self.basket.cut_cost(item, passage)
            if cost <= room:
                break
            allowance -= cost - room
        if cost > room:
            return False
        self.compacted.discard(item)
        if short.is_compacted:
            self.compacted.add(item)
        self._count_kind(item)
        self.basket.release(item)
        # What a compactor wrote says it all: more room would not make it better.
        self.basket.take_cut(item, passage, cost, is_by_share=is_by_share and not short.is_compacted)
        return True

    def _recount(self) -> bool:
        """Take back, latest first, what is over budget; return whether room is left to offer again."""
        basket, limit = self.basket, self.limit
        while basket.last is not None:
            exact = self._written().tokens
            if exact <= limit or self.packing.budget.is_soft:
                basket.spent = basket.spent if self.packing.budget.is_soft else exact
                return basket.spent < limit
            dropped = basket.undo()
            item = dropped.item
            if item in basket:
                continue
            self.kinds[self.items[item].candidate.kind] -= 1
            self.missed[item] = (Reason.OVER_BUDGET, dropped.cost, dropped.cost - (exact - limit))
            self.recuts[item] += dropped.unit is None
            if dropped.unit is None and self.recuts[item] < _RECUTS:
                self._cut(item, dropped.cost - (exact - limit))
        return basket.spent < limit

    def _written(self) -> Written:
        """Return the text of what is chosen now, counted."""
        if self.written is None or self.written_at != self.basket.state:
            written = write(self.basket.passages(), self.packing.layout, self.blocks)
            tokens = self.packing.count(written.text) if written.text else 0
            self.written, self.written_at = replace(written, tokens=tokens), self.basket.state
        return self.written

    def _decision(self, i: int, item: Ranked) -> Decision:
        if i not in self.basket:
            reason, details = self._why_out(i)
            return Decision(
                stage="pack", key=item.key, verdict=Verdict.DROPPED, reason=reason, details=details
            )
        chosen, of = len(self.basket.chosen.get(i, ())), len(self.units[i])
        details = {"units": of, "chosen": chosen} if 0 < chosen < of else {}
        if i in self.basket.cuts:
            reason = Reason.COMPACTED if i in self.compacted else Reason.CUT
        else:
            reason = Reason.WHOLE if chosen == of else Reason.EXTRACTED
        return Decision(stage="pack", key=item.key, verdict=Verdict.KEPT, reason=reason, details=details)

    def _why_out(self, i: int) -> tuple[Reason, dict[str, Any]]:
        if i in self.missed:
            reason, needed, left = self.missed[i]
        else:
            best = max(self.units[i], key=attrgetter("value"))
            reason, needed, left = Reason.OVER_BUDGET, self.basket.cost(best), 0
        if reason is Reason.OVER_BUDGET:
            # What is left in the end, not when it was tried: the figures of the text must agree.
            left = min(max(0, self.limit - self.basket.spent), needed - 1)
        return reason, {"needed": needed, "left": left, "missing": needed - left} if needed else {}
