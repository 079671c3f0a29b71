"""The outline of a source file: what is defined in it, by its grammar or by the lines that open something.

A query, `queries/<name>.scm`, speaks as the grammars' own `tags.scm` do, which mark where a name stands but
not how far its definition reaches:

- `@definition.<kind>` is a node that defines: function, class, object (kept where it holds functions), scope
  (a namespace: it lends its name), macro and value (kept from three lines on), test, group (of tests).
- `@name`, `@owner` (the type that a method belongs to), `@doc` and `@body` say more of it, `@start` where it
  begins before its node; a `name` property names what has none. Several patterns may tell of one node.
- `@comment`, `@attribute` belong to what stands below them; `@wrap` to the definition that it ends with.
- `@import` only imports; what an `@anonymous` function holds is its own.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from langchain_context_engine.ingest.languages import TABLES

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Query

GRAMMARS: Mapping[str, tuple[str, str, str]] = TABLES["grammars"]
"""Language → the module that bundles its grammar, the function that gives it, and its queries."""


@cache
def load_grammar(language: str) -> tuple[Language, Query] | None:
    """Return a language's grammar and its query; None where there is none, or no extra `code`."""
    if language not in GRAMMARS:
        return None
    module, factory, names = GRAMMARS[language]
    try:
        from tree_sitter import Language, Query

        grammar = Language(getattr(importlib.import_module(module), factory)())
    except ImportError:
        return None
    folder = files(__package__) / "queries"
    source = "\n".join((folder / f"{name}.scm").read_text(encoding="utf-8") for name in names.split())
    return grammar, Query(grammar, source)


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A function, a method or a class (also a struct, a trait, …), and where it stands, by 1-based lines.

    Its first line is that of its decorators and the comment above it; `header` are the lines of its
    signature. A class has children; functions keep what they hold to themselves.
    """

    symbol: str
    unit_type: str
    start_line: int
    end_line: int
    header: range = range(0)
    signature: str = ""
    docstring: str = ""
    children: tuple[Definition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """The outermost definitions of a file, in order, and the lines (from 1) that only import or frame."""

    definitions: tuple[Definition, ...] = ()
    import_lines: frozenset[int] = frozenset()
    docstring: str = ""


class TooComplexError(Exception):
    """A parser takes too long over a source."""


# Steps that the parser reports: people's code needs 0.01 to 0.04 for a byte, what parsers choke on eight and
# more, step by step more slowly. Counted, not timed: the same file always gives the same.
_FREE_STEPS, _STEPS_PER_BYTE, _PIECE = 500, 0.1, 1024
# Deeper nesting than people write; what lies deeper stays in the text of what holds it.
_DEEPEST = 60
_LONGEST_NAME, _LONGEST_TITLE, _LONGEST_SIGNATURE = 120, 80, 2000
_LONGEST_HEADER = 25
"""Lines of a signature that are shown in an outline."""
_SHORT = 3
"""Lines of a macro, or of a call that is given a function, from which on it is a definition of its own."""
_CLAUSE = 5
"""Lines up to which a definition is one with that of the same name beside it."""

_CONFLICT = re.compile(rb"^(?:<{7} |={7}\r?$|>{7} |\|{7} )[^\n]*", re.MULTILINE)
_MACRO_LINE = re.compile(
    rb"^[ \t]*+[A-Z][A-Z0-9]*+(?:_[A-Z0-9]++){1,12}(?:\([^;{}\n]{0,400}\))?(?=[ \t]*(?://[^\n]*)?\r?$)",
    re.MULTILINE,
)
_MACRO_OF_A_CLASS = re.compile(rb"(?:(?<=class )|(?<=struct ))[A-Z][A-Z0-9]*+(?:_[A-Z0-9]++)++(?= +\w)")
_BRACKET_SPACE = re.compile(r"(?<=[(\[]) |,? (?=[)\]])")
# `{`, `:`, `=` or `=>` before a body; `>=` and `-=` are names of operators.
_OPENS_BODY = re.compile(r"(?:[ {:;\\]|=>|(?<![->])=){1,20}\Z")
_COMMA, _ANGLED = re.compile(r",\s*"), re.compile(r"<[^<>]*>")
_LETTERS = bytes([*range(128), *(b"x" * 128)])
_COMMENT_MARK = re.compile(r"[ \t]*+(?:/\*+!?|\*+(?!\*)|//[/!]?|#+!?|--+(?:\[\[)?|%+|;+)?[ \t]?")
_QUOTES = re.compile(r"[a-zA-Z]{0,3}(\"\"\"|'''|\"|'|~s)")


def outline_of(text: str, language: str) -> Outline:
    """Return the outline of a source; an empty one where nothing reads its language.

    A source with mistakes, or amid a merge, gives an outline of what could be read.

    Raises:
        TooComplexError: The parser takes too many steps for a source of this length.
    """
    known = load_grammar(language)
    if known is None:
        return _line_outline(text, language)
    grammar, query = known
    # Lone surrogates cannot stand here: files are decoded, never surrogate-escaped.
    source = text.encode("utf-8", "replace")
    if b"\n>>>>>>> " in source:
        source = _blank(source, _CONFLICT)
    # Bash's scanner reads beyond its table of letters for what is none of ASCII, and ends the process.
    parsed = source.translate(_LETTERS) if language == "shell" else source
    root = _parsed(grammar, parsed)
    if root.has_error and language in {"c", "cpp"}:
        # What a preprocessor makes of macros is unknown, and a parser takes them for a type or a name.
        bare = _blank(_blank(source, _MACRO_LINE), _MACRO_OF_A_CLASS)
        if bare != source and _misread(grammar, other := _parsed(grammar, bare)) < _misread(grammar, root):
            root = other
    marks = _Marks(source, source.split(b"\n"))
    found, docstring = marks.found(root, query)
    definitions = marks.nested(root, found)
    lines = frozenset(row + 1 for row in marks.frame_rows)
    return Outline(definitions=definitions, import_lines=lines, docstring=docstring)


def _blank(source: bytes, pattern: re.Pattern[bytes]) -> bytes:
    """Return a source with spaces for what a pattern finds; every offset stays."""
    return pattern.sub(lambda found: b" " * len(found[0]), source)


def _parsed(grammar: Language, source: bytes) -> Node:
    from tree_sitter import Parser

    steps, most = 0, _FREE_STEPS + int(len(source) * _STEPS_PER_BYTE)

    def has_too_many(_offset: int, _has_error: bool) -> bool:
        nonlocal steps
        steps += 1
        return steps > most

    try:
        # A parser of its own: threads may read at once.
        return (
            Parser(grammar)
            .parse(lambda offset, _point: source[offset : offset + _PIECE], progress_callback=has_too_many)
            .root_node
        )
    except ValueError:
        raise TooComplexError from None


def _misread(grammar: Language, root: Node) -> tuple[int, bool]:
    """Return how many bytes of a source a parser could make nothing of, and whether anything was amiss."""
    from tree_sitter import Query, QueryCursor

    errors = QueryCursor(Query(grammar, "(ERROR) @error")).captures(root).get("error", [])
    return sum(node.end_byte - node.start_byte for node in errors), root.has_error


def _last_row(node: Node) -> int:
    """Return the last row with text of a node; a line comment of Rust ends at the next row's start."""
    end = node.end_point
    return max(end.row - 1, node.start_point.row) if end.column == 0 else end.row


@dataclass(slots=True)
class _Mark:
    """A node that the query names, what its patterns say of it, and what stands in it."""

    kind: str
    node: Node
    first: Node
    pattern: int = 0
    said: dict[str, Node] = field(default_factory=dict)
    name: str = ""
    symbol: str = ""
    holds: list[Definition] = field(default_factory=list)


@dataclass(slots=True)
class _Marks:
    """What a query found in a source, put together.

    `above` has, of what belongs to what is below it, last row → first row and words (None where it has none);
    `frame_rows` only import, or open and close a namespace.
    """

    source: bytes
    rows: list[bytes]
    above: dict[int, tuple[int, str | None]] = field(default_factory=dict)
    frame_rows: set[int] = field(default_factory=set)

    def _text(self, node: Node | None) -> str:
        return "" if node is None else self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def found(self, root: Node, query: Query) -> tuple[list[_Mark], str]:
        """Return the marks of definitions, in order, and the module's docstring; note the others."""
        from tree_sitter import QueryCursor

        marks: dict[int, _Mark] = {}
        wraps: list[_Mark] = []
        imports: list[int] = []
        docstring = ""
        for pattern, captures in QueryCursor(query).matches(root):
            said = {name: nodes[0] for name, nodes in captures.items()}
            label = next(name for name in said if name not in _FACTS and not name.startswith("_"))
            node = said[label]
            first, last = node.start_point.row, _last_row(node)
            if label == "module":
                docstring = _docstring(self._text(said["doc"]))
            elif label in {"comment", "attribute"}:
                if self._is_alone(node):
                    told = _without_marks(self._text(node)) if label == "comment" else None
                    told = _docstring(self._text(said["doc"])) if "doc" in said else told
                    earlier = self.above.get(last, (first, None))
                    self.above[last] = (min(first, earlier[0]), earlier[1] if told is None else told)
            elif label == "import":
                self.frame_rows.update(range(first, last + 1))
                imports.append(first)
            elif label == "frame":
                self.frame_rows.update((first, last))
            elif label == "wrap":
                wraps.append(_Mark(label, node, node))
            else:
                kind = label.removeprefix("definition.")
                mark = marks.setdefault(node.id, _Mark(kind, node, node, pattern))
                if pattern > mark.pattern:  # what stands further down in a query knows better
                    mark.kind, mark.pattern, mark.said = kind, pattern, mark.said | said
                else:
                    mark.said = said | mark.said
                mark.first = mark.said.get("start", node)
                mark.name = query.pattern_settings(pattern).get("name") or mark.name
        self.frame_rows.update(*map(self._attributes_above, imports))
        found = [*wraps, *marks.values()]
        return sorted(found, key=lambda mark: (mark.node.start_byte, -mark.node.end_byte)), docstring

    def _is_alone(self, node: Node) -> bool:
        """Say whether nothing else stands on the lines of a node."""
        start, end = node.start_point, node.end_point
        after = self.rows[end.row][end.column :] if end.column else b""
        return not self.rows[start.row][: start.column].strip() and not after.strip()

    def nested(self, root: Node, marks: Iterable[_Mark]) -> tuple[Definition, ...]:
        """Return the definitions, what a class holds within it."""
        opened = [_Mark("file", root, root)]
        for mark in marks:
            while len(opened) > 1 and opened[-1].node.end_byte <= mark.node.start_byte:
                self._close(opened)
            around = opened[-1]
            if len(opened) > _DEEPEST or around.kind in _CLOSED:
                continue
            if around.kind == "wrap" and _last_row(around.node) == _last_row(mark.node):
                mark.first = around.first
            if mark.kind == "wrap":
                mark.symbol, mark.holds = around.symbol, around.holds
                opened.append(mark)
            elif mark.kind == "anonymous":
                is_the_file = (mark.node.end_byte - mark.node.start_byte) * 2 >= len(self.source)
                if not is_the_file and around.kind != "group":
                    opened.append(mark)
            elif name := self._name(mark):
                owner = self._text(mark.said.get("owner")) or around.symbol
                mark.symbol = f"{owner}{_SIGN.get(mark.kind, '.')}{name}" if owner else name
                opened.append(mark)
        while len(opened) > 1:
            self._close(opened)
        return _parted(opened[0].holds)

    def _name(self, mark: _Mark) -> str:
        if mark.kind in _LONG and _last_row(mark.node) - mark.node.start_point.row + 1 < _SHORT:
            return ""
        name = mark.name or " ".join(self._text(mark.said.get("name")).split())
        if mark.kind in _SIGN:
            if name.startswith("("):  # TEST(Pot, Pours)
                return _COMMA.sub(".", name.strip("()"))[:_LONGEST_TITLE]
            return name.strip("'\"`:")[:_LONGEST_TITLE]
        name = name.partition("<")[0].strip() or name if mark.kind == "class" else name
        name = _ANGLED.sub("", name) if "::" in name else name
        name = name.replace("::", ".").replace(".prototype.", ".").strip("'\"").strip("()") or name
        name = name.replace(":", ".") if mark.node.type == "function_declaration" else name
        name = name if "/" in name else name.strip(".")
        return name if len(name) <= _LONGEST_NAME else ""

    def _close(self, opened: list[_Mark]) -> None:
        """Take the innermost open mark off, and put what it defines among what is found around it."""
        mark = opened.pop()
        around = opened[-1]
        if mark.kind in {"wrap", "anonymous"}:
            return
        first = mark.first.start_point.row
        above, comment = self._with_above(first)
        if mark.kind in {"scope", "group"}:
            self.frame_rows.update((first, _last_row(mark.node)), () if comment else range(above, first))
            around.holds.extend(mark.holds)
            return
        named = mark.said.get("name") if mark.kind == "class" else None
        header = named.end_point.row if named else first
        holds = _parted(mark.holds) if mark.kind in _HOLDERS else ()
        children = tuple(child for child in holds if child.start_line > header + 1)
        if mark.kind == "object" and not children:
            return
        holder = next(other.kind for other in reversed(opened) if other.kind != "wrap")
        kind = "function" if mark.kind == "value" else mark.kind
        is_method = kind == "function" and (holder in _HOLDERS or "owner" in mark.said)
        documented = mark.said.get("doc")
        around.holds.append(
            Definition(
                symbol=mark.symbol,
                unit_type="method" if is_method else kind,
                start_line=above + 1,
                end_line=_last_row(mark.node) + 1,
                header=_header(mark),
                signature=self._signature(mark),
                docstring=_docstring(self._text(documented)) if documented else comment,
                children=children,
            )
        )

    def _with_above(self, row: int) -> tuple[int, str]:
        """Return the first row of a definition with the comments above it that are its own, and their text.

        Its own are those right above it, and one that documents (JSDoc, Javadoc, Doxygen, PHPDoc) with an
        empty row between as well; a file's first comment documents the file.
        """
        told: list[str | None] = []
        while True:
            if row - 1 in self.above:
                row, text = self.above[row - 1]
            elif row > 1 and not self.rows[row - 1].strip() and self._documents(row - 2):
                row, text = self.above[row - 2]
            else:
                return row, "\n".join(text for text in reversed(told) if text is not None).strip()
            told.append(text)

    def _attributes_above(self, row: int) -> range:
        """Return the rows right above an import that say nothing without it."""
        first = row
        while (above := self.above.get(first - 1)) and above[1] is None:
            first = above[0]
        return range(first, row)

    def _documents(self, last: int) -> bool:
        first = self.above.get(last, (0, ""))[0]
        return self.rows[first].lstrip().startswith(b"/**") and any(row.strip() for row in self.rows[:first])

    def _signature(self, mark: _Mark) -> str:
        body, start = _head_end(mark), mark.first.start_byte
        head = self.source[start : start + _LONGEST_SIGNATURE]
        is_short = _last_row(mark.node) - mark.first.start_point.row + 1 < _SHORT
        end = mark.node.end_byte if is_short else start + len(head.partition(b"\n")[0])
        text = " ".join(head[: (body[0] if body else end) - start].decode("utf-8", "replace").split())
        return _OPENS_BODY.sub("", _BRACKET_SPACE.sub("", text))


def _header(mark: _Mark) -> range:
    """Return the 1-based lines of a signature; of a very long one the first says the name."""
    body, first = _head_end(mark), mark.first.start_point.row
    last = first if body is None else max(first, body[1])
    return range(first + 1, (last if last - first < _LONGEST_HEADER else first) + 2)


def _head_end(mark: _Mark) -> tuple[int, int] | None:
    """Return the byte and the row where a signature ends, as far as the grammar tells it from the body."""
    body, node = mark.said.get("body"), mark.node
    if body is not None:
        return body.start_byte, body.start_point.row - (body.type == "preproc_arg")
    while (body := node.child_by_field_name("body")) is None:
        inner = node.child_by_field_name("value") or node.child_by_field_name("right")
        if inner is None:
            return None
        node = inner
    before = [c for c in node.children if c.start_byte < body.start_byte and "comment" not in c.type]
    is_below = bool(before) and before[-1].end_point.row < body.start_point.row and not before[-1].is_named
    last = before[-1] if before and is_below else body
    return (before[-1].end_byte if before else body.start_byte), last.start_point.row


_FACTS = frozenset({"name", "owner", "doc", "body", "start"})
_CLOSED = frozenset({"function", "value", "macro", "test", "anonymous"})
"""What keeps to itself what is defined in it."""
_HOLDERS = frozenset({"class", "object"})
_LONG = frozenset({"value", "macro"})
_SIGN = {"test": " › ", "group": " › "}


def _parted(definitions: Iterable[Definition]) -> tuple[Definition, ...]:
    """Return definitions in order, short ones joined with those of the same name beside them.

    What begins within the one before it, as two on one line do, is dropped: lines cannot part them.
    """
    kept: list[Definition] = []
    for each in sorted(definitions, key=lambda d: (d.start_line, -d.end_line)):
        last = kept[-1] if kept else None
        if last is not None and _are_one(last, each):
            kept[-1] = replace(last, end_line=max(last.end_line, each.end_line))
        elif last is None or each.start_line > last.end_line:
            kept.append(each)
    return tuple(kept)


def _are_one(last: Definition, each: Definition) -> bool:
    """Say whether two are clauses, overloads, or a property that is read and set: one of them is short."""
    is_same = (last.symbol, last.unit_type) == (each.symbol, each.unit_type)
    is_beside = is_same and each.start_line <= last.end_line + 2
    lines = min(d.end_line - d.start_line + 1 for d in (last, each))
    return is_beside and lines <= _CLAUSE and not (each.docstring or each.children or last.children)


def _without_marks(comment: str) -> str:
    """Return what a comment says."""
    lines = [line.strip() for line in comment.split("\n")]
    lines = [line[:-2].rstrip("*") if line.endswith("*/") else line for line in lines]
    return "\n".join(_COMMENT_MARK.sub("", line, count=1).rstrip() for line in lines).strip()


def _docstring(literal: str) -> str:
    """Return what a string literal says, its indentation cleaned."""
    found = _QUOTES.match(literal)
    inner = literal[found.end() :].removesuffix(found[1]) if found else literal
    return inspect.cleandoc(inner)


def _line_outline(text: str, language: str) -> Outline:
    """Return the outline of a source whose definitions begin lines; an empty one for other languages."""
    opening, unit_type, ending = TABLES["lines"].get(language, (r"(?!)", "", ""))
    lines = text.split("\n")
    found = [(number, opened) for number, line in enumerate(lines) if (opened := re.match(opening, line))]
    starts = []
    for number, _ in found:  # the comment right above belongs to it
        start = number
        while start and lines[start - 1][:1] == "#" and lines[start - 1][:2] != "#!":
            start -= 1
        starts.append(start)
    definitions = []
    for (number, opened), start, after in zip(found, starts, [*starts[1:], len(lines)], strict=False):
        ends = (
            n for n in range(number, after - 1) if ending and re.match(ending, "\n".join(lines[n : n + 2]))
        )
        last = next(ends, after - 1)
        while last > number and not lines[last].strip():
            last -= 1
        definitions.append(
            Definition(
                symbol=" ".join([name for name in opened.groups() if name][-1].split()),
                unit_type=unit_type,
                start_line=start + 1,
                end_line=last + 1,
                signature=" ".join(lines[number].split())[:300],
            )
        )
    return Outline(definitions=tuple(definitions))
