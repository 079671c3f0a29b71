"""A comment that documents a definition belongs to it, wherever it stands above it."""

from __future__ import annotations

import pytest

from langchain_context_engine.ingest.trees import tree_outline

DOC = "/**\n * Tells the price of a berth.\n */\n"


def documented(text, language="javascript"):
    """Return symbol → what documents it."""
    found = {}
    waiting = list(tree_outline(text, language).definitions)
    while waiting:
        definition = waiting.pop()
        found[definition.symbol] = (definition.start_line, definition.docstring)
        waiting += definition.children
    return found


@pytest.mark.parametrize(
    ("language", "symbol", "text"),
    [
        ("javascript", "res.price", "\nres.price = function price(berth) {\n  return 1\n};\n"),
        ("javascript", "price", "\nfunction price(berth) {\n  return 1\n}\n"),
        ("javascript", "price", "\ndefineGetter(req, 'price', function price() {\n  return 1\n});\n"),
        ("javascript", "price", "defineGetter(req, 'price', function price() {\n  return 1\n});\n"),
        ("typescript", "price", "\nexport const price = (berth: string): number => {\n  return 1\n}\n"),
        ("java", "Berth", "\npublic class Berth {\n  int price() {\n    return 1;\n  }\n}\n"),
        ("c", "price", "\nint price(int berth) {\n  return 1;\n}\n"),
        ("php", "price", "\nfunction price($berth) {\n  return 1;\n}\n"),
    ],
)
def test_a_documenting_comment_belongs_to_what_comes_after_an_empty_line(language, symbol, text):
    """Express: the comments of all functions were one passage, the functions had none."""
    start = (
        "<?php\n$a = 1;\n"
        if language == "php"
        else "int a;\n"
        if language in {"c", "java"}
        else "let a = 1\n"
    )
    line, told = documented(start + DOC + text, language)[symbol]
    assert (line, told) == (start.count("\n") + 1, "Tells the price of a berth.")


def test_a_method_has_its_comment_though_the_line_between_is_empty():
    text = f"class Berth {{\n  {DOC.strip()}\n\n  price() {{\n    return 1\n  }}\n}}\n"
    assert documented(text)["Berth.price"][1] == "Tells the price of a berth."


@pytest.mark.parametrize(
    "above",
    [
        DOC + "\n\n",  # two empty lines
        "// It is late.\n\n",
        "/* It is late. */\n\n",
        DOC + "\nlet b = 2\n",
        DOC.strip() + " let b = 2\n\n",
    ],
)
def test_another_comment_further_up_is_not_its_own(above):
    assert documented(f"let a = 1\n{above}function price() {{\n  return 1\n}}\n")["price"][1] == ""


def test_a_files_first_comment_documents_the_file():
    assert documented(f"{DOC}\nfunction price() {{\n  return 1\n}}\n")["price"] == (5, "")
    assert documented(f"{DOC}function price() {{\n  return 1\n}}\n")["price"][0] == 1
