"""Rows W1 and W12 of the workspace builder, through its public face, on real Chroma collections."""

from __future__ import annotations

import pytest

from langchain_context_engine import ConfigError, ScopeError, UnknownNameError
from langchain_context_engine.designs import ContextHints, TokenBudget, User, WorkspaceContextBuilder
from langchain_context_engine.designs.workspace import (
    SemanticSettings,
)
from tests.designs.workspace_builders import (
    ANN,
    ANY_SIMILARITY,
    EMBEDDINGS,
    NOW,
    a_block,
    a_builder,
    a_page,
    build,
    relevances,
)


async def test_a_request_names_query_user_focus_type_history_budget_and_hints_and_async_is_the_same():
    """W1"""
    builder = a_builder(a_page(), config=ANY_SIMILARITY)
    fields = {
        "user": ANN,
        "focus": {"block_id": "p3"},
        "type": "chat",
        "conversation_history": [("user", "Where is fuel?")],
        "token_budget": TokenBudget(total=600),
        "hints": ContextHints(exclude_blocks=["p4"]),
        "now": NOW,
    }
    payload = builder.build("Who sells fuel?", **fields)
    assert (
        str(payload) == payload.serialized == (await builder.abuild("Who sells fuel?", **fields)).serialized
    )
    assert builder.estimate_tokens(payload) == payload.metadata.total_tokens <= 600
    assert builder.validate(payload).is_valid
    assert "Electricity meters" not in payload.serialized


def test_validation_tells_what_does_not_hold():
    """W1"""
    from dataclasses import replace

    builder = a_builder(a_page())
    payload = builder.build("fuel", user=ANN, focus={"block_id": "p3"}, now=NOW)
    result = builder.validate(replace(payload, serialized=payload.serialized + " and more"))
    assert not result.is_valid
    assert "are told" in result.problems[0]


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "dream"},
        {"focus": {"blok": "x"}},
        {"user": "ann"},
        {"token_budget": -1},
        {"hints": "none"},
    ],
)
def test_a_wrong_field_of_a_request_is_refused(fields):
    """W1"""
    with pytest.raises((ConfigError, AttributeError)):
        a_builder(a_page()).build("x", **{"user": ANN, **fields})


def test_a_time_range_narrows_the_search_and_not_the_focus():
    """W1"""
    records = [
        *a_page(1),
        a_block("new", "harbor fee new", updated_at="2026-01-30"),
        a_block("old", "harbor fee old", updated_at="2025-01-30"),
        a_block("undated", "harbor fee undated"),
    ]
    hints = ContextHints(time_range=("2026-01-01", None))
    payload = build(records, "harbor fee", focus={"block_id": "p0"}, hints=hints, config=ANY_SIMILARITY)
    assert set(relevances(payload, "semantic")) == {"new"}
    assert "p0" in relevances(payload, "focus")


def test_included_blocks_come_in_and_excluded_ones_do_not_within_the_permissions():
    """W1, W12"""
    secret = {**a_block("secret", "Rival harbor"), "workspace": "rival"}
    records = [*a_page(3), a_block("rule", "Never moor at the red buoy."), secret]
    hints = ContextHints(include_blocks=["rule", "secret"], exclude_blocks=["p1"])
    for fields in ({"focus": {"block_id": "p0"}}, {"budget": TokenBudget(focus=0)}):
        payload = build(records, "fee", hints=hints, **fields)
        assert "Never moor at the red buoy." in payload.serialized
        assert "Residents renew" not in payload.serialized
        assert "Rival" not in str(payload.context.to_dict())


def test_never_without_permissions_a_user_or_a_budget():
    """W12"""
    with pytest.raises(TypeError):
        WorkspaceContextBuilder(a_builder([]).store, embeddings=EMBEDDINGS)
    with pytest.raises(ConfigError, match="permissions"):
        a_builder([], permissions=None)
    for says_nothing in ({}, None, {"workspace": None}):
        with pytest.raises(ScopeError):
            a_builder(a_page(), permissions=lambda user, scope=says_nothing: scope).build("x", user=ANN)
    with pytest.raises(ConfigError, match="user"):
        a_builder(a_page()).build("x")
    with pytest.raises(ConfigError):
        TokenBudget(total=None)
    with pytest.raises(ConfigError):
        SemanticSettings(top_k=float("inf"))
    assert a_builder(a_page()).build("x", user=ANN).context.budget == 4000


def test_a_user_with_permission_for_nothing_gets_nothing():
    """W12"""
    payload = a_builder(a_page(), permissions=lambda user: {"workspace": []}).build(
        "harbor", user=User(id="eve"), focus={"block_id": "p0"}
    )
    assert (payload.serialized, payload.sections, payload.metadata.blocks_considered) == ("", (), 0)


def test_an_unknown_signal_or_strategy_is_refused_with_the_known_ones():
    """W6, W9"""
    from langchain_context_engine.designs.workspace import ContextConfig, TruncationSettings

    with pytest.raises(UnknownNameError, match="semantic"):
        ContextConfig(weights={"semantics": 1})
    with pytest.raises(UnknownNameError, match="extractive"):
        TruncationSettings(default_strategy="extract")
