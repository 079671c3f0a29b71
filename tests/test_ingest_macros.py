"""C and C++ with macros that no parser knows, and tests that are macros or calls: from RapidJSON and busted."""

from __future__ import annotations

import pytest

from langchain_context_engine.ingest import Splitter
from langchain_context_engine.ingest.languages import language_of
from langchain_context_engine.ingest.macros import without_macros
from langchain_context_engine.ingest.reading import read_records
from langchain_context_engine.ingest.skipped import SkippedError
from tests.growth import assert_linear, repeated

HEADER = """#ifndef TEA_POT_H_
#define TEA_POT_H_
TEA_DIAG_PUSH
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
#endif
"""


def found(path, text):
    read = read_records(path, text.encode(), splitter=Splitter(class_size=0))
    return {r.metadata["symbol"]: r for r in read.records if r.metadata.get("symbol")}


def test_macros_on_lines_of_their_own_do_not_cost_a_class_its_name():
    records = found("pot.h", HEADER)
    assert list(records) == ["Pot", "Pot.pour", "Pot.size"]
    assert "class TEA_API Pot {" in records["Pot"].text, "what is shown is what is written"
    assert records["Pot"].text.startswith("/// Holds tea.")
    assert "TEA_MAX_SIZE" in records["Pot.size"].text


def test_a_source_that_is_read_without_a_fault_keeps_its_macros():
    assert list(found("a.c", "TEA_INT\nsize(void) { return 1; }\n")) == ["size"]
    bare = without_macros(HEADER.encode())
    assert len(bare) == len(HEADER.encode())
    assert bare.count(b"\n") == HEADER.count("\n")


@pytest.mark.parametrize(
    ("path", "text", "symbol"),
    [
        ("a.cpp", "TEST(Pot, Pours) {\n  EXPECT_TRUE(pot.pour());\n}\n", "Pot.Pours"),
        ("a.cpp", "TYPED_TEST_P(Pot, Pours) {\n  pour();\n}\n", "Pot.Pours"),
        ("a.cpp", 'TEST_CASE("it pours", "[pot]") {\n  REQUIRE(pot.pour());\n}\n', "it pours"),
        (
            "a.lua",
            "describe('pot', function()\n  it('pours', function()\n    pour()\n  end)\nend)\n",
            "pot › pours",
        ),
    ],
)
def test_a_test_bears_the_name_that_it_was_given(path, text, symbol):
    (record,) = found(path, text).values()
    assert record.metadata["symbol"] == symbol
    assert record.metadata["unit_type"] == "test"
    assert record.metadata["is_test"] is True


def test_a_function_that_is_called_as_a_test_macro_stays_a_function():
    assert list(found("a.cpp", "int TEST(int a) {\n  return a;\n}\n")) == ["TEST"]


@pytest.mark.parametrize("piece", ["A_B(\n", "A_B((((", "class A_B ", "A_", " \t"])
def test_macros_are_found_in_linear_time(piece):
    assert_linear(lambda text: without_macros(text.encode()), repeated(piece), 400_000)


def test_what_completes_a_command_in_zsh_is_code():
    assert language_of("completions/_tea", b"#compdef tea\n_arguments '--hot[Serve hot]'\n") == "shell"
    assert language_of("notes", b"#compdefinitely not\n") is None


def test_a_long_tree_of_dependencies_is_generated_and_a_short_one_is_read():
    tree = "+--- tea:leaf:1.0\n|    +--- tea:water:2.0\n|    \\--- tea:pot:1.8 (*)\n"
    with pytest.raises(SkippedError, match="generated"):
        read_records("deps.txt", (f"Project ':tea'\n{tree * 4}" * 30).encode(), splitter=Splitter())
    assert read_records("deps.txt", tree.encode(), splitter=Splitter()).records
