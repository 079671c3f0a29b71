"""HTML: the text that a person sees, with its headings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from langchain_context_engine.ingest.readers.generated import refuse_api_page
from langchain_context_engine.ingest.sections import Document, Heading, sections_under

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_UNSEEN = frozenset(
    [
        "script",
        "style",
        "noscript",
        "template",
        "svg",
        "math",
        "head",
        "iframe",
        "object",
        "canvas",
        "nav",
        "select",
        "option",
        "button",
    ]
)
_BLOCKS = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "center",
        "dd",
        "details",
        "dialog",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "html",
        "li",
        "main",
        "ol",
        "p",
        "pre",
        "section",
        "summary",
        "table",
        "tbody",
        "tfoot",
        "thead",
        "tr",
        "ul",
        "caption",
    ]
)
_APART = frozenset(
    ["p", "pre", "table", "ul", "ol", "dl", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "figure"]
)
_TITLES = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}


def read_html(path: str, text: str, chunk_size: int) -> Document:
    r"""Return what a page says, without scripts, styles, comments and navigation.

    Raises:
        SkippedError: generated: it was made of the comments in some code.

    Example:
        >>> read_html("a.html", "<h1>A</h1><p>One\n<b>two</b>.<script>no</script>", 0).text
        'A\n\nOne two.'
    """
    del path, chunk_size
    refuse_api_page(text)
    shown, headings, title = html_text(text)
    if title and not any(heading.level == 1 for heading in headings):
        headings.insert(0, Heading(level=0, title=title, start=0, end=0))
    return Document(text=shown, sections=sections_under(shown, headings), has_lines=False)


def html_text(text: str) -> tuple[str, list[Heading], str]:
    """Return the text of a page, its headings in it, and its title."""
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(text)
    page = _Page()
    if tree.body is not None:
        for node, is_closing in _walk(tree.body):
            page.take(node, is_closing=is_closing)
    titled = tree.css_first("title")
    title = " ".join(titled.text().split()) if titled is not None else ""
    return page.text(), page.headings, title[:200]


def _walk(root: LexborNode) -> Iterator[tuple[LexborNode, bool]]:
    """Yield each node when it opens and when it closes, without recursion."""
    waiting: list[tuple[LexborNode, bool]] = [(root, False)]
    while waiting:
        node, is_closing = waiting.pop()
        if is_closing or node.tag in _UNSEEN:
            if is_closing:
                yield node, True
            continue
        yield node, False
        waiting.append((node, True))
        children = []
        child = node.first_child
        while child is not None:
            children.append((child, False))
            child = child.next
        waiting.extend(reversed(children))


@dataclass(slots=True)
class _Page:
    """Text as it grows: white space is one space, blocks are lines."""

    headings: list[Heading] = field(default_factory=list)
    _parts: list[str] = field(default_factory=list)
    _length: int = 0
    _breaks: int = 0
    _has_space: bool = False
    _verbatim: int = 0
    _heading: tuple[int, int] | None = None
    _rows: list[int] = field(default_factory=list)
    _names: int = 0
    _row: int = 0

    def text(self) -> str:
        return "".join(self._parts)

    def take(self, node: LexborNode, *, is_closing: bool) -> None:
        tag = node.tag or ""
        if tag == "-text":
            if not is_closing:
                self._say(node.text_content or "")
            return
        if tag in {"br", "hr"}:
            self._break(1)
            return
        if tag in {"td", "th"} and is_closing:
            self._cell()
            self._names = self._names + 1 if tag == "th" and self._names >= 0 else -1
        if tag in {"table", "tr"}:
            self._table(tag, is_closing=is_closing)
        if tag in _BLOCKS:
            self._break(2 if tag in _APART else 1)
        if tag == "pre":
            self._verbatim += -1 if is_closing else 1
        if tag == "li" and not is_closing:
            self._put("- ")
        if tag in _TITLES:
            self._title(_TITLES[tag], is_closing=is_closing)

    def _table(self, tag: str, *, is_closing: bool) -> None:
        """Rule off a first row that is names alone, as Markdown does: each row is understood by it."""
        if tag == "table":
            self._rows = self._rows[:-1] if is_closing else [*self._rows, 0]
        elif not is_closing:
            self._names, self._row = 0, self._length + self._breaks
        elif self._rows:
            self._rows[-1] += 1
            if self._rows[-1] == 1 and self._names > 1 and "\n" not in self._tail(self._row):
                self._breaks = 1
                self._put(" | ".join("---" for _ in range(self._names)) + " |")

    def _title(self, level: int, *, is_closing: bool) -> None:
        if not is_closing:
            self._flush()
            self._heading = (level, self._length)
        elif self._heading is not None:
            started = self._heading[1]
            title = self._tail(started)
            self.headings.append(
                Heading(level=level, title=" ".join(title.split())[:300], start=started, end=self._length)
            )
            self._heading = None

    def _tail(self, start: int) -> str:
        parts, length = [], self._length
        for part in reversed(self._parts):
            if length <= start:
                break
            parts.append(part)
            length -= len(part)
        return "".join(reversed(parts))

    def _say(self, text: str) -> None:
        if self._verbatim:
            if text.strip("\n"):
                self._put(text.strip("\n"))
            return
        words = text.split()
        if not words:
            self._has_space = self._has_space or bool(text)
            return
        self._has_space = self._has_space or text[0].isspace()
        self._put(" ".join(words))
        self._has_space = text[-1].isspace()

    def _cell(self) -> None:
        if not self._breaks:
            self._put(" |")
            self._has_space = True

    def _put(self, text: str) -> None:
        if not self._breaks and self._has_space and self._parts and not self._parts[-1].endswith((" ", "\n")):
            text = " " + text
        self._flush()
        self._parts.append(text)
        self._length += len(text)
        self._has_space = False

    def _break(self, count: int) -> None:
        self._breaks = max(self._breaks, count)
        self._has_space = False

    def _flush(self) -> None:
        if self._breaks and self._parts:
            self._parts.append("\n" * self._breaks)
            self._length += self._breaks
        self._breaks = 0
