"""The outline of a source file by its tree-sitter grammar."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from langchain_context_engine.ingest.languages import GRAMMARS, Grammar, load_parser
from langchain_context_engine.ingest.outline import Definition, Outline

if TYPE_CHECKING:
    from tree_sitter import Node

# Deeper nesting than people write; what lies deeper stays in the text of what holds it.
_DEEPEST = 60
_ABOVE = frozenset({"comment", "line_comment", "block_comment", "attribute_item", "decorator"})
_COMMENT_MARKS = re.compile(
    r"^[ \t]*+(?:/\*+|\*+/|\*|///?!?|//!|#+)[ \t]?|(?:(?<![ \t])[ \t]++|(?<!\*))\*++/[ \t]*+$", re.MULTILINE
)
_OPENING = re.compile(r"(?<![ {:;=])(?<!=>)(?: |=>|[{:;=])++$")
_VALUE_FUNCTIONS = frozenset({"arrow_function", "function_expression"})
_NAMES = frozenset(
    {
        "identifier",
        "field_identifier",
        "type_identifier",
        "qualified_identifier",
        "destructor_name",
        "operator_name",
    }
)
_WRAPPED = 2  # a wrapper holds its definition and at most one thing more: what else it holds is not its own


def tree_outline(text: str, language: str) -> Outline | None:
    """Return the outline of a source, or None where there is no grammar of its language.

    A source with mistakes gives an outline of what could be read.
    """
    parser = load_parser(language)
    if parser is None:
        return None
    # Lone surrogates cannot stand here: files are decoded, never surrogate-escaped.
    root = parser.parse(text.encode()).root_node
    walk = _Walk(grammar=GRAMMARS[language])
    return Outline(
        definitions=_merge_same_place(walk.definitions(root, "", is_inside_class=False, depth=0)),
        import_lines=frozenset(_frame_rows(root, walk.grammar)),
    )


def _frame_rows(root: Node, grammar: Grammar) -> Iterator[int]:
    """Yield the 1-based rows that only import, or only open and close a namespace."""
    waiting = list(root.children)
    while waiting:
        node = waiting.pop()
        if node.type in grammar.imports:
            yield from range(node.start_point.row + 1, _last_row(node) + 2)
        elif node.is_named and node.type in grammar.scopes:
            yield node.start_point.row + 1
            yield _last_row(node) + 1
            waiting.extend(node.children)
        elif node.type in {"declaration_list", "body_statement", "expression_statement"}:
            waiting.extend(node.children)


@dataclass(frozen=True, slots=True)
class _Walk:
    grammar: Grammar

    def definitions(self, root: Node, owner: str, *, is_inside_class: bool, depth: int) -> list[Definition]:
        """Return what is defined below a node, in order, without what functions hold."""
        found: list[Definition] = []
        waiting = list(reversed(root.children))
        while waiting:
            node = waiting.pop()
            if not node.is_named:  # a keyword may share its name with a node type
                continue
            if node.type in self.grammar.functions:
                name = _function_name(node)
                if name:
                    found.append(self._definition(node, name, owner, is_inside_class=is_inside_class))
            elif node.type in self.grammar.classes and depth < _DEEPEST and _has_body(node):
                found.append(self._class(node, owner, depth))
            elif node.type in self.grammar.scopes and depth < _DEEPEST:
                scope = _join(owner, _text(node.child_by_field_name("name")))
                found.extend(self.definitions(node, scope, is_inside_class=is_inside_class, depth=depth + 1))
            else:
                waiting.extend(reversed(node.children))
        return found

    def _class(self, node: Node, owner: str, depth: int) -> Definition:
        definition = self._definition(node, _class_name(node), owner, is_inside_class=False)
        children = self.definitions(node, definition.symbol, is_inside_class=True, depth=depth + 1)
        return replace(definition, unit_type="class", children=_merge_same_place(children))

    def _definition(self, node: Node, name: str, owner: str, *, is_inside_class: bool) -> Definition:
        outer = self._with_wrappers(node)
        receiver = _receiver(node)
        first_row, comment = _with_comments_above(outer)
        return Definition(
            symbol=_join(receiver or owner, name),
            unit_type="method" if is_inside_class or receiver else "function",
            start_line=first_row + 1,
            end_line=_last_row(outer) + 1,
            signature=_signature(outer, node),
            docstring=_COMMENT_MARKS.sub("", comment).strip(),
        )

    def _with_wrappers(self, node: Node) -> Node:
        """Return the node with what stands around it and belongs to it, as `export` does."""
        outer = node
        while outer.parent is not None:
            parent = outer.parent
            is_value = parent.type in {"variable_declarator", "pair", "public_field_definition"}
            is_around = parent.type in self.grammar.wrappers and len(parent.named_children) <= _WRAPPED
            if not (is_around or (is_value and node.type in _VALUE_FUNCTIONS)):
                break
            outer = parent
        return outer


def _function_name(node: Node) -> str:
    named = node.child_by_field_name("name")
    if named is not None:
        return _text(named)
    if node.type in _VALUE_FUNCTIONS and node.parent is not None:
        holder = node.parent
        is_named = holder.type in {"variable_declarator", "public_field_definition"}
        return _text(holder.child_by_field_name("name")) if is_named else ""
    # C and C++: the name stands at the bottom of nested declarators.
    inner = node.child_by_field_name("declarator")
    while inner is not None and inner.type not in _NAMES:
        inner = inner.child_by_field_name("declarator") or next(
            (child for child in inner.named_children if child.type in _NAMES or "declarator" in child.type),
            None,
        )
    return _text(inner).replace("::", ".")


def _class_name(node: Node) -> str:
    for holder, part in ((node, "name"), (node, "type"), (node.parent, "declarator")):
        named = holder.child_by_field_name(part) if holder is not None else None
        if named is not None:
            return _text(named)
    return "anonymous"


def _receiver(node: Node) -> str:
    """Return the type that a Go method belongs to, or ""."""
    receiver = _text(node.child_by_field_name("receiver"))
    names = re.findall(r"\w+", receiver.partition("[")[0])
    return names[-1] if names else ""


def _has_body(node: Node) -> bool:
    """Say whether a node defines a type: in C, `struct point p` only names one."""
    return not node.type.endswith("_specifier") or node.child_by_field_name("body") is not None


def _signature(outer: Node, node: Node) -> str:
    body = node.child_by_field_name("body")
    source = outer.text or b""
    end = len(source.partition(b"\n")[0]) if body is None else body.start_byte - outer.start_byte
    source = source[:end]
    return _OPENING.sub("", " ".join(source.decode("utf-8", "replace").split()))


def _with_comments_above(node: Node) -> tuple[int, str]:
    """Return the first row of a definition with the comments right above it, and their text."""
    first_row = node.start_point.row
    comments: list[str] = []
    above = _sibling_above(node)
    while above is not None and above.type in _ABOVE and _last_row(above) >= first_row - 1:
        before = above.prev_sibling
        if before is not None and _last_row(before) == above.start_point.row:
            break  # it ends the line of something else
        first_row = above.start_point.row
        if "comment" in above.type:
            comments.append(_text(above).rstrip("\n"))
        above = before
    return first_row, "\n".join(reversed(comments))


def _sibling_above(node: Node) -> Node | None:
    """Return what stands before a node; for the first of a body (Ruby) what stands before the body."""
    parent = node.parent
    if node.prev_sibling is None and parent is not None and parent.start_byte == node.start_byte:
        return parent.prev_sibling
    return node.prev_sibling


def _last_row(node: Node) -> int:
    """Return the last row with text of a node; a line comment of Rust ends at the next row's start."""
    end = node.end_point
    return max(end.row - 1, node.start_point.row) if end.column == 0 else end.row


def _merge_same_place(definitions: list[Definition]) -> tuple[Definition, ...]:
    """Drop what begins within the definition before it, as two on one line do: lines cannot part them."""
    kept: list[Definition] = []
    for definition in sorted(definitions, key=lambda d: (d.start_line, -d.end_line)):
        if not kept or definition.start_line > kept[-1].end_line:
            kept.append(definition)
    return tuple(kept)


def _join(owner: str, name: str) -> str:
    return f"{owner}.{name}" if owner and name else owner or name


def _text(node: Node | None) -> str:
    return node.text.decode("utf-8", "replace") if node is not None and node.text else ""
