"""A program is cut between its lines, and a line that only opens a block is no passage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_context_engine.text.truncate import (
    keep_lines,
)
from tests.builders import a_candidate
from tests.pack_builders import engine_of

DOCUMENTED = """/**
 * Reads the mooring table of a harbor and tells which berths are free tonight.
 * The table is kept by the office. It is read anew each hour, since boats come and go.
 * Who asks at night gets what was read last.
 * What is free is told by name.
 * Nothing is reserved by asking.
 * A berth without a price comes last.
 *
 * @param {string} harbor - the harbor that is asked about
 * @return {Array} the free berths, the cheapest first
 */
function freeBerths(harbor) {
  const table = readTable(harbor);
  const free = table.filter((berth) => !berth.boat);

  // the cheapest first
  free.sort((a, b) => a.price - b.price);
  return free.map((berth) => {
    return berth.name;
  });
}
"""


def a_program(text=DOCUMENTED, **fields):
    metadata = {"path": "berths.js", "symbol": "freeBerths", "place": "berths.js:1-17"}
    return a_candidate(id="a", text=text, kind="code", metadata=metadata, **fields)


@given(
    lines=st.lists(st.text("ab(){ }=;:#/,", max_size=12), min_size=1, max_size=12),
    allowance=st.integers(1, 60),
)
def test_what_is_kept_of_a_program_is_its_first_lines_whole(lines, allowance):
    text = "\n".join(lines)
    kept = keep_lines(text, allowance, len)
    assert text.startswith(kept)
    assert len(kept) <= allowance or kept == text
    first = next((line for line in lines if line.strip()), "")
    if kept.strip() and len(text[: text.find(first) + len(first)]) <= allowance:
        after = text[len(kept) :]
        assert not after.strip() or after.lstrip(" ").startswith("\n")


@pytest.mark.parametrize(
    "ending", ["if a:", "f(", "# what comes", "// what comes", "x =", "@cached", "[", "/* so"]
)
def test_what_is_kept_does_not_end_with_a_line_that_leads_on(ending):
    before = "one = 1\ntwo = 2\nthree = 3\nfour = 4"
    text = f"{before}\n{ending}\nfive = 5\nsix = 6"
    assert keep_lines(text, len(f"{before}\n{ending}\nfi"), len) == before


def test_a_program_full_of_prose_is_cut_as_a_program():
    """Its comment of whole sentences made it prose: sentences of it stood beside pieces of its lines."""
    context = engine_of([a_program()], tokenizer="auto", budget=125).build("which berths are free tonight")
    (passage,) = context.passages
    assert DOCUMENTED.startswith(passage.text)
    assert passage.text.endswith("the cheapest first\n */")
