"""Languages in which a definition is a call of a word, as in Elixir: `def name(…) do … end`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from langchain_context_engine.ingest.outline import Definition

if TYPE_CHECKING:
    from tree_sitter import Node

# What says something of the definition below it.
_ATTRIBUTES = (b"@doc ", b"@spec ", b"@impl ", b"@deprecated ", b"@since ", b"@typedoc ")
_LONGEST_WORD = 30


def word_of(node: Node) -> str:
    """Return the word that a call begins with; "" where it is another kind of call."""
    target = node.child_by_field_name("target")
    is_word = target is not None and target.type == "identifier"
    text = target.text if target is not None and is_word else None
    return text.decode("utf-8", "replace") if text and len(text) <= _LONGEST_WORD else ""


def name_of(node: Node) -> str:
    """Return the name that a call of such a word defines, or ""."""
    given = arguments_of(node)
    named = given.named_children[0] if given is not None and given.named_children else None
    while named is not None and named.type not in {"alias", "identifier"}:
        if named.type == "call":
            named = named.child_by_field_name("target")
        elif named.type == "binary_operator":
            operator = named.child_by_field_name("operator")
            if operator is None or operator.type != "when":  # `def left <~> right` defines `<~>`
                return _text(operator)
            named = named.child_by_field_name("left")  # a guard: `name(…) when …`
        else:
            return ""
    return _text(named)


def arguments_of(node: Node) -> Node | None:
    """Return what a call is given."""
    return node.child_by_field_name("arguments") or _child(node, "arguments")


def block_of(node: Node) -> Node | None:
    """Return the block of a call, from `do` to `end`."""
    return node.child_by_field_name("block") or _child(node, "do_block")


def is_attribute(node: Node, source: bytes) -> bool:
    """Say whether a node is an attribute that belongs to the definition below it."""
    return node.type == "unary_operator" and source.startswith(_ATTRIBUTES, node.start_byte)


def said_by(attribute: str) -> str:
    r"""Return what an attribute tells people: the text of `@doc`.

    Example:
        >>> said_by("@doc '''\n  Sends it.\n  '''"), said_by("@impl true")
        ('Sends it.', '')
    """
    if not attribute.startswith("@doc "):
        return ""
    lines = attribute.removeprefix("@doc ").strip().strip("\"'").split("\n")
    return "\n".join(line.strip() for line in lines).strip()


def with_clauses_joined(definitions: Iterable[Definition]) -> Iterator[Definition]:
    """Yield definitions, those clauses of one function that stand together being one."""
    last: Definition | None = None
    for definition in definitions:
        if last is not None:
            is_clause = definition.symbol == last.symbol and not definition.docstring and not last.children
            if is_clause and definition.start_line <= last.end_line + 2:
                last = replace(last, end_line=definition.end_line)
                continue
            yield last
        last = definition
    if last is not None:
        yield last


def _text(node: Node | None) -> str:
    return (node.text or b"").decode("utf-8", "replace") if node is not None else ""


def _child(node: Node, kind: str) -> Node | None:
    return next((child for child in node.children if child.type == kind), None)
