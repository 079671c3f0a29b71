"""What a table keeps for itself and what the pages keep in the session never share a name."""

from __future__ import annotations

import ast

from tests.conftest import ROOT


def constants(tree, is_call):
    """Return the texts that stand first in calls, or in brackets, of some kind."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and is_call(ast.unparse(node.func)):
            first = node.args[:1]
        elif isinstance(node, ast.Subscript) and is_call(ast.unparse(node.value)):
            first = [node.slice]
        else:
            continue
        yield from (
            one.value for one in first if isinstance(one, ast.Constant) and isinstance(one.value, str)
        )


def test_no_table_has_the_key_of_something_that_is_kept_in_the_session():
    """The table of tries had the key of the tries: Streamlit dropped both where a page did not draw it."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "inspector").rglob("*.py")]
    tables = {key for tree in trees for key in constants(tree, lambda name: name == "grid.draw")}
    kept = {
        key
        for tree in trees
        for key in constants(tree, lambda name: "session_state" in name or name.startswith("session"))
    }
    assert {"ranked", "traces"} <= tables
    assert {"tries", "ticked"} <= kept
    assert tables & kept == set()
