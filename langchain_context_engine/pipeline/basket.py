"""What has been chosen so far and what it costs, unit by unit, with undo."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from langchain_context_engine.models.types import Passage, Ranked
from langchain_context_engine.rendering.layout import Layout, block_of
from langchain_context_engine.rendering.templates import fill, passage_block, passage_values
from langchain_context_engine.text.analysis import measure
from langchain_context_engine.text.truncate import BLOCK_ELLIPSIS, ELLIPSIS, pieces
from langchain_context_engine.text.units import Unit

_SHORT_GAP = 8
"""Tokens between two extracts of one passage that are shown rather than left out: a reader wants no gap."""

_USUAL_MARKER = "[10]"
_USUAL_FRAME = {"count": "10", "sources": "3"}
_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")


@dataclass(frozen=True, slots=True)
class Choice:
    """One step: a unit with the table header that it brought, or an item's cut text, and what it cost."""

    item: int
    cost: int
    units: tuple[int, ...] = ()


class Basket:
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
        steps: How many choices were ever made.
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
        self.steps = 0
        self._cut_by_share: set[int] = set()
        self._log: list[Choice] = []
        self._layout = layout
        self._count = count
        self._frames: dict[int, int] = {}
        self._opened: defaultdict[str, int] = defaultdict(int)
        template = layout.template
        edges = (template.header, template.footer) if counts_frame else ()
        self.spent = sum(measure(fill(edge, _USUAL_FRAME), count) for edge in edges if edge)
        if counts_frame and layout.closing:
            self.spent += measure(fill(layout.closing, {"query": layout.query}), count)
        self._note = measure(template.note, count) if template.note and counts_frame else 0
        self._ellipsis = max(measure(ELLIPSIS, count), measure(BLOCK_ELLIPSIS, count))
        self.slack = self._note + self._ellipsis
        self._has_frames = counts_frame
        self._has_one_frame = not template.section and _frames_alike(template.passage)

    def __contains__(self, item: int) -> bool:
        return item in self.chosen or item in self.cuts

    def __len__(self) -> int:
        return len(self.chosen) + len(self.cuts)

    @property
    def last(self) -> Choice | None:
        """The latest choice."""
        return self._log[-1] if self._log else None

    @property
    def state(self) -> tuple[int, int]:
        """What tells what is chosen now from what was chosen before: choices ever made, and standing."""
        return self.steps, len(self._log)

    def frame(self, item: int) -> int:
        """Return what a passage costs without its content: separator, marker, a new section's heading."""
        if not self._has_frames:
            return 0
        place = 0 if self._has_one_frame else item
        if place not in self._frames:
            self._frames[place] = self._block_frame(item)
        return self._frames[place] + self._heading(self.groups[item])

    def _block_frame(self, item: int) -> int:
        ranked, template = self.items[item], self._layout.template
        values = passage_values(ranked.candidate, content="", score=ranked.score, citation=_USUAL_MARKER)
        return measure(template.separator + passage_block(template, values, is_truncated=False), self._count)

    def _heading(self, group: str) -> int:
        template = self._layout.template
        if not template.section or self._opened[group]:
            return 0
        heading = fill(template.section, {"title": self._layout.title(group), "count": "10"})
        return measure(heading, self._count)

    def cost(self, unit: Unit) -> int:
        """Return what adding a unit costs: its tokens, a new passage's frame, gaps opened and closed."""
        mine = self.chosen.get(unit.item, set())
        of = len(self.units[unit.item])
        new = self._with_head(unit)
        size = sum(self.units[unit.item][index].size for index in new)
        if not mine:
            gap = 0 if new[-1] - new[0] < len(new) else self._ellipsis
            return size + gap + self.frame(unit.item) + (self._note if of > len(new) else 0)
        beside = sum((index - 1 in mine) + (index + 1 in mine) for index in new)
        beside += new[-1] - new[0] == 1
        note = self._note if len(mine) + len(new) == of else 0
        return size + self._ellipsis * (len(new) - beside) - note

    def _with_head(self, unit: Unit) -> tuple[int, ...]:
        """Return the indexes that come in with a unit: its own, and that of a header not in yet, in order."""
        if unit.head < 0 or unit.is_head or unit.head in self.chosen.get(unit.item, ()):
            return (unit.index,)
        return unit.head, unit.index

    def text_room(self, item: int, allowance: int) -> int:
        """Return the tokens that a cut text of an item may have within an allowance."""
        return allowance - self.frame(item) - self._note

    def most_text_room(self, allowance: int) -> int:
        """Return the most tokens that a cut text of any item may have within an allowance."""
        frame = self.frame(0) if self._has_one_frame and self.items else 0
        return allowance - frame - self._note

    def cut_cost(self, item: int, passage: Passage) -> int:
        """Return what an item's cut text costs as it will be written: its note, closed fences, a heading."""
        if not self._has_frames:
            return self._count(passage.text)
        shown = replace(passage, citation=_USUAL_MARKER)
        written = self._count(self._layout.template.separator + block_of(shown, self._layout))
        return written + self._heading(self.groups[item])

    def open_units(self, units: Iterable[Unit], *, within_shares: bool) -> Iterator[Unit]:
        """Yield the units that are not in at this moment, in the order given.

        An item cut by its share may grow once shares are filled.
        """
        chosen, cuts, none = self.chosen, self.cuts, frozenset[int]()
        growing = frozenset() if within_shares else frozenset(self._cut_by_share)
        for unit in units:
            is_chosen = unit.index in chosen.get(unit.item, none)
            if not is_chosen and (unit.item not in cuts or unit.item in growing):
                yield unit

    def refund(self, item: int) -> int:
        """Return the tokens that releasing an item's cut text would free."""
        return self.spent_on[item] if item in self.cuts else 0

    def release(self, item: int) -> None:
        """Take an item's cut text out again, whenever it came in."""
        if item in self.cuts:
            place = next(i for i, choice in enumerate(self._log) if choice.item == item)
            self._take_back(self._log.pop(place))

    def take(self, unit: Unit, cost: int) -> None:
        """Choose a unit, with the header of its table where that is not in yet."""
        new = self._with_head(unit)
        mine = self.chosen.setdefault(unit.item, set())
        is_new = not mine
        mine.update(new)
        self._add(Choice(unit.item, cost, new), is_new=is_new)

    def short_gaps(self, unit: Unit, room: Callable[[], int]) -> Iterator[list[Unit]]:
        """Yield what stands between a unit and the nearest ones that are in, where it is short and fits.

        Args:
            unit: One that is in.
            room: Gives the tokens that are left for its item.
        """
        mine, units = self.chosen[unit.item], self.units[unit.item]
        for step in (-1, 1):
            gap: list[Unit] = []
            index = unit.index + step
            while 0 <= index < len(units) and index not in mine and sum(u.size for u in gap) <= _SHORT_GAP:
                gap.append(units[index])
                index += step
            if gap and index in mine and sum(u.size for u in gap) <= min(_SHORT_GAP, room()):
                yield gap

    def take_cut(self, item: int, passage: Passage, cost: int, *, is_by_share: bool = False) -> None:
        """Choose an item's cut or compacted text.

        Args:
            item: The item.
            passage: Its text.
            cost: What it costs, its frame included.
            is_by_share: It was cut because of its group's share, and may grow when that is filled.
        """
        self.cuts[item] = passage
        if is_by_share:
            self._cut_by_share.add(item)
        self._add(Choice(item, cost), is_new=True)

    def remove(self, item: int) -> None:
        """Take an item out again, all that was chosen of it."""
        for choice in [choice for choice in self._log if choice.item == item]:
            self._log.remove(choice)
            self._take_back(choice)
        # What was chosen is another set now, though fewer choices stand.
        self.steps += 1

    def undo(self) -> Choice:
        """Take the latest choice back."""
        choice = self._log.pop()
        self._take_back(choice)
        return choice

    def passages(self) -> list[Passage]:
        """Return what has been chosen as passages, best first; tokens and markers come with writing."""
        return [self._passage(item) for item in sorted({*self.chosen, *self.cuts})]

    def _add(self, choice: Choice, *, is_new: bool) -> None:
        group = self.groups[choice.item]
        self._log.append(choice)
        self.steps += 1
        self.spent += choice.cost
        self.spent_on[choice.item] += choice.cost
        self.spent_by[group] += choice.cost
        self._opened[group] += is_new

    def _take_back(self, choice: Choice) -> None:
        group = self.groups[choice.item]
        self.spent -= choice.cost
        self.spent_by[group] -= choice.cost
        self.spent_on[choice.item] -= choice.cost
        if not choice.units:
            del self.cuts[choice.item]
            self._cut_by_share.discard(choice.item)
        else:
            self.chosen[choice.item].difference_update(choice.units)
            if not self.chosen[choice.item]:
                del self.chosen[choice.item]
        if choice.item not in self:
            self._opened[group] -= 1

    def _passage(self, item: int) -> Passage:
        if item in self.cuts:
            return self.cuts[item]
        ranked, units = self.items[item], self.units[item]
        text = ranked.candidate.text
        mine = sorted(self.chosen[item])
        if len(mine) == len(units):
            return Passage(ranked=ranked, text=text, spans=((0, len(text)),), also_in=ranked.also_in)
        spans = _joined([units[j].span for j in mine], mine)
        return Passage(
            ranked=ranked,
            text=pieces(text, spans),
            spans=spans,
            is_truncated=True,
            also_in=ranked.also_in,
        )


@lru_cache(maxsize=256)
def _frames_alike(passage: str) -> bool:
    """Return whether what a template puts around a passage is the same for all."""
    return set(_VARIABLE.findall(passage)) <= {"content", "citation"}


def _joined(spans: Sequence[tuple[int, int]], indexes: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Join the spans of units that stand next to each other."""
    starts = [k for k in range(len(spans)) if not k or indexes[k] != indexes[k - 1] + 1]
    return tuple((spans[a][0], spans[b - 1][1]) for a, b in pairwise([*starts, len(spans)]))
