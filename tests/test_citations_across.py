"""T6: ranges from one bracket to another, and what names a passage by a word; as an answer and as a text."""

from __future__ import annotations

import pytest

from langchain_context_engine import Context, ContextEngine, replay
from langchain_context_engine.ranking.editions import ROWS
from langchain_context_engine.rendering.citations import number_markers, used_citations
from tests.builders import ListSource, a_candidate

MARKERS = [f"[{n}]" for n in range(1, 6)]
RANGES = [
    "[1]–[3]", "[1]-[3]", "[1]—[3]", "[1] – [3]", "[1]...[3]", "[1]…[3]", "[1] to [3]", "[1] through [3]",
    "[1] bis [3]", "[1] до [3]", "[1]〜[3]", "[1]から[3]", "[1]至[3]", "［1］–［3］", "【1】-【3】", "[^1]–[^3]",
    "[1]-[2]-[3]", "[[1]–[3]]", "[ 1 ]–[ 3 ]",
]  # fmt: skip
ONES = [
    "[doc 1]", "[Document 1]", "[passage 1]", "[Passage: 1]", "[chunk 1]", "[no. 1]", "[¹]", "[①]", "[^1^]", "[1.]",
    "【doc 1】", "[footnote 1]",
]  # fmt: skip
NONE = [
    "(1)",
    "m²",
    "[page 1]",
    "[#1]",
    "[1st]",
    "[doc]",
    "[docs/1]",
    "`[1]–[3]`",
    "[document one]",
    "[no]",
    "[v1.]",
]


@pytest.mark.parametrize("answer", RANGES)
def test_a_range_from_one_bracket_to_another_is_all_of_it(answer):
    """T6: the ends alone were read."""
    assert used_citations(f"The harbour is late {answer}, it says.", MARKERS) == ("[1]", "[2]", "[3]")
    assert number_markers([f"late {answer}"])[0] == "[4]"


@pytest.mark.parametrize("answer", ONES)
def test_a_number_behind_a_word_for_a_passage_is_a_citation(answer):
    """T6."""
    assert used_citations(f"The harbour is late {answer}.", MARKERS) == ("[1]",)
    assert number_markers([f"late {answer}"])[0] == "[2]"


@pytest.mark.parametrize("answer", NONE)
def test_what_counts_something_else_is_none(answer):
    """T6."""
    assert used_citations(f"The harbour is late {answer}.", MARKERS) == ()


@pytest.mark.parametrize(
    ("answer", "used"),
    [
        ("[1]\n- [3]", ("[1]", "[3]")),
        ("[1] and [3]", ("[1]", "[3]")),
        ("[3]–[1]", ("[3]", "[1]")),
        ("[1]–[999999]", ("[1]",)),
        ("[1]–[2], [4]", ("[1]", "[2]", "[4]")),
        ("[5][2]–[4]", ("[5]", "[2]", "[3]", "[4]")),
        ("[1] – see [3]", ("[1]", "[3]")),
    ],
)
def test_two_citations_with_something_else_between_them_are_two(answer, used):
    """T6."""
    assert used_citations(answer, MARKERS) == used


def test_a_trace_of_before_keeps_its_markers():
    """Promise 9."""
    source = ListSource(
        [a_candidate(text="as in [doc 1] of the harbour"), a_candidate(id="b", text="[2]–[4] say more")]
    )
    context = ContextEngine([source]).build("harbour")
    assert list(context.citations) == ["[5]", "[6]"]
    told = context.to_dict()
    told["settings"]["fusion"] = {**told["settings"]["fusion"], "edition": ROWS}
    assert list(replay(Context.from_dict(told)).citations) == ["[1]", "[3]"]
