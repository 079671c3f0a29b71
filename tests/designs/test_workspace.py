"""The workspace builder (rows W1 to W13), through its public face, on real Chroma collections."""

from __future__ import annotations

import pytest
from langchain_core.language_models import FakeListChatModel

from langchain_context_engine import ConfigError, Journal, LocalEmbeddings, ScopeError, UnknownNameError
from langchain_context_engine.designs import (
    CollectorSettings,
    ContextConfig,
    ContextHints,
    SemanticSettings,
    TokenBudget,
    User,
    WorkspaceContextBuilder,
)
from langchain_context_engine.designs.workspace import (
    DEFAULT_CONTEXT_CONFIG,
    TruncationSettings,
)
from langchain_context_engine.designs.workspace_blocks import ActivitySource, Blocks, FocusSource
from langchain_context_engine.models.types import Reason
from langchain_context_engine.trace.explain import final_decisions
from tests.builders import a_collection, a_request, count_words
from tests.designs.workspace_builders import (
    ANN,
    ANY_SIMILARITY,
    EMBEDDINGS,
    NOW,
    PARAGRAPHS,
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


def test_metadata_tell_focus_time_collectors_and_blocks():
    """W11"""
    payload = build(a_page(3), "harbor", focus={"block_id": "p0", "page_id": "page-123"}, system="Be brief.")
    told = payload.metadata
    assert (told.focus_block_id, told.focus_page_id) == ("p0", "page-123")
    assert told.timestamp == "2026-01-31T12:00:00+00:00"
    assert told.collectors_used == ("focus", "semantic", "relations", "activity", "system")
    assert told.blocks_included == told.blocks_considered == 5
    assert section(payload, "system").items[0].content == "Be brief."


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


LOCAL = LocalEmbeddings()
OTHERS = [a_block(f"x{i}", text) for i, text in enumerate(PARAGRAPHS)]


def a_workspace(records, **fields):
    return WorkspaceContextBuilder(
        a_collection(records, embeddings=LOCAL),
        permissions=lambda user: {"workspace": user.attributes["workspace"]},
        embeddings=LOCAL,
        **fields,
    )


def ids(payload, name):
    found = section(payload, name)
    return [] if found is None else [item.block_id for item in found.items]


def test_a_page_is_summarised_from_its_own_blocks():
    """W13, 8.1"""
    records = [
        a_block("page-123", "Harbor", "page", title="Harbor", summary="All about the harbor."),
        *(
            a_block(f"c{i}", PARAGRAPHS[i], parent_id="page-123", page_id="page-123", position=i)
            for i in range(5)
        ),
        *(a_block(f"o{i}", f"Another page of the workspace, about bees, part {i}") for i in range(10)),
    ]
    payload = a_workspace(records).build(
        "Summarize this page", focus={"page_id": "page-123"}, type="assist", user=ANN, now=NOW,
        token_budget=TokenBudget(
            total=3000, focus=2500, semantic=200, relations=200, activity=0, history=0, system=100
        ),
    )  # fmt: skip
    assert set(ids(payload, "focus")) == {"page-123", "c0", "c1", "c2", "c3", "c4"}


def test_the_chat_finds_the_overdue_tasks_by_search_alone():
    """W13, 8.2: nothing passed a similarity of .6."""
    records = [
        a_block("t1", "Paint the northern buoy; this task is overdue since Monday", "todo"),
        a_block("k1", "Repair the crane: overdue task of last week", "kanban_card"),
        a_block("n1", "How we grow tulips in the garden", "text"),
        *OTHERS,
    ]
    payload = a_workspace(records).build(
        "What tasks are overdue?", focus=None, type="chat", user=ANN, now=NOW,
        token_budget=TokenBudget(
            total=4000, focus=0, semantic=2500, relations=500, activity=500, history=300, system=200
        ),
        hints=ContextHints(prioritize_types=["todo", "kanban_card"]),
    )  # fmt: skip
    assert max(c.relevance for c in payload.context.candidates) < 0.6
    assert set(ids(payload, "semantic")[:2]) == {"t1", "k1"}
    assert "n1" not in ids(payload, "semantic")
    fate = final_decisions(payload.context)[(payload.context.candidates[0].source, "x6")]
    assert fate.reason is Reason.BELOW_THRESHOLD
    assert fate.details["score"] < fate.details["threshold"]
    assert fate.details["source"] == "semantic"


def test_a_task_is_broken_down_beside_similar_tasks():
    """W13, 8.3"""
    records = [
        a_block("list", "Renovation", "page", title="Renovation"),
        a_block("task-456", "Renovate the pier", "todo", parent_id="list", page_id="list", position=1),
        a_block("sub", "Measure the planks", "todo", parent_id="task-456", page_id="list", position=1),
        a_block("like", "Break the crane task into subtasks: lift, grease, test", "todo"),
        *OTHERS,
    ]
    payload = a_workspace(records).build(
        "Break this task into subtasks", focus={"block_id": "task-456"}, type="assist", user=ANN, now=NOW,
        token_budget=TokenBudget(
            total=2000, focus=1200, semantic=500, relations=200, activity=0, history=0, system=100
        ),
    )  # fmt: skip
    assert ids(payload, "focus")[:1] == ["task-456"]
    assert "sub" in ids(payload, "focus")
    assert ids(payload, "semantic")[0] == "like"


def test_where_a_threshold_leaves_nothing_a_warning_says_so():
    """W3"""
    strict = ContextConfig(collectors=CollectorSettings(semantic=SemanticSettings(min_similarity=0.9)))
    payload = a_workspace(OTHERS, config=strict).build("What about the tulips?", user=ANN, now=NOW)
    assert payload.serialized == ""
    assert any("nothing that 'semantic' found is similar enough" in w for w in payload.context.warnings)


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), "x", True])
def test_a_threshold_is_a_share(value):
    """W3"""
    with pytest.raises(ValueError, match="min_similarity"):
        a_workspace(
            [],
            config=ContextConfig(
                collectors=CollectorSettings(semantic=SemanticSettings(min_similarity=value))
            ),
        )


@pytest.mark.parametrize(
    "links", [["task", "doc"], '["doc", "task"]', "doc, task", "task"], ids=["list", "json", "commas", "one"]
)
def test_backlinks_are_found_in_every_form_in_which_links_are_read(links):
    """W4"""
    records = [
        a_block("task", "Dredge the basin"),
        a_block("back", "VAT is shown for each customer", links=links),
        a_block("near", "A block about tasks", links="tasks, task-2"),
        {**a_block("secret", "A rival links here", links="task"), "workspace": "rival"},
    ]
    builder = a_workspace(records)
    for _ in range(2):
        payload = builder.build("basin", focus={"block_id": "task"}, user=ANN, now=NOW)
        assert ids(payload, "relations") == ["back"]
        assert "rival" not in str(payload.context.to_dict())


def test_an_item_names_its_page_and_its_way_there():
    """W11"""
    records = [
        a_block("top", "Everything about the harbor", "page", title="Harbor"),
        a_block("part", "Berths\nand moorings", parent_id="top", page_id="top"),
        a_block("leaf", "Visitors pay forty euros.", parent_id="part", page_id="top", position=1),
        {**a_block("hidden", "Rival top", title="Rival"), "workspace": "rival"},
        a_block("lone", "Visitors pay in cash.", parent_id="hidden"),
    ]
    payload = a_workspace(records).build("What do visitors pay?", user=ANN, now=NOW)
    items = {item.block_id: item for part in payload.sections for item in part.items}
    assert (items["leaf"].page_title, items["leaf"].path) == (
        "Harbor", ("Harbor", "Berths", "Visitors pay forty euros."),
    )  # fmt: skip
    assert items["lone"].path == ("Visitors pay in cash.",)
    assert payload.metadata.remaining_budget == 4000 - payload.metadata.total_tokens


def test_preferences_stand_with_the_system_prompts():
    """W10"""
    ann = User(id="ann", attributes=ANN.attributes, preferences={"tone": "brief {{content}}"})
    payload = a_workspace(OTHERS).build("Where are lost keys kept?", user=ann, now=NOW, type="chat")
    (item,) = section(payload, "system").items
    assert item.content == "The user's preferences:\n- tone: brief {{content}}"


SENTENCE = "The {name} pier number {i} needs {i} new planks before the {i} of May. "


def long_text(name, sentences=40):
    return "".join(SENTENCE.format(name=name, i=i) for i in range(sentences)).strip()


def test_the_default_budgets_are_the_documents_and_are_scaled_to_the_total():
    """W7"""
    budget = TokenBudget()
    assert (budget.total, sum(budget.shares().values())) == (4000, 4500)
    own = a_builder([]).engine.config.budget
    assert own.split(4000) == {
        "focus": 1333, "semantic": 1067, "relations": 711, "activity": 267, "history": 444, "system": 178,
    }  # fmt: skip


def test_each_section_has_its_share_first_and_what_is_left_over_goes_to_the_best():
    """W7"""
    history = [("user", " ".join(f"word{i}-{j}" for j in range(30))) for i in range(20)]
    records = [a_block(f"b{i}", f"harbor {i} " + " ".join(f"t{i}x{j}" for j in range(28))) for i in range(15)]
    budget = TokenBudget(total=400, focus=0, semantic=300, relations=0, activity=0, history=100, system=0)
    payload = build(
        records,
        "harbor",
        budget=budget,
        conversation_history=history,
        config=ANY_SIMILARITY,
        tokenizer=count_words,
    )
    assert section(payload, "history").token_count >= 64
    assert section(payload, "semantic").token_count >= 240
    assert 360 <= payload.metadata.total_tokens <= 400
    alone = build(records, "harbor", budget=budget, config=ANY_SIMILARITY, tokenizer=count_words)
    assert section(alone, "semantic").token_count > 330


def test_a_section_of_zero_is_not_asked():
    """W7"""
    budget = TokenBudget(total=500, activity=0, relations=0, history=0)
    payload = build(a_page(), budget=budget, focus={"block_id": "p0"}, conversation_history=["hi"])
    assert payload.metadata.collectors_used == ("focus", "semantic")
    assert build(a_page(), budget=TokenBudget(total=0), focus={"block_id": "p0"}).serialized == ""


def test_what_does_not_fit_is_cut_above_a_hundred_tokens_and_smaller_ones_still_get_in():
    """W8"""
    records = [
        a_block("long", long_text("northern"), "todo", parent_id="top", position=1),
        a_block("short", "A short remark.", parent_id="top", position=2),
        a_block("top", "Piers"),
    ]
    focus = {"block_id": "long"}
    only = {"semantic": 0, "relations": 0, "activity": 0, "history": 0, "system": 0}
    roomy = build(
        records, budget=TokenBudget(total=250, focus=250, **only), focus=focus, tokenizer=count_words
    )
    by_id = {item.block_id: item for item in section(roomy, "focus").items}
    assert by_id["long"].is_truncated
    assert "short" in by_id
    tight = build(
        records, budget=TokenBudget(total=100, focus=100, **only), focus=focus, tokenizer=count_words
    )
    assert {item.block_id for item in section(tight, "focus").items} == {"short", "top"}


@pytest.mark.parametrize(
    ("strategy", "begins", "ends"),
    [("keep_start", True, False), ("keep_end", False, True), ("extractive", True, False)],
)
def test_the_strategies_keep_what_they_say(strategy, begins, ends):
    """W9"""
    text = long_text("southern")
    config = ContextConfig(truncation=TruncationSettings(default_strategy=strategy))
    payload = build(
        [a_block("x", text)], budget=TokenBudget(total=300), focus={"block_id": "x"}, config=config
    )
    (item,) = section(payload, "focus").items
    assert item.is_truncated
    assert item.content.startswith(text[:40]) == begins
    assert item.content.endswith(text[-40:]) == ends


def test_summarize_asks_a_model_and_needs_one():
    """W9"""
    with pytest.raises(ConfigError, match="chat model"):
        TruncationSettings(default_strategy="summarize")
    model = FakeListChatModel(responses=["All piers need planks."])
    config = ContextConfig(truncation=TruncationSettings(default_strategy="summarize", model=model))
    payload = build(
        [a_block("x", long_text("eastern"))],
        budget=TokenBudget(total=300, semantic=0, relations=0, activity=0),
        focus={"block_id": "x"},
        config=config,
    )
    assert section(payload, "focus").items[0].content == "All piers need planks."
    assert any(d.reason is Reason.COMPACTED for d in payload.context.decisions)


def test_less_than_the_minimum_is_left_out():
    """W9"""
    text = "Short start. " + "x" * 3000
    kept, left = (
        build(
            [a_block("x", text)],
            budget=TokenBudget(total=300),
            focus={"block_id": "x"},
            config=ContextConfig(
                truncation=TruncationSettings(default_strategy="keep_start", min_content_length=n)
            ),
        )
        for n in (10, 5000)
    )
    assert section(kept, "focus").items[0].content.startswith("Short start.")
    assert left.serialized == ""


def test_the_text_has_the_documents_sections_items_and_strings():
    """W10"""
    payload = build(
        [a_block("t", "Order planks", "todo", page_title="Roadmap")],
        "What is missing?",
        focus={"block_id": "t"},
        conversation_history=[("user", "Hello"), ("assistant", "Hi there")],
        system="Answer briefly.",
    )
    assert payload.serialized == (
        "## Current Context\n\n"
        "### Focused Content\n[Roadmap] [todo]\nOrder planks\n\n"
        "### Related Content\n_No relevant content found._\n\n"
        "### Connected Items\n_No relevant content found._\n\n"
        "### Recent Activity\n_No relevant content found._\n\n"
        "### Conversation\n[user]\nHello\n\n[assistant]\nHi there\n\n"
        "### System\n[system]\nAnswer briefly.\n\n"
        "---\n\nUser Query: What is missing?"
    )
    item = section(payload, "focus").items[0]
    assert (item.block_id, item.block_type, item.page_title) == ("t", "todo", "Roadmap")


def test_braces_in_a_question_or_a_title_are_text():
    """W10"""
    payload = build(
        [a_block("t", "{{score}}", page_title="{{content}}")], "{{query}} {x}", focus={"block_id": "t"}
    )
    assert "[{{content}}] [text]\n{{score}}" in payload.serialized
    assert payload.serialized.endswith("User Query: {{query}} {x}")


def test_a_search_has_no_history_and_no_activity():
    """W1"""
    records = [a_block("e", "edited", updated_by="ann", updated_at=NOW)]
    assert section(build(records, type="chat", conversation_history=["hi"]), "history") is not None
    payload = build(
        [*records, *a_page(1)], type="search", conversation_history=["hi"], focus={"block_id": "p0"}
    )
    assert section(payload, "history") is None
    assert "edited" not in payload.serialized


OWN = ("own0", "own1", "own2")


@pytest.fixture(scope="module", params=[5, 600], ids=["beside few", "beside many"])
def collection(request):
    """Three of Acme's blocks under one parent, among those of others that have the same place and links."""
    others = [
        {
            **a_block(f"other{i}", f"Paragraph {i}.", parent_id="top", position=i, links="top"),
            "workspace": "b",
        }
        for i in range(request.param)
    ]
    own = [a_block(id_, f"Own {i}.", parent_id="top", position=i, links="top") for i, id_ in enumerate(OWN)]
    return a_collection([a_block("top", "The top.", "page"), *others, *own], embeddings=EMBEDDINGS)


def asked(focus):
    return a_request(scope={"workspace": "acme"}, focus={"block": focus}, limit=20)


def test_children_of_another_scope_are_not_there(collection):
    found = FocusSource(blocks=Blocks(collection)).fetch(asked("top"))
    assert [candidate.id for candidate in found] == ["top", *OWN]


def test_a_setting_above_what_an_engine_asks_for_is_kept():
    """Issue 26: `top_k=120` gave 50 without a word."""
    many = [a_block(f"m{i}", f"harbor fee number {i}") for i in range(130)]
    collectors = CollectorSettings(semantic=SemanticSettings(top_k=120))
    payload = build(many, "harbor fee", config=ContextConfig(collectors=collectors))
    assert len(relevances(payload, "semantic")) == 120


def test_the_documents_threshold_can_be_set():
    """W3: a similarity of .6."""
    records = [a_block("near", "harbor fee"), a_block("far", "harbor bread market stalls open early")]
    near = ContextConfig(
        collectors=CollectorSettings(semantic=SemanticSettings(min_threshold=0, min_similarity=0.6))
    )
    assert ids(build(records, "harbor fee", config=near), "semantic") == ["near"]
    assert ids(build(records, "harbor fee", config=ANY_SIMILARITY), "semantic") == ["near", "far"]


class Counting:
    """A collection that tells how many records it was asked for."""

    def __init__(self, collection):
        self._own, self.read = collection, 0

    def __getattr__(self, name):
        return getattr(self._own, name)

    def get(self, **asked):
        found = self._own.get(**asked)
        self.read += len(found["ids"]) * bool(asked.get("include"))
        return found


def test_of_thousands_of_edits_the_latest_are_read_alone():
    """W5: all 4,000 were."""
    records = [
        a_block(f"e{i}", f"text {i}", updated_by="ann", updated_at=1_769_860_800 - 60 * i)
        for i in range(4000)
    ]
    counting = Counting(a_collection(records, embeddings=EMBEDDINGS))
    source = ActivitySource(blocks=Blocks(counting))
    request = a_request(scope={"workspace": "acme"}, focus={"user": "ann"}, limit=20, now=NOW)
    assert [c.id for c in source.fetch(request)] == [f"e{i}" for i in range(10)]
    assert counting.read < 200


@pytest.mark.parametrize("total", range(150, 420, 15))
def test_a_small_block_behind_one_that_is_cut_gets_in(total):
    """W8"""
    records = [
        a_block("top", "The top of it all has many words to read. " * 30, "page"),
        a_block("kid", "A small child.", "todo", parent_id="top", position=1),
    ]
    payload = build(records, "words", focus={"block_id": "top"}, budget=TokenBudget(total=total))
    assert ids(payload, "focus") == ["top", "kid"]


@pytest.mark.parametrize("space", ["cosine", "l2"])
def test_the_search_is_asked_with_the_focused_tasks_own_words(space):
    """W13, 8.3: it never saw the task, and offered lunch notes; LangChain's stores measure by l2."""
    lunch = [a_block(f"l{i}", f"Lunch on day {i}: soup, bread and a salad for everyone") for i in range(14)]
    records = [
        a_block("task", "Renovate the wooden pier: measure and replace planks", "todo"),
        a_block("like", "Replace the planks of the old wooden bridge", "todo"),
        *lunch,
    ]
    builder = WorkspaceContextBuilder(
        a_collection(records, embeddings=LOCAL, space=space),
        permissions=lambda user: {"workspace": "acme"},
        embeddings=LOCAL,
    )
    payload = builder.build("Break this task into subtasks", focus={"block_id": "task"}, user=ANN, now=NOW)
    assert ids(payload, "semantic") == ["like"]
