"""Rules of reading source code: what becomes a unit and what is said of it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine.ingest import Splitter
from langchain_context_engine.ingest.grammars import GRAMMARS, load_parser
from langchain_context_engine.ingest.outline import Outline
from langchain_context_engine.ingest.python import python_outline
from langchain_context_engine.ingest.readers.code import code_records
from langchain_context_engine.ingest.trees import tree_outline

PYTHON = '''"""A module."""

from __future__ import annotations
import os
if TYPE_CHECKING:
    import heavy

LIMIT = 3
__all__ = ["add"]


@cache
def add(a: int, b: int = 1, *rest, key=None) -> int:
    """Add."""
    def inner():
        return 0
    return a + b


class Shape(Base, metaclass=Meta):
    """A shape."""

    sides: int = 0

    def area(self) -> float:
        """Return the area."""
        return 0.0

    @property
    def name(self):
        return "shape"

    class Corner:
        x = 1


if os.name == "nt":
    async def only_there():
        pass
'''


def records_of(text, language="python", **options):
    outline = python_outline(text) if language == "python" else tree_outline(text, language)
    return code_records(
        f"src/file.{language}",
        text,
        outline or Outline(),
        language=language,
        splitter=options.get("splitter", Splitter(class_size=0)),
    )


def by_symbol(records):
    return {r.metadata.get("symbol"): r for r in records}


def test_functions_methods_and_classes_become_units_with_place_signature_and_docstring():
    found = by_symbol(records_of(PYTHON))
    assert set(found) == {None, "add", "Shape", "Shape.area", "Shape.name", "Shape.Corner", "only_there"}
    add = found["add"].metadata
    assert add["signature"] == "def add(a: int, b: int=1, *rest, key=None) -> int"
    assert add["docstring"] == "Add."
    assert (add["start_line"], add["end_line"]) == (12, 17)  # the decorator is part of it
    assert add["unit_type"] == "function"
    assert add["kind"] == "code"
    assert add["language"] == "python"
    assert add["path"] == add["document"] == "src/file.python"
    assert add["title"] == "add"
    assert "def inner" in found["add"].text
    assert found["Shape.area"].metadata["unit_type"] == "method"
    assert found["Shape.area"].text.startswith("def area")
    assert found["Shape.name"].text.startswith("@property")


def test_a_class_is_its_header_with_the_signatures_of_its_methods():
    text = by_symbol(records_of(PYTHON))["Shape"].text
    assert text.startswith('class Shape(Base, metaclass=Meta):\n    """A shape."""')
    assert "    def area(self) -> float ..." in text
    assert "return 0.0" not in text


def test_what_is_left_of_a_module_is_a_unit_without_its_imports():
    text = by_symbol(records_of(PYTHON))[None].text
    assert '"""A module."""' in text
    assert "LIMIT = 3" in text
    assert "import" not in text
    assert "__all__" not in text


def test_a_method_links_to_its_class_and_a_later_part_to_the_first():
    found = by_symbol(records_of(PYTHON))
    assert found["Shape.area"].metadata["links"] == [found["Shape"].id]
    body = "\n".join(f"    total += compute_value_{n}(total)" for n in range(60))
    parts = records_of(f"def long(total):\n{body}\n", splitter=Splitter(chunk_size=500))
    assert len(parts) > 2
    assert all(len(p.text) <= 500 for p in parts)
    assert [p.metadata["part"] for p in parts] == list(range(1, len(parts) + 1))
    assert {p.metadata["symbol"] for p in parts} == {"long"}
    assert parts[1].metadata["links"] == [parts[0].id]
    lines = f"def long(total):\n{body}\n".split("\n")
    for part in parts:
        assert lines[part.metadata["start_line"] - 1].strip() == part.text.split("\n")[0].strip()
        assert lines[part.metadata["end_line"] - 1].strip() == part.text.split("\n")[-1].strip()


def test_units_stand_in_reading_order():
    records = records_of(PYTHON)
    for record in records:
        assert PYTHON[record.metadata["start"] :].startswith(
            PYTHON.split("\n")[record.metadata["start_line"] - 1]
        )
    starts = [r.metadata["start"] for r in records]
    assert starts == sorted(set(starts))
    starts = [r.metadata["start_line"] for r in records]
    assert starts == sorted(starts)


def test_two_equal_functions_have_two_ids_and_moving_a_function_keeps_its_id():
    twice = records_of("def f():\n    pass\n\n\ndef f():\n    pass\n")
    assert len({r.id for r in twice}) == 2
    assert by_symbol(records_of("\n\n\n" + PYTHON))["add"].id == by_symbol(records_of(PYTHON))["add"].id


@pytest.mark.parametrize(
    "text",
    [
        "def broken(:\n    pass",
        "x = '" + "a\0b" + "'",
        "(" * 5000,
        "x = " + "-" * 20_000 + "1",
        "if a:\n  pass\n" + "elif b:\n  pass\n" * 3000,
        "class A:\n" + "".join(" " * d + "class C:\n" for d in range(1, 90)) + " " * 91 + "pass",
    ],
)
def test_source_that_cannot_be_parsed_is_cut_by_lines(text):
    records = records_of(text)
    assert records
    assert all(len(r.text) <= 1600 for r in records)


@settings(deadline=None, max_examples=30)
@given(text=st.text(max_size=300), language=st.sampled_from(["python", "javascript", "rust", "c"]))
def test_any_text_gives_records_with_unique_ids_or_none(text, language):
    text = text.replace("\r", "\n")
    records = records_of(text.encode("utf-8", "replace").decode(), language)
    assert len({r.id for r in records}) == len(records)
    assert all(r.text.strip() for r in records)


def test_every_grammar_is_bundled_so_that_nothing_is_downloaded():
    # Sockets to anything but loopback are blocked while tests run.
    assert [language for language in GRAMMARS if load_parser(language) is None] == []


SOURCES = {
    "javascript": (
        (
            "import a from 'a';\n/** Doubles. */\nexport function twice(n) {\n  return 2 * n;\n}\n"
            "const half = (n) => n / 2;\nclass Queue {\n  // Adds one.\n  add(x) { this.q.push(x); }\n}\n"
        ),
        {
            "twice": ("function", 2, "export function twice(n)", "Doubles."),
            "half": ("function", 6, "const half = (n)", None),
            "Queue": ("class", 7, "class Queue", None),
            "Queue.add": ("method", 8, "add(x)", "Adds one."),
        },
    ),
    "typescript": (
        "interface Point { x: number }\nexport abstract class A<T> {\n  go(n: number): void { return; }\n}\n",
        {
            "Point": ("class", 1, "interface Point", None),
            "A": ("class", 2, "export abstract class A<T>", None),
            "A.go": ("method", 3, "go(n: number): void", None),
        },
    ),
    "tsx": ("export const Box = () => <div />;\n", {"Box": ("function", 1, "export const Box = ()", None)}),
    "go": (
        "package main\n\n// Point is one.\ntype Point struct{ X int }\n\n// Add adds.\nfunc (p *Point) Add(q Point) Point { return q }\n",
        {
            "Point": ("class", 3, "type Point struct{ X int }", "Point is one."),
            "Point.Add": ("method", 6, "func (p *Point) Add(q Point) Point", "Add adds."),
        },
    ),
    "rust": (
        "use std::io;\n/// A point.\n#[derive(Debug)]\npub struct P { x: i32 }\nimpl P {\n    /// Makes.\n    pub fn new() -> Self { P { x: 0 } }\n}\nmod m { fn f() {} }\n",
        {"P.new": ("method", 6, "pub fn new() -> Self", "Makes."), "m.f": ("function", 9, "fn f()", None)},
    ),
    "java": (
        "package p;\n/** Doc. */\npublic class A {\n  @Override public int m(int a) { return a; }\n}\n",
        {
            "A": ("class", 2, "public class A", "Doc."),
            "A.m": ("method", 4, "@Override public int m(int a)", None),
        },
    ),
    "c": (
        "#include <stdio.h>\ntypedef struct { int x; } P;\n/* Adds. */\nstatic int *add(int a)\n{\n  return 0;\n}\n",
        {
            "P": ("class", 2, "typedef struct", None),
            "add": ("function", 3, "static int *add(int a)", "Adds."),
        },
    ),
    "cpp": (
        "namespace a {\ntemplate <typename T>\nclass V {\n public:\n  int size() const { return 1; }\n};\n}\n",
        {
            "a.V": ("class", 2, "template <typename T> class V", None),
            "a.V.size": ("method", 5, "int size() const", None),
        },
    ),
    "csharp": (
        "using X;\nnamespace N {\n  /// Doc.\n  public class A {\n    public int M(int a) { return a; }\n  }\n}\n",
        {"N.A": ("class", 3, "public class A", "Doc."), "N.A.M": ("method", 5, "public int M(int a)", None)},
    ),
    "ruby": (
        "module M\n  # Doc.\n  class A < B\n    def x(a)\n      a\n    end\n  end\nend\n",
        {"M.A": ("class", 2, "class A < B", "Doc."), "M.A.x": ("method", 4, "def x(a)", None)},
    ),
    "php": (
        "<?php\nnamespace X;\n/** Doc. */\nclass A {\n  public function m(int $a): int { return $a; }\n}\n",
        {
            "A": ("class", 3, "class A", "Doc."),
            "A.m": ("method", 5, "public function m(int $a): int", None),
        },
    ),
    "kotlin": (
        "package p\n\n/** Doc. */\nclass A(val x: Int) {\n    fun m(a: Int): Int {\n        return a\n    }\n}\n",
        {
            "A": ("class", 3, "class A(val x: Int)", "Doc."),
            "A.m": ("method", 5, "fun m(a: Int): Int", None),
        },
    ),
    "swift": (
        "import X\n/// Doc.\nclass A {\n  func m(_ a: Int) -> Int { return a }\n}\nextension A {\n  func n() {}\n}\n",
        {
            "A": ("class", 6, "extension A", None),
            "A.m": ("method", 4, "func m(_ a: Int) -> Int", None),
            "A.n": ("method", 7, "func n()", None),
        },
    ),
    "scala": (
        "package p\n// Doc.\nobject A {\n  def m(a: Int): Int = a\n}\n",
        {"A": ("class", 2, "object A", "Doc."), "A.m": ("method", 4, "def m(a: Int): Int", None)},
    ),
    "lua": (
        "local M = {}\n-- Doc.\nfunction M:m(a)\n  return a\nend\nM.k = function(b)\n  return b\nend\n",
        {
            "M.m": ("function", 2, "function M:m(a)", "Doc."),
            "M.k": ("function", 6, "M.k = function(b)", None),
        },
    ),
    "elixir": (
        (
            'defmodule A.B do\n  @doc """\n  Doc.\n  """\n  @spec m(a) :: a\n  def m(a) when a > 1 do\n    a\n  end\n\n'
            "  defp n(nil), do: nil\n  defp n(a), do: a\nend\n"
        ),
        {
            "A.B": ("class", 1, "defmodule A.B", None),
            "A.B.m": ("function", 2, "def m(a) when a > 1", "Doc."),
            "A.B.n": ("function", 10, "defp n(nil), do: nil", None),
        },
    ),
    "shell": (
        "#!/bin/sh\n\n# Doc.\nbuild() {\n  make\n}\n",
        {"build": ("function", 3, "build()", "Doc.")},
    ),
}


@pytest.mark.parametrize("language", list(SOURCES))
def test_units_of_other_languages_have_place_signature_and_docstring(language):
    text, expected = SOURCES[language]
    found = by_symbol(records_of(text, language))
    for symbol, facts in expected.items():
        metadata = found[symbol].metadata
        assert tuple(metadata.get(k) for k in ("unit_type", "start_line", "signature", "docstring")) == facts
        assert metadata["language"] == language


def test_every_grammar_has_an_example():
    assert set(SOURCES) == set(GRAMMARS)


def test_source_with_mistakes_gives_what_could_be_read():
    assert "good" in by_symbol(records_of("function good() { return 1 }\nfunction bad( {", "javascript"))
