"""Filling: units try to get into the basket in an order, under rules, whole or cut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_context_engine.models.types import Passage, Ranked, Reason
from langchain_context_engine.pipeline import reading
from langchain_context_engine.pipeline.basket import Basket
from langchain_context_engine.pipeline.packing import Packing
from langchain_context_engine.pipeline.reading import tells, tells_cut
from langchain_context_engine.rendering.layout import Blocks, Written, write
from langchain_context_engine.text.units import Unit, split_units
from langchain_context_engine.text.words import query_terms


@dataclass(slots=True)
class Turns:
    """Why items are not in, as it was when they were tried.

    The reason is that of an item's turn in the last pass over all: then its best piece met what was left.
    What later passes over the rest find (which try ever smaller pieces) changes it only for an item that
    had none, or was in and had to go.

    Attributes:
        why: Item → reason and numbers.
    """

    why: dict[int, tuple[Reason, Mapping[str, Any]]] = field(default_factory=dict)
    _seen: set[int] = field(default_factory=set)
    _is_main: bool = True

    def begin(self, *, is_main: bool) -> None:
        """Begin a pass; a main one tries everything anew."""
        self._seen.clear()
        self._is_main = is_main

    def has_met(self, item: int) -> bool:
        """Return whether an item's turn in this pass is told already."""
        return item in self._seen or (not self._is_main and item in self.why)

    def no_room(self, item: int, reason: Reason, needed: int, left: int) -> None:
        """Tell that a piece needed more tokens than were left for it; the first of a pass counts."""
        if not self.has_met(item):
            self._seen.add(item)
            self.why[item] = (reason, {"needed": needed, "left": max(0, left)})

    def barred(self, item: int, reason: Reason) -> None:
        """Tell that a rule about numbers of passages keeps an item out."""
        self._seen.add(item)
        self.why[item] = (reason, {})

    def taken_back(self, item: int, needed: int, left: int) -> None:
        """Tell that an item was in, and that the text as written had not the room."""
        self.why[item] = (Reason.OVER_BUDGET, {"needed": needed, "left": max(0, left)})

    def of(self, item: int, cost: Callable[[], int], room: int) -> tuple[Reason, dict[str, Any]]:
        """Return an item's reason and numbers; of one that never had a turn, those of the end.

        While filling, costs are added up, which is often more than the text costs in the end: at its turn at
        least as much was left as in the end.

        Args:
            item: The item.
            cost: What it would cost.
            room: What is left in the end.
        """
        reason, told = self.why.get(item) or (Reason.OVER_BUDGET, {"needed": cost(), "left": 0})
        details = dict(told)
        if reason is Reason.OVER_BUDGET:
            details["left"] = max(0, min(max(details["left"], room), details["needed"] - 1))
        return reason, details


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


class Filler:
    """The basket, why items did not get in, and what was noticed.

    Attributes:
        items: Ranked, best first.
        limit: Tokens that the text may have.
        units: The units of each item.
        basket: What is in.
        turns: Why the others are not.
        little: Item → how little it says or is worth, and the least, where it is not worth reading.
        repeated: Item → the item that says it again, and how alike they are.
        compacted: Items that a compactor rewrote.
        cutter: Shortens them.
    """

    def __init__(self, items: Sequence[Ranked], query: str, packing: Packing) -> None:
        self.items = items
        self.packing = packing
        self.limit = max(0, packing.budget.tokens - packing.budget.reserve)
        self.is_by_units = packing.selection == "adaptive" and packing.splits
        self.units = split_units(items, query, packing.unit_value, packing.count, may_split=self.is_by_units)
        is_hard = not packing.budget.is_soft
        self.basket = Basket(items, self.units, packing.layout, packing.count, counts_frame=is_hard)
        self.turns = Turns()
        self.little = reading.saying_little(items, query)
        cut_from = packing.budget.cut_from if self.is_by_units else 1.0
        self._due = reading.due_in_turn(items, self.units, cut_from, self.limit)
        self.cutter = Cutter(items, packing, self.basket, reading.least_left(self.units, cut_from))
        self.repeated: dict[int, tuple[int, float]] = {}
        self.compacted: set[int] = set()
        self.kinds: Counter[str] = Counter()
        self.is_diverse = packing.diversity is not None and len({i.candidate.kind for i in items}) > 1
        self._shares = packing.budget.split(self.limit) if packing.budget.shares else {}
        self.caps_by_share = bool(self._shares)
        self.caps_items = packing.budget.item_cap is not None
        self._asked = frozenset(query_terms(query))
        self._mute = reading.mute_of_the_best(self.units, self.limit, packing, self.says_enough)
        self._recuts: Counter[int] = Counter()
        self._blocks: Blocks = {}
        self._known: tuple[tuple[int, int], Written] | None = None

    def fill(
        self, units: Sequence[Unit], *, may_cut: bool, within_shares: bool = False, is_main: bool = False
    ) -> bool:
        """Take what fits and is worth it, in order; return whether anything was taken.

        Args:
            units: In the order in which they try.
            may_cut: What does not fit whole may be cut.
            within_shares: Only within each group's share.
            is_main: What does not fit is told anew (see `Turns`).
        """
        basket, before = self.basket, self.basket.steps
        self.turns.begin(is_main=is_main)
        looked_at: Iterable[Unit] = units
        if not within_shares and self.packing.has_only_a_budget:
            looked_at = self._fitting(units, is_cutting=may_cut and self._has_room_to_cut())
        for unit in basket.open_units(looked_at, within_shares=within_shares):
            if self.is_barred(unit.item):
                continue
            cost = basket.cost(unit)
            room, reason = self.room(unit.item, within_shares=within_shares)
            if cost <= room:
                if self.says_enough(unit):
                    self._take(unit, cost)
                elif unit.item not in basket:
                    # A list of single words, say: no piece tells enough, several of them may.
                    own = room if may_cut else min(room, self._mute.get(unit.item, 0))
                    if own and self._is_worth_cutting(unit.item, own):
                        self.cut(unit.item, own)
                continue
            self.turns.no_room(unit.item, reason, cost, room)
            is_lone = unit.item not in basket or unit.item in basket.cuts
            # What is too long for its cap never gets in whole, so waiting for room would not help.
            is_due = may_cut or reason is Reason.OVER_ITEM_CAP or self._is_due(unit.item, room)
            if not is_due and unit.item == 0 and unit.size > self.limit:
                # The best of all, too long for any budget like this: its beginning.
                is_due, room = True, self._half_if_enough(room)
            if is_due and is_lone and self._is_worth_cutting(unit.item, room):
                # Where shares are filled and something is left over, such an item may grow.
                room -= 0 if self.is_by_units else self._behind(unit, units, room)
                self.cut(unit.item, room, is_by_share=self.caps_by_share and reason is not Reason.OVER_BUDGET)
        return basket.steps != before

    def _behind(self, unit: Unit, units: Sequence[Unit], room: int) -> int:
        """Return what the small ones behind an item that is cut take whole: a quarter of its room at most."""
        taken, place = 0, next(i for i, other in enumerate(units) if other is unit)
        for other in units[place + 1 :]:
            if other.item not in self.basket and taken + (cost := self.basket.cost(other)) <= room // 4:
                taken += cost
        return taken

    def _fitting(self, units: Sequence[Unit], *, is_cutting: bool) -> Iterator[Unit]:
        """Yield the units that may get in at this moment; tell of the others what was left."""
        basket, cuttable = self.basket, {0, *self.basket.cuts}
        for unit in units:
            if (
                unit.size <= self.limit - basket.spent + basket.slack
                or unit.item in cuttable
                or (is_cutting and unit.item not in basket.chosen)
                or self._is_due(unit.item, self.limit - basket.spent)
            ):
                yield unit
            elif not self.turns.has_met(unit.item) and unit.item not in basket:
                left = self.limit - basket.spent
                self.turns.no_room(unit.item, Reason.OVER_BUDGET, basket.cost(unit), left)

    def _is_due(self, item: int, room: int) -> bool:
        """Return whether an item is cut in its turn: enough of what is nearly as good as the best fits."""
        return item in self._due and self.basket.text_room(item, room) >= self._due[item]

    def _half_if_enough(self, room: int) -> int:
        """Return the room of the best of all for its beginning: half of the budget where that will do."""
        half = min(room, self.limit // 2)
        return half if self._is_worth_cutting(0, half) else room

    def _has_room_to_cut(self) -> bool:
        left = self.basket.most_text_room(self.limit - self.basket.spent)
        return left >= self.packing.budget.minimum_cut or any(c.candidate.is_pinned for c in self.items)

    def _is_worth_cutting(self, item: int, room: int) -> bool:
        """Return whether enough is left for the text itself; what is pinned gets in however short."""
        is_pinned = self.items[item].candidate.is_pinned
        return is_pinned or self.basket.text_room(item, room) >= self.packing.budget.minimum_cut

    def is_barred(self, item: int) -> bool:
        """Return whether an item may not become a passage: a rule of numbers, its worth, its twin."""
        if item in self.basket:
            return False
        if item in self.little or (item in self.repeated and self.repeated[item][0] in self.basket):
            return True
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
            self.turns.barred(item, reason)
        return reason is not None

    def says_enough(self, unit: Unit) -> bool:
        """Return whether a unit says something by itself, or beside what is in of its passage."""
        item, units = self.items[unit.item], self.units[unit.item]
        if len(units) == 1 or item.candidate.is_pinned:
            return True
        mine = self.basket.chosen.get(unit.item, ())
        return tells(item.candidate, units, unit, mine, self._asked)

    def room(self, item: int, *, within_shares: bool = False) -> tuple[int, Reason]:
        """Return the tokens that an item may still have, and what bounds them."""
        budget, basket = self.packing.budget, self.basket
        group = basket.groups[item]
        room, reason = self.limit - basket.spent, Reason.OVER_BUDGET
        in_group = basket.spent_by[group]
        if within_shares and (left := self._shares.get(group, 0) - in_group) < room:
            room, reason = left, Reason.OVER_SHARE
        if budget.source_cap is not None and (left := int(budget.source_cap * self.limit) - in_group) < room:
            room, reason = left, Reason.OVER_SHARE
        if self.caps_items and budget.item_cap is not None:
            whole = self._shares.get(group, self.limit) if self.caps_by_share else self.limit
            if (left := int(budget.item_cap * whole) - basket.spent_on[item]) < room:
                room, reason = left, Reason.OVER_ITEM_CAP
        return room + basket.refund(item), reason

    def _take(self, unit: Unit, cost: int) -> None:
        self.count_kind(unit.item)
        self.basket.release(unit.item)
        self.basket.take(unit, cost)
        for gap in self.basket.short_gaps(unit, lambda: self.room(unit.item)[0]):
            for between in gap:
                if between.index not in self.basket.chosen[between.item]:  # a header comes with its row
                    self.basket.take(between, self.basket.cost(between))

    def may_still_take(self, unit: Unit) -> bool:
        """Return whether nothing but room keeps a unit out."""
        is_in = unit.item in self.basket.cuts or unit.index in self.basket.chosen.get(unit.item, ())
        return not is_in and not self.is_barred(unit.item) and self.says_enough(unit)

    def take_if_they_fit(self, units: Sequence[Unit]) -> bool:
        """Take units of one item, all or none, where the text as written has room for them, to the token."""
        item, basket, spent = units[0].item, self.basket, self.basket.spent
        if self.room(item)[1] is not Reason.OVER_BUDGET:
            return False
        self.count_kind(item)
        for unit in units:
            basket.take(unit, basket.cost(unit))
        exact = self.written().tokens
        if exact <= self.limit:
            basket.spent = exact
            return True
        for _ in units:
            basket.undo()
        basket.spent = spent
        if item not in basket:
            self.kinds[self.items[item].candidate.kind] -= 1
        return False

    def count_kind(self, item: int) -> None:
        """Count an item that is about to get in, for the rule against one kind dominating."""
        if item not in self.basket:
            self.kinds[self.items[item].candidate.kind] += 1

    def cut(self, item: int, room: int, *, is_by_share: bool = False) -> bool:
        """Put an item's shortened text in, if there is one that fits and says something."""
        found = self.cutter(item, room)
        if found is None:
            return False
        self.compacted.discard(item)
        if found.is_compacted:
            self.compacted.add(item)
        self.count_kind(item)
        self.basket.release(item)
        # What a compactor wrote says it all: more room would not make it better.
        may_grow = is_by_share and not found.is_compacted
        self.basket.take_cut(item, found.passage, found.cost, is_by_share=may_grow)
        return True

    def grow(self) -> bool:
        """Let what is cut have what is left, the best first; return whether anything grew."""
        before = self.basket.steps
        for item in sorted(self.basket.cuts):
            shown = self.basket.cuts[item]
            if item in self.compacted or self.limit <= self.basket.spent:
                continue
            found = self.cutter(item, self.room(item)[0])
            if found is not None and len(found.passage.text) > len(shown.text):
                self.basket.release(item)
                self.basket.take_cut(item, found.passage, found.cost)
        return self.basket.steps != before

    def recount(self) -> bool:
        """Take back, latest first, what is over budget; return whether room is left to offer again."""
        basket, limit = self.basket, self.limit
        while basket.last is not None:
            exact = self.written().tokens
            if exact <= limit or self.packing.budget.is_soft:
                basket.spent = basket.spent if self.packing.budget.is_soft else exact
                return basket.spent < limit
            dropped = basket.undo()
            item = dropped.item
            if item in basket:
                continue
            self.kinds[self.items[item].candidate.kind] -= 1
            room = dropped.cost - (exact - limit)
            self.turns.taken_back(item, dropped.cost, room)
            self._recuts[item] += not dropped.units
            if not dropped.units and self._recuts[item] < RECUTS:
                self.cut(item, room)
        return basket.spent < limit

    def written(self) -> Written:
        """Return the text of what is chosen now, counted."""
        if self._known is None or self._known[0] != self.basket.state:
            written = write(self.basket.passages(), self.packing.layout, self._blocks)
            tokens = self.packing.count(written.text) if written.text else 0
            self._known = (self.basket.state, replace(written, tokens=tokens))
        return self._known[1]
