"""What a definition in a syntax tree is called."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from langchain_context_engine.ingest.worded import arguments_of, block_of, name_of

if TYPE_CHECKING:
    from tree_sitter import Node

# Functions that stand as a value: they bear the name of what they are assigned to.
VALUE_FUNCTIONS = frozenset(
    {"arrow_function", "function_expression", "generator_function", "function_definition", "object"}
)
_DECLARED_NAMES = frozenset(
    {
        "identifier",
        "field_identifier",
        "type_identifier",
        "qualified_identifier",
        "destructor_name",
        "operator_name",
    }
)
_NAME_PARTS = {
    "variable_declarator": ("name",),
    "assignment_expression": ("left",),
    "pair": ("key",),
    "public_field_definition": ("name",),
    "field_definition": ("property", "name"),
}
# The last sign is of names that ask or warn, as in Elixir: `valid?`, `save!`.
_READABLE = re.compile(r"[\w$.#~'\"-]{1,120}[?!]?")
_NAMELESS_TYPES = {"init_declaration": "init", "deinit_declaration": "deinit"}


@dataclass(slots=True, eq=False)
class Frame:
    """A node with what it stands in: a tree finds a node's parent only from its root.

    Attributes:
        node: The node.
        siblings: All children of its parent, itself included.
        index: Where among these it stands.
        above: Its parent's frame.
        source: The whole source: a tree that was parsed in pieces finds the text of a node slowly.
    """

    node: Node
    siblings: list[Node]
    index: int
    above: Frame | None
    source: bytes

    def text(self, node: Node | None) -> str:
        """Return what a node of this tree says, or "" for None."""
        if node is None:
            return ""
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def below(self) -> list[Frame]:
        """Return the frames of the node's children."""
        children = self.node.children
        return [Frame(child, children, index, self, self.source) for index, child in enumerate(children)]

    def named_siblings(self) -> int:
        """Return how many of the parent's children are more than punctuation."""
        return self.above.node.named_child_count if self.above else 1


def function_name(frame: Frame) -> str:
    """Return the name that a function, macro or object goes by, or "" where it has none.

    A function assigned to a name bears that name, whatever it calls itself.
    """
    node = frame.node
    if node.type == "call":
        return name_of(node)
    if node.type in VALUE_FUNCTIONS and (assigned := _assigned_name(frame)):
        return assigned
    if node.type in _NAMELESS_TYPES:
        return _NAMELESS_TYPES[node.type]
    named = node.child_by_field_name("name")
    if named is not None:
        return frame.text(named).replace("::", ".").replace(":", ".").strip(".")
    # C and C++: the name stands at the bottom of nested declarators.
    inner = node.child_by_field_name("declarator")
    while inner is not None and inner.type not in _DECLARED_NAMES:
        inner = inner.child_by_field_name("declarator") or next(
            (c for c in inner.named_children if c.type in _DECLARED_NAMES or "declarator" in c.type), None
        )
    return frame.text(inner).replace("::", ".")


def _assigned_name(frame: Frame) -> str:
    holder = frame.above
    if holder is None:
        return ""
    if holder.node.type == "expression_list" and holder.above is not None:  # Lua
        targets = [n for n in holder.siblings if n.type == "variable_list"]
        return _readable(frame.text(targets[0]) if targets else "")
    if holder.node.type == "export_statement":
        return "" if frame.node.child_by_field_name("name") else "default"
    for part in _NAME_PARTS.get(holder.node.type, ()):
        named = holder.node.child_by_field_name(part)
        if named is not None:
            return _readable(frame.text(named))
    return ""


def _readable(name: str) -> str:
    plain = name.replace(".prototype.", ".").replace(":", ".").strip("'\"")
    return plain if _READABLE.fullmatch(plain) else ""


def class_name(frame: Frame) -> str:
    """Return the name of a class, or of the type that an `impl` is for, without its parameters."""
    if frame.node.type == "call":
        return name_of(frame.node) or "anonymous"
    above = frame.above.node if frame.above is not None else None
    for holder, part in ((frame.node, "name"), (frame.node, "type"), (above, "declarator")):
        named = holder.child_by_field_name(part) if holder is not None else None
        if named is not None:
            return frame.text(named).partition("<")[0].strip().replace("::", ".").strip(".")
    return "anonymous"


def receiver(frame: Frame) -> str:
    """Return the type that a Go method belongs to, or ""."""
    received = frame.text(frame.node.child_by_field_name("receiver"))[:200]
    names = re.findall(r"\w+", received.partition("[")[0])
    return names[-1] if names else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A call that declares a test, or a group of them.

    Attributes:
        title: What it is called.
        is_group: It holds others.
    """

    title: str
    is_group: bool


_GROUPS = frozenset({"describe", "context", "suite", "feature"})
_TRIALS = frozenset({"it", "test", "specify", "scenario", "should"})
_LONGEST_TITLE = 80


def trial(frame: Frame) -> Trial | None:
    """Return what a call declares where it is `describe("…", …)`, `it "…" do` and the like."""
    node = frame.node
    called = next(filter(None, map(node.child_by_field_name, ("function", "method", "target", "name"))), None)
    arguments = arguments_of(node)
    if called is None or arguments is None or called.end_byte - called.start_byte > _LONGEST_TITLE:
        return None
    word = frame.text(called).partition(".")[0]
    given = arguments.named_children
    if word not in _GROUPS | _TRIALS or not given:
        return None
    holds_code = block_of(node) is not None or given[-1].type in VALUE_FUNCTIONS
    title = " ".join(frame.text(given[0])[: _LONGEST_TITLE * 2].split()).strip("'\"`:")[:_LONGEST_TITLE]
    return Trial(title=title, is_group=word in _GROUPS) if title and holds_code else None
