"""Rules of splitting: bounded pieces that cover the text, always progress, and sections that follow each other."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.ingest import Splitter
from langchain_context_engine.ingest.readers.markdown import read_markdown
from langchain_context_engine.ingest.sections import document_records
from tests.growth import assert_linear, repeated

LINES = st.lists(
    st.sampled_from(
        [
            "# Title",
            "## Part",
            "### Deep ###",
            "text here. And more.",
            "",
            "```",
            "~~~~",
            "---",
            "===",
            "日本語 😀",
            "- a",
        ]
    )
    | st.text(max_size=30),
    max_size=25,
).map("\n".join)


@pytest.mark.parametrize(
    "sizes",
    [
        {"chunk_size": 0},
        {"chunk_size": -1},
        {"chunk_size": 10, "overlap": 10},
        {"chunk_size": 10, "overlap": 11},
        {"chunk_size": 10, "overlap": -1},
        {"chunk_size": 1.5},
        {"chunk_size": True},
        {"chunk_size": None},
        {"chunk_size": "100"},
    ],
)
def test_sizes_without_progress_are_refused_at_construction(sizes):
    """B16."""
    with pytest.raises(ConfigError, match=r"chunk_size|overlap"):
        Splitter(**sizes)


@pytest.mark.parametrize(
    "make", [repeated("x"), repeated(" "), lambda size: "\n" * size + "x", repeated("a ")]
)
@pytest.mark.parametrize("overlap", [0, 50, 99])
def test_splitting_finishes_on_text_without_a_place_to_break(make, overlap):
    """B16."""

    def split(text: str) -> None:
        spans = Splitter(chunk_size=100, overlap=overlap)(text)
        assert all(0 < end - start <= 100 for start, end in spans)

    assert_linear(split, make, 20_000 if overlap == 99 else 1_000_000)


@settings(deadline=None, max_examples=150)
@given(text=st.text(max_size=400) | LINES, chunk_size=st.integers(1, 60), overlap=st.integers(0, 59))
def test_spans_are_bounded_go_forward_and_cover_all_text(text, chunk_size, overlap):
    """B16."""
    spans = Splitter(chunk_size=chunk_size, overlap=min(overlap, chunk_size - 1))(text)
    covered = set()
    for (start, end), after in zip(spans, [*spans, None][1:], strict=True):
        assert 0 <= start < end <= len(text)
        assert end - start <= chunk_size
        assert after is None or after[0] > start
        covered.update(range(start, end))
    assert all(i in covered for i, c in enumerate(text) if not c.isspace())


def test_a_piece_ends_at_a_blank_line_before_it_ends_at_a_word():
    text = "one two three\n\nfour five six seven"
    assert [text[a:b] for a, b in Splitter(chunk_size=20)(text)] == ["one two three", "four five six seven"]


def sections(text):
    return read_markdown("a.md", text, 1000).sections


@settings(deadline=None, max_examples=150)
@given(text=LINES)
def test_sections_follow_each_other_and_cover_the_document(text):
    found = sections(text)
    assert found[0].start == 0
    assert found[-1].end == len(text)
    assert all(a.end == b.start for a, b in itertools.pairwise(found))


@settings(deadline=None, max_examples=100)
@given(text=LINES, chunk_size=st.integers(5, 80))
def test_passages_of_a_document_are_exact_pieces_that_cover_it_under_unique_stable_ids(text, chunk_size):
    records = document_records("a.md", read_markdown("a.md", text, 1), Splitter(chunk_size=chunk_size), {})
    covered = set()
    for record in records:
        start, end = record.metadata["start"], record.metadata["end"]
        assert text[start:end] == record.text
        assert record.metadata["start_line"] == 1 + text.count("\n", 0, start)
        covered.update(range(start, end))
    assert all(i in covered for i, c in enumerate(text) if not c.isspace())
    assert len({r.id for r in records}) == len(records)
    assert records == document_records(
        "a.md", read_markdown("a.md", text, 1), Splitter(chunk_size=chunk_size), {}
    )


def test_headings_of_a_hostile_document_are_found_in_linear_time():
    def hostile(size: int) -> str:
        return (
            "# a" + " " * (3 * size) + "b\n" + "#" * size + "\n" + "=" * size + "x\n" + "# x\n" * (size // 5)
        )

    assert_linear(sections, hostile, 100_000)
