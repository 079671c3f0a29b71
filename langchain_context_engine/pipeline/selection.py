"""The selection: what has been chosen so far and what it costs, unit by unit, with undo."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from langchain_context_engine.models.types import Passage, Ranked
from langchain_context_engine.rendering.containment import fill
from langchain_context_engine.rendering.layout import Layout, block_of
from langchain_context_engine.rendering.templates import passage_block, passage_values
from langchain_context_engine.text.analysis import measure
from langchain_context_engine.text.truncate import BLOCK_ELLIPSIS, ELLIPSIS, pieces
from langchain_context_engine.text.units import Unit

SELECTIONS = ("adaptive", "score", "density", "knapsack")
"""Adaptive packs the best sentences or whole passages; the others whole passages first."""

_SHORT_GAP = 8
"""Tokens between two extracts of one passage that are shown rather than left out: a reader wants no gap."""

_USUAL_MARKER = "[10]"
_USUAL_FRAME = {"count": "10", "sources": "3"}


class Choice(NamedTuple):
    """One step: a unit with the table header that it brought, or an item's cut text, and what it cost."""

    item: int
    cost: int
    units: tuple[int, ...] = ()


class Selection:
    """The chosen units of ranked items, their additive cost, and the passages that they make.

    Costs are estimates, since tokens of parts do not add up exactly; pack recounts the written text.

    Args:
        items: Ranked, best first.
        units: The units of each item, in reading order.
        layout: What stands around the passages.
        count: The token counter.
        counts_frame: False: only contents cost, what stands around them is free.

    Attributes:
        spent: Tokens so far, header and footer included.
        spent_by: Group → tokens so far.
        spent_on: Item → tokens so far.
        chosen: Item → indexes of its chosen units.
        cuts: Item → its cut or compacted text, as a passage.
        cut_by_share: Items cut because of their group's share, which may grow when that is filled.
        log: The choices that stand.
        steps: How many choices were ever made.
        kinds: How many items of each kind are in.
        slack: A unit costs at least its size less this.
    """

    def __init__(
        self,
        items: Sequence[Ranked],
        units: Sequence[Sequence[Unit]],
        layout: Layout,
        count: Callable[[str], int],
        *,
        counts_frame: bool = True,
    ) -> None:
        self.items = items
        self.units = units
        self.groups = [layout.group(item) for item in items]
        self.spent_by: defaultdict[str, int] = defaultdict(int)
        self.spent_on: defaultdict[int, int] = defaultdict(int)
        self.chosen: dict[int, set[int]] = {}
        self.cuts: dict[int, Passage] = {}
        self.cut_by_share: set[int] = set()
        self.log: list[Choice] = []
        self.steps = 0
        self.kinds: Counter[str] = Counter()
        self._layout = layout
        self._count = count
        self._frames: dict[tuple[str, ...], int] = {}
        self._frame_of: dict[int, int] = {}
        self._opened: defaultdict[str, int] = defaultdict(int)
        self._passages: dict[int, Passage] = {}
        template = layout.template
        edges = (template.header, template.footer) if counts_frame else ()
        self.spent = sum(measure(fill(edge, _USUAL_FRAME), count) for edge in edges if edge)
        if counts_frame and layout.closing:
            self.spent += measure(fill(layout.closing, {"query": layout.query}), count)
        self._note = measure(template.note, count) if template.note and counts_frame else 0
        self._ellipsis = max(measure(ELLIPSIS, count), measure(BLOCK_ELLIPSIS, count))
        self.slack = self._note + self._ellipsis
        self._has_frames = counts_frame
        self._has_one_frame = not template.section and template.variables <= {"content", "citation"}

    def __contains__(self, item: int) -> bool:
        return item in self.chosen or item in self.cuts

    def __len__(self) -> int:
        return len(self.chosen) + len(self.cuts)

    @property
    def state(self) -> tuple[int, int]:
        """What tells what is chosen now from what was chosen before: choices ever made, and standing."""
        return self.steps, len(self.log)

    def frame(self, item: int) -> int:
        """Return what a passage costs without its content: separator and marker."""
        if item not in self._frame_of:
            self._frame_of[item] = self._framed(item) if self._has_frames else 0
        return self._frame_of[item]

    def _framed(self, item: int) -> int:
        ranked, template = self.items[item], self._layout.template
        values = passage_values(
            ranked.candidate,
            content="",
            score=ranked.score,
            citation=_USUAL_MARKER,
            names=template.variables,
        )
        told = tuple(values.values())
        if told not in self._frames:
            block = passage_block(template, values, is_truncated=False)
            self._frames[told] = measure(template.separator + block, self._count)
        return self._frames[told]

    def heading(self, item: int) -> int:
        """Return what the heading of a new section costs, where an item opens one."""
        template, group = self._layout.template, self.groups[item]
        if not template.section or not self._has_frames or self._opened[group]:
            return 0
        heading = fill(template.section, {"title": self._layout.title(group), "count": "10"})
        return measure(heading, self._count)

    def cost_alone(self, unit: Unit) -> int:
        """Return what a unit costs as the first of its passage, without the heading of a new section."""
        new, units = self._with_head(unit, set()), self.units[unit.item]
        size = sum(units[index].size for index in new)
        gap = 0 if new[-1] - new[0] < len(new) else self._ellipsis
        return size + gap + self.frame(unit.item) + (self._note if len(units) > len(new) else 0)

    def cost(self, unit: Unit) -> int:
        """Return what adding a unit costs: its tokens, a new passage's frame, gaps opened and closed."""
        mine = self.chosen.get(unit.item)
        if not mine:
            return self.cost_alone(unit) + self.heading(unit.item)
        new, units = self._with_head(unit, mine), self.units[unit.item]
        size = sum(units[index].size for index in new)
        beside = sum((index - 1 in mine) + (index + 1 in mine) for index in new)
        beside += new[-1] - new[0] == 1
        note = self._note if len(mine) + len(new) == len(units) else 0
        return size + self._ellipsis * (len(new) - beside) - note

    def _with_head(self, unit: Unit, mine: set[int]) -> tuple[int, ...]:
        """Return the indexes that come in with a unit: its own, and that of a header not in yet, in order."""
        if unit.head < 0 or unit.is_head or unit.head in mine:
            return (unit.index,)
        return unit.head, unit.index

    def text_room(self, item: int, allowance: int) -> int:
        """Return the tokens that a cut text of an item may have within an allowance."""
        return allowance - self.frame(item) - self.heading(item) - self._note

    @property
    def least_frame(self) -> int:
        """The least that stands around a cut text of any item."""
        return (self.frame(0) if self._has_one_frame and self.items else 0) + self._note

    def cut_cost(self, item: int, passage: Passage) -> int:
        """Return what an item's cut text costs as it will be written: its note, closed fences, a heading."""
        if not self._has_frames:
            return self._count(passage.text)
        shown = replace(passage, citation=_USUAL_MARKER)
        written = self._count(self._layout.template.separator + block_of(shown, self._layout))
        return written + self.heading(item)

    def refund(self, item: int) -> int:
        """Return the tokens that releasing an item's cut text would free."""
        return self.spent_on[item] if item in self.cuts else 0

    def release(self, item: int) -> None:
        """Take an item's cut text out again, whenever it came in."""
        if item in self.cuts:
            place = next(i for i, choice in enumerate(self.log) if choice.item == item)
            self._take_back(self.log.pop(place))

    def take(self, unit: Unit, cost: int) -> None:
        """Choose a unit, with the header of its table where that is not in yet."""
        is_new = unit.item not in self
        mine = self.chosen.setdefault(unit.item, set())
        new = self._with_head(unit, mine)
        mine.update(new)
        self._add(Choice(unit.item, cost, new), is_new=is_new)

    def short_gaps(self, unit: Unit, room: Callable[[], int]) -> Iterator[list[Unit]]:
        """Yield what stands between a unit and the nearest ones that are in, where it is short and fits.

        Args:
            unit: One that is in.
            room: Gives the tokens that are left for its item.
        """
        mine, units = self.chosen[unit.item], self.units[unit.item]
        for step in (-1, 1) if len(mine) > 1 else ():
            gap: list[Unit] = []
            size, index = 0, unit.index + step
            while 0 <= index < len(units) and index not in mine and size <= _SHORT_GAP:
                gap.append(units[index])
                size += units[index].size
                index += step
            if gap and index in mine and size <= min(_SHORT_GAP, room()):
                yield gap

    def take_cut(self, item: int, passage: Passage, cost: int, *, is_by_share: bool = False) -> None:
        """Choose an item's cut or compacted text.

        Args:
            item: The item.
            passage: Its text.
            cost: What it costs, its frame included.
            is_by_share: It was cut because of its group's share, and may grow when that is filled.
        """
        is_new = item not in self
        self.cuts[item] = passage
        if is_by_share:
            self.cut_by_share.add(item)
        self._add(Choice(item, cost), is_new=is_new)

    def remove(self, item: int) -> None:
        """Take an item out again, all that was chosen of it."""
        for choice in [choice for choice in self.log if choice.item == item]:
            self.log.remove(choice)
            self._take_back(choice)
        # What was chosen is another set now, though fewer choices stand.
        self.steps += 1

    def undo(self) -> Choice:
        """Take the latest choice back."""
        choice = self.log.pop()
        self._take_back(choice)
        return choice

    def standing(self) -> list[int]:
        """Return the items that are in, best first."""
        return sorted({*self.chosen, *self.cuts})

    def passages(self) -> list[Passage]:
        """Return what has been chosen as passages, best first; tokens and markers come with writing."""
        return [self._passage(item) for item in self.standing()]

    def _add(self, choice: Choice, *, is_new: bool) -> None:
        item = choice.item
        self.log.append(choice)
        self.steps += 1
        self.spent += choice.cost
        self.spent_on[item] += choice.cost
        self.spent_by[self.groups[item]] += choice.cost
        self._passages.pop(item, None)
        if is_new:
            self._opened[self.groups[item]] += 1
            self.kinds[self.items[item].candidate.kind] += 1

    def _take_back(self, choice: Choice) -> None:
        item = choice.item
        self.spent -= choice.cost
        self.spent_by[self.groups[item]] -= choice.cost
        self.spent_on[item] -= choice.cost
        self._passages.pop(item, None)
        if not choice.units:
            del self.cuts[item]
            self.cut_by_share.discard(item)
        else:
            self.chosen[item].difference_update(choice.units)
            if not self.chosen[item]:
                del self.chosen[item]
        if item not in self:
            self._opened[self.groups[item]] -= 1
            self.kinds[self.items[item].candidate.kind] -= 1

    def _passage(self, item: int) -> Passage:
        made = self.cuts.get(item) or self._passages.get(item)
        if made is None:
            made = self._passages[item] = self._made(item)
        return made

    def _made(self, item: int) -> Passage:
        ranked, units = self.items[item], self.units[item]
        text = ranked.candidate.text
        mine = sorted(self.chosen[item])
        if len(mine) == len(units):
            return Passage(ranked=ranked, text=text, spans=((0, len(text)),), also_in=ranked.also_in)
        spans = _joined([units[j].span for j in mine], mine)
        shown = pieces(text, spans)
        return Passage(ranked=ranked, text=shown, spans=spans, is_truncated=True, also_in=ranked.also_in)


def _joined(spans: Sequence[tuple[int, int]], indexes: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Join the spans of units that stand next to each other."""
    starts = [k for k in range(len(spans)) if not k or indexes[k] != indexes[k - 1] + 1]
    return tuple((spans[a][0], spans[b - 1][1]) for a, b in pairwise([*starts, len(spans)]))


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
