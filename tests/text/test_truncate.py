"""Cutting a text to an allowance."""

from __future__ import annotations

import math
import unicodedata

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine.text.truncate import (
    ELLIPSIS,
    TRUNCATORS,
    Extractive,
    extractive,
    keep_end,
    keep_start,
    locate,
    pieces,
)
from tests.builders import count_with_join_cost, count_words
from tests.growth import assert_linear, repeated

pytestmark = pytest.mark.unmeasured

CUTTING = [keep_start, keep_end, extractive, Extractive("alpha beta")]


def count_characters(text: str) -> int:
    return len(text)


def count_bytes(text: str) -> int:
    return len(text.encode())


def count_erratically(text: str) -> int:
    """Neither additive nor monotone: even lengths cost half."""
    return len(text) if len(text) % 2 else math.ceil(len(text) / 2)


COUNTERS = [count_words, count_with_join_cost, count_characters, count_bytes, count_erratically]


@pytest.mark.parametrize("truncate", CUTTING)
@pytest.mark.parametrize("unit", ["^", "a b. ", "| a ", "word\n", "😀", "|a\n|-|\n", "。", "\u0301"])
def test_hundreds_of_thousands_of_characters_are_cut_in_linear_time(truncate, unit):
    """A3."""

    def cut(text: str) -> None:
        assert len(truncate(text, 100, lambda t: math.ceil(len(t) / 4))) <= 400

    assert_linear(cut, repeated(unit), 100_000)


def test_keep_start_is_a_prefix_and_keep_end_a_suffix():
    """B13."""
    text = "don't stop,  ever.\nReally."
    for allowance in range(len(text)):
        assert text.startswith(keep_start(text, allowance, count_characters))
        assert text.endswith(keep_end(text, allowance, count_characters))


def test_a_text_without_a_full_stop_is_cut_from_the_start():
    """B14 a."""
    text = " ".join(f"word{i}" for i in range(500))
    result = extractive(text, 50, count_words)
    assert result
    assert text.startswith(result)
    assert 40 <= count_words(result) <= 50


@pytest.mark.parametrize("truncate", CUTTING)
@pytest.mark.parametrize(
    "around", ["![plan](data:image/png;base64,{})", "<img src='data:;base64,{}'>", "key={}"]
)
def test_no_cut_ends_within_letters_that_nobody_reads(truncate, around):
    """B14."""
    letters = "iVBORw0KGgoAAAANSUhEUgAA" * 90
    text = f"The pump is blue. {around.format(letters)} Oil it weekly. Then it rests."
    cut = truncate(text, 60, count_characters)
    assert "VBOR" not in cut
    assert "pump" in cut or "weekly" in cut


def test_an_extract_is_of_whole_sentences_in_source_order():
    """B14 b."""
    text = "Dr. Rao paid $3.50. Then he left. Done."
    whole = ["Dr. Rao paid $3.50.", "Then he left.", "Done."]
    for allowance in range(4, 8):
        result = extractive(text, allowance, count_words)
        for piece in result.split(ELLIPSIS):
            assert piece in text
            assert any(sentence in piece for sentence in whole)
        assert not result.endswith("Dr.")


TABLE_HEAD = "| name | value |\n|------|-------|"
TABLE = TABLE_HEAD + "\n" + "\n".join(f"| row{i} | {i} |" for i in range(20))


@pytest.mark.parametrize(
    "text", ["👨‍👩‍👧‍👦" * 5, "e\u0301" * 9, "🇩🇪🇫🇷🇮🇹🇪🇸", "a\r\nb\r\nc", "👍🏽👍🏽👍🏽", "각각각", "नमस्ते"]
)
def test_no_character_that_people_see_is_split(text):
    text = unicodedata.normalize("NFD", text)
    ends = {0, *(found.end() for found in regex.finditer(r"\X", text))}
    for allowance in range(len(text)):
        for result in (
            keep_start(text, allowance, count_characters),
            keep_end(text, allowance, count_characters),
        ):
            for start, end in locate(text, result):
                assert {start, end} <= ends


@settings(deadline=None, max_examples=300)
@given(
    st.text(alphabet=st.sampled_from("ab A.!?\n|-`。😀é\u0301 🇩🇪"), max_size=80) | st.text(max_size=60),
    st.integers(-1, 60),
    st.sampled_from(COUNTERS),
    st.sampled_from([*CUTTING, TRUNCATORS["none"]]),
)
def test_a_result_fits_and_is_made_of_exact_pieces(text, allowance, count, truncate):
    """Promises 2 and 5."""
    result = truncate(text, allowance, count)
    assert result == "" or count(result) <= allowance
    if result:
        spans = locate(text, result)
        assert pieces(text, spans) == result or ELLIPSIS in text
    if 0 <= count(text) <= allowance:
        assert result == text


@settings(deadline=None, max_examples=200)
@given(
    st.integers(0, 40),
    st.lists(st.sampled_from(["tea", "alpha.", "beta", "of", "Rust?", "a\n"]), max_size=30),
)
def test_more_allowance_never_leaves_most_of_it_unused(allowance, parts):
    """Promise 11."""
    text = " ".join(parts)
    if count_words(text) > allowance > 0:
        assert count_words(keep_start(text, allowance, count_words)) * 2 >= allowance
        assert count_words(extractive(text, allowance, count_words)) * 2 >= allowance
