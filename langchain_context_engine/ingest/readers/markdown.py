"""Markdown by CommonMark, and MDX: headings, and what front matter says of the document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import accumulate, zip_longest
from typing import TYPE_CHECKING, Any

from langchain_context_engine.ingest.report import SkippedError
from langchain_context_engine.ingest.sections import Document, Heading, sections_under
from langchain_context_engine.models.clock import read_instant

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_LONGEST_TITLE = 500
_FRONT_MATTER = re.compile(r"(---|\+\+\+)[ \t]*\n(?P<said>[^\0]{0,20000}?\n|)\1[ \t]*(?:\n|\Z)")
_FIELD = re.compile(r"([A-Za-z_-]{1,40})[ \t]*[:=][ \t]*(\S[^\n]*)$", re.MULTILINE)
_DATES = ("last_modified_at", "lastmod", "updated", "date")
_HTML_HEADING = re.compile(r"<h([1-6])\b[^>\n]{0,300}>", re.IGNORECASE)
_HTML_TAG = re.compile(r"<[^>\n]{0,300}>")
_REFERENCE = re.compile(r"\[([^\[\]]+)\]\[[^\[\]]*\]")
_ANCHOR = re.compile(r"[ \t]{0,8}(?:\{#[\w:.-]{1,100}\}|\[#[\w:.-]{1,100}\]|\{/\*[^\n]{0,100}\*/\})$")
# What is no prose in MDX, from where it begins a line to where it ends: comments, modules' lines, tags.
_FENCE = re.compile(r"[ \t]{0,40}(`{3,}|~{3,})")
_MDX = (
    (re.compile(r"[ \t]{0,40}\{/\*"), re.compile(r"\*/\}")),
    (re.compile(r"(?:import|export)\s"), re.compile(r"^\s*$|[;\"'})]\s*$")),
    (re.compile(r"[ \t]{0,40}</?(?:[A-Za-z][\w.]{0,80}(?=[\s/>]|$)|>)"), re.compile(r">\s*$")),
)
_OPEN_TITLE = re.compile(r"[ \t]{1,40}(?=#{1,6}\s|```|~~~)")


def read_markdown(path: str, text: str, chunk_size: int) -> Document:
    """Return the sections of a Markdown document; those of its headings that stand in nothing else."""
    del chunk_size
    body_start, said = front_matter(text)
    is_mdx = path.lower().endswith(".mdx")
    headings = list(markdown_headings(text, body_start, is_mdx=is_mdx))
    return Document(text=text, sections=sections_under(text, headings, silent=body_start, metadata=said))


def markdown_document(text: str, title: str = "") -> Document:
    """Return what was converted to Markdown under its headings, and its title where it has no other."""
    if not text.strip():
        raise SkippedError("empty", "no text, only pictures or scripts")
    headings = list(markdown_headings(text, in_lists=True))
    if title and not any(heading.level == 1 for heading in headings):
        headings.insert(0, Heading(level=0, title=title, start=0, end=0))
    return Document(text=text, sections=sections_under(text, headings), has_lines=False)


def markdown_headings(
    text: str, body_start: int = 0, *, is_mdx: bool = False, in_lists: bool = False
) -> Iterator[Heading]:
    """Yield the headings below front matter, ATX and underlined; in lists only where they are asked for.

    None stands in a fence, a comment or a quote, nor in the components and modules' lines of MDX.
    """
    body = text[body_start:]
    lines = body.replace("\r\n", " \n").replace("\r", "\n").split("\n")
    starts = [body_start, *accumulate((len(line) + 1 for line in lines), initial=body_start)][1:]
    tokens = _parser(is_whole=False).parse(_as_markdown(lines) if is_mdx else body, {})
    for token, content in zip_longest(tokens, tokens[1:]):
        if (token.level and not in_lists) or not token.map:
            continue
        level, title = 0, ""
        if token.type == "heading_open":
            level, title = int(token.tag[1:]), _plain(content.content)
        elif token.type == "html_block" and (opened := _HTML_HEADING.match(token.content)):
            inside = token.content[opened.end() : opened.end() + _LONGEST_TITLE]
            title = " ".join(_HTML_TAG.sub(" ", inside.partition(f"</h{opened[1]}")[0]).split())
            level = int(opened[1]) if title else 0
        if level:
            start, end = starts[token.map[0]], min(starts[token.map[1]], len(text))
            yield Heading(level=level, title=title, start=start, end=end)


def _as_markdown(lines: list[str]) -> str:
    """Return MDX as Markdown of as many lines: components, comments and modules' lines are empty ones."""
    shown: list[str] = []
    fence, until = "", None
    for line in lines:
        mark = _FENCE.match(line)
        if until is None and (fence or mark):
            is_end = mark is not None and mark[1].startswith(fence) and not line[mark.end() :].strip()
            fence = mark[1] if mark is not None and not fence else "" if is_end else fence
            shown.append(line.lstrip() if mark else line)
            continue
        begun = line
        if until is None:
            opened = next(((found.end(), end) for start, end in _MDX if (found := start.match(line))), None)
            begun, until = (line[opened[0] :], opened[1]) if opened else (line, None)
        if until is None:
            shown.append(_OPEN_TITLE.sub("", line) if _OPEN_TITLE.match(line) else line)
            continue
        until = None if until.search(begun) else until
        shown.append("")
    return "\n".join(shown)


@cache
def _parser(*, is_whole: bool = True) -> MarkdownIt:
    """Return a parser, or one of blocks alone: what stands within a paragraph is mostly not needed."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    if not is_whole:
        parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _plain(title: str) -> str:
    """Return a heading as it reads: links by their text, without marks."""
    title = _ANCHOR.sub("", title[:_LONGEST_TITLE])
    if "`" not in title:  # what a link refers to stands elsewhere in the document
        title = _REFERENCE.sub(r"\1", title)
    tokens = _parser().parseInline(title)
    children = tokens[0].children or [] if tokens else []
    words = [
        " " if child.type in {"softbreak", "hardbreak"} else child.content
        for child in children
        if child.type != "html_inline"
    ]
    return " ".join("".join(words).split())


def front_matter(text: str) -> tuple[int, dict[str, Any]]:
    """Return where a document's front matter ends (0 without one), and the title and date it gives."""
    found = _FRONT_MATTER.match(text)
    if found is None:
        return 0, {}
    fields: dict[str, str] = {}
    for name, value in _FIELD.findall(found["said"]):
        fields.setdefault(name.lower(), value.strip().strip("'\""))
    instants = [instant for name in _DATES if (instant := _dated(fields.get(name)))]
    said: dict[str, Any] = {"title": fields["title"]} if fields.get("title") else {}
    return found.end(), {**said, **({"created_at": int(max(instants))} if instants else {})}


def _dated(value: str | None) -> float | None:
    """Return a written date as epoch seconds; a bare number says nothing certain."""
    instant = read_instant(value) if value and "-" in value[1:] else None
    return instant.timestamp() if instant else None
