"""Rules of source code as records: what is one, what is left of a module, and where each stands."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine.ingest import Splitter
from langchain_context_engine.ingest.reading import kind_of, read_records
from langchain_context_engine.ingest.report import SkippedError

PYTHON = '''"""A module."""

from __future__ import annotations
import os
if TYPE_CHECKING:
    import heavy

LIMIT = 3
__all__ = ["add"]


@cache
def add(a: int, b: int = 1) -> int:
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
    def name(
        self,
    ):
        # Of it.
        return "shape"

    class Corner:
        x = 1
'''


def records(path, text, **sizes):
    return read_records(path, text.encode(), splitter=Splitter(**{"class_size": 0, **sizes})).records


def by_symbol(path, text, **sizes):
    return {record.metadata.get("symbol"): record for record in records(path, text, **sizes)}


def test_functions_methods_and_classes_are_records_that_say_what_they_are():
    found = by_symbol("src/a.py", PYTHON)
    assert list(found) == [None, "add", "Shape", "Shape.area", "Shape.name", "Shape.Corner"]
    add = found["add"]
    assert "def inner" in add.text
    assert add.lead == "src/a.py\nadd"
    told = {
        "kind": "code", "unit_type": "function", "language": "python", "path": "src/a.py", "document": "src/a.py",
        "title": "add", "symbol": "add", "signature": "def add(a: int, b: int = 1) -> int", "docstring": "Add.",
        "place": "src/a.py:12-17 · add", "start_line": 12, "end_line": 17,
    }  # fmt: skip
    assert told.items() <= add.metadata.items()
    assert found["Shape.area"].metadata["links"] == [found["Shape"].id]
    assert found["Shape.name"].text.startswith("@property\ndef name(")


def test_an_outline_is_the_lines_of_a_class_without_bodies_and_is_called_one():
    """No line of it is another than one of the file."""
    outline = by_symbol("a.py", PYTHON)["Shape"]
    assert outline.metadata["place"] == "a.py:20-37 · Shape (outline)"
    assert outline.text.split("\n") == [
        "class Shape(Base, metaclass=Meta):",
        '    """A shape."""',
        "",
        "    sides: int = 0",
        "",
        "    def area(self) -> float:",
        "",
        "    def name(",
        "        self,",
        "    ):",
        "",
        "    class Corner:",
    ]


@pytest.mark.parametrize("path", ["a.py", "a.go", "a.ts", "a.rb"])
@pytest.mark.parametrize("chunk_size", [60, 200, 1600])
def test_every_line_of_every_record_stands_in_its_file(path, chunk_size):
    body = "".join(f"    if a{n}:\n        use(a{n})\n\n" for n in range(30))
    source = {
        "a.py": PYTHON + f"\n\ndef long():\n{body}",
        "a.go": "package a\n\ntype A struct {\n\tX int\n}\n\nfunc (a *A) Go(\n\tx int,\n) {\n" + "\tif x {\n\t\ty()\n\t}\n\n" * 30 + "}\n",
        "a.ts": "export class A {\n  x = 1\n\n  go(): void {\n" + "    this.y()\n\n" * 40 + "  }\n}\n",
        "a.rb": "class A\n  attr :x\n\n  def go(a)\n" + "    y\n\n" * 40 + "  end\nend\n",
    }[path]  # fmt: skip
    lines = source.split("\n")
    for record in records(path, source, chunk_size=chunk_size):
        shown = record.text.split("\n")
        first, last = record.metadata["start_line"], record.metadata["end_line"]
        assert len(record.text) <= chunk_size
        assert source[record.metadata["start"] :].startswith(lines[first - 1])
        assert all(any(line.strip() in each for each in lines[first - 1 : last]) for line in shown)
        if record.metadata.get("part", 1) > 1 and chunk_size > 60:
            indents = {len(line) - len(line.lstrip()) for line in lines if line.strip() == shown[0].strip()}
            own = len(shown[0]) - len(shown[0].lstrip())
            taken = 0 if record.metadata["unit_type"] != "method" else 4 if path == "a.py" else 2
            assert own in indents or own + taken in indents, "the first line keeps its indentation"


def test_a_long_function_is_cut_where_least_is_open_and_each_part_says_its_own_lines():
    body = "".join(f"    for n in range({k}):\n        use(n)\n        use(n + 1)\n\n" for k in range(30))
    text = f"def long(total):\n{body}"
    parts = records("a.py", text, chunk_size=400)
    lines = text.split("\n")
    assert [part.metadata["part"] for part in parts] == list(range(1, len(parts) + 1))
    for part in parts:
        first, last = part.metadata["start_line"], part.metadata["end_line"]
        assert part.metadata["place"] == f"a.py:{first}-{last} · long"
        assert (lines[first - 1], lines[last - 1]) == (part.text.split("\n")[0], part.text.split("\n")[-1])
    for part in parts[1:]:
        assert part.text.startswith("    for n in range")
        assert part.lead == "a.py\nlong\ndef long(total)"
        assert part.metadata["links"] == [parts[0].id]


def test_what_is_left_of_a_module_is_a_record_without_its_imports():
    text = by_symbol("a.py", PYTHON)[None].text
    assert text == '"""A module."""\n\nLIMIT = 3'


def test_long_leftovers_are_records_of_their_own_and_short_ones_are_joined():
    table = "".join(f"    {n}: 'a value that is long enough to stand alone',\n" for n in range(12))
    text = f"A = 1\n\n\ndef f():\n    pass\n\n\nTABLE = {{\n{table}}}\n\n\ndef g():\n    pass\n\n\nB = 2\n"
    found = [r for r in records("a.py", text) if "symbol" not in r.metadata]
    assert [(r.metadata["start_line"], r.metadata["end_line"]) for r in found] == [(1, 1), (8, 21), (28, 28)]
    text = "// Copyright 2020 A. Writer\n// Licensed under MIT\n\nint a = 1;\n\nint f(void) { return 1; }\n\nint b = 2;\n"
    assert [r.text for r in records("a.c", text) if "symbol" not in r.metadata] == [
        "int a = 1;\n\nint b = 2;"
    ]


@pytest.mark.parametrize(
    ("path", "opens", "closes"),
    [("a.ml", "(*", "*)"), ("a.hs", "{-", "-}"), ("a.jl", "#=", "=#"), ("a.f90", "!", "!"), ("a.lua", "--[[", "]]"),
     ("a.vue", "<!--", "-->"), ("a.rkt", "#|", "|#"), ("a.vb", "'", "'"), ("a.ps1", "<#", "#>")],
)  # fmt: skip
def test_a_notice_of_rights_at_the_top_is_no_part_of_a_record_in_any_language(path, opens, closes):
    line = "" if opens != closes else f"{opens} "
    notice = f"{opens} Copyright (c) 2021 Ana\n{line}Permission to use is granted.\n{closes}\n\n"
    (record,) = records(path, f"{notice}berths of the harbour = all of them\n")
    assert record.text == "berths of the harbour = all of them"


def test_what_only_frames_a_file_is_no_record():
    text = "<?php\n\ndeclare(strict_types=1);\n\nnamespace A;\n\nclass B\n{\n    public int $x = 1;\n}\n"
    assert list(by_symbol("B.php", text)) == ["B"]
    text = "#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn works() {\n    }\n}\n"
    assert list(by_symbol("a.rs", text)) == ["tests.works"]


CLASS = '''class Berth:
    """A place at the quay."""

    def __init__(self, length):
        self.length = length

    def fits(self, ship):
        return ship.length <= self.length
'''


@pytest.mark.parametrize(
    ("sizes", "is_whole"),
    [
        ({"class_size": 1000}, True),
        ({"class_size": len(CLASS)}, True),
        ({"class_size": len(CLASS) - 1}, False),
        ({"class_size": 9999, "chunk_size": len(CLASS) - 1}, False),
    ],
)
def test_a_small_class_is_one_record_up_to_the_size_to_the_character(sizes, is_whole):
    """Nobody understands a method of it without its fields, or an outline at all."""
    found = records("a.py", CLASS, **sizes)
    symbols = ["Berth"] if is_whole else ["Berth", "Berth.__init__", "Berth.fits"]
    assert [record.metadata["symbol"] for record in found] == symbols
    assert (found[0].text == CLASS.strip()) is is_whole
    assert ("(outline)" in found[0].metadata["place"]) is not is_whole


def test_a_small_class_within_a_large_one_stays_whole_and_loses_its_indentation():
    indented = "".join(f"    {line}".rstrip() + "\n" for line in CLASS.split("\n"))
    found = records("a.py", f"class Harbour:\n    LOG = '{'x ' * 600}'\n\n{indented}", class_size=1000)
    assert [record.metadata["symbol"] for record in found] == ["Harbour", "Harbour.Berth"]
    assert found[1].text == CLASS.strip()


@pytest.mark.parametrize(
    ("path", "text", "marks"),
    [
        ("tests/test_a.py", "def f():\n    pass\n", {"is_test": True}),
        ("pkg/a_test.go", "package a\n\nfunc TestA() {\n}\n", {"is_test": True}),
        ("src/a.spec.ts", "function f() {\n}\n", {"is_test": True}),
        ("src/__tests__/a.js", "function f() {\n}\n", {"is_test": True}),
        ("src/lib.rs", "#[cfg(test)]\nmod tests {\n    fn works() {\n    }\n}\n", {"is_test": True}),
        ("src/lib.ts", "it('works', () => {\n  go()\n})\n", {"is_test": True}),
        ("AppTest.java", "class AppTest {\n  void f() {}\n}\n", {"is_test": True}),
        ("examples/a.py", "def f():\n    pass\n", {"is_example": True}),
        ("src/contest.py", "def latest():\n    pass\n", {}),
    ],
)
def test_tests_and_examples_are_marked(path, text, marks):
    found = records(path, text)[-1].metadata
    assert {k: v for k, v in found.items() if k in {"is_test", "is_example"}} == marks


def test_two_equal_functions_have_two_ids_and_moving_a_function_keeps_its_id():
    twice = records("a.py", "def f():\n    pass\n\n\n\ndef f():\n    pass\n")
    assert len({r.id for r in twice}) == 2
    assert by_symbol("a.py", "\n\n\n" + PYTHON)["add"].id == by_symbol("a.py", PYTHON)["add"].id


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"(word{n} of\n" for n in range(3000)),
        "".join(f"x{n} = [\n" for n in range(3000)),
        "if a:\n  pass\n" + "elif b:\n  pass\n" * 3000,
        "class A:\n" + "".join(" " * d + "class C:\n" for d in range(1, 90)) + " " * 91 + "pass",
        "x = a\n" + "|-|-|-|-\n" * 2_500 + "# more words here\n",
    ],
)
@pytest.mark.parametrize("path", ["a.py", "a.js"])
def test_source_that_cannot_be_parsed_is_cut_by_lines_and_what_is_too_complex_is_told(path, text):
    read = read_records(path, text.encode(), splitter=Splitter())
    assert read.records
    assert {each.reason for each in read.skipped} <= {"too complex", "data"}
    assert all(len(r.text) <= 1600 for r in read.records)


@settings(deadline=None, max_examples=60)
@given(
    text=st.text(max_size=300),
    path=st.sampled_from(["a.py", "a.js", "a.rs", "a.c", "a.rb", "Makefile", "a.jq"]),
)
def test_any_text_gives_records_in_order_with_unique_ids_or_a_reason(text, path):
    try:
        found = records(path, text.encode("utf-8", "replace").decode())
    except SkippedError as left_out:
        assert left_out.reason  # noqa: PT017
        return
    assert len({r.id for r in found}) == len(found)
    assert all(r.text.strip() for r in found)
    starts = [r.metadata["start_line"] for r in found]
    assert starts == sorted(starts)


TEMPLATES = {
    "a.html": "{%- if page.title -%}\n<h1>{{ page.title }}</h1>\n{%- endif -%}\n",
    "c.htm": "<ul><% for post in posts %><li><%= post.title %></li><% end %></ul>\n",
    "d.html": "<h1><?php echo $title ?></h1>\n",
}


@pytest.mark.parametrize("path", TEMPLATES)
def test_a_template_of_pages_is_kept_as_it_is_written_and_not_read_as_a_page(path):
    text = TEMPLATES[path]
    assert [record.text for record in records(path, text)] == [text.strip()]


@pytest.mark.parametrize(
    "page",
    [
        "<h1>Templates</h1><p>Write <code>{{ name }}</code>:</p><pre>{% if x %}</pre>",
        "<!-- {{ old }} --><p>Text</p><script>render('{{ x }}')</script>",
        "<p>50 % of {these}</p>",
    ],
)
def test_a_page_that_tells_of_templates_is_a_page(page):
    assert kind_of("a.html", page.encode()) == "docs"
