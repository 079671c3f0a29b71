"""Pack: share out the budget. Every ranked item ends whole, by its best sentences, cut, compacted or out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from langchain_context_engine.models.budget import Budget
from langchain_context_engine.models.types import Candidate, Decision, Key, Passage, Ranked, Reason, Verdict
from langchain_context_engine.pipeline.redundancy import TwinFinder
from langchain_context_engine.pipeline.selection import Diversity, Selection, by_density, knapsack
from langchain_context_engine.pipeline.snippet_quality import is_indexed, saying_little, tells, tells_cut
from langchain_context_engine.rendering.compact import Compactor, Cut, compact
from langchain_context_engine.rendering.layout import Layout, Writer, Written
from langchain_context_engine.text.text_tables import Span
from langchain_context_engine.text.truncate import Truncator, asking, by_lines, keep_start, locate
from langchain_context_engine.text.units import CODE_KINDS, WHOLE_UP_TO, Unit, split_units
from langchain_context_engine.text.words import query_terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Short:
    """A text that fits, "" where nothing does.

    Attributes:
        text: What is left.
        spans: Its pieces in the original; () where it was rewritten.
        is_compacted: A compactor wrote it.
        warnings: What went wrong on the way.
    """

    text: str
    spans: tuple[Span, ...] = ()
    is_compacted: bool = False
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shorten:
    """Make a text fit an allowance of tokens.

    Attributes:
        truncator: Cuts; one that gives too much is cut once more.
        compactor: Tried first where there is one; may rewrite. Called at most once for a text.
    """

    truncator: Truncator
    compactor: Compactor | None = None

    def asking(self, query: str) -> Shorten:
        """Return the same for a question: extracts are chosen by what answers it, of a table by rows."""
        return self._with(lambda truncator: asking(truncator, query))

    def by_lines(self) -> Shorten:
        """Return the same for a program: extracts are its first lines, whole."""
        return self._with(by_lines)

    def _with(self, changed: Callable[[Truncator], Truncator]) -> Shorten:
        """Return the same with what cuts changed, in a compactor that only cuts too."""
        compactor = self.compactor
        if isinstance(compactor, Cut):
            compactor = replace(compactor, truncator=changed(compactor.truncator))
        return replace(self, truncator=changed(self.truncator), compactor=compactor)

    def __call__(self, text: str, allowance: int, count: Callable[[str], int]) -> Short:
        """Return the shortened text; it never costs more than the allowance."""
        if self.compactor is not None:
            compacted = compact(text, allowance, count, self.compactor)
            if compacted.is_compacted:
                return Short(text=compacted.text, is_compacted=True)
            warnings = (compacted.warning,) if compacted.warning else ()
            return Short(text=compacted.text, spans=locate(text, compacted.text), warnings=warnings)
        cut, warnings = self.truncator(text, allowance, count), ()
        if not isinstance(cut, str):
            warnings = (f"a truncator gave {type(cut).__name__}, expected a text; the start was kept",)
            cut = keep_start(text, allowance, count)
        elif count(cut) > allowance:
            cut = keep_start(text, allowance, count)
        return Short(text=cut, spans=locate(text, cut), warnings=warnings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """How pack works.

    Attributes:
        count: The token counter.
        layout: What stands around the passages.
        budget: Tokens, shares and caps.
        selection: One of `SELECTIONS`.
        splits: Adaptive selection may pack a passage by its sentences; else every passage is whole first.
        shorten: Makes an item fit that does not fit whole, or None: it is left out.
        diversity: A rule against one kind dominating, or None.
        k: The most passages, or None.
        twin_threshold: The least likeness, 0–100, at which an extract says again what another passage says;
            None: only where its words stand there in a row.
    """

    count: Callable[[str], int]
    layout: Layout
    budget: Budget
    selection: str = "adaptive"
    splits: bool = True
    shorten: Shorten | None = None
    diversity: Diversity | None = None
    k: int | None = None
    twin_threshold: float | None = 90.0

    @property
    def has_only_a_budget(self) -> bool:
        """Nothing but the budget as a whole keeps a passage out."""
        caps = (self.budget.source_cap, self.budget.item_cap, self.diversity, self.k)
        return all(cap is None for cap in caps)

    def shorten_of(self, candidate: Candidate) -> Shorten | None:
        """Return what makes a candidate fit: a program is cut between its lines."""
        in_lines = candidate.kind in CODE_KINDS
        return self.shorten.by_lines() if self.shorten and in_lines else self.shorten


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """The written text, and one final decision for every ranked item.

    Attributes:
        written: The text of what was chosen; render gives its passages their cost.
        decisions: One for every item, kept or dropped.
        warnings: What went wrong with compactors.
    """

    written: Written
    decisions: tuple[Decision, ...] = ()
    warnings: tuple[str, ...] = ()


RECUTS = 4
"""How often one item is cut shorter because the written text came out too long."""

_REFILLS = 6
"""How often room that recounting frees is offered again."""

_MOST_OFFERED_AGAIN = 300_000
"""Pieces that are offered the room of twins again, all times together: thousands may say the same."""

_NARROW = 3
"""Tokens by which a text may cost less beside others than alone, whatever counts them."""

_MOST_MISSES = 200
"""How many units that nearly fit are written to see: one text may have thousands of them."""

_LEAST_OF_CODE = 0.25
"""Of what cannot be split into sentences (code) a smaller part, a signature say, tells nothing."""

_NEARLY_BEST = 0.8
"""What scores this share of the best is worth its room though it does not fit whole."""


def pack(items: Sequence[Ranked], query: str, packing: Packing) -> Packed:
    """Choose what goes into the context.

    Pinned items first; then, where the budget has shares, each group's best within its share; then the
    best of all with what is left. What does not fit is skipped or cut, and smaller ones behind it still
    get in; what says too little to be read does not. The written text is recounted, and what is over
    budget is taken back, latest first. What says again what another passage says goes, and its room is
    offered again. In the end what is cut has what is left, and what fits as written is in, to the token.

    Args:
        items: Ranked and unique, best first.
        query: The question, for the worth of sentences.
        packing: The rules.
    """
    return _Packer(items, query, packing).run()


class _Packer:
    """One run of pack: fill, look at what came of it, and finish.

    Attributes:
        little: Item → how little it says, and the least, where it is not worth reading.
        repeated: Item → the item that says it again, and how alike they are.
        compacted: Items that a compactor rewrote.
        why: Item → why it is not in, as it was at its turn in the last pass over all: then its best piece
            met what was left. Later passes over the rest, which try ever smaller pieces, tell it only of an
            item that had none, or was in and had to go.
    """

    def __init__(self, items: Sequence[Ranked], query: str, packing: Packing) -> None:
        budget = packing.budget
        self.items, self.packing = items, packing
        self.limit = max(0, budget.tokens - budget.reserve)
        self.is_by_units = packing.selection == "adaptive" and packing.splits
        room = self.limit if self.is_by_units else 0
        self.units = split_units(items, query, packing.count, room=room)
        self.selection = Selection(
            items, self.units, packing.layout, packing.count, counts_frame=not budget.is_soft
        )
        self.little = saying_little(items, query)
        self.repeated: dict[int, tuple[int, float]] = {}
        self.compacted: set[int] = set()
        self.why: dict[int, tuple[Reason, int | Unit, int]] = {}
        self.warnings: dict[str, None] = {}
        self._writer = Writer(packing.layout, packing.count)
        self._find_twin = TwinFinder(packing.twin_threshold)
        self._known: tuple[tuple[int, int], Written] | None = None
        self._has_only_a_budget = packing.has_only_a_budget
        self._is_diverse = packing.diversity is not None and len({i.candidate.kind for i in items}) > 1
        self._shares = budget.split(self.limit) if budget.shares else {}
        self._caps_by_share = bool(self._shares)
        self._caps_items = packing.budget.item_cap is not None
        has_pinned = any(item.candidate.is_pinned for item in items)
        self._least_to_cut = -math.inf if has_pinned else budget.minimum_cut + self.selection.least_frame
        self._asked = frozenset(query_terms(query))
        self._cut_from = budget.cut_from if self.is_by_units else 1.0
        self._due = self._due_in_turn()
        self._met: set[int] = set()
        self._tried: set[int] = set()
        self._in_vain: dict[int, int] = {}
        self._recuts: Counter[int] = Counter()
        self._narrow = _NARROW
        self._is_estimated = getattr(packing.count, "is_estimated", False)
        self._left_by_a_piece: set[int] = set()

    def run(self) -> Packed:
        in_order = [unit for unit in self._in_order() if unit.item not in self.little]
        diversity, budget = self.packing.diversity, self.packing.budget
        self.fill(self._pinned(), may_cut=True, is_main=True)
        may_cut = not self.is_by_units
        if budget.shares:
            self.fill(in_order, within_shares=True, may_cut=may_cut, is_main=True)
            self.fill(in_order, within_shares=True, may_cut=True)
        self.fill(in_order, may_cut=may_cut, is_main=True)
        self._refill(in_order)
        if self._caps_by_share and budget.item_cap is not None:
            self._fill_beyond_caps(in_order)
        if self._is_diverse and diversity and diversity.offers_rest:
            # Other kinds have had their turn: what they leave over is for those that were skipped.
            self._is_diverse = False
            self.fill(in_order, may_cut=True)
            self._refill(in_order)
        for _ in range(1 + _MOST_OFFERED_AGAIN // (1 + len(in_order))):
            if not self._drop_twins():
                break
            self._refill(in_order)
        while self._drop_twins():
            self.recount()
        if not budget.is_soft:
            self._squeeze(in_order)
            while self._drop_twins():
                self.recount()
        self._writer.counts_whole, self._known = True, None
        self.recount()
        return Packed(
            written=self._standing_for_twins(),
            decisions=tuple(self._decision(i, item) for i, item in enumerate(self.items)),
            warnings=tuple(self.warnings),
        )

    def _fill_beyond_caps(self, in_order: Sequence[Unit]) -> None:
        """Offer what nobody else can use to what its share had cut: every group has had its turn."""
        self._caps_by_share = False
        self.fill(in_order, may_cut=True)
        self._refill(in_order)
        self._caps_items = False
        if not len(self.selection):
            self.fill(in_order, may_cut=True)
        if self.recount() and self._grow():
            self.recount()
        self._caps_items = True

    def _pinned(self) -> list[Unit]:
        pinned = [i for i, item in enumerate(self.items) if item.candidate.is_pinned]
        return [unit for i in pinned for unit in self.units[i] if not unit.is_head]

    def _in_order(self) -> list[Unit]:
        """Return all units in the order in which they try to get in; a header comes with its rows."""
        flat = [unit for units in self.units for unit in units if unit.head != unit.index]
        selection = self.packing.selection
        if self.is_by_units:
            # They come by item and index, and sorting keeps the order of equals, reversed too.
            return sorted(flat, key=attrgetter("value"), reverse=True)
        if selection in {"adaptive", "score"}:
            return flat
        scores = [item.score for item in self.items]
        costs = [self.selection.cost(unit) for unit in flat]
        if selection == "density":
            return [flat[i] for i in by_density(scores, costs)]
        best = knapsack(scores, costs, self.limit - self.selection.spent)
        return [flat[i] for i in dict.fromkeys((*best, *range(len(flat))))]

    def _due_in_turn(self) -> dict[int, float]:
        """Return item → the least tokens of it that are worth having, where it does not fit whole.

        Those of a file that are nearly as good as the best, cannot be split and would fit if they came first:
        else what is worse but shorter takes the room, and of a function that answers its first line is left.
        """
        share, items = self._cut_from, self.items
        if share >= 1 or not items:
            return {}
        least = _NEARLY_BEST * items[0].score
        return {
            i: share * own[0].size
            for i, own in enumerate(self.units)
            if len(own) == 1
            and WHOLE_UP_TO < own[0].size <= self.limit
            and items[i].score >= least
            and is_indexed(items[i].candidate)
        }

    def fill(
        self, units: Sequence[Unit], *, may_cut: bool, within_shares: bool = False, is_main: bool = False
    ) -> bool:
        """Take what fits and is worth it, in order; return whether anything was taken.

        Args:
            units: In the order in which they try.
            may_cut: What does not fit whole may be cut.
            within_shares: Only within each group's share.
            is_main: What does not fit is told anew (see `why`).
        """
        selection, before = self.selection, self.selection.steps
        self._met = set() if is_main else set(self.why)
        for unit in self._open(units, may_cut=may_cut, within_shares=within_shares):
            item = unit.item
            if self._is_barred(item):
                continue
            cost = selection.cost(unit)
            room, reason = self._room(item, within_shares=within_shares)
            if cost <= room:
                if self._says_enough(unit):
                    self._take(unit, cost)
                elif item not in selection:
                    # A list of single words, say: no piece tells enough, several of them may. One of the best
                    # k is cut in its turn, or a short one that ranks below takes its place.
                    k = self.packing.k or 0
                    own = room if may_cut else min(room, self.limit // k) if item < k else 0
                    if own and self._is_worth_cutting(item, own):
                        self._cut(item, own)
                continue
            self._no_room(item, reason, cost, room)
            is_lone = item not in selection or item in selection.cuts
            # What is too long for its cap never gets in whole, so waiting for room would not help.
            is_due = may_cut or reason is Reason.OVER_ITEM_CAP or self._is_due(item, room)
            if not is_due and item == 0 and unit.size > self.limit:
                # The best of all, too long for any budget like this: its beginning.
                is_due = True
            if is_due and is_lone and self._is_worth_cutting(item, room):
                # Where shares are filled and something is left over, such an item may grow.
                room -= 0 if self.is_by_units else self._behind(unit, units, room)
                self._cut(item, room, is_by_share=self._caps_by_share and reason is not Reason.OVER_BUDGET)
        return selection.steps != before

    def _open(self, units: Sequence[Unit], *, may_cut: bool, within_shares: bool) -> Iterator[Unit]:
        """Yield the units that are not in and may get in at this moment; tell of the others what was left.

        An item cut by its share may grow once shares are filled.
        """
        selection, limit = self.selection, self.limit
        chosen, cuts, none = selection.chosen, selection.cuts, frozenset[int]()
        growing = frozenset() if within_shares else frozenset(selection.cut_by_share)
        is_bounded = not within_shares and self._has_only_a_budget
        least_to_cut = self._least_to_cut if may_cut else math.inf
        cuttable = {0, *cuts}
        slack, due, met = selection.slack, self._due, self._met
        for unit in units:
            item, index, _, size, _, _ = unit
            room = limit - selection.spent
            if is_bounded and size > room + slack and item not in cuttable:
                is_cut = room >= least_to_cut and item not in chosen
                if not is_cut and not (item in due and self._is_due(item, room)):
                    if item not in met and item not in chosen and item not in cuts:
                        self._no_room(item, Reason.OVER_BUDGET, unit, room)
                    continue
            if index not in chosen.get(item, none) and (item not in cuts or item in growing):
                yield unit

    def _no_room(self, item: int, reason: Reason, needed: int | Unit, left: int) -> None:
        """Tell that a piece needed more tokens than were left for it; the first of a pass counts."""
        if item not in self._met:
            self._met.add(item)
            if isinstance(needed, Unit) and self.packing.layout.template.section:
                needed = self.selection.cost(needed)
            self.why[item] = (reason, needed, max(0, left))

    def _behind(self, unit: Unit, units: Sequence[Unit], room: int) -> int:
        """Return what the small ones behind an item that is cut take whole: a quarter of its room at most."""
        taken, place = 0, next(i for i, other in enumerate(units) if other is unit)
        for other in units[place + 1 :]:
            if other.item not in self.selection:
                cost = self.selection.cost(other)
                taken += cost if taken + cost <= room // 4 else 0
        return taken

    def _is_due(self, item: int, room: int) -> bool:
        """Return whether an item is cut in its turn: enough of what is nearly as good as the best fits."""
        return item in self._due and self.selection.text_room(item, room) >= self._due[item]

    def _is_worth_cutting(self, item: int, room: int) -> bool:
        """Return whether enough is left for the text itself; what is pinned gets in however short."""
        is_pinned = self.items[item].candidate.is_pinned
        return is_pinned or self.selection.text_room(item, room) >= self.packing.budget.minimum_cut

    def _is_barred(self, item: int) -> bool:
        """Return whether an item may not become a passage: a rule of numbers, its worth, its twin."""
        if item in self.selection:
            return False
        if item in self.little or (item in self.repeated and self.repeated[item][0] in self.selection):
            return True
        if self._has_only_a_budget:
            return False
        candidate, rule, chosen = self.items[item].candidate, self.packing.diversity, len(self.selection)
        if self.packing.k is not None and chosen >= self.packing.k:
            reason = Reason.OVER_K
        elif rule is not None and rule.is_enough(self.selection.spent, self.limit, chosen):
            reason = Reason.ENOUGH
        elif (
            rule
            and self._is_diverse
            and not candidate.is_pinned
            and rule.skips(candidate.kind, self.selection.kinds)
        ):
            reason = Reason.DIVERSITY
        else:
            return False
        self._met.add(item)
        self.why[item] = (reason, 0, 0)
        return True

    def _says_enough(self, unit: Unit) -> bool:
        """Return whether a unit says something by itself, or beside what is in of its passage."""
        item, units = self.items[unit.item], self.units[unit.item]
        if len(units) == 1 or item.candidate.is_pinned:
            return True
        mine = self.selection.chosen.get(unit.item, ())
        return tells(item.candidate, units, unit, mine, self._asked)

    def _room(self, item: int, *, within_shares: bool = False) -> tuple[int, Reason]:
        """Return the tokens that an item may still have, and what bounds them."""
        budget, selection = self.packing.budget, self.selection
        room, reason = self.limit - selection.spent, Reason.OVER_BUDGET
        if within_shares or not self._has_only_a_budget:
            group = selection.groups[item]
            in_group = selection.spent_by[group]
            if within_shares and (left := self._shares.get(group, 0) - in_group) < room:
                room, reason = left, Reason.OVER_SHARE
            cap = budget.source_cap
            if cap is not None and (left := int(cap * self.limit) - in_group) < room:
                room, reason = left, Reason.OVER_SHARE
            if self._caps_items and budget.item_cap is not None:
                whole = self._shares.get(group, self.limit) if self._caps_by_share else self.limit
                if (left := int(budget.item_cap * whole) - selection.spent_on[item]) < room:
                    room, reason = left, Reason.OVER_ITEM_CAP
        return room + selection.refund(item), reason

    def _take(self, unit: Unit, cost: int) -> None:
        selection = self.selection
        selection.release(unit.item)
        selection.take(unit, cost)
        for gap in selection.short_gaps(unit, lambda: self._room(unit.item)[0]):
            for between in gap:
                if between.index not in selection.chosen[between.item]:  # a header comes with its row
                    selection.take(between, selection.cost(between))

    def _cut(self, item: int, room: int, *, is_by_share: bool = False) -> None:
        """Put an item's shortened text in, if there is one that fits and says something."""
        if self._in_vain.get(item) == room:
            return
        found = self._shortened(item, room)
        if found is None:
            if self.is_by_units:  # a compactor, which is asked once, may be followed by a plain cut
                self._in_vain[item] = room
            return
        passage, cost, is_compacted = found
        self.compacted.discard(item)
        if is_compacted:
            self.compacted.add(item)
        self.selection.release(item)
        # What a compactor wrote says it all: more room would not make it better.
        self.selection.take_cut(item, passage, cost, is_by_share=is_by_share and not is_compacted)

    def _shortened(self, item: int, room: int) -> tuple[Passage, int, bool] | None:
        """Return an item shortened to some tokens, its cost, and whether a compactor wrote it.

        None where nothing of it fits and says something.
        """
        ranked, packing = self.items[item], self.packing
        candidate = ranked.candidate
        shorten = packing.shorten_of(candidate)
        allowance = self.selection.text_room(item, room)
        if shorten is None or allowance <= 0:
            return None
        # What stands around it (the note of its kind, a fence that must be closed) is known once it is cut.
        for _ in range(RECUTS):
            # A compactor is asked once; a second try is a plain cut.
            if item in self._tried:
                shorten = replace(shorten, compactor=None)
            self._tried.add(item)
            short = shorten(candidate.text, allowance, packing.count)
            self.warnings |= dict.fromkeys(short.warnings)
            if not short.text:
                return None
            # All of it with a note that says otherwise would cost more, and be remembered so.
            is_cut = short.text != candidate.text
            passage = Passage(
                ranked=ranked, text=short.text, is_truncated=is_cut, spans=short.spans, also_in=ranked.also_in
            )
            cost = self.selection.cut_cost(item, passage)
            if cost <= room:
                is_read = short.is_compacted or candidate.is_pinned or self._tells_cut(item, short.text)
                return (passage, cost, short.is_compacted) if is_read else None
            allowance -= cost - room
        return None

    def _tells_cut(self, item: int, cut: str) -> bool:
        """Return whether a cut says something; of the best of all any beginning is read."""
        is_part = item > 0 and self._cut_from < 1 and len(self.units[item]) == 1
        return tells_cut(self.items[item].candidate, cut, _LEAST_OF_CODE if is_part else 0.0, item)

    def _refill(self, in_order: Sequence[Unit]) -> None:
        """Offer what recounting frees again: to whole units, then to what is cut, then to further cuts."""
        for refill in range(_REFILLS):
            has_room = self.recount()
            may_cut = refill > 0 or not self.is_by_units
            if may_cut and has_room and self._grow():
                has_room = self.recount()
            if not has_room or (not self.fill(in_order, may_cut=may_cut) and may_cut):
                break
        self.recount()

    def _grow(self) -> bool:
        """Let what is cut have what is left, the best first; return whether anything grew."""
        selection, before = self.selection, self.selection.steps
        for item in sorted(selection.cuts):
            shown = selection.cuts[item]
            if item in self.compacted or self.limit <= selection.spent:
                continue
            found = self._shortened(item, self._room(item)[0])
            if found is not None and len(found[0].text) > len(shown.text):
                selection.release(item)
                selection.take_cut(item, found[0], found[1])
        return selection.steps != before

    def recount(self) -> bool:
        """Take back, latest first, what is over budget; return whether room is left to offer again."""
        selection, limit, is_soft = self.selection, self.limit, self.packing.budget.is_soft
        while selection.log:
            exact = self._written().tokens
            if exact <= limit or is_soft:
                selection.spent = selection.spent if is_soft else exact
                return selection.spent < limit
            dropped = selection.undo()
            item = dropped.item
            if item in selection:
                continue
            room = dropped.cost - (exact - limit)
            self.why[item] = (Reason.OVER_BUDGET, dropped.cost, max(0, room))
            self._recuts[item] += not dropped.units
            if not dropped.units and self._recuts[item] < RECUTS:
                self._cut(item, room)
        return selection.spent < limit

    def _written(self) -> Written:
        """Return the text of what is chosen now, counted."""
        if self._known is None or self._known[0] != self.selection.state:
            self._known = (self.selection.state, self._writer(self.selection.passages()))
        return self._known[1]

    def _drop_twins(self) -> bool:
        """Take out what says again what another passage says; return whether anything was."""
        selection, before = self.selection, len(self.repeated)
        while len(selection) > 1:
            standing, passages = selection.standing(), selection.passages()
            twin = self._find_twin(passages)
            if twin is None:
                break
            item = standing[twin.place]
            if passages[twin.place].is_truncated:
                self._left_by_a_piece.add(item)
            selection.remove(item)
            self.repeated[item] = (standing[twin.winner], twin.alike)
        return len(self.repeated) != before

    def _squeeze(self, in_order: Sequence[Unit]) -> None:
        """Take what fits as written, though by what its parts cost it did not: tokens do not add up."""
        selection = self.selection
        self.recount()
        # A counter that rounds up each part saves as much again.
        saved = sum(selection.spent_on.values()) - selection.spent
        choices = len(selection.log)
        self._narrow = max(_NARROW, saved)
        self._make_whole()
        # One piece more may save twice what one did on average: by what all of them saved hundreds are
        # written in vain.
        self._narrow = max(_NARROW, 2 * math.ceil(saved / max(1, choices)))
        misses = 0
        most = self.limit - selection.spent + self._narrow
        near = in_order if self._is_estimated else [unit for unit in in_order if unit.size <= most]
        for unit in near:
            is_near = self._is_near(unit.size, self.limit - selection.spent)
            if is_near and self._may_still_take(unit):
                misses += not self._take_if_they_fit([unit])
                if misses >= _MOST_MISSES:
                    break

    def _is_near(self, size: int, room: int) -> bool:
        """Return whether a text of a size may fit as written; an estimate but bounds what it costs."""
        least = size - size // 4 if self._is_estimated else size
        return least <= room + self._narrow

    def _may_still_take(self, unit: Unit) -> bool:
        """Return whether nothing but room keeps a unit out."""
        is_in = unit.item in self.selection.cuts or unit.index in self.selection.chosen.get(unit.item, ())
        return not is_in and not self._is_barred(unit.item) and self._says_enough(unit)

    def _take_if_they_fit(self, units: Sequence[Unit]) -> bool:
        """Take units of one item, all or none, where the text as written has room for them, to the token."""
        selection, spent = self.selection, self.selection.spent
        if self._room(units[0].item)[1] is not Reason.OVER_BUDGET:
            return False
        before = self._written()
        for unit in units:
            selection.take(unit, selection.cost(unit))
        exact = self._written().tokens
        if exact <= self.limit:
            selection.spent = exact
            return True
        for _ in units:
            selection.undo()
        selection.spent = spent
        self._known = (selection.state, before)
        return False

    def _make_whole(self) -> None:
        """Let in whole what is in by pieces, or out, where that fits: without a note it costs less.

        What left since a piece of it said again what another passage says may say more as a whole.
        """
        selection, misses = self.selection, 0
        for item, units in enumerate(self.units):
            if misses >= _MOST_MISSES:
                break
            if item in selection.cuts:
                self._whole_in_place_of(item)
                continue
            mine = selection.chosen.get(item, ())
            is_left = item in self._left_by_a_piece and item not in selection
            if len(mine) == len(units) or not (is_left or len(units) > 1):
                continue
            room = self.limit - selection.spent + (selection.slack if mine else 0)
            missing = [unit for unit in units if unit.index not in mine] if mine else units
            # Each place where two of them meet may save one.
            room += len(missing)
            is_near = self._is_near(missing[0].size, room)
            if not is_near or not self._is_near(sum(unit.size for unit in missing), room):
                continue
            twin = self.repeated.pop(item, None) if is_left else None
            if self._is_barred(item) or not self._take_if_they_fit(missing):
                misses += 1
                if twin is not None:
                    self.repeated[item] = twin

    def _whole_in_place_of(self, item: int) -> None:
        selection, units = self.selection, self.units[item]
        shown, cost = selection.cuts[item], selection.refund(item)
        size = sum(unit.size for unit in units)
        if item in self.compacted or not self._is_near(size, self.limit - selection.spent + cost):
            return
        selection.release(item)
        if not self._take_if_they_fit(units):
            selection.remove(item)
            selection.take_cut(item, shown, cost)
            self.recount()

    def _standing_for_twins(self) -> Written:
        """Return the text, its passages standing for what they say again too."""
        written = self._written()
        also: dict[Key, list[Key]] = {}
        for item, (winner, _) in self._said_again().items():
            repeated = self.items[item]
            also.setdefault(self.items[winner].key, []).extend((repeated.key, *repeated.also_in))
        if not also:
            return written
        return replace(
            written,
            passages=tuple(replace(p, also_in=(*p.also_in, *also.get(p.key, ()))) for p in written.passages),
        )

    def _said_again(self) -> dict[int, tuple[int, float]]:
        """Return item → (what says it in the text, how alike) of those whose twin stands in the end."""
        found = {}
        for item, (first, alike) in self.repeated.items():
            winner = first
            while winner in self.repeated and winner not in self.selection:
                winner = self.repeated[winner][0]
            if item not in self.selection and winner in self.selection:
                found[item] = (winner, alike)
        return found

    def _decision(self, i: int, item: Ranked) -> Decision:
        selection = self.selection
        if i not in selection:
            reason, details = self._why_out(i)
            return Decision(
                stage="pack", key=item.key, verdict=Verdict.DROPPED, reason=reason, details=details
            )
        chosen, of = len(selection.chosen.get(i, ())), len(self.units[i])
        details = {"units": of, "chosen": chosen} if 0 < chosen < of else {}
        cut = selection.cuts.get(i)
        if cut is not None and cut.is_truncated:
            reason = Reason.COMPACTED if i in self.compacted else Reason.CUT
        else:
            reason = Reason.WHOLE if cut or chosen == of else Reason.EXTRACTED
        return Decision(stage="pack", key=item.key, verdict=Verdict.KEPT, reason=reason, details=details)

    def _why_out(self, i: int) -> tuple[Reason, Mapping[str, Any]]:
        if i in self.little:
            return Reason.NOT_WORTH_READING, self.little[i]
        if i in self.repeated and (again := self._said_again().get(i)):
            winner, alike = again
            first = self.repeated[i][0]
            through = {} if first == winner else {"through": self.items[first].key}
            return Reason.DUPLICATE, {
                "winner": self.items[winner].key,
                "similarity": alike,
                "threshold": self.packing.twin_threshold,
                **through,
            }
        reason, needed, left = self.why.get(i) or (Reason.OVER_BUDGET, self._best_of(i), 0)
        if reason not in {Reason.OVER_BUDGET, Reason.OVER_SHARE, Reason.OVER_ITEM_CAP}:
            return reason, {}
        if isinstance(needed, Unit):
            needed = self.selection.cost_alone(needed) + self.selection.heading(i)
        if reason is Reason.OVER_BUDGET:
            # Costs are added up while filling, which is often more than the text costs in the end: at its
            # turn at least as much was left as in the end.
            left = max(0, min(max(left, self.limit - self.selection.spent), needed - 1))
        return reason, {"needed": needed, "left": left}

    def _best_of(self, i: int) -> Unit:
        return max((unit for unit in self.units[i] if not unit.is_head), key=attrgetter("value"))
