"""The outline of a source file by its tree-sitter grammar."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from langchain_context_engine.ingest.above import last_row, with_comments_above
from langchain_context_engine.ingest.grammars import GRAMMARS, Grammar, load_parser
from langchain_context_engine.ingest.macros import trial_above, trial_function, without_macros
from langchain_context_engine.ingest.naming import (
    VALUE_FUNCTIONS,
    Frame,
    Trial,
    class_name,
    function_name,
    receiver,
    trial,
)
from langchain_context_engine.ingest.outline import Definition, Outline
from langchain_context_engine.ingest.worded import block_of, with_clauses_joined, word_of

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

# Deeper nesting than people write; what lies deeper stays in the text of what holds it.
_DEEPEST = 60
# Steps that the parser reports: people's code needs 0.01 to 0.025 for a byte; what needs more is what
# parsers choke on, step by step more slowly. Counted, not timed: the same file always gives the same.
_FREE_STEPS = 500
_STEPS_PER_BYTE = 0.03
_PIECE = 65_536
_COMMENT_MARKS = re.compile(
    r"^[ \t]*+(?:/\*+|\*+/|\*|///?!?|//!|#+|--+)[ \t]?|(?:(?<![ \t])[ \t]++|(?<!\*))\*++/[ \t]*+$",
    re.MULTILINE,
)
_OPENING = frozenset(" {:;=>")
_LONGEST_SIGNATURE = 2000
_HOLDERS = frozenset(
    [
        "variable_declarator",
        "pair",
        "public_field_definition",
        "field_definition",
        "assignment_expression",
        "expression_statement",
        "assignment_statement",
        "expression_list",
        "variable_declaration",
    ]
)
_OBJECTS = frozenset({"object"})
_WITH_MACROS = frozenset({"c", "cpp"})
_WRAPPED = 2  # a wrapper holds its definition and at most one thing more: what else it holds is not its own
_MACRO_LINES = 3


class TooComplexError(Exception):
    """A parser takes too long over a source."""


def tree_outline(text: str, language: str) -> Outline | None:
    """Return the outline of a source, or None where there is no grammar of its language.

    A source with mistakes gives an outline of what could be read.

    Raises:
        TooComplexError: The parser takes too many steps for a source of this length.
    """
    parser = load_parser(language)
    if parser is None:
        return None
    # Lone surrogates cannot stand here: files are decoded, never surrogate-escaped.
    source = text.encode("utf-8", "replace")
    root = _parsed(parser, source).root_node
    if root.has_error and language in _WITH_MACROS and (bare := without_macros(source)) != source:
        bare_root = _parsed(parser, bare).root_node
        if _misread(bare_root) < _misread(root):
            root, source = bare_root, bare
    walk = _Walk(grammar=GRAMMARS[language], source=source)
    top = Frame(root, [root], 0, None, source)
    definitions = _merge_same_place(walk.definitions(top, "", is_inside_class=False, depth=0))
    rows = walk.frame_rows.union(_frame_rows(root, walk.grammar))
    return Outline(definitions=definitions, import_lines=frozenset(rows))


def _parsed(parser: Parser, source: bytes) -> Tree:
    steps, most = 0, _FREE_STEPS + int(len(source) * _STEPS_PER_BYTE)

    def has_too_many(_offset: int, _has_error: bool) -> bool:
        nonlocal steps
        steps += 1
        return steps > most

    try:
        return parser.parse(
            lambda offset, _point: source[offset : offset + _PIECE], progress_callback=has_too_many
        )
    except ValueError:
        parser.reset()
        raise TooComplexError from None


def _misread(root: Node) -> tuple[int, bool]:
    """Return how many bytes of a source a parser could make nothing of, and whether anything was amiss."""
    size = 0
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type == "ERROR":
            size += node.end_byte - node.start_byte
        elif node.has_error:
            waiting.extend(node.children)
    return size, root.has_error


def _frame_rows(root: Node, grammar: Grammar) -> Iterator[int]:
    """Yield the 1-based rows that only import, or only open and close a namespace."""
    waiting = list(root.children)
    while waiting:
        node = waiting.pop()
        if node.type in grammar.imports:
            yield from range(node.start_point.row + 1, last_row(node) + 2)
        elif node.is_named and node.type in grammar.scopes:
            yield node.start_point.row + 1
            yield last_row(node) + 1
            waiting.extend(node.children)
        elif node.type in {"declaration_list", "body_statement", "expression_statement"}:
            waiting.extend(node.children)


@dataclass(frozen=True, slots=True)
class _Walk:
    grammar: Grammar
    source: bytes
    frame_rows: set[int] = field(default_factory=set)

    def definitions(self, top: Frame, owner: str, *, is_inside_class: bool, depth: int) -> list[Definition]:
        """Return what is defined below a node, in order, without what functions hold."""
        found: list[Definition] = []
        waiting = list(reversed(top.below()))
        while waiting:
            frame = waiting.pop()
            if not frame.node.is_named:  # a keyword may share its name with a node type
                continue
            here = self._defined_by(frame, owner, is_inside_class=is_inside_class, depth=depth)
            if here is None:
                waiting.extend(reversed(frame.below()))
            else:
                found.extend(here)
        return found

    def _defined_by(
        self, frame: Frame, owner: str, *, is_inside_class: bool, depth: int
    ) -> list[Definition] | None:
        """Return what a node defines, or None where what it defines is below."""
        kind, grammar = frame.node.type, self.grammar
        if kind in grammar.functions:
            name = function_name(frame)
            if title := trial_function(frame, name):
                test = self._definition(frame, title, owner, is_inside_class=False)
                return [replace(test, unit_type="test")]
            if name:
                return [self._definition(frame, name, owner, is_inside_class=is_inside_class)]
            return None if self._is_the_file(frame.node) else []
        if kind in grammar.macros:
            return self._macro(frame, owner)
        if depth >= _DEEPEST:
            return None
        if kind in grammar.classes and _has_body(frame.node):
            return [self._class(frame, owner, depth)]
        if kind in _OBJECTS:
            return self._object(frame, owner, depth)
        if kind == "compound_statement" and (found := trial_above(frame)):
            test = self._definition(frame, found[0], owner, is_inside_class=False)
            return [replace(test, start_line=found[1] + 1, signature=found[0], unit_type="test")]
        if kind in grammar.scopes:
            scope = _join(owner, class_name(frame))
            return self.definitions(frame, scope, is_inside_class=is_inside_class, depth=depth + 1)
        return self._called(frame, owner, depth) if kind in grammar.calls else None

    def _called(self, frame: Frame, owner: str, depth: int) -> list[Definition] | None:
        """Return what a call defines: by its word, or as a test."""
        role = self.grammar.words.get(word_of(frame.node)) if self.grammar.words else None
        if role == "class":
            return [self._class(frame, owner, depth)]
        if role == "function" and (name := function_name(frame)):
            return [self._definition(frame, name, owner, is_inside_class=False)]
        called = trial(frame)
        return self._trial(frame, called, owner, depth) if called else None

    def _macro(self, frame: Frame, owner: str) -> list[Definition]:
        """Return a macro of several lines; a short one says more beside its neighbours."""
        if last_row(frame.node) - frame.node.start_point.row + 1 < _MACRO_LINES:
            return []
        macro = self._definition(frame, function_name(frame), owner, is_inside_class=False)
        return [replace(macro, unit_type="macro")]

    def _trial(self, frame: Frame, called: Trial, owner: str, depth: int) -> list[Definition]:
        """Return a test that is a call with a title, or those of a group of them."""
        title = f"{owner} › {called.title}" if owner else called.title
        if called.is_group:
            self.frame_rows.update((frame.node.start_point.row + 1, last_row(frame.node) + 1))
            return self.definitions(frame, title, is_inside_class=False, depth=depth + 1)
        if frame.above is not None and frame.above.node.type == "expression_statement":
            frame = frame.above
        test = self._definition(frame, "", "", is_inside_class=False)
        return [replace(test, symbol=title, unit_type="test")]

    def _class(self, frame: Frame, owner: str, depth: int) -> Definition:
        definition = self._definition(frame, class_name(frame), owner, is_inside_class=False)
        children = self.definitions(frame, definition.symbol, is_inside_class=True, depth=depth + 1)
        children = [c for c in children if definition.start_line <= c.start_line]
        merged = _merge_same_place(children)
        if self.grammar.words:
            merged = tuple(with_clauses_joined(merged))
        return replace(definition, unit_type="class", children=merged)

    def _object(self, frame: Frame, owner: str, depth: int) -> list[Definition]:
        """Return a named object with functions as what holds them, else what it has below."""
        name = function_name(frame)
        inner = self.definitions(frame, _join(owner, name), is_inside_class=bool(name), depth=depth + 1)
        if not (name and inner):
            return inner
        held = self._definition(frame, name, owner, is_inside_class=False)
        inside = [child for child in inner if child.start_line > held.start_line]
        return [replace(held, unit_type="object", children=_merge_same_place(inside))]

    def _definition(self, frame: Frame, name: str, owner: str, *, is_inside_class: bool) -> Definition:
        outer = self._with_wrappers(frame)
        received_by = receiver(frame)
        first_row, comment = with_comments_above(outer)
        return Definition(
            symbol=_join(received_by or owner, name),
            unit_type="method" if is_inside_class or received_by else "function",
            start_line=first_row + 1,
            end_line=last_row(outer.node) + 1,
            signature=self._signature(outer.node, frame.node),
            docstring=_COMMENT_MARKS.sub("", comment).strip(),
        )

    def _with_wrappers(self, frame: Frame) -> Frame:
        """Return the node with what stands around it and belongs to it, as `export` does."""
        outer = frame
        is_value = frame.node.type in VALUE_FUNCTIONS or frame.node.type in _OBJECTS
        while outer.above is not None:
            parent = outer.above.node
            is_around = parent.type in self.grammar.wrappers and outer.named_siblings() <= _WRAPPED
            if not (is_around or (is_value and parent.type in _HOLDERS)):
                break
            if sum(n.type == "variable_declarator" for n in outer.siblings) > 1:
                break  # it declares others beside this one
            outer = outer.above
        return outer

    def _signature(self, outer: Node, node: Node) -> str:
        body = node.child_by_field_name("body") or node.child_by_field_name("value")
        if body is None and self.grammar.words:
            body = block_of(node)
        start = outer.start_byte
        if body is None or body.start_byte <= start:
            end = start + len(self.source[start : start + _LONGEST_SIGNATURE].partition(b"\n")[0])
        else:
            end = body.start_byte
        text = self.source[start : min(end, start + _LONGEST_SIGNATURE)].decode("utf-8", "replace")
        text = " ".join(text.split())
        while text and text[-1] in _OPENING and not text.endswith(("->", ">")):
            text = text[:-1]
        return text.removesuffix("=>").rstrip() if text.endswith("=>") else text

    def _is_the_file(self, node: Node) -> bool:
        """Say whether a nameless function is a file's wrapping, as in `(function () { … })()`."""
        return (node.end_byte - node.start_byte) * 2 >= len(self.source)


def _has_body(node: Node) -> bool:
    """Say whether a node defines a type: in C, `struct point p` only names one."""
    return not node.type.endswith("_specifier") or node.child_by_field_name("body") is not None


def _merge_same_place(definitions: list[Definition]) -> tuple[Definition, ...]:
    """Drop what begins within the definition before it, as two on one line do: lines cannot part them."""
    kept: list[Definition] = []
    for definition in sorted(definitions, key=lambda d: (d.start_line, -d.end_line)):
        if not kept or definition.start_line > kept[-1].end_line:
            kept.append(definition)
    return tuple(kept)


def _join(owner: str, name: str) -> str:
    return f"{owner}.{name}" if owner and name else owner or name
