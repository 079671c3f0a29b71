"""Documents as sections, and sections as the records of a collection."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_context_engine.ingest.changelog import is_dated_release, names_release, releases
from langchain_context_engine.ingest.generated import WORDLESS
from langchain_context_engine.ingest.record import (
    SEPARATOR,
    Record,
    clean_metadata,
    code_place,
    path_marks,
    trail_place,
    unique_ids,
)
from langchain_context_engine.ingest.report import Skipped
from langchain_context_engine.ingest.split import Span, Splitter

_WORD = re.compile(r"\w")
# What names the heading below it, in AsciiDoc, reStructuredText, MyST and Markdown: it belongs to that.
_LABEL = re.compile(
    r"[ \t]*(?:\[[\[#.][^\n]{1,200}\]|\.\. _[^\n]{1,200}:|\([\w.:-]{1,100}\)="
    r"|<a (?:id|name)=[^<>\n]{1,200}>(?:</a>)?)[ \t\r]*"
)
# What stands beside tests is their input; a document there is still written for people.
_OF_PROGRAMS = frozenset({"settings", "table"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading of a document: its level (1 is outermost), its title without marks, the span of its lines."""

    level: int
    title: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A stretch of a document that is one thing.

    Attributes:
        start: Offset of its first character.
        end: Offset after the last character.
        titles: The heading and those above it, outermost first; () before the first heading.
        part: What it is called where that is no heading: rows, a page, a message.
        head: Shown above each of its passages: the header of a table's rows.
        kind: doc, settings, table, mail or notebook.
        metadata: More for each of its passages.
    """

    start: int
    end: int
    titles: tuple[str, ...] = ()
    part: str = ""
    head: str = ""
    kind: str = "doc"
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What a reader found in a file: its text, or that taken out of it, and its sections, without overlap.

    `has_lines` says that the text's lines are the file's own; where not all of it is shown, `lines` are the
    numbers of those that are.
    """

    text: str
    sections: tuple[Section, ...]
    has_lines: bool = True
    lines: Sequence[int] = ()
    skipped: tuple[Skipped, ...] = ()


@dataclass(slots=True)
class Parts:
    """A document as it grows by parts that have names of their own: pages, messages, rows."""

    skipped: list[Skipped] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    length: int = 0

    def add(self, text: str, end: str = "", **section: Any) -> None:
        """Add a part; what `end` says stands between it and the next."""
        after = self.length + len(text)
        self.sections.append(Section(start=self.length, end=after, **section))
        self.texts.append(text + end)
        self.length = after + len(end)

    def leave_out(self, where: str, reason: str, detail: object = "") -> None:
        """Note what could not be read."""
        self.skipped.append(Skipped(where=where, reason=reason, detail=str(detail)[:200]))

    def document(self) -> Document:
        """Return all parts together."""
        sections, skipped = tuple(self.sections), tuple(self.skipped)
        return Document(text="".join(self.texts), sections=sections, has_lines=False, skipped=skipped)


def sections_under(
    text: str, headings: Iterable[Heading], *, silent: int = 0, **common: Any
) -> tuple[Section, ...]:
    """Return the sections under headings, in order, with common fields; they cover the whole text.

    What is silent at the text's beginning, as front matter is, goes with what comes first.

    A heading with nothing below it but a lower heading begins that heading's section; one with nothing below
    it at all belongs to the next of its level, else to what precedes it. No release is part of another,
    whatever their headings' levels: tools write `## 3.15.0 (date)` and, for a smaller one,
    `### 3.14.2 (date)` with `### Bug Fixes` below it.
    """
    headings = list(headings)
    found: list[Section] = []
    trail: list[Heading] = []
    start, body_start = 0, silent
    titles: tuple[str, ...] = ()
    outermost = min((h.level for h in headings if is_dated_release(h.title)), default=0)

    def close(end: int) -> None:
        """End the section that began at `start`: one that is headings alone goes with what precedes it."""
        is_bare = found and not text[body_start:end].strip()
        if is_bare and not any(names_release(each.title) for each in trail if each.start >= start):
            found[-1] = replace(found[-1], end=end)
        else:
            found.append(Section(start=start, end=end, titles=titles, **common))

    for given in headings:
        heading = replace(given, start=_with_labels(text, given.start, body_start))
        is_release = outermost < heading.level and outermost and is_dated_release(heading.title)
        level = outermost if is_release else heading.level
        has_text = bool(text[body_start : heading.start].strip())
        above = trail[-1] if trail else replace(heading, level=level - 1)
        is_next = level == above.level and heading.title
        goes_on = is_next and not any(map(names_release, (above.title, heading.title)))
        if has_text or (level <= above.level and not goes_on):
            close(heading.start)
            start = heading.start
        trail = [*(each for each in trail if each.level < level), replace(heading, level=level)]
        titles = tuple(each.title for each in trail if each.title)
        body_start = heading.end
    close(len(text))
    return tuple(found)


def _with_labels(text: str, start: int, floor: int) -> int:
    """Return where the labels above a heading begin, not before a place; its own start where it has none."""
    found = start
    while start > floor:
        line = text.rfind("\n", 0, start - 1) + 1
        if line < floor or ((said := text[line : start - 1]).strip() and not _LABEL.fullmatch(said)):
            break
        found, start = (line if said.strip() else found), line
    return found


def document_records(
    path: str, document: Document, splitter: Splitter, metadata: Mapping[str, Any]
) -> list[Record]:
    """Return the passages of a document, in order.

    A passage's text is `document.text[start:end]`, below its section's head where it has one. Below
    the heading of a release its version and, where it names one, its date are the passage's.
    """
    found: list[tuple[str, str, dict[str, Any]]] = []
    line, counted = 1, 0
    told = releases(path, ((s.titles, document.text[s.start : s.end]) for s in document.sections))
    for section, release in zip(document.sections, told, strict=True):
        trail = tuple(filter(None, (*section.titles, section.part)))
        place = trail_place(path, trail)
        shared = {
            **metadata,
            **section.metadata,
            **release,
            "kind": section.kind,
            "path": path,
            "title": section.titles[-1] if section.titles else section.metadata.get("title") or path,
            "headings": SEPARATOR.join(section.titles) or None,
            "document": path,
            **(path_marks(path) if section.kind in _OF_PROGRAMS else {}),
        }
        spans = _worded(
            document.text[section.start : section.end], splitter, is_code=section.kind == "settings"
        )
        for (a, b), above in spans:
            start, end, head = section.start + a, section.start + b, section.head or above
            text = document.text[start:end]
            if not (document.has_lines or _WORD.search(text)):
                continue  # the rule between two pictures
            line += document.text.count("\n", counted, start)
            counted, numbers = start, (line, line + text.count("\n"))
            first, last = (document.lines[n - 1] for n in numbers) if document.lines else numbers
            lines = {"start_line": first, "end_line": last} if document.has_lines else {}
            own = place or (code_place(path, first, last) if document.has_lines else path)
            said = clean_metadata({**shared, "start": start, "end": end, "place": own, **lines})
            found.append((SEPARATOR.join((path, *trail)), f"{head}\n{text}" if head else text, said))
    ids = unique_ids((path, lead, text) for lead, text, _ in found)
    return [
        Record(id=record_id, text=text, lead=lead, metadata=said)
        for record_id, (lead, text, said) in zip(ids, found, strict=True)
    ]


def _worded(text: str, splitter: Splitter, *, is_code: bool) -> Iterator[tuple[Span, str]]:
    """Yield the spans of a text, leaving out what is no words, each with the header of its table."""
    start = 0
    for end, after in [*(blob.span() for blob in WORDLESS.finditer(text)), (len(text), len(text))]:
        part = text[start:end]
        found = (
            ((span, "") for span in splitter(part, is_code=True)) if is_code else splitter.with_headers(part)
        )
        for (a, b), head in found:
            yield (start + a, start + b), head
        start = after
