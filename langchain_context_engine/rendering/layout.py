"""How passages become one text: order, sections, markers, frame. Pack and render both write with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_context_engine.errors import ConfigError, TemplateError
from langchain_context_engine.models.freeze import clean_text
from langchain_context_engine.models.types import Candidate, Key, Passage, Ranked, Section
from langchain_context_engine.rendering.citations import CITATION_STYLES, CitationStyle, opens_bracket
from langchain_context_engine.rendering.containment import open_fence_at, slot_names
from langchain_context_engine.rendering.templates import (
    Template,
    fill,
    fill_frame,
    passage_block,
    passage_values,
)

Markers = Callable[[Sequence[Passage]], Sequence[str]]
"""Gives each passage its citation marker; the passages come in text order."""

Arrange = Callable[[Sequence[Passage]], Sequence[Passage]]
"""Puts passages into text order; they come best first."""

CUT_MARK = " …"
"""Stands after a cited passage whose cut ends in the middle of a sentence, where the template has no note."""

_CLOSING = frozenset(".!?…。！？:;)]}\"'”’»」|`>")

Blocks = dict[tuple[Key, str, str, bool], str]
"""Rendered passages by (key, text, marker, says where it is from), so that measuring again is cheap."""


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
    markers: Markers = CITATION_STYLES["number"]
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

    def shown(self, ranked: Ranked) -> float:
        """Return what `{{score}}` shows."""
        return ranked.candidate.relevance if self.shown_score == "relevance" else ranked.score

    def template_of(self, candidate: Candidate) -> Template:
        """Return the template of a candidate's passage: the note is that of its kind."""
        note = self.notes.get(candidate.kind)
        return self.template if note is None else replace(self.template, note=note)

    def group(self, passage: Any) -> str:
        """Return the group of a passage, a ranked or a plain candidate."""
        ranked = getattr(passage, "ranked", passage)
        candidate = getattr(ranked, "candidate", ranked)
        return str(candidate.kind if self.group_by == "kind" else candidate.origin)

    def title(self, group: str) -> str:
        """Return the title of a group's section, on one line: a group's name may come from a record."""
        return " ".join(self.titles.get(group, group).split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A text with the passages in it, in text order, with their markers and blocks; `tokens` once counted."""

    text: str
    tokens: int = 0
    passages: tuple[Passage, ...] = ()
    blocks: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()


def _arranged(passages: Sequence[Passage], arrange: Arrange) -> Sequence[Passage]:
    """Return the passages in text order.

    Raises:
        ConfigError: An order of one's own drops passages, repeats them or gives others.
    """
    arranged = arrange(passages)
    if [*map(id, passages)] != [*map(id, arranged)] and sorted(map(id, arranged)) != sorted(
        map(id, passages)
    ):
        raise ConfigError("an order gives back the very passages that it was given, each once")
    return arranged


def write(passages: Sequence[Passage], layout: Layout, blocks: Blocks | None = None) -> Written:
    """Return the text of some passages; none give "", without a lonely header or footer.

    Args:
        passages: Best first.
        layout: How they become a text.
        blocks: Rendered passages from earlier calls; filled and read.
    """
    if not passages:
        return Written(text="")
    blocks = {} if blocks is None else blocks
    groups = _grouped(_arranged(passages, layout.arrange), layout)
    in_order = [passage for group in groups.values() for passage in group]
    style = _style(groups, in_order, layout, blocks)
    return _marked(groups, in_order, style(in_order), layout, blocks)


def _marked(
    groups: Mapping[str, Sequence[Passage]],
    in_order: Sequence[Passage],
    markers: Iterable[str],
    layout: Layout,
    blocks: Blocks,
) -> Written:
    """Return the text of passages in text order, each with its marker."""
    cited = [replace(p, citation=clean_text(marker)) for p, marker in zip(in_order, markers, strict=True)]
    rendered = [
        _block(passage, layout, blocks, says_place=says)
        for passage, says in zip(cited, _placed(groups.values()), strict=True)
    ]
    body, sections = _body(groups, cited, rendered, layout)
    header, footer = fill_frame(layout.template, _frame_values(cited, layout), rendered)
    text = header + body + footer + fill(layout.closing, {"query": layout.query})
    return Written(text=text, passages=tuple(cited), blocks=tuple(rendered), sections=sections)


def _style(
    groups: Mapping[str, Sequence[Passage]], passages: Sequence[Passage], layout: Layout, blocks: Blocks
) -> Markers:
    """Return what gives the markers, none of them one that stands elsewhere in the text already."""
    if not isinstance(layout.markers, CitationStyle):
        return layout.markers
    template = layout.template
    frame = [template.header, template.section, template.separator, template.footer, layout.closing]
    for used in {id(t): t for t in (layout.template_of(p.ranked.candidate) for p in passages)}.values():
        frame += [used.passage, used.note]
    names = [layout.empty_section, layout.query if layout.closing else "", *map(layout.title, groups)]
    avoid = [text for text in (*frame, *names) if opens_bracket(text)]
    if any(map(opens_bracket, frame)):
        # What stands in its brackets may be a passage's to say: `[{{id}}]`, or a header's [ to a footer's ].
        avoid.append(_marked(groups, passages, [""] * len(passages), layout, blocks).text)
    return replace(layout.markers, avoid=tuple(avoid)) if avoid else layout.markers


def _frame_values(passages: Sequence[Passage], layout: Layout) -> dict[str, str]:
    counted = [(group, p) for p in passages if (group := layout.group(p)) not in layout.uncounted]
    things = {_thing(passage, layout.counted_by) for _, passage in counted}
    return {"count": str(len(things)), "sources": str(len({group for group, _ in counted}))}


def _thing(passage: Passage, key: str) -> Any:
    """Return what a passage counts as: what its metadata name, or else itself."""
    named = passage.ranked.candidate.metadata.get(key) if key else None
    return passage.key if named is None else str(named)


def _grouped(passages: Sequence[Passage], layout: Layout) -> dict[str, list[Passage]]:
    """Return passages by section, in section order; one nameless group where there are no sections."""
    if not layout.template.section:
        return {"": list(passages)}
    groups: dict[str, list[Passage]] = {name: [] for name in layout.titles}
    for passage in passages:
        groups.setdefault(layout.group(passage), []).append(passage)
    return {name: members for name, members in groups.items() if members or layout.empty_section}


def _placed(groups: Iterable[Sequence[Passage]]) -> Iterator[bool]:
    """Yield, for each passage in text order, whether its place is said: the one before it has another."""
    for group in groups:
        before = ""
        for passage in group:
            place = passage.ranked.candidate.place
            yield place != before
            before = place


def block_of(passage: Passage, layout: Layout, *, says_place: bool = True) -> str:
    """Return a passage as it is written, with the marker that it has."""
    candidate = passage.ranked.candidate
    start = passage.spans[0][0] if passage.spans else 0
    content = passage.text
    template = layout.template_of(candidate)
    if passage.is_truncated and not template.note and "citation" in template.passage and _ends_open(passage):
        content += CUT_MARK
    values = passage_values(
        candidate, content=content, score=layout.shown(passage.ranked), citation=passage.citation
    )
    if not says_place:
        values["place"] = ""
    return passage_block(
        template,
        values,
        is_truncated=passage.is_truncated,
        opens_with=open_fence_at(candidate.text, start) if start else "",
    )


def _ends_open(passage: Passage) -> bool:
    """Return whether a cut ends in the middle of a sentence or a line."""
    text, end = passage.ranked.candidate.text, passage.spans[-1][1] if passage.spans else 0
    following = text[end:].lstrip(" \t")
    return bool(end and following) and following[0] not in "\r\n" and text[:end].rstrip()[-1:] not in _CLOSING


def _block(passage: Passage, layout: Layout, blocks: Blocks, *, says_place: bool) -> str:
    known = (passage.key, passage.text, passage.citation, says_place)
    if known not in blocks:
        blocks[known] = block_of(passage, layout, says_place=says_place)
    return blocks[known]


def _body(
    groups: Mapping[str, Sequence[Passage]], cited: Sequence[Passage], rendered: Sequence[str], layout: Layout
) -> tuple[str, tuple[Section, ...]]:
    template = layout.template
    if not template.section:
        return template.separator.join(rendered), ()
    parts, sections, start = [], [], 0
    for name, members in groups.items():
        end = start + len(members)
        title = layout.title(name)
        heading = fill(template.section, {"title": title, "count": str(len(members))})
        parts.append(heading + (template.separator.join(rendered[start:end]) or layout.empty_section))
        sections.append(Section(title=title, keys=tuple(p.key for p in cited[start:end])))
        start = end
    return template.separator.join(parts), tuple(sections)
