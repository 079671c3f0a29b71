"""Pack: share out the budget. Every ranked item ends whole, by its best sentences, cut, compacted or out."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from langchain_context_engine.models.types import Decision, Key, Passage, Ranked, Reason, Verdict
from langchain_context_engine.pipeline.filling import Filler
from langchain_context_engine.pipeline.packing import Packed, Packing
from langchain_context_engine.pipeline.reading import is_indexed
from langchain_context_engine.pipeline.select import by_density, knapsack
from langchain_context_engine.rendering.layout import Written
from langchain_context_engine.text.memo import remember
from langchain_context_engine.text.similarity import Wording, similarity
from langchain_context_engine.text.units import Unit, message_of

__all__ = ["Packed", "Packing", "pack"]

_WORD = re.compile(r"\w+")
_MERGE = re.compile(
    r"\AMerge (?:pull request #\d+ from \S+|(?:remote-tracking )?branch(?:es)? [^\n]*|commit [^\n]*"
    r"|[a-z]+ request[^\n]*)\n"
)
_NUMBER_OF_REQUEST = re.compile(r"\A([^\n]*\S)[ \t]+\((?:#|!|GH-)\d+\)(?=[ \t\r]*(?:\n|\Z))")
_LONGEST_COMPARED = 1200
"""Characters of an extract that is compared with others for likeness; beyond it only for equal words."""


@dataclass(frozen=True, slots=True)
class Twin:
    """A passage (by its place in a sequence) that another one says again, and how alike they are, 0–100."""

    place: int
    winner: int
    alike: float


def find_twin(passages: Sequence[Passage], threshold: float | None) -> Twin | None:
    """Return the first passage, from the last on, whose words another one has in a row, or nearly; else None.

    Whole records that are near are told apart already (`dedupe`): nearness counts where one is an extract.
    A pinned passage is no twin.

    Args:
        passages: Best first.
        threshold: The least likeness of near texts, 0–100; None: only words in a row count.
    """
    told = [_in_a_row(passage.text) for passage in passages]
    for place in reversed(range(len(passages))):
        if passages[place].ranked.candidate.is_pinned:
            continue
        for winner in range(len(passages)):
            if winner != place and _says_again(passages, told, place, winner):
                return Twin(place, winner, 100.0)
        if threshold is not None:
            near = _nearest(passages, place, threshold)
            if near is not None:
                return near
    return None


def _says_again(passages: Sequence[Passage], told: Sequence[str], place: int, winner: int) -> bool:
    if _answer_by_time(passages[place], passages[winner]):
        # The newest is the answer, however short: of one change told twice the older telling goes.
        return place > winner and (_is_in(told, place, winner) or _is_in(told, winner, place))
    is_more = told[place] != told[winner]
    return _is_in(told, place, winner) and not (is_more and _stands_alone(passages[place]))


def _stands_alone(passage: Passage) -> bool:
    """Return whether a passage is a whole record of its own: what more another one says is another matter."""
    return not passage.is_truncated and not is_indexed(passage.ranked.candidate)


def _answer_by_time(a: Passage, b: Passage) -> bool:
    return all(passage.ranked.signals.get("latest") for passage in (a, b))


def _is_in(told: Sequence[str], place: int, winner: int) -> bool:
    mine, other = told[place], told[winner]
    # Of two that are equal the better stays.
    return (
        mine.strip() != "" and len(mine) <= len(other) and mine in other and (mine != other or place > winner)
    )


def _nearest(passages: Sequence[Passage], place: int, threshold: float) -> Twin | None:
    mine = passages[place]
    if len(mine.text) > _LONGEST_COMPARED:
        return None
    for winner in range(place):
        other = passages[winner]
        is_near_in_size = max(len(mine.text), len(other.text)) * threshold <= 110 * min(
            len(mine.text), len(other.text)
        )
        if (mine.is_truncated or other.is_truncated) and is_near_in_size:
            alike = similarity(_wording(other.text), _wording(mine.text), threshold)
            if alike:
                return Twin(place, winner, alike)
    return None


@remember(2**23)
def _in_a_row(text: str) -> str:
    """Return the words of a text between spaces, so that those of another one are found as a piece of it.

    That a commit merges, or the number of its request, says nothing beside the commit that was merged, nor
    do the files that both list.
    """
    text = message_of(text) if _MERGE.match(text) else text
    text = _NUMBER_OF_REQUEST.sub(r"\1", _MERGE.sub("", text).lstrip())
    return f" {' '.join(_WORD.findall(text.lower()))} "


@remember(2**24, a_result=2000, a_character=30)  # ten forms of the text, each made when first asked for
def _wording(text: str) -> Wording:
    return Wording(text)


_REFILLS = 6
"""How often room that recounting frees is offered again."""

_MOST_OFFERED_AGAIN = 300_000
"""Pieces that are offered the room of twins again, all times together: thousands may say the same."""

_NARROW = 3
"""Tokens by which a text may cost less beside others than alone, whatever counts them."""

_MOST_MISSES = 200
"""How many units that nearly fit are written to see: one text may have thousands of them."""


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
    """One run of pack: fill, look at what came of it, and finish."""

    def __init__(self, items: Sequence[Ranked], query: str, packing: Packing) -> None:
        self.items = items
        self.packing = packing
        self.filler = Filler(items, query, packing)
        self._narrow = _NARROW
        self._left_by_a_piece: set[int] = set()

    def run(self) -> Packed:
        filler = self.filler
        in_order = [unit for unit in self._in_order() if unit.item not in filler.little]
        filler.fill(self._pinned(), may_cut=True, is_main=True)
        may_cut = not filler.is_by_units
        if self.packing.budget.shares:
            filler.fill(in_order, within_shares=True, may_cut=may_cut, is_main=True)
            filler.fill(in_order, within_shares=True, may_cut=True)
        filler.fill(in_order, may_cut=may_cut, is_main=True)
        self._refill(in_order)
        if filler.caps_by_share and self.packing.budget.item_cap is not None:
            self._fill_beyond_caps(in_order)
        if filler.is_diverse and self.packing.diversity and self.packing.diversity.offers_rest:
            # Other kinds have had their turn: what they leave over is for those that were skipped.
            filler.is_diverse = False
            filler.fill(in_order, may_cut=True)
            self._refill(in_order)
        for _ in range(1 + _MOST_OFFERED_AGAIN // (1 + len(in_order))):
            if not self._drop_twins():
                break
            self._refill(in_order)
        while self._drop_twins():
            filler.recount()
        if not self.packing.budget.is_soft:
            self._squeeze(in_order)
            while self._drop_twins():
                filler.recount()
        return Packed(
            written=self._written(),
            decisions=tuple(self._decision(i, item) for i, item in enumerate(self.items)),
            warnings=tuple(dict.fromkeys(filler.cutter.warnings)),
        )

    def _fill_beyond_caps(self, in_order: Sequence[Unit]) -> None:
        """Offer what nobody else can use to what its share had cut: every group has had its turn."""
        filler = self.filler
        filler.caps_by_share = False
        filler.fill(in_order, may_cut=True)
        self._refill(in_order)
        filler.caps_items = False
        if not len(filler.basket):
            filler.fill(in_order, may_cut=True)
        if filler.recount() and filler.grow():
            filler.recount()
        filler.caps_items = True

    def _refill(self, in_order: Sequence[Unit]) -> None:
        """Offer what recounting frees again: to whole units, then to what is cut, then to further cuts."""
        filler = self.filler
        for refill in range(_REFILLS):
            has_room = filler.recount()
            may_cut = refill > 0 or not filler.is_by_units
            if may_cut and has_room and filler.grow():
                has_room = filler.recount()
            if not has_room or (not filler.fill(in_order, may_cut=may_cut) and may_cut):
                break
        filler.recount()

    def _pinned(self) -> list[Unit]:
        units = self.filler.units
        pinned = [i for i, item in enumerate(self.items) if item.candidate.is_pinned]
        return [unit for i in pinned for unit in units[i] if not unit.is_head]

    def _in_order(self) -> list[Unit]:
        """Return all units in the order in which they try to get in; a header comes with its rows."""
        filler = self.filler
        flat = [unit for units in filler.units for unit in units if not unit.is_head]
        selection = self.packing.selection
        if filler.is_by_units:
            # They come by item and index, and sorting keeps the order of equals, reversed too.
            return sorted(flat, key=attrgetter("value"), reverse=True)
        if selection in {"adaptive", "score"}:
            return flat
        scores = [item.score for item in self.items]
        costs = [filler.basket.cost(unit) for unit in flat]
        if selection == "density":
            return [flat[i] for i in by_density(scores, costs)]
        best = knapsack(scores, costs, filler.limit - filler.basket.spent)
        return [flat[i] for i in dict.fromkeys((*best, *range(len(flat))))]

    def _drop_twins(self) -> bool:
        """Take out what says again what another passage says; return whether anything was."""
        filler = self.filler
        before = len(filler.repeated)
        while len(filler.basket) > 1:
            standing = sorted({*filler.basket.chosen, *filler.basket.cuts})
            passages = filler.basket.passages()
            rules = self.packing
            twin = find_twin(passages, rules.twin_threshold)
            if twin is None:
                break
            item = standing[twin.place]
            if passages[twin.place].is_truncated:
                self._left_by_a_piece.add(item)
            filler.basket.remove(item)
            filler.kinds[self.items[item].candidate.kind] -= 1
            filler.repeated[item] = (standing[twin.winner], twin.alike)
        return len(filler.repeated) != before

    def _squeeze(self, in_order: Sequence[Unit]) -> None:
        """Take what fits as written, though by what its parts cost it did not: tokens do not add up."""
        filler = self.filler
        filler.recount()
        # A counter that rounds up each part saves as much again.
        saved = sum(filler.basket.spent_on.values()) - filler.basket.spent
        _, choices = filler.basket.state
        self._narrow = max(_NARROW, saved)
        self._make_whole()
        # One piece more may save twice what one did on average: by what all of them saved hundreds are
        # written in vain.
        self._narrow = max(_NARROW, 2 * math.ceil(saved / max(1, choices)))
        misses = 0
        for unit in in_order:
            is_near = unit.size <= filler.limit - filler.basket.spent + self._saved(unit.size)
            if is_near and filler.may_still_take(unit):
                misses += not filler.take_if_they_fit([unit])
                if misses >= _MOST_MISSES:
                    break

    def _saved(self, size: int) -> int:
        """Return the tokens by which a text of a size may cost less beside others; an estimate bounds it."""
        is_bound = getattr(self.packing.count, "is_estimated", False)
        return self._narrow + (size // 4 if is_bound else 0)

    def _make_whole(self) -> None:
        """Let in whole what is in by pieces, or out, where that fits: without a note it costs less.

        What left since a piece of it said again what another passage says may say more as a whole.
        """
        filler, basket, misses = self.filler, self.filler.basket, 0
        for item, units in enumerate(filler.units):
            if misses >= _MOST_MISSES:
                break
            if item in basket.cuts:
                self._whole_in_place_of(item)
                continue
            mine = basket.chosen.get(item, ())
            missing = [unit for unit in units if unit.index not in mine]
            # Each place where two of them meet may save one.
            size = sum(unit.size for unit in missing)
            room = filler.limit - basket.spent + (basket.slack if mine else 0) + len(missing)
            is_left = item in self._left_by_a_piece and item not in basket
            if not missing or size > room + self._saved(size) or not (is_left or len(units) > 1):
                continue
            twin = filler.repeated.pop(item, None) if is_left else None
            if filler.is_barred(item) or not filler.take_if_they_fit(missing):
                misses += 1
                if twin is not None:
                    filler.repeated[item] = twin

    def _whole_in_place_of(self, item: int) -> None:
        filler, units = self.filler, self.filler.units[item]
        shown = filler.basket.cuts[item]
        size = sum(unit.size for unit in units)
        room = filler.limit - filler.basket.spent + filler.basket.refund(item)
        if item in filler.compacted or size > room + self._saved(size):
            return
        cost = filler.basket.refund(item)
        filler.basket.release(item)
        if not filler.take_if_they_fit(units):
            filler.basket.remove(item)
            filler.basket.take_cut(item, shown, cost)
            filler.recount()

    def _written(self) -> Written:
        """Return the text, its passages standing for what they say again too."""
        written, again = self.filler.written(), self._said_again()
        also: dict[Key, list[Key]] = {}
        for item, (winner, _) in again.items():
            repeated = self.items[item]
            also.setdefault(self.items[winner].key, []).extend((repeated.key, *repeated.also_in))
        return replace(
            written,
            passages=tuple(replace(p, also_in=(*p.also_in, *also.get(p.key, ()))) for p in written.passages),
        )

    def _said_again(self) -> dict[int, tuple[int, float]]:
        """Return item → (what says it in the text, how alike) of those whose twin stands in the end."""
        repeated, basket = self.filler.repeated, self.filler.basket
        found = {}
        for item, (first, alike) in repeated.items():
            winner = first
            while winner in repeated and winner not in basket:
                winner = repeated[winner][0]
            if item not in basket and winner in basket:
                found[item] = (winner, alike)
        return found

    def _decision(self, i: int, item: Ranked) -> Decision:
        filler = self.filler
        if i not in filler.basket:
            reason, details = self._why_out(i)
            return Decision(
                stage="pack", key=item.key, verdict=Verdict.DROPPED, reason=reason, details=details
            )
        chosen, of = len(filler.basket.chosen.get(i, ())), len(filler.units[i])
        details = {"units": of, "chosen": chosen} if 0 < chosen < of else {}
        cut = filler.basket.cuts.get(i)
        if cut is not None and cut.is_truncated:
            reason = Reason.COMPACTED if i in filler.compacted else Reason.CUT
        else:
            reason = Reason.WHOLE if cut or chosen == of else Reason.EXTRACTED
        return Decision(stage="pack", key=item.key, verdict=Verdict.KEPT, reason=reason, details=details)

    def _why_out(self, i: int) -> tuple[Reason, dict[str, Any]]:
        filler = self.filler
        if i in filler.little:
            return Reason.NOT_WORTH_READING, {**filler.little[i]}
        again = self._said_again()
        if i in again:
            winner, alike = again[i]
            first = filler.repeated[i][0]
            through = {} if first == winner else {"through": self.items[first].key}
            return Reason.DUPLICATE, {
                "winner": self.items[winner].key,
                "similarity": alike,
                "threshold": self.packing.twin_threshold,
                **through,
            }
        rows = (unit for unit in filler.units[i] if not unit.is_head)
        best = max(rows, key=attrgetter("value"))
        return filler.turns.of(i, lambda: filler.basket.cost(best), filler.limit - filler.basket.spent)
