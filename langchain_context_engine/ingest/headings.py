"""Documents into passages: Markdown and plain text cut at their headings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langchain_context_engine.ingest.record import Record, clean_metadata, unique_ids
from langchain_context_engine.ingest.split import Splitter

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_MARKED = re.compile(r" {0,3}(#{1,6}(?=[ \t])|={1,6}(?=[ \t]+\w))")
_UNDERLINE = re.compile(r"([=\-~^\"*+])\1{2,}[ \t]*$")
_NOT_A_TITLE = re.compile(r"\s*(?:[|>#\-*+]|\d+[.)]\s|$)")
_FRONT_MATTER = re.compile(r"---\n.*?\n---[ \t]*(?:\n|$)", re.DOTALL)
_UNDERLINE_ORDER = '=-~^"*+'
_TITLE_SEPARATOR = " › "


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A stretch of a document under one heading.

    Attributes:
        start: Offset of the heading's first character.
        end: Offset after the last character.
        titles: The heading and those above it, outermost first; () before the first heading.
    """

    start: int
    end: int
    titles: tuple[str, ...] = ()


def sections(text: str, *, has_fences: bool = True) -> list[Section]:
    r"""Return the sections of a document, in order; together they cover the whole text.

    Read are Markdown's and AsciiDoc's marked headings and underlined ones (Markdown, reST); what
    stands in code fences or in front matter is no heading. A heading with nothing below it but a
    lower heading begins that heading's section.

    Args:
        text: The document.
        has_fences: Lines of ``` or ~~~ fence code; in reST they underline.

    Example:
        >>> [s.titles for s in sections("# Guide\n\nHello.\n\n## Install\n\nRun it.")]
        [('Guide',), ('Guide', 'Install')]
    """
    found: list[Section] = []
    trail: list[tuple[int, str]] = []
    start, body_start = 0, 0
    titles: tuple[str, ...] = ()
    for level, title, heading_start, heading_end in _headings(text, has_fences=has_fences):
        if text[body_start:heading_start].strip():
            found.append(Section(start=start, end=heading_start, titles=titles))
            start = heading_start
        trail = [*(above for above in trail if above[0] < level), (level, title)]
        titles, body_start = tuple(name for _, name in trail if name), heading_end
    found.append(Section(start=start, end=len(text), titles=titles))
    return found


def _headings(text: str, *, has_fences: bool) -> list[tuple[int, str, int, int]]:
    """Return (level, title, start, end) of every heading."""
    found = []
    fence = ""
    front_matter = _FRONT_MATTER.match(text)
    position = front_matter.end() if front_matter else 0
    previous, previous_start = "", position
    for line in text[position:].split("\n"):
        end = min(position + len(line) + 1, len(text))
        opened = _FENCE.match(line) if has_fences else None
        if fence:
            fence = "" if opened and _closes(line, fence) else fence
            previous = ""
        elif opened:
            fence, previous = opened[1], ""
        elif marked := _MARKED.match(line):
            found.append((len(marked[1]), _marked_title(line[marked.end() :]), position, end))
            previous = ""
        elif _is_underline(line, previous):
            level = 1 + _UNDERLINE_ORDER.index(line[0])
            found.append((level, previous.strip(), previous_start, end))
            previous = ""
        else:
            previous, previous_start = line, position
        position = end
    return found


def _marked_title(rest: str) -> str:
    title = rest.strip()
    closed = title.rstrip("#=")
    return closed.rstrip() if closed != title and closed[-1:] in {"", " ", "\t"} else title


def _closes(line: str, fence: str) -> bool:
    mark = line.strip()
    return len(mark) >= len(fence) and not mark.strip(fence[0])


def _is_underline(line: str, previous: str) -> bool:
    if not _UNDERLINE.match(line) or _NOT_A_TITLE.match(previous):
        return False
    # Other marks than Markdown's two are reST, whose underline is as long as its title.
    return line[0] in "=-" or len(line.rstrip()) >= len(previous.rstrip())


def document_records(
    path: str, text: str, splitter: Splitter, metadata: Mapping[str, Any] | None = None
) -> list[Record]:
    """Return the passages of a document, in order; `text[start:end]` is a passage's text.

    Args:
        path: The document's path, its name in the metadata (`path`, `document`).
        text: The document.
        splitter: How a long section is cut.
        metadata: More for every passage.
    """
    pieces = []
    for section in sections(text, has_fences=not path.lower().endswith(".rst")):
        for start, end in splitter(text[section.start : section.end]):
            pieces.append((section.start + start, section.start + end, section.titles))
    leads = [_TITLE_SEPARATOR.join((path, *titles)) for _, _, titles in pieces]
    ids = unique_ids((path, lead, text[a:b]) for lead, (a, b, _) in zip(leads, pieces, strict=True))
    records = []
    line, counted = 1, 0
    for record_id, lead, (start, end, titles) in zip(ids, leads, pieces, strict=True):
        if start >= counted:
            line, counted = line + text.count("\n", counted, start), start
        else:  # an overlap steps back
            line, counted = line - text.count("\n", start, counted), start
        records.append(
            Record(
                id=record_id,
                text=text[start:end],
                lead=lead,
                metadata=clean_metadata(
                    {
                        **(metadata or {}),
                        "kind": "doc",
                        "path": path,
                        "title": titles[-1] if titles else path,
                        "headings": _TITLE_SEPARATOR.join(titles) or None,
                        "document": path,
                        "start": start,
                        "end": end,
                        "start_line": line,
                        "end_line": line + text.count("\n", start, end),
                    }
                ),
            )
        )
    return records
