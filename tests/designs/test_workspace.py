"""Rows W2–W6 and W11 of the workspace builder, through its public face, on real Chroma collections."""

from __future__ import annotations

import pytest

from langchain_context_engine import Journal
from langchain_context_engine.designs import ContextHints, TokenBudget
from langchain_context_engine.designs.workspace import DEFAULT_CONTEXT_CONFIG
from langchain_context_engine.designs.workspace import (
    CollectorSettings,
    FocusSettings,
    SemanticSettings,
)
from tests.designs.workspace_builders import (
    ANN,
    ANY_SIMILARITY,
    NOW,
    a_block,
    a_builder,
    a_page,
    build,
    relevances,
    section,
    signals,
)


def test_the_focus_collector_has_the_documents_relevances():
    """W2"""
    found = relevances(build(a_page(8), focus={"block_id": "p3", "page_id": "page-123"}), "focus")
    assert found == {
        "p3": 1.0,
        "section": 0.9,
        "page-123": 0.9,  # an ancestor at 0.8, and the page's summary
        "p2": 0.8,
        "p4": 0.75,
        "p1": 0.7,
        "p5": 0.65,
    }
    below = relevances(build(a_page(8), focus={"block_id": "section"}), "focus")
    assert below == {
        "section": 1.0,
        "page-123": 0.9,
        **{f"p{i}": round(0.85 - 0.05 * i, 2) for i in range(5)},
    }


def test_the_page_stands_with_its_summary_and_depth_reaches_further_down():
    """W2"""
    payload = build(a_page(2), focus={"page_id": "page-123"}, hints=ContextHints(max_depth=2))
    assert "[Harbor plan] [page]\nThe plan of the harbor." in payload.serialized
    assert relevances(payload, "focus") == {"page-123": 1.0, "section": 0.85, "p0": 0.75, "p1": 0.7}


def test_the_search_offers_fifteen_at_most_of_the_users_own_and_similar_ones_only():
    """W3"""
    mine = [a_block(f"m{i}", f"harbor fee number {i}") for i in range(20)]
    theirs = [{**a_block(f"s{i}", "harbor fee"), "workspace": "rival"} for i in range(50)]
    far = [a_block("far", "unrelated words about gardening tulips")]
    payload = build([*theirs, *mine, *far], "harbor fee", config=DEFAULT_CONTEXT_CONFIG)
    found = relevances(payload, "semantic")
    assert len(found) == 15
    assert min(found.values()) >= 0.6
    assert set(found) <= {block["id"] for block in mine}
    assert "rival" not in str(payload.context.to_dict())


def test_the_relation_collector_follows_rows_links_and_backlinks_two_steps_and_ends_in_cycles():
    """W4"""
    records = [
        a_block("task", "Dredge the basin", "db_row", links=["doc"], relations="row, gone", database_id="db"),
        a_block("row", "Rent a dredger", "db_row", links=["task"]),
        a_block("doc", "Depth survey of the basin", links=["task", "far"]),
        a_block("back", "The plan mentions dredging", links=["task"]),
        a_block("far", "Chart of the coast", links=["beyond"]),
        a_block("beyond", "Three steps away"),
        {**a_block("secret", "A rival links here", links=["task"]), "workspace": "rival"},
    ]
    payload = build(records, "basin", focus={"block_id": "task"})
    assert relevances(payload, "relations") == {"row": 0.75, "doc": 0.7, "back": 0.65, "far": 0.56}
    one_step = build(records, "basin", focus={"block_id": "task"}, hints=ContextHints(max_depth=1))
    assert set(relevances(one_step, "relations")) == {"row", "doc", "back"}
    rows = build(records, "basin", focus={"database_id": "db"}, hints=ContextHints(max_depth=1))
    assert relevances(rows, "relations") == {"task": 0.75}


def test_ten_related_blocks_at_most_however_many_edges():
    """W4, K87"""
    records = [
        a_block("hub", "The hub", links=[f"n{i}" for i in range(300)]),
        *(a_block(f"n{i}", f"note {i}", links=["hub"]) for i in range(300)),
    ]
    assert len(relevances(build(records, "hub", focus={"block_id": "hub"}), "relations")) == 10


def test_the_activity_collector_offers_recent_edits_and_views_of_this_user(tmp_path):
    """W5"""
    journal = Journal(tmp_path / "journal.db")
    records = [
        *(
            a_block(
                f"e{i}", f"edited text {i}", updated_by="ann", updated_at=f"2026-01-31T{11 - i:02}:00:00Z"
            )
            for i in range(12)
        ),
        a_block("old", "edited long ago", updated_by="ann", updated_at="2026-01-20T00:00:00Z"),
        a_block("old-epoch", "edited long ago too", updated_by="ann", updated_at=1_600_000_000),
        a_block("bob", "edited by another", updated_by="bob", updated_at=NOW),
        a_block("v0", "A viewed page", "page", summary="Summary of the viewed page."),
        {**a_block("v1", "A rival's page", "page"), "workspace": "rival"},
    ]
    builder = a_builder(records, journal=journal)
    for i, id_ in enumerate(("v1", "v0", "e11")):
        builder.viewed(ANN, id_, at=f"2026-01-31T10:0{i}:00Z")
    budget = TokenBudget(semantic=0)
    payload = build(records, "x", builder=builder, budget=budget)
    found = relevances(payload, "activity")
    edits = {f"e{i}": round(0.6 - 0.02 * i, 2) for i in range(10)}
    assert found == {**edits, "e11": 0.5, "v0": 0.48}
    assert "Summary of the viewed page." in payload.serialized
    journal.close()


def test_signals_have_the_documents_formulas(tmp_path):
    """W6"""
    records = a_page(3)
    records[2] |= {"updated_at": "2026-01-16T12:00:00Z", "updated_by": "nobody"}
    records.append(a_block("todo", "Berths to paint", "todo", updated_by="ann", updated_at=NOW))
    payload = build(records, "Which task is next?", focus={"block_id": "p1"}, config=ANY_SIMILARITY)
    assert signals(payload, "p0") == {
        "relevance": 0.8, "structural": 0.8, "recency_linear": 0.5, "type_match": 0.5, "user_affinity": 0.0,
    }  # fmt: skip
    todo = signals(payload, "todo")
    assert (todo["type_match"], todo["user_affinity"], todo["recency_linear"]) == (0.9, 1.0, 1.0)
    assert todo["structural"] == pytest.approx(1 - 0.1 * 4)  # two tops, one step below the workspace
    weights = {
        "relevance": 0.35,
        "structural": 0.25,
        "recency_linear": 0.15,
        "type_match": 0.15,
        "user_affinity": 0.1,
    }
    for passage in payload.context.passages:
        expected = sum(weight * passage.ranked.signals[name] for name, weight in weights.items())
        assert passage.ranked.score == pytest.approx(expected)


def test_without_a_focus_nearness_is_neutral_and_affinity_is_the_share_of_the_users_recent_blocks():
    """W6"""
    records = [
        a_block("a", "harbor fee", page_id="one", updated_by="ann", updated_at=NOW),
        a_block("b", "harbor tax", page_id="one", updated_by="ann", updated_at="2026-01-31T11:00:00Z"),
        a_block("c", "harbor duty", page_id="two", updated_by="ann", updated_at="2026-01-31T10:00:00Z"),
        a_block("d", "harbor rent", page_id="two"),
        a_block("e", "harbor toll", page_id="three"),
    ]
    payload = build(records, "harbor", config=ANY_SIMILARITY)
    shares = {id_: round(signals(payload, id_)["user_affinity"], 3) for id_ in "abcde"}
    assert shares == {"a": 0.667, "b": 0.667, "c": 0.333, "d": 0.333, "e": 0.0}
    assert {signals(payload, id_)["structural"] for id_ in "abcde"} == {0.5}


def test_prioritised_types_match_best_and_a_summary_asks_for_pages():
    """W1, W6"""
    records = [a_block("q", "harbor quote", "quote"), a_block("g", "harbor page", "page")]
    payload = build(
        records, "Summarize the harbor", config=ANY_SIMILARITY, hints=ContextHints(prioritize_types=["quote"])
    )
    assert signals(payload, "q")["type_match"] == 1.0
    assert signals(payload, "g")["type_match"] == 0.8


def test_a_collector_can_be_switched_off_and_bounded():
    """W2, W3"""
    collectors = CollectorSettings(
        focus=FocusSettings(enabled=False), semantic=SemanticSettings(top_k=2, min_threshold=0)
    )
    from langchain_context_engine.designs.workspace import ContextConfig

    payload = build(
        a_page(8), "harbor", focus={"block_id": "p1"}, config=ContextConfig(collectors=collectors)
    )
    assert "focus" not in payload.metadata.collectors_used
    assert len(relevances(payload, "semantic")) == 2


def test_metadata_tell_focus_time_collectors_and_blocks():
    """W11"""
    payload = build(a_page(3), "harbor", focus={"block_id": "p0", "page_id": "page-123"}, system="Be brief.")
    told = payload.metadata
    assert (told.focus_block_id, told.focus_page_id) == ("p0", "page-123")
    assert told.timestamp == "2026-01-31T12:00:00+00:00"
    assert told.collectors_used == ("focus", "semantic", "relations", "activity", "system")
    assert told.blocks_included == told.blocks_considered == 5
    assert section(payload, "system").items[0].content == "Be brief."
