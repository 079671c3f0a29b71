from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.texts import cut_lines, duplicate_groups, mark_difference, token_view
from langchain_context_engine import ConfigError, Context
from tests.inspector.builders import a_context


def test_a_duplicate_stands_in_the_group_of_its_survivor_with_its_similarity():
    groups = duplicate_groups(a_context(budget=2000))
    assert [(group.key[1], [d.key[1] for d in group.duplicates]) for group in groups] == [("a", ["b"])]
    assert groups[0].citation


def test_a_duplicate_of_one_that_fell_stands_in_its_group_too():
    groups = duplicate_groups(a_context(budget=10, truncator="none"))
    assert [d.key[1] for d in groups[0].duplicates] == ["b"]


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
