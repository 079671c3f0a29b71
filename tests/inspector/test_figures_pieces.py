"""The final text taken apart: passages, duplicates, cuts, tokens; and two texts beside each other."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.figures.pieces import (
    cut_pieces,
    cut_tokens,
    duplicate_groups,
    pieces,
    token_view,
)
from langchain_context_engine import ConfigError, Context, Template
from langchain_context_engine.text.differences import LONGEST, differences
from tests.builders import a_candidate
from tests.growth import assert_linear, repeated
from tests.inspector.builders import a_context


def test_a_duplicate_stands_in_the_group_of_its_survivor_with_its_similarity():
    groups = duplicate_groups(a_context(budget=2000))
    assert [(group.key[1], [d.key[1] for d in group.duplicates]) for group in groups] == [("a", ["b"])]
    assert groups[0].citation


def test_a_duplicate_of_one_that_fell_stands_in_its_group_too():
    groups = duplicate_groups(a_context(budget=10, truncator="none"))
    assert [d.key[1] for d in groups[0].duplicates] == ["b"]


def test_a_group_says_whether_its_best_ranked_is_in_the_context():
    assert duplicate_groups(a_context(budget=2000))[0].is_kept
    assert not duplicate_groups(a_context(budget=10, truncator="none"))[0].is_kept


def test_copies_are_told_apart_from_what_only_says_the_same_and_what_stands_comes_first():
    """Sixty copies of one text filled the page with sixty boxes, above the duplicates of what is in the context."""
    far = "The office plants are watered on Friday by whoever comes first. " * 9
    texts = {"far": far, "far1": far, "far2": far, "far3": far.upper()}
    near = {"near": "Invoices go out on the first.", "near1": "invoices go out on the first"}
    candidates = [a_candidate(id=i, text=t, relevance=0.4) for i, t in texts.items()]
    candidates += [a_candidate(id=i, text=t, relevance=0.9) for i, t in near.items()]
    groups = duplicate_groups(a_context(candidates, budget=60, truncator="none"))
    assert [(group.key[1], group.is_kept) for group in groups] == [("near", True), ("far", False)]
    assert [[each.key[1] for each in group.copies] for group in groups] == [[], ["far1", "far2"]]
    assert [[each.key[1] for each in group.pairs] for group in groups] == [["near1"], ["far3"]]


@pytest.mark.parametrize("template", ["cited", "chat", "detailed", "summary", "markdown", "xml", "sections"])
@pytest.mark.parametrize("budget", [0, 60, 150, 2000])
def test_the_pieces_of_the_text_are_the_text_each_with_the_passage_it_holds(template, budget):
    context = a_context(template=template, budget=budget)
    found = pieces(context)
    assert "".join(piece.text for piece in found) == context.text
    texts = {passage.key: passage.text for passage in context.passages}
    assert [piece.key for piece in found if piece.key] == [passage.key for passage in context.passages]
    assert all(texts[piece.key] in piece.text for piece in found if piece.key)


def test_passages_that_share_a_line_are_told_apart_within_it():
    context = a_context(template=Template(name="one line", passage="{{content}}", separator=" "), budget=2000)
    assert "".join(piece.text for piece in pieces(context)) == context.text
    assert [piece.key for piece in pieces(context)] == [passage.key for passage in context.passages]


def test_the_pieces_of_a_cut_are_the_original_and_the_kept_ones_the_passage():
    context = a_context(budget=150)
    passage = next(p for p in context.passages if p.is_truncated)
    found = cut_pieces(passage)
    assert "".join(text for text, _ in found) == passage.ranked.candidate.text
    kept = " ".join(text for text, is_kept in found if is_kept)
    assert kept.split() == passage.text.replace(" … ", " ").split()
    original = passage.ranked.candidate.text
    assert cut_tokens(context, passage) == (len(passage.text.encode()), len(original.encode()))


@given(st.text(max_size=60), st.text(max_size=60))
@settings(deadline=None, max_examples=60)
def test_the_sides_of_what_differs_are_pieces_of_the_texts(first, second):
    found, is_all = differences(first, second)
    assert is_all
    assert bool(found) == (first != second)
    for one in found:
        assert "".join(text for text, _ in one.left) in first
        assert "".join(text for text, _ in one.right) in second


def test_only_what_differs_is_told_with_its_context_and_how_much_was_left_out():
    words = " ".join(f"word{i}" for i in range(60))
    (one,), is_all = differences(f"{words} due on 3 May", f"{words} due on 4 May")
    assert is_all
    assert [text for text, differs in one.left if differs] == ["3"]
    assert [text for text, differs in one.right if differs] == ["4"]
    assert one.skipped > 300


def test_few_equal_words_are_shown_and_not_told_of():
    """A line that said "12 equal characters" took the room of the words "of the month"."""
    (one,), _ = differences(
        "# Day\n" + "on the first day of the month it is " * 2 + "so",
        "on the first day of the month it is " * 2,
    )
    assert one.skipped == 0
    assert "".join(text for text, _ in one.left).startswith("# Day\n")
    assert "".join(text for text, _ in one.left).endswith("it is so")


def test_an_equal_end_that_is_left_out_is_told():
    """It was left out without a word."""
    words = " ".join(f"word{i}" for i in range(60))
    one, rest = differences(f"due on 3 May {words}", f"due on 4 May {words}")[0]
    assert [text for text, differs in one.left if differs] == ["3"]
    assert (rest.left, rest.right) == ((), ())
    assert rest.skipped > 300


def test_texts_that_are_too_long_to_be_compared_whole_say_so():
    assert not differences("a " * 5000, "b " * 5000)[1]


@pytest.mark.parametrize("word", ["end", "a" * 9000])
def test_long_texts_that_differ_in_one_place_are_compared_whole_wherever_it_is(word):
    """Of long texts only the first 6,000 characters were compared: that they differed later was not said."""
    text = "as it stands in the book, " * 4000
    found, is_all = differences(f"{text}{word}3 {text}", f"{text}{word}4 {text}")
    assert is_all
    assert found[0].skipped > 100_000
    assert [text[-1] for text, differs in found[0].left if differs] == ["3"]
    assert [text[-1] for text, differs in found[0].right if differs] == ["4"]


def test_words_that_come_again_and_again_are_compared_in_little_time():
    """Two texts that differed only in case took 14 s: each of their spaces was looked for at every other."""
    assert_linear(lambda text: differences(text, text.upper()), repeated("as it stands "), LONGEST)


def test_the_token_view_is_the_text_with_bars():
    context = Context(text="Invoices go out.", tokens=4, settings={"tokenizer": "cl100k_base"})
    assert token_view(context) == "In│voices│ go│ out│."


def test_a_tokenizer_that_only_counts_gives_no_token_view():
    with pytest.raises(ConfigError):
        token_view(Context(text="a b", settings={"tokenizer": "function:mine"}))
