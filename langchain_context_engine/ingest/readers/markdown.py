"""Markdown by CommonMark: headings, and what front matter says of the document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from langchain_context_engine.ingest.sections import Document, Heading, sections_under
from langchain_context_engine.models.clock import read_instant

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_LONGEST_TITLE = 500
_LONGEST_FRONT_MATTER = 20_000
_FRONT_MATTER = re.compile(r"(---|\+\+\+)[ \t]*\n")
_FIELD = re.compile(r"([A-Za-z_-]{1,40})[ \t]*[:=][ \t]*(\S[^\n]*)$", re.MULTILINE)
_DATES = ("last_modified_at", "lastmod", "updated", "date")
_HTML_HEADING = re.compile(r"<h([1-6])\b[^>\n]{0,300}>", re.IGNORECASE)
_HTML_TAG = re.compile(r"<[^>\n]{0,300}>")
_REFERENCE = re.compile(r"\[([^\[\]]+)\]\[[^\[\]]*\]")
_ANCHOR = re.compile(r"[ \t]{0,8}\{#[\w:.-]{1,100}\}$")


def read_markdown(path: str, text: str, chunk_size: int) -> Document:
    """Return the sections of a Markdown document; those of its headings that stand in nothing else."""
    del path, chunk_size
    body_start, said = _front_matter(text)
    sections = sections_under(text, list(markdown_headings(text, body_start)), metadata=said)
    return Document(text=text, sections=sections)


def markdown_headings(text: str, body_start: int = 0) -> Iterator[Heading]:
    r"""Yield the headings, ATX and underlined; none in fences, comments, quotes or lists.

    Args:
        text: The document.
        body_start: Where front matter ends.

    Example:
        >>> [h.title for h in markdown_headings("# A\n\n<!--\n# B\n-->\n\nC\n---\n")]
        ['A', 'C']
    """
    body = text[body_start:]
    starts = [body_start]
    for line in body.replace("\r\n", " \n").replace("\r", "\n").split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    for level, title, (first, after) in _titled_blocks(body):
        yield Heading(level=level, title=title, start=starts[first], end=min(starts[after], len(text)))


def _titled_blocks(body: str) -> Iterator[tuple[int, str, list[int]]]:
    """Yield (level, title, first line and the line after) of each heading."""
    from markdown_it.token import Token

    for token, content in pairwise([*_blocks().parse(body, {}), Token("", "", 0)]):
        if token.level or not token.map:
            continue
        if token.type == "heading_open":
            yield int(token.tag[1:]), _plain(content.content), token.map
        elif token.type == "html_block" and (opened := _HTML_HEADING.match(token.content)):
            inside = token.content[opened.end() : opened.end() + _LONGEST_TITLE]
            title = " ".join(_HTML_TAG.sub(" ", inside.partition(f"</h{opened[1]}")[0]).split())
            if title:
                yield int(opened[1]), title, token.map


@cache
def _blocks() -> MarkdownIt:
    """Return a parser of blocks alone: what stands within a paragraph is not needed."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


@cache
def _inlines() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark")


def _plain(title: str) -> str:
    """Return a heading as it reads: links by their text, without marks."""
    title = _ANCHOR.sub("", title[:_LONGEST_TITLE])
    if not any(mark in title for mark in "`*_[]<>&\\!\n"):
        return title.strip()
    if "`" not in title:  # what a link refers to stands elsewhere in the document
        title = _REFERENCE.sub(r"\1", title)
    tokens = _inlines().parseInline(title)
    children = tokens[0].children or [] if tokens else []
    words = [
        " " if child.type in {"softbreak", "hardbreak"} else child.content
        for child in children
        if child.type != "html_inline"
    ]
    return " ".join("".join(words).split())


def _front_matter(text: str) -> tuple[int, dict[str, Any]]:
    """Return where a document's front matter ends (0 without one), and the title and date it gives."""
    opening = _FRONT_MATTER.match(text)
    if opening is None:
        return 0, {}
    close = text.find(f"\n{opening[1]}", opening.end() - 1, _LONGEST_FRONT_MATTER)
    end = text.find("\n", close + 1) + 1 or len(text)
    if close < 0 or text[close + 1 : end].strip() != opening[1]:
        return 0, {}
    fields: dict[str, str] = {}
    for name, value in _FIELD.findall(text[opening.end() : close]):
        fields.setdefault(name.lower(), value.strip().strip("'\""))
    instants = [instant for name in _DATES if (instant := _dated(fields.get(name)))]
    said: dict[str, Any] = {"title": fields["title"]} if fields.get("title") else {}
    return end, {**said, **({"created_at": int(max(instants))} if instants else {})}


def _dated(value: str | None) -> float | None:
    """Return a written date as epoch seconds; a bare number says nothing certain."""
    instant = read_instant(value) if value and "-" in value[1:] else None
    return instant.timestamp() if instant else None
