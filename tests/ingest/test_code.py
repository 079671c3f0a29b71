"""Rules of source code: what it defines, what is a record, and where each stands."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine.ingest import Splitter
from langchain_context_engine.ingest.outline import GRAMMARS, TooComplexError, load_grammar, outline_of
from langchain_context_engine.ingest.reading import read_records

LANGUAGES = {
    "py": "python", "js": "javascript", "jsx": "javascript", "ts": "typescript", "tsx": "tsx", "go": "go", "rs": "rust",
    "java": "java", "c": "c", "cpp": "cpp", "cs": "csharp", "rb": "ruby", "php": "php", "kt": "kotlin",
    "swift": "swift", "scala": "scala", "lua": "lua", "ex": "elixir", "sh": "shell",
}  # fmt: skip


def found_in(suffix, text):
    """Return every definition of a source, what holds others before what it holds."""
    found = []
    waiting = list(reversed(outline_of(text, LANGUAGES[suffix]).definitions))
    while waiting:
        found.append(waiting.pop())
        waiting += reversed(found[-1].children)
    return found


def symbols(suffix, text):
    return [each.symbol for each in found_in(suffix, text)]


def test_every_grammar_is_bundled_so_that_nothing_is_downloaded():
    # Sockets to anything but loopback are blocked while tests run.
    assert [language for language in GRAMMARS if load_grammar(language) is None] == []
    assert set(LANGUAGES.values()) == set(GRAMMARS)
    assert not outline_of("x", "haskell").definitions


# Symbol → its kind, first line, signature and documentation.
SOURCES = {
    "py": ('@cache\ndef add(a: int,\n        *rest) -> int:\n    """Add.\n\n    More.\n    """\n    return a\n\n\nclass A(B):\n    # Goes.\n    async def go(self): pass\n',
        {"add": ("function", 1, "def add(a: int, *rest) -> int", "Add.\n\nMore."), "A": ("class", 11, "class A(B)", ""), "A.go": ("method", 12, "async def go(self)", "Goes.")}),
    "js": ("import a from 'a';\n/** Doubles. */\nexport function twice(n) {\n  return 2 * n;\n}\nconst half = (n) => n / 2;\nclass Queue {\n  // Adds one.\n  add(x) { this.q.push(x); }\n}\n",
        {"twice": ("function", 2, "export function twice(n)", "Doubles."), "half": ("function", 6, "const half = (n)", ""), "Queue": ("class", 7, "class Queue", ""), "Queue.add": ("method", 8, "add(x)", "Adds one.")}),
    "ts": ("interface Point { x: number }\nexport abstract class A<T> {\n  go(n: number): void { return; }\n}\n",
        {"Point": ("class", 1, "interface Point", ""), "A": ("class", 2, "export abstract class A<T>", ""), "A.go": ("method", 3, "go(n: number): void", "")}),
    "tsx": ("export const Box = () => <div />;\n",
        {"Box": ("function", 1, "export const Box = ()", "")}),
    "go": ("package main\n\n// Point is one.\n//\n// Of two.\ntype Point struct{ X int }\n\n// Add adds.\nfunc (p *Point) Add(q Point) Point { return q }\n",
        {"Point": ("class", 3, "type Point struct{ X int }", "Point is one.\n\nOf two."), "Point.Add": ("method", 8, "func (p *Point) Add(q Point) Point", "Add adds.")}),
    "rs": ("use std::io;\n/// A point.\n#[derive(Debug)]\npub struct P { x: i32 }\nimpl P {\n    /// Makes.\n    pub fn new() -> Self { P { x: 0 } }\n}\nmod m { fn f() {} }\n",
        {"P.new": ("method", 6, "pub fn new() -> Self", "Makes."), "m.f": ("function", 9, "fn f()", "")}),
    "java": ("package p;\n/** Doc. */\npublic class A {\n  @Override public int m(int a) { return a; }\n}\n",
        {"A": ("class", 2, "public class A", "Doc."), "A.m": ("method", 4, "@Override public int m(int a)", "")}),
    "c": ("#include <stdio.h>\ntypedef struct { int x; } P;\n/* Adds. */\nstatic int *add(int a)\n{\n  return 0;\n}\n",
        {"P": ("class", 2, "typedef struct", ""), "add": ("function", 3, "static int *add(int a)", "Adds.")}),
    "cpp": ("namespace a {\ntemplate <typename T>\nclass V {\n public:\n  int size() const { return 1; }\n};\n}\n",
        {"a.V": ("class", 2, "template <typename T> class V", ""), "a.V.size": ("method", 5, "int size() const", "")}),
    "cs": ("using X;\nnamespace N {\n  /// Doc.\n  public class A {\n    public int M(int a) { return a; }\n  }\n}\n",
        {"N.A": ("class", 3, "public class A", "Doc."), "N.A.M": ("method", 5, "public int M(int a)", "")}),
    "rb": ("module M\n  # Doc.\n  class A < B\n    def x(a)\n      a\n    end\n  end\nend\n",
        {"M.A": ("class", 2, "class A < B", "Doc."), "M.A.x": ("method", 4, "def x(a)", "")}),
    "php": ("<?php\nnamespace X;\n/** Doc. */\nclass A {\n  public function m(int $a): int { return $a; }\n}\n",
        {"A": ("class", 3, "class A", "Doc."), "A.m": ("method", 5, "public function m(int $a): int", "")}),
    "kt": ("package p\n\n/** Doc. */\nclass A(val x: Int) {\n    fun m(\n        a: Int,\n    ): Int {\n        return a\n    }\n}\n",
        {"A": ("class", 3, "class A(val x: Int)", "Doc."), "A.m": ("method", 5, "fun m(a: Int): Int", "")}),
    "swift": ("import X\n/// Doc.\nclass A {\n  func m(_ a: Int) -> Int { return a }\n}\nextension B {\n  func n() {}\n}\n",
        {"A": ("class", 2, "class A", "Doc."), "A.m": ("method", 4, "func m(_ a: Int) -> Int", ""), "B.n": ("method", 7, "func n()", "")}),
    "scala": ("package p\n// Doc.\nobject A {\n  def m(a: Int): Int = a\n}\n",
        {"A": ("class", 2, "object A", "Doc."), "A.m": ("method", 4, "def m(a: Int): Int", "")}),
    "lua": ("local M = {}\n-- Doc.\nfunction M:m(a)\n  return a\nend\nM.k = function(b)\n  return b\nend\n",
        {"M.m": ("function", 2, "function M:m(a)", "Doc."), "M.k": ("function", 6, "M.k = function(b)", "")}),
    "ex": ('defmodule A.B do\n  @doc """\n  Doc.\n  """\n  @spec m(a) :: a\n  def m(a) when a > 1 do\n    a\n  end\n\n  defp n(nil), do: nil\n  defp n(a), do: a\nend\n',
        {"A.B": ("class", 1, "defmodule A.B", ""), "A.B.m": ("method", 2, "def m(a) when a > 1", "Doc."), "A.B.n": ("method", 10, "defp n(nil), do: nil", "")}),
    "sh": ("#!/bin/sh\n\n# Doc.\nbuild() {\n  make\n}\n",
        {"build": ("function", 3, "build()", "Doc.")}),
}  # fmt: skip


@pytest.mark.parametrize("suffix", list(SOURCES))
def test_a_definition_has_a_kind_a_place_a_signature_and_what_documents_it(suffix):
    text, expected = SOURCES[suffix]
    found = {each.symbol: each for each in found_in(suffix, text)}
    told = {
        s: (found[s].unit_type, found[s].start_line, found[s].signature, found[s].docstring) for s in expected
    }
    assert told == expected


@pytest.mark.parametrize(
    ("suffix", "text", "expected"),
    [
        ("py", "if a:\n    def f():\n        def inner():\n            pass\nclass A:\n    class B:\n        x = 1\n", ["f", "A", "A.B"]),
        ("js", "res.redirect = function redirect(url) {\n};\n", ["res.redirect"]),
        ("js", "exports.x = () => 1;\nmodule.exports.y = async function () {};\n", ["exports.x", "module.exports.y"]),
        ("js", "Foo.prototype.bar = function (a) {\n};\n", ["Foo.bar"]),
        ("js", "const api = {\n  get() {},\n  post: function () {},\n  n: 1,\n};\n", ["api", "api.get", "api.post"]),
        ("js", "class A {\n  x = () => 1;\n  static y() {}\n  #left() {\n  }\n}\n", ["A", "A.x", "A.y", "A.#left"]),
        ("js", "module.exports = class Foo extends Bar {\n  go() {\n  }\n}\n", ["Foo", "Foo.go"]),
        ("js", "export default class extends Bar {\n  go() {\n  }\n}\n", ["default", "default.go"]),
        ("js", "(function () {\n  function inner() {\n    return 1;\n  }\n})();\n", ["inner"]),
        ("js", "app.get('/', function () {\n  function inner() {}\n});\n" + "x()\n" * 20, []),
        ("js", "export default {\n  methods: {\n    go() {\n    },\n  },\n}\n", ["default", "default.methods", "default.methods.go"]),
        ("ts", "export interface P {\n  x: number;\n}\nexport type Q = {\n  y: string;\n};\nnamespace N {\n  export function f() {}\n}\n", ["P", "Q", "N.f"]),
        ("c", "#define MAX(a, b) \\\n  ((a) > (b) \\\n   ? (a) : (b))\n#define MIN 1\nenum color { RED };\ntypedef struct { int x; } point;\nstruct point p;\n", ["MAX", "color", "point"]),
        ("cpp", "int Geo::Point::x() {\n  return 1;\n}\n", ["Geo.Point.x"]),
        ("cpp", "template <class T>\nvoid A<T>::f() {\n}\nA::~A() {\n}\nbool operator==(A a, A b) {\n}\ntemplate <>\nstruct B<int> {\n};\n", ["A.f", "A.~A", "operator==", "B"]),
        ("rs", "impl<'a, M: Matcher> Searcher<'a, M> {\n    fn search_path(&self) {}\n}\ntrait T {\n    fn go(&self) {}\n}\nmacro_rules! m {\n    () => {}\n}\n", ["Searcher", "Searcher.search_path", "T", "T.go", "m"]),
        ("go", "package a\n\ntype (\n\tA struct{}\n\tB interface{}\n)\n\nfunc (s *Stack[T]) Push(t T) {\n}\n", ["A", "B", "Stack.Push"]),
        ("rb", "module A\n  module B\n    class C\n      class << self\n        def x\n        end\n      end\n      def self.y\n      end\n    end\n  end\nend\n", ["A.B.C", "A.B.C.x", "A.B.C.y"]),
        ("rb", "class A\n  def valid?\n  end\n  def name=(v)\n    @v = v\n  end\n  def [](i)\n  end\nend\n", ["A", "A.valid?", "A.name=", "A.[]"]),
        ("php", "<?php\ntrait T {\n  function f() {}\n}\n", ["T", "T.f"]),
        ("kt", "class A {\n  fun `adds two`() {\n  }\n  companion object {\n    fun make() {}\n  }\n}\n", ["A", "A.`adds two`", "A.make"]),
        ("swift", "struct A {\n  static func == (l: A, r: A) -> Bool {\n    return true\n  }\n  init() {}\n}\n", ["A", "A.==", "A.init"]),
        ("ex", "defmodule A do\n  def save!(x), do: x\n\n  def left <~> right, do: left\n\n  defp over?(a) when a > 1, do: a\nend\n", ["A", "A.save!", "A.<~>", "A.over?"]),
    ],
)  # fmt: skip
def test_a_definition_bears_the_name_that_people_call_it(suffix, text, expected):
    assert symbols(suffix, text) == expected


@pytest.mark.parametrize(
    ("suffix", "text", "expected"),
    [
        ("jsx", "export default forwardRef(function Input() {\n  return <i />\n})\n", ["Input"]),
        ("tsx", "export const Button = React.memo(forwardRef<A, B>((props, ref) => {\n  return <b />\n}))\n", ["Button"]),
        ("ts", "export const load = createAsyncThunk('x', async (id: string) => {\n  return id\n})\n", ["load"]),
        ("js", "export default memo(({ a }) => {\n  return a\n})\n", ["default"]),
        ("ts", "const slice = createSlice({\n  reducers: {\n    add(s) {\n    },\n  },\n})\n", ["slice", "slice.reducers", "slice.reducers.add"]),
        ("js", "const doubled = all.map((n) => 2 * n)\n", []),
    ],
)  # fmt: skip
def test_what_a_call_makes_of_a_function_bears_its_name(suffix, text, expected):
    """C2."""
    found = found_in(suffix, text)
    assert [each.symbol for each in found] == expected
    assert not found or (found[0].start_line, found[0].end_line) == (1, text.count("\n"))


@pytest.mark.parametrize(
    ("suffix", "text", "expected"),
    [
        ("py", 'def f(d):\n    return f"{d["a"]} {"\\n".join(d)}"\n\ndef g[K](x: K): pass\n\nclass B[T]: pass\n', ["f", "g", "B"]),
        ("py", 'def f(x):\n    print "a", x\n    try:\n        exec "x"\n    except Foo, e:\n        raise X, "y"\n\ndef g(): return x <> 0777L\n', ["f", "g"]),
        ("py", "def a():\n    return 1\n\ndef b(:\n    return 2\n\nclass C:\n    def d(self):\n        return 3\n", ["a", "b", "C", "C.d"]),
        ("py", "class A:\n    def a(self):\n<<<<<<< HEAD\n        return 1\n||||||| base\n=======\n        return 2\n>>>>>>> topic\n\n    def b(self):\n        return 3\n", ["A", "A.a", "A.b"]),
        ("js", "class A {\n<<<<<<< HEAD\n  a() { return 1 }\n=======\n  c() { return 2 }\n>>>>>>> topic\n  b() { return 3 }\n}\n", ["A", "A.a", "A.c", "A.b"]),
        ("js", "function good() { return 1 }\nfunction bad( {", ["good"]),
        ("go", "package a\n\nfunc a() {\n}\n\nfunc b( {\n}\n\nfunc c() {\n}\n", ["a", "c"]),
        ("java", "class A {\n  int a() { return 1; }\n  int b( { }\n  int c() { return 3; }\n}\n", ["A.a", "A.c"]),
    ],
)  # fmt: skip
def test_of_a_source_with_mistakes_or_of_other_times_is_found_what_can_be_read(suffix, text, expected):
    """C1: an older Python than that of the file, Python 2, one mistake, a merge that is not done."""
    assert set(expected) <= set(symbols(suffix, text))


@pytest.mark.parametrize(
    ("suffix", "text", "symbol"),
    [
        ("js", "describe('app', function () {\n  it('should run', function () {\n    go();\n  });\n});\n", "app › should run"),
        ("rb", "RSpec.describe Pot do\n  context 'hot' do\n    it('pours') { pour }\n  end\nend\n", "Pot › hot › pours"),
        ("cpp", "TEST(Pot, Pours) {\n  EXPECT_TRUE(pot.pour());\n}\n", "Pot.Pours"),
        ("cpp", 'TEST_CASE("it pours", "[pot]") {\n  REQUIRE(pot.pour());\n}\n', "it pours"),
        ("lua", "describe('pot', function()\n  it('pours', function()\n    pour()\n  end)\nend)\n", "pot › pours"),
        ("ex", 'defmodule PotTest do\n  test "pours" do\n    pour()\n  end\nend\n', "PotTest › pours"),
        ("rs", "rgtest!(pours, |dir: Dir| {\n    pour();\n});\n", "pours"),
        ("php", "<?php\nit('pours', function () {\n  pour();\n});\n", "pours"),
    ],
)  # fmt: skip
def test_a_test_bears_the_name_that_it_was_given(suffix, text, symbol):
    (test,) = (each for each in found_in(suffix, text) if not each.children)
    assert (test.symbol, test.unit_type) == (symbol, "test")


def test_short_definitions_of_one_name_beside_each_other_are_one():
    """Clauses, overloads, a property that is read and set: none says anything by itself."""
    text = "@overload\ndef f(a: int) -> int: ...\n@overload\ndef f(a: str) -> str: ...\ndef f(a):\n    return a\n"
    assert [(f.start_line, f.end_line, f.signature) for f in found_in("py", text)] == [
        (1, 6, "def f(a: int) -> int")
    ]
    apart = "def f():\n    pass\n\n\ndef f():\n    pass\n"
    assert [f.start_line for f in found_in("py", apart)] == [1, 5]
    of_two_kinds = "export type Quay = {\n  n: number\n}\n\nexport const Quay = () => {\n  return 1\n}\n"
    assert [f.unit_type for f in found_in("ts", of_two_kinds)] == ["class", "function"]


DOC = "/**\n * Tells the price of a berth.\n */\n"


@pytest.mark.parametrize(
    ("suffix", "start", "text"),
    [
        ("js", "let a = 1\n", "\nres.price = function price(berth) {\n  return 1\n};\n"),
        ("js", "let a = 1\n", "\ndefineGetter(req, 'price', function price() {\n  return 1\n});\n"),
        ("ts", "let a = 1\n", "\nexport const price = (berth: string): number => {\n  return 1\n}\n"),
        ("java", "int a;\n", "\npublic class Berth {\n  int price() {\n    return 1;\n  }\n}\n"),
    ],
)
def test_a_documenting_comment_belongs_to_what_comes_after_an_empty_line(suffix, start, text):
    """Express: the comments of all functions were one passage, the functions had none."""
    found = found_in(suffix, start + DOC + text)[0]
    assert (found.start_line, found.docstring) == (start.count("\n") + 1, "Tells the price of a berth.")


@pytest.mark.parametrize("above", [DOC + "\n\n", "/* It is late. */\n\n", DOC + "\nlet b = 2\n"])
def test_another_comment_further_up_is_not_its_own(above):
    assert found_in("js", f"let a = 1\n{above}function price() {{\n  return 1\n}}\n")[0].docstring == ""


HEADER = """TEA_DIAG_PUSH
TEA_DIAG_OFF(c++98-compat)
TEA_NAMESPACE_BEGIN

/// Holds tea.
template <typename Leaf>
class TEA_API Pot {
 public:
  TEA_DISABLE_IF((is_pointer<Leaf>), (Pot&))
  pour(Leaf leaf) { return *this; }
  int size() const { return TEA_MAX_SIZE; }
};

TEA_NAMESPACE_END
"""


def test_macros_that_no_parser_knows_do_not_cost_a_class_its_name():
    """RapidJSON."""
    found = found_in("cpp", HEADER)
    assert [each.symbol for each in found] == ["Pot", "Pot.pour", "Pot.size"]
    assert (found[0].start_line, found[0].docstring) == (5, "Holds tea.")
    assert symbols("c", "TEA_INT\nsize(void) { return 1; }\n") == ["size"]


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("jq", "def map(f): [.[] | f];\n\n# Adds.\ndef add: reduce .[] as $x (null; . + $x);\n", {"map": (1, 1), "add": (3, 4)}),
        ("makefile", ".PHONY: all\nall: build \\\n  more\n\ttrue\n\n# Builds.\nbuild:\n\tmake x\n\nX := 1\n", {"all": (2, 4), "build": (6, 8)}),
        ("dockerfile", "ARG V=1\nFROM python:3.12 AS build\nRUN make\n\nfrom scratch\nCOPY a b\n", {"build": (2, 3), "scratch": (5, 6)}),
        ("cmake", "function(tea pot)\n  pour()\nendfunction()\n\ntea(x)\n", {"tea": (1, 3)}),
        ("awk", "function a(x) {\n}\n", {"a": (1, 2)}),
    ],
)  # fmt: skip
def test_where_definitions_begin_lines_each_ends_before_the_next_thing(language, text, expected):
    found = outline_of(text, language).definitions
    assert {each.symbol: (each.start_line, each.end_line) for each in found} == expected


def test_a_source_that_a_parser_chokes_on_is_told():
    started = time.process_time()
    with pytest.raises(TooComplexError):
        outline_of("x = a\n" + "|-|-|-|-\n" * 2_500, "javascript")
    assert time.process_time() - started < 5
    dense = "foo({a:1,b:[1,2,3], c: () => 1});\n" * 3_000
    assert outline_of(f"{dense}function f() {{ }}\n", "javascript").definitions, "people write such lines"


@settings(deadline=None, max_examples=60)
@given(text=st.text(max_size=300), suffix=st.sampled_from(sorted(LANGUAGES)))
def test_of_any_text_definitions_lie_within_it_and_part_its_lines(text, suffix):
    outline = outline_of(text, LANGUAGES[suffix])
    reached = 0
    for each in outline.definitions:
        assert reached < each.start_line <= each.end_line <= text.count("\n") + 1
        reached = each.end_line


def test_what_stands_above_an_import_and_says_nothing_goes_with_it():
    text = 'use std::io;\n#[cfg(test)]\n#[path = "try.rs"]\nmod tests;\n\npub fn pour(cup: u8) -> u8 {\n    cup + 1\n}\n'
    assert [record.metadata["symbol"] for record in records("src/lib.rs", text)] == ["pour"]


@pytest.mark.parametrize("sign", ["\U0009b8e8", "😀", "é", "\x80"])
def test_no_sign_in_a_shell_script_ends_the_process(sign):
    """The scanner of Bash looked letters up beyond the end of its table."""
    text = f"|\r\x80${{{sign}\nbuild{sign}() {{\n  echo ${{{sign}}}\n}}\n" * 3
    assert all(each.unit_type == "function" for each in found_in("sh", text))
    assert symbols("sh", f"bau_{sign}() {{\n  true\n}}\n") in ([f"bau_{sign}"], [])


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


def test_long_leftovers_are_records_of_their_own_and_short_ones_are_joined():
    table = "".join(f"    {n}: 'a value that is long enough to stand alone',\n" for n in range(12))
    text = f"A = 1\n\n\ndef f():\n    pass\n\n\nTABLE = {{\n{table}}}\n\n\ndef g():\n    pass\n\n\nB = 2\n"
    found = [r for r in records("a.py", text) if "symbol" not in r.metadata]
    assert [(r.metadata["start_line"], r.metadata["end_line"]) for r in found] == [(1, 1), (8, 21), (28, 28)]
    text = "// Copyright 2020 A. Writer\n// Licensed under MIT\n\nint a = 1;\n\nint f(void) { return 1; }\n\nint b = 2;\n"
    assert [r.text for r in records("a.c", text) if "symbol" not in r.metadata] == [
        "int a = 1;\n\nint b = 2;"
    ]


def test_the_place_of_leftovers_that_are_joined_is_of_their_own_lines():
    body = "    pass\n" * 9
    text = f'"""Tea."""\n\n\ndef f():\n{body}\n\nA = 1\n\nB = 2\n\n\ndef g():\n{body}\n\nC = 3\n'
    left = next(r for r in records("a.py", text) if "symbol" not in r.metadata)
    assert left.metadata["place"] == "a.py:1,16-18,33"
    assert (left.metadata["start_line"], left.metadata["end_line"]) == (1, 33)


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


@pytest.mark.parametrize(
    ("path", "text", "marks"),
    [
        ("tests/test_a.py", "def f():\n    pass\n", {"is_test": True}),
        ("src/a.spec.ts", "function f() {\n}\n", {"is_test": True}),
        ("src/lib.rs", "#[cfg(test)]\nmod tests {\n    fn works() {\n    }\n}\n", {"is_test": True}),
        ("src/lib.ts", "it('works', () => {\n  go()\n})\n", {"is_test": True}),
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
