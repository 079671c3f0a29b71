from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.texts import cut_lines, duplicate_groups, mark_difference, pieces, token_view
from langchain_context_engine import ConfigError, Context, Template
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


@given(
    st.text(max_size=60).filter(lambda s: not set(s) & set("⟦⟧")),
    st.text(max_size=60).filter(lambda s: not set(s) & set("⟦⟧")),
)
@settings(deadline=None, max_examples=60)
def test_marking_a_difference_changes_no_character_of_either_text(first, second):
    marked = mark_difference(first, second)
    assert tuple(text.replace("⟦", "").replace("⟧", "") for text in marked) == (first, second)
    if first == second:
        assert marked == (first, second)


def test_cut_lines_hold_every_word_of_the_original_once():
    context = a_context(budget=150)
    passage = next(p for p in context.passages if p.is_truncated)
    lines = cut_lines(passage).splitlines()
    kept = " ".join(line[2:] for line in lines if line.startswith("+"))
    both = " ".join(line[2:] for line in lines)
    assert both.split() == passage.ranked.candidate.text.split()
    assert kept.split() == passage.text.replace(" … ", " ").split()


def test_the_token_view_is_the_text_with_bars():
    context = Context(text="Invoices go out.", tokens=4, settings={"tokenizer": "cl100k_base"})
    assert token_view(context) == "In│voices│ go│ out│."


def test_a_tokenizer_that_only_counts_gives_no_token_view():
    with pytest.raises(ConfigError):
        token_view(Context(text="a b", settings={"tokenizer": "function:mine"}))
