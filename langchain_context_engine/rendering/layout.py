"""How passages become one text: order, sections, markers, frame. Pack and render both write with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from langchain_context_engine.errors import ConfigError, TemplateError
from langchain_context_engine.models.freeze import clean_text, with_fields
from langchain_context_engine.models.types import Candidate, Key, Passage, Section
from langchain_context_engine.rendering.citations import (
    Markers,
    number_markers,
    opens_bracket,
    shown_beside,
)
from langchain_context_engine.rendering.containment import fill, open_fence_at, slot_names
from langchain_context_engine.rendering.templates import (
    Template,
    passage_block,
    passage_values,
)
from langchain_context_engine.text.analysis import measure
from langchain_context_engine.text.memoize import memoize

Arrange = Callable[[Sequence[Passage]], Sequence[Passage]]
"""Puts passages into text order; they come best first."""

CUT_MARK = " …"
"""Stands after a cited passage whose cut ends in the middle of a sentence, where the template has no note."""

_CLOSING = frozenset(".!?…。！？:;)]}\"'”’»」|`>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Everything that shapes the text around the passages.

    Attributes:
        template: Header, passage, separator, footer, section, note.
        arrange: The order of the passages.
        markers: The citation markers.
        group_by: What a section (and a budget share) is: a `source` or a `kind`.
        titles: Group → title of its section, in the order in which sections appear; groups not named
            follow under their own name.
        empty_section: What stands in a named section without passages; "" leaves the section out.
        shown_score: What `{{score}}` shows: the `score` that sorts, or the source's own `relevance`.
        uncounted: Groups whose passages header and footer do not count.
        counted_by: A metadata key: passages with the same value of it count once in header and footer.
        notes: Kind → what stands after a cut passage of it, in place of the template's note.
        closing: What stands after the footer; its one variable is `query`.
        query: The question.

    Raises:
        TemplateError: A note or the closing names a variable that it does not have.
    """

    template: Template
    arrange: Arrange
    markers: Markers = number_markers
    group_by: str = "source"
    titles: Mapping[str, str] = field(default_factory=dict)
    empty_section: str = ""
    shown_score: str = "score"
    uncounted: tuple[str, ...] = ()
    counted_by: str = ""
    notes: Mapping[str, str] = field(default_factory=dict)
    closing: str = ""
    query: str = ""

    def __post_init__(self) -> None:
        for note in self.notes.values():
            replace(self.template, note=note)
        for name in slot_names(self.closing):
            if name != "query":
                raise TemplateError(f"closing has no variable {name!r}; known: query")

    def group(self, passage: Any) -> str:
        """Return the group of a passage, or of a ranked candidate."""
        candidate: Candidate = getattr(passage, "ranked", passage).candidate
        return candidate.kind if self.group_by == "kind" else candidate.origin

    def title(self, group: str) -> str:
        """Return the title of a group's section, on one line: a group's name may come from a record."""
        return " ".join(self.titles.get(group, group).split())

    def grouped(self, passages: Sequence[Passage]) -> dict[str, list[Passage]]:
        """Return passages by section, in section order; one nameless group where there are no sections."""
        if not self.template.section:
            return {"": list(passages)}
        groups: dict[str, list[Passage]] = {name: [] for name in self.titles}
        for passage in passages:
            groups.setdefault(self.group(passage), []).append(passage)
        return {name: members for name, members in groups.items() if members or self.empty_section}

    def frame_values(self, passages: Sequence[Passage]) -> dict[str, str]:
        """Return what header and footer count: passages, or what their metadata say that they are of."""
        counted = [(group, p) for p in passages if (group := self.group(p)) not in self.uncounted]
        named = ((p, p.ranked.candidate.metadata.get(self.counted_by)) for _, p in counted)
        things = {passage.key if name is None else str(name) for passage, name in named}
        return {"count": str(len(things)), "sources": str(len({group for group, _ in counted}))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A text with the passages in it, in text order, with their markers and blocks; `tokens` once counted."""

    text: str
    tokens: int = 0
    passages: tuple[Passage, ...] = ()
    blocks: tuple[Block, ...] = ()
    sections: tuple[Section, ...] = ()

    @property
    def citations(self) -> dict[str, Key]:
        """Marker → key."""
        return {passage.citation: passage.key for passage in self.passages if passage.citation}


@dataclass(frozen=True, slots=True)
class Block:
    """A passage as it is written: as it was given and with its marker, and whether its place is said.

    `parts` are what stands before the content, the content, and what stands after it; `text` all of them,
    `edges` what `edges_of` tells of them.
    """

    given: Passage
    says_place: bool
    cited: Passage
    text: str
    parts: tuple[str, str, str]
    edges: Edges = ("", 0, None)


class Writer:
    """Writes passages into one text, again and again; what is as it was before is not made anew.

    Args:
        layout: How they become a text.
        count: The token counter; None: nothing is counted.

    Attributes:
        counts_whole: The text is counted as a whole, and not by its parts.
    """

    def __init__(self, layout: Layout, count: Callable[[str], int] | None = None) -> None:
        self._layout = layout
        self._count = count
        self.counts_whole = False
        self._blocks: dict[Key, Block] = {}
        self._beside: dict[Key, tuple[Passage, str, tuple[str, ...]]] = {}
        template = layout.template
        frame = [template.header, template.section, template.separator, template.footer, layout.closing]
        frame += [template.passage, template.note, *layout.notes.values()]
        self._opening = [text for text in frame if opens_bracket(text)]

    def __call__(self, passages: Sequence[Passage]) -> Written:
        """Return the text of some passages, best first; none give "", without a lonely header or footer."""
        if not passages:
            return Written(text="")
        layout = self._layout
        arranged = layout.arrange(passages)
        if sorted(map(id, arranged)) != sorted(map(id, passages)):
            raise ConfigError("an order gives back the very passages that it was given, each once")
        groups = layout.grouped(arranged)
        placed = []  # with whether its place is said: the one before it in its group has another
        beside: list[str] = []
        for members in groups.values():
            before = ""
            for passage in members:
                _, place, said = self._known(passage)
                placed.append((passage, place != before))
                before = place
                beside += said
        markers = self._markers(groups, placed, beside)
        blocks = [self._block(*each, clean_text(m)) for each, m in zip(placed, markers, strict=True)]
        return self._written(groups, blocks)

    def _markers(
        self,
        groups: Mapping[str, Sequence[Passage]],
        placed: Sequence[tuple[Passage, bool]],
        beside: Sequence[str],
    ) -> Sequence[str]:
        """Return one marker for each passage, none that stands elsewhere in the text."""
        layout = self._layout
        named = [layout.empty_section, layout.query if layout.closing else "", *map(layout.title, groups)]
        avoid = [*self._opening, *filter(opens_bracket, named), *beside]
        if self._opening:
            # What stands in its brackets may be a passage's to say: `[{{id}}]`, a header's [ to a footer's ].
            bare = [self._made(passage, says) for passage, says in placed]
            avoid.append(self._written(groups, bare).text)
        return layout.markers([passage for passage, _ in placed], avoid)

    def _known(self, passage: Passage) -> tuple[Passage, str, tuple[str, ...]]:
        """Return a passage with its place and what stands beside its marker."""
        known = self._beside.get(passage.key)
        if known is None or known[0] is not passage:
            known = passage, passage.ranked.candidate.place, shown_beside(passage)
            self._beside[passage.key] = known
        return known

    def _block(self, passage: Passage, says_place: bool, marker: str) -> Block:
        known = self._blocks.get(passage.key)
        is_same = known and known.given is passage and known.says_place is says_place
        if known is None or not is_same or known.cited.citation != marker:
            known = self._blocks[passage.key] = self._made(passage, says_place, marker)
        return known

    def _made(self, passage: Passage, says_place: bool, marker: str = "") -> Block:
        cited = with_fields(passage, citation=marker)
        text = block_of(cited, self._layout, says_place=says_place)
        parts = text.partition(passage.text) if passage.text else (text, "", "")
        edges = ("", 0, None) if self._count is None else edges_of(parts, self._count)
        return Block(passage, says_place, cited, text, parts, edges)

    def _written(self, groups: Mapping[str, Sequence[Passage]], blocks: Sequence[Block]) -> Written:
        """Return the whole text, counted, in parts where that is as exact."""
        layout, template = self._layout, self._layout.template
        header, footer = "", ""
        if template.header or template.footer:
            values = layout.frame_values([block.given for block in blocks])
            header, footer = fill(template.header, values), fill(template.footer, values)
        parts: list[str | Block] = [header]
        sections, start = [], 0
        for number, (name, members) in enumerate(groups.items()):
            if number:
                parts.append(template.separator)
            if template.section:
                title = layout.title(name)
                sections.append(Section(title=title, keys=tuple([passage.key for passage in members])))
                parts.append(fill(template.section, {"title": title, "count": str(len(members))}))
                parts += () if members else (layout.empty_section,)
            for place, block in enumerate(blocks[start : start + len(members)]):
                if place:
                    parts.append(template.separator)
                parts.append(block)
            start += len(members)
        parts += (footer, fill(layout.closing, {"query": layout.query}))
        text = "".join([part if isinstance(part, str) else part.text for part in parts])
        if self._count is None:
            tokens = 0
        elif self.counts_whole:
            tokens = self._count(text)
        else:
            told = (part if isinstance(part, str) else part.edges for part in parts)
            tokens = count_parts(told, self._count)
        return Written(
            text=text,
            tokens=tokens,
            passages=tuple([block.cited for block in blocks]),
            blocks=tuple(blocks),
            sections=tuple(sections),
        )


_WORD_ENDS = re.compile(r"[^\W_](?= )")
_LAST_WORD_ENDS = re.compile(r".*[^\W_](?= )", re.DOTALL)
_NEAR_END = 100
_SHORTEST = 3
"""Characters of a text, a separator say, in which no two words can end."""


Edges = tuple[str, int, str | None]
"""What is before a text's first end of a word, the tokens from there to its last one, and what is after.

Where no word ends in it: the text, 0 and None.
"""


def count_parts(parts: Iterable[str | Edges], count: Callable[[str], int]) -> int:
    """Return what parts cost together; each is counted once, wherever it stands, if the counter adds up.

    An encoding ends a piece between a letter and a space, whatever stands before and after. So what a part
    has from its first such place to its last costs the same everywhere, and only what stands between two of
    them, some words, is counted in its place.

    Args:
        parts: In order, each a text or its `edges_of`.
        count: The counter; `adds_up` tells whether it cuts a text so.
    """
    before, inner, after = edges_of(parts, count)
    return measure(before, count) + inner + (measure(after, count) if after else 0)


def edges_of(parts: Iterable[str | Edges], count: Callable[[str], int]) -> Edges:
    """Return the edges of parts, texts or their edges, that stand together."""
    first, total, between = None, 0, ""
    for part in parts:
        if isinstance(part, str):
            part = _edges_of(part, count) if len(part) > _SHORTEST else (part, 0, None)  # noqa: PLW2901
        before, inner, after = part
        if after is None:
            between += before
            continue
        if first is None:
            first = between + before
        else:
            total += measure(between + before, count)
        total += inner
        between = after
    return (between, 0, None) if first is None else (first, total, between)


@memoize(2**23)
def _edges_of(part: str, count: Callable[[str], int]) -> Edges:
    """Return the edges of one text; a counter that does not add up has to count it with what is beside."""
    if not getattr(count, "adds_up", False):
        return part, 0, None
    first = _WORD_ENDS.search(part)
    last = _LAST_WORD_ENDS.match(part, max(0, len(part) - _NEAR_END))
    if first is None or last is None or last.end() <= first.end():
        return part, 0, None
    return part[: first.end()], count(part[first.end() : last.end()]), part[last.end() :]


def block_of(passage: Passage, layout: Layout, *, says_place: bool = True) -> str:
    """Return a passage as it is written, with the marker that it has."""
    candidate = passage.ranked.candidate
    start = passage.spans[0][0] if passage.spans else 0
    content = passage.text
    template = layout.template
    if candidate.kind in layout.notes:  # a note of its kind
        template = replace(template, note=layout.notes[candidate.kind])
    if passage.is_truncated and not template.note and "citation" in template.passage and _ends_open(passage):
        content += CUT_MARK
    values = passage_values(
        candidate,
        content=content,
        score=candidate.relevance if layout.shown_score == "relevance" else passage.ranked.score,
        citation=passage.citation,
        names=template.variables,
    )
    if not says_place:
        values["place"] = ""
    return passage_block(
        template,
        values,
        is_truncated=passage.is_truncated,
        opens_with=open_fence_at(candidate.text, start, is_read=True) if start else "",
    )


def _ends_open(passage: Passage) -> bool:
    """Return whether a cut ends in the middle of a sentence or a line."""
    text, end = passage.ranked.candidate.text, passage.spans[-1][1] if passage.spans else 0
    following = text[end:].lstrip(" \t")
    return bool(end and following) and following[0] not in "\r\n" and text[:end].rstrip()[-1:] not in _CLOSING


_NEVER = datetime.min.replace(tzinfo=UTC)


_LEAD = 2
"""So many adjoining passages may stand before the one that they stand there for: it is read first."""


def by_relevance(passages: Sequence[Passage]) -> list[Passage]:
    """Return the best first; passages that adjoin in their source stand together, in reading order.

    Of what leads up to a passage but the last two stand where they would without it.
    """
    if not any(passage.ranked.candidate.neighbours for passage in passages):
        return list(passages)
    runs: dict[Key, list[Passage]] = {passage.key: [passage] for passage in passages}
    for passage in passages:
        candidate = passage.ranked.candidate
        for neighbour in candidate.neighbours:
            near = runs.get((candidate.source, neighbour))
            here = runs[passage.key]
            if near is not None and near is not here:
                joined = sorted([*near, *here], key=_reading_place)
                runs.update((member.key, joined) for member in joined)
    rank = {passage.key: place for place, passage in enumerate(passages)}
    placed: list[list[Passage]] = []
    for run in {id(run): run for run in runs.values()}.values():
        left = run
        while left:
            best = min(range(len(left)), key=lambda i: rank[left[i].key])
            first = max(0, best - _LEAD)
            placed.append(left[first:])
            left = left[:first]
    placed.sort(key=lambda run: min(rank[member.key] for member in run))
    return [passage for run in placed for passage in run]


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


ORDERS: Mapping[str, Callable[[Sequence[Passage]], list[Passage]]] = {
    "relevance": by_relevance,
    "edges": by_edges,
    "chronological": by_time,
    "stable": by_key,
}
"""The built-in orders by name."""


def _reading_place(passage: Passage) -> tuple[str, float]:
    return passage.ranked.candidate.position or ("", 0.0)
