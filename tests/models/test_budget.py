"""Budgets: shares, caps and reserves, none of them broken and nothing lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine import Budget, ConfigError
from langchain_context_engine.models.budget import split_tokens
from tests.builders import ListSource, a_candidate
from tests.pack_builders import engine_of, text_of


def test_what_one_share_leaves_over_goes_to_the_others():
    """C21."""
    a = ListSource([a_candidate(source="A", text=text_of(10, "a"), relevance=0.9)], "A")
    b = ListSource(
        [a_candidate(source="B", text=text_of(50, f"b{i}_"), relevance=0.5) for i in range(10)], "B"
    )
    context = engine_of([], sources=[a, b], budget=Budget(tokens=400, shares={"A": 3, "B": 1})).build("q")
    assert sum(p.tokens for p in context.passages if p.key[0] == "B") >= 300
    assert context.tokens <= 400


@given(st.dictionaries(st.sampled_from("abcdef"), st.floats(0, 10), max_size=6), st.integers(0, 5000))
@settings(deadline=None)
def test_shares_lose_no_token(weights, tokens):
    shares = split_tokens(tokens, weights)
    assert sum(shares.values()) == (tokens if sum(weights.values()) > 0 else 0)
    assert all(share >= 0 for share in shares.values())


@pytest.mark.parametrize(
    "bad",
    [
        {"tokens": -1},
        {"tokens": 1.5},
        {"item_cap": 0},
        {"item_cap": 2},
        {"shares": {"a": -1}},
        {"shares": {"a": float("nan")}},
        {"reserve": True},
    ],
)
def test_a_budget_that_cannot_be_is_refused(bad):
    with pytest.raises(ConfigError, match=next(iter(bad)).rstrip("s")):
        Budget(**bad)


@pytest.mark.parametrize("budget", [-1, 1.5, "many", True])
def test_a_negative_budget_is_refused_everywhere(budget):
    with pytest.raises(ConfigError, match="budget"):
        engine_of([a_candidate()], budget=budget)
    with pytest.raises(ConfigError, match="budget"):
        engine_of([a_candidate()]).build("q", budget=budget)
