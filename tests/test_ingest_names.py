"""Rules of cutting code: what a definition is called, what belongs to it, and where it stands."""

from __future__ import annotations

import time

import pytest

from langchain_context_engine.ingest import Splitter
from langchain_context_engine.ingest.reading import kind_of, read_records
from langchain_context_engine.ingest.skipped import SkippedError


def records(path, text, **sizes):
    return read_records(path, text.encode(), splitter=Splitter(**{"class_size": 0, **sizes})).records


def symbols(path, text):
    return [r.metadata["symbol"] for r in records(path, text) if "symbol" in r.metadata]


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.js", "res.redirect = function redirect(url) {\n};\n", ["res.redirect"]),
        ("a.js", "exports.x = () => 1;\nmodule.exports.y = async function () {};\n", ["exports.x", "module.exports.y"]),
        ("a.js", "Foo.prototype.bar = function (a) {\n};\n", ["Foo.bar"]),
        ("a.js", "const api = {\n  get() {},\n  post: function () {},\n  n: 1,\n};\n", ["api", "api.get", "api.post"]),
        ("a.js", "class A {\n  x = () => 1;\n  static y() {}\n}\n", ["A", "A.x", "A.y"]),
        ("a.js", "(function () {\n  function inner() {\n    return 1;\n  }\n})();\n", ["inner"]),
        ("a.js", "describe('app', function () {\n  it('should run', function () {\n    go();\n  });\n});\n", ["app › should run"]),
        ("a.ts", "export interface P {\n  x: number;\n}\nexport type Q = {\n  y: string;\n};\n", ["P", "Q"]),
        ("a.c", "#define MAX(a, b) \\\n  ((a) > (b) \\\n   ? (a) : (b))\nenum color { RED };\ntypedef struct { int x; } point;\n", ["MAX", "color", "point"]),
        ("a.h", "namespace geo {\nclass Point {\n public:\n  int x() { return 1; }\n};\n}\n", ["geo.Point", "geo.Point.x"]),
        ("a.cpp", "int Geo::Point::x() {\n  return 1;\n}\n", ["Geo.Point.x"]),
        ("a.rs", "impl<'a, M: Matcher> Searcher<'a, M> {\n    fn search_path(&self) {}\n}\ntrait T {\n    fn go(&self) {}\n}\nmacro_rules! m {\n    () => {}\n}\n", ["Searcher", "Searcher.search_path", "T", "T.go", "m"]),
        ("a.go", "package a\n\nfunc (c *Command) Execute() error {\n\treturn nil\n}\n", ["Command.Execute"]),
        ("a.rb", "module A\n  module B\n    class C\n      class << self\n        def x\n        end\n      end\n      def self.y\n      end\n    end\n  end\nend\n", ["A.B.C", "A.B.C.x", "A.B.C.y"]),
        ("a.php", "<?php\ntrait T {\n  function f() {}\n}\n", ["T", "T.f"]),
        ("a.jq", "def map(f): [.[] | f];\n\n# Adds.\ndef add: reduce .[] as $x (null; . + $x);\n", ["map", "add"]),
        ("Makefile", ".PHONY: all\nall: build\n\ttrue\n\n# Builds.\nbuild:\n\tmake x\n\nX := 1\n", ["all", "build"]),
        ("Dockerfile", "ARG V=1\nFROM python:3.12 AS build\nRUN make\n\nFROM scratch\nCOPY a b\n", ["build", "scratch"]),
    ],
)  # fmt: skip
def test_a_definition_bears_the_name_that_people_call_it(path, text, expected):
    assert symbols(path, text) == expected


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "x = 1\n\n# Why it adds.\n# And how.\ndef add():\n    return 1\n"),
        ("a.js", "var x = 1;\n\n/**\n * Why it adds.\n */\n\nexports.add = function () {\n};\n".replace("*/\n\n", "*/\n")),
        ("a.go", "package a\n\n// Why it adds.\nfunc add() {\n}\n"),
        ("a.rs", "/// Why it adds.\n#[inline]\nfn add() {}\n"),
        ("a.rb", "class A\n  # Why it adds.\n  def add\n  end\nend\n"),
        ("a.sh", "# Why it adds.\nadd() {\n  true\n}\n"),
    ],
)  # fmt: skip
def test_the_comment_above_a_function_belongs_to_it(path, text):
    found = next(r for r in records(path, text) if str(r.metadata.get("symbol", "")).endswith("add"))
    assert "Why it adds." in found.text
    assert text.split("\n")[found.metadata["start_line"] - 1].strip() == found.text.split("\n")[0]


def test_the_place_of_code_is_its_path_lines_and_symbol():
    found = records("src/a.py", "class A:\n    def f(self):\n        return 1\n\n\nLIMIT = 3\n")
    assert [r.metadata["place"] for r in found] == ["src/a.py:1-3 · A", "src/a.py:2-3 · A.f", "src/a.py:6"]


def test_a_long_function_is_cut_where_least_is_open_and_each_part_says_its_own_lines():
    body = "".join(f"    for n in range({k}):\n        use(n)\n        use(n + 1)\n\n" for k in range(30))
    text = f"def long(total):\n{body}"
    parts = records("a.py", text, chunk_size=400)
    lines = text.split("\n")
    assert len(parts) > 3
    for part in parts[1:]:
        assert part.text.startswith("for n in range") or part.text.startswith("    for n in range")
        assert "def long(total)" in part.lead
    for part in parts:
        first, last = part.metadata["start_line"], part.metadata["end_line"]
        assert part.metadata["place"] == f"a.py:{first}-{last} · long"
        assert lines[first - 1].strip() == part.text.split("\n")[0].strip()


def test_what_is_left_of_a_module_says_which_lines_it_is():
    table = "".join(f"    {n}: 'a value that is long enough to stand alone',\n" for n in range(12))
    text = f"A = 1\n\n\ndef f():\n    pass\n\n\nTABLE = {{\n{table}}}\n\n\ndef g():\n    pass\n\n\nB = 2\n"
    found = [r for r in records("a.py", text) if "symbol" not in r.metadata]
    assert [(r.metadata["start_line"], r.metadata["end_line"]) for r in found] == [(1, 1), (8, 21), (28, 28)]


def test_short_leftovers_are_joined_and_a_licence_at_the_top_is_left_out():
    text = "// Copyright 2020 A. Writer\n// Licensed under MIT\n\nint a = 1;\n\nint f(void) { return 1; }\n\nint b = 2;\n"
    found = [r.text for r in records("a.c", text) if "symbol" not in r.metadata]
    assert found == ["int a = 1;\n\nint b = 2;"]


@pytest.mark.parametrize(
    ("path", "text", "marks"),
    [
        ("tests/test_a.py", "def f():\n    pass\n", {"is_test": True}),
        ("pkg/a_test.go", "package a\n\nfunc TestA() {\n}\n", {"is_test": True}),
        ("src/a.spec.ts", "function f() {\n}\n", {"is_test": True}),
        ("src/__tests__/a.js", "function f() {\n}\n", {"is_test": True}),
        ("src/lib.rs", "#[cfg(test)]\nmod tests {\n    fn works() {\n    }\n}\n", {"is_test": True}),
        ("AppTest.java", "class AppTest {\n  void f() {}\n}\n", {"is_test": True}),
        ("examples/a.py", "def f():\n    pass\n", {"is_example": True}),
        ("src/contest.py", "def latest():\n    pass\n", {}),
    ],
)
def test_tests_and_examples_are_marked(path, text, marks):
    found = records(path, text)[-1].metadata
    assert {k: v for k, v in found.items() if k in {"is_test", "is_example"}} == marks


def test_source_that_a_parser_chokes_on_is_cut_by_lines_and_says_so():
    text = "x = a\n" + "|-|-|-|-\n" * 2_500
    started = time.process_time()
    read = read_records("a.js", f"{text}\n{'// more words here' * 3}\n".encode(), splitter=Splitter())
    assert time.process_time() - started < 5
    assert [(s.where, s.reason) for s in read.skipped] == [("a.js", "too complex")]
    assert read.records


TEMPLATES = {
    "a.html": "{%- if page.title -%}\n<h1>{{ page.title }}</h1>\n{%- endif -%}\n",
    "b.html": "---\nlayout: base\n---\n<h1>Posts</h1>\n",
    "c.htm": "<ul><% for post in posts %><li><%= post.title %></li><% end %></ul>\n",
    "d.html": "<p>{{ message }}</p>\n",
    "e.html": "<h1><?php echo $title ?></h1>\n",
}


@pytest.mark.parametrize("path", TEMPLATES)
def test_a_template_of_pages_is_kept_as_it_is_written_and_not_read_as_a_page(path):
    text = TEMPLATES[path]
    read = read_records(path, text.encode(), splitter=Splitter())
    assert read.kind == "code"
    assert [record.text for record in read.records] == [text.strip()]


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


@pytest.mark.parametrize(
    ("path", "data"), [("__init__.py", b""), ("a.md", b"\n \n"), ("a.txt", b"\xef\xbb\xbf")]
)
def test_a_file_without_anything_to_read_is_left_out_as_empty(path, data):
    with pytest.raises(SkippedError) as left_out:
        read_records(path, data, splitter=Splitter())
    assert left_out.value.reason == "empty"
