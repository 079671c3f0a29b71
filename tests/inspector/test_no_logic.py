"""Pages draw: what they compute of an answer stands in the library or in `inspector/figures`, with its test."""

from __future__ import annotations

import ast

import pytest

from tests.conftest import ROOT

FILES = sorted(path for path in (ROOT / "inspector").rglob("*.py") if path.parent.name != "figures")
PACKAGE = "langchain_context_engine"

DRAWN_FROM = (
    "trace",
    "evaluation",
    "journal",
    "models",
    "filters",
    "text.differences",
    "text.matches",
    "text.words",
)
"""Rooms that tell what was recorded or replayed."""

OPENED = ("search.sheets", "search.stores")
"""What looks at a store that a person opened."""

NO_BUSINESS = (
    "chromadb", "difflib", "heapq", "numpy", "random", "rapidfuzz", "shutil", "socket", "sqlite3", "statistics",
    "tempfile", "threading", "tiktoken", "urllib",
)  # fmt: skip

FIGURES = {
    "adds", "budget", "contributions", "coverage", "details", "milliseconds", "ndcg", "overlap", "place",
    "precision", "recall", "relevance", "score", "signals", "similarity", "tokens", "utilisation", "weight",
}  # fmt: skip
"""Figures of an answer, its passages and its candidates."""


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def computed(tree):
    """Return the arithmetic in a file that takes a figure of an answer; how many there are may be counted."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and not isinstance(node.op, (ast.BitOr, ast.BitAnd)):
            taken = [part.attr for part in operands(node) if isinstance(part, ast.Attribute)]
            if FIGURES & set(taken):
                yield ast.unparse(node)


def operands(node):
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Call) and ast.unparse(node.func) == "len"):
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from operands(child)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_of_the_inspector_computes_nothing_of_an_answer(path):
    """The redacted bundle, the knobs and the doubts about stores stood in the inspector, out of others' reach."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert list(computed(tree)) == []
    for name in imported(tree):
        assert not name.startswith(NO_BUSINESS), name
        package, _, module = name.partition(".")
        is_public = module.count(".") == 0 and package == PACKAGE
        assert package != PACKAGE or is_public or module.startswith((*DRAWN_FROM, *OPENED)), name


def test_arithmetic_with_a_figure_is_seen():
    """The rule of this file can fail."""
    assert list(computed(ast.parse("share = context.tokens / context.budget"))) == [
        "context.tokens / context.budget"
    ]
    assert list(computed(ast.parse("more = len(a.passages) - len(b.passages)"))) == []


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.parent.name == "views"], ids=lambda p: p.stem
)
def test_no_line_of_a_page_is_a_text_alone(path):
    """Streamlit draws such a line of the file that it runs: what was a comment stood above the question."""
    first, *others = ast.parse(path.read_text(encoding="utf-8")).body
    assert isinstance(first, ast.Expr)
    assert [
        node.lineno for node in others if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    ] == []
