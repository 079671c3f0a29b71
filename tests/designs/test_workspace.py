"""The workspace builder (rows W1 to W13), through its public face, on real Chroma collections."""

from __future__ import annotations

from dataclasses import replace

import pytest
from langchain_core.language_models import FakeListChatModel

from langchain_context_engine import ConfigError, Journal, LocalEmbeddings, ScopeError, UnknownNameError
from langchain_context_engine.designs import (
    ContextConfig,
    ContextHints,
    FocusSettings,
    TokenBudget,
    TruncationSettings,
    User,
    WorkspaceContextBuilder,
)
from langchain_context_engine.designs.workspace_blocks import Blocks, around_focus
from langchain_context_engine.models.types import Reason
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
    ids,
    relevances,
    searched,
    section,
    signals,
)

LOCAL = LocalEmbeddings()
OTHERS = [a_block(f"x{i}", text) for i, text in enumerate(PARAGRAPHS)]
ONLY_FOCUS = {"semantic": 0, "relations": 0, "activity": 0, "history": 0, "system": 0}


def long_text(name, sentences=40):
    told = "The {name} pier number {i} needs {i} new planks before the {i} of May."
    return " ".join(told.format(name=name, i=i) for i in range(sentences))


async def test_a_request_names_query_user_focus_type_history_budget_and_hints_and_async_is_the_same():
    """W1, W11"""
    builder = a_builder(a_page(), config=ANY_SIMILARITY)
    fields = {
        "user": ANN, "focus": {"block_id": "p3", "page_id": "page-123"}, "type": "chat", "now": NOW,
        "conversation_history": [("user", "Where is fuel?")], "token_budget": TokenBudget(total=600),
        "hints": ContextHints(exclude_blocks=["p4"]), "system": "Be brief.",
    }  # fmt: skip
    payload = builder.build("Who sells fuel?", **fields)
    assert str(payload) == payload.serialized == str(await builder.abuild("Who sells fuel?", **fields))
    told = payload.metadata
    assert builder.estimate_tokens(payload) == told.total_tokens <= 600
    assert "Electricity meters" not in payload.serialized
    assert (told.focus_block_id, told.focus_page_id) == ("p3", "page-123")
    assert (told.remaining_budget, told.timestamp) == (600 - told.total_tokens, "2026-01-31T12:00:00+00:00")
    assert told.collectors_used == ("focus", "semantic", "relations", "activity", "history", "system")
    assert told.blocks_included == told.blocks_considered == 8
    assert builder.validate(payload).is_valid
    result = builder.validate(replace(payload, serialized=payload.serialized + " and more"))
    assert (result.is_valid, "are told" in result.problems[0]) == (False, True)


@pytest.mark.parametrize(
    "fields",
    [{"type": "dream"}, {"focus": {"blok": "x"}}, {"user": "ann"}, {"token_budget": -1}, {"hints": "none"}],
)
def test_a_wrong_field_of_a_request_is_refused(fields):
    """W1"""
    with pytest.raises(ConfigError):
        a_builder([]).build("x", **{"user": ANN, **fields})


def test_a_time_range_narrows_the_search_and_not_the_focus():
    """W1"""
    dates = {"new": "2026-01-30", "old": "2025-01-30"}
    records = [*a_page(1), *(a_block(n, f"harbor fee {n}", updated_at=at) for n, at in dates.items()),
               a_block("undated", "harbor fee undated")]  # fmt: skip
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


def test_a_search_has_no_history_and_no_activity():
    """W1"""
    records = [a_block("e", "edited", updated_by="ann", updated_at=NOW), *a_page(1)]
    asked = {"conversation_history": ["hi"], "focus": {"block_id": "p0"}}
    chat, search = (build(records, type=name, **asked) for name in ("chat", "search"))
    assert (section(chat, "history") is None, section(search, "history") is None) == (False, True)
    assert ("edited" in chat.serialized, "edited" in search.serialized) == (True, False)


def test_the_focus_collector_has_the_documents_relevances():
    """W2"""
    found = relevances(build(a_page(8), focus={"block_id": "p3", "page_id": "page-123"}), "focus")
    # The page is an ancestor at 0.8, and has its summary.
    assert found == {"p3": 1.0, "section": 0.9, "page-123": 0.9, "p2": 0.8, "p4": 0.75, "p1": 0.7, "p5": 0.65}
    below = relevances(build(a_page(8), focus={"block_id": "section"}), "focus")
    children = {f"p{i}": round(0.85 - 0.05 * i, 2) for i in range(5)}
    assert below == {"section": 1.0, "page-123": 0.9, **children}
    payload = build(a_page(2), focus={"page_id": "page-123"}, hints=ContextHints(max_depth=2))
    assert "[Harbor plan] [page]\nThe plan of the harbor." in payload.serialized
    assert relevances(payload, "focus") == {"page-123": 1.0, "section": 0.85, "p0": 0.75, "p1": 0.7}


@pytest.mark.parametrize("others", [5, 600])
def test_children_of_another_scope_are_not_there(others):
    """W2, W12: beside few and beside many."""
    place = {"parent_id": "top", "links": "top"}
    records = [
        a_block("top", "The top.", "page"),
        *(a_block(f"own{i}", "Own.", position=i, **place) for i in range(3)),
    ]
    theirs = [{**a_block(f"o{i}", "Theirs.", position=i, **place), "workspace": "b"} for i in range(others)]
    blocks = Blocks(a_collection([*records, *theirs], embeddings=EMBEDDINGS))
    request = a_request(scope={"workspace": "acme"}, focus={"block": "top"}, limit=20)
    assert [c.id for c in around_focus(FocusSettings(), blocks, request)] == ["top", "own0", "own1", "own2"]


def test_the_search_offers_fifteen_at_most_of_the_users_own_and_similar_ones_only():
    """W3: `top_k=120` gave 50 without a word."""
    mine = [a_block(f"m{i}", f"harbor fee number {i}") for i in range(130)]
    theirs = [{**a_block(f"s{i}", "harbor fee"), "workspace": "rival"} for i in range(50)]
    far = [a_block("far", "unrelated words about gardening tulips")]
    payload = build([*theirs, *mine, *far], "harbor fee")
    found = relevances(payload, "semantic")
    assert (len(found), min(found.values()) >= 0.6) == (15, True)
    assert set(found) <= {block["id"] for block in mine}
    assert "rival" not in str(payload.context.to_dict())
    assert len(relevances(build(mine, "harbor fee", config=searched(top_k=120)), "semantic")) == 120


@pytest.mark.parametrize("space", ["cosine", "l2"])
@pytest.mark.parametrize("question", ["How do whales sleep?", "What is the capital of France?"])
def test_a_question_that_no_block_has_anything_of_finds_none_and_every_one_says_why(question, space):
    """W3: "How do whales sleep?" gave fifteen blocks of a similarity below .05."""
    builder = a_builder(OTHERS, embeddings=LOCAL, space=space)
    payload = build([], question, builder=builder)
    assert (payload.serialized, payload.context.status) == ("", "empty")
    fates = payload.context.final_decisions().values()
    assert [d.reason for d in fates] == [Reason.BELOW_THRESHOLD] * len(OTHERS)
    assert all(d.details["score"] < d.details["threshold"] for d in fates)
    assert any("nothing that 'semantic' found is similar enough" in w for w in payload.context.warnings)
    assert ids(build([], "Where are lost keys kept?", builder=builder), "semantic") == ["x6"]


def test_the_documents_threshold_can_be_set():
    """W3: a similarity of .6."""
    records = [a_block("near", "harbor fee"), a_block("far", "harbor bread market stalls open early")]
    near = searched(min_threshold=0, min_similarity=0.6)
    assert ids(build(records, "harbor fee", config=near), "semantic") == ["near"]
    assert ids(build(records, "harbor fee", config=ANY_SIMILARITY), "semantic") == ["near", "far"]
    for wrong in (-0.1, 1.1, float("nan"), "x", True):
        with pytest.raises(ConfigError, match="min_similarity"):
            searched(min_similarity=wrong)


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
    near = ContextHints(max_depth=1)
    payload = build(records, "basin", focus={"block_id": "task"})
    assert relevances(payload, "relations") == {"row": 0.75, "doc": 0.7, "back": 0.65, "far": 0.56}
    one_step = build(records, "basin", focus={"block_id": "task"}, hints=near)
    assert set(relevances(one_step, "relations")) == {"row", "doc", "back"}
    rows = build(records, "basin", focus={"database_id": "db"}, hints=near)
    assert relevances(rows, "relations") == {"task": 0.75}


@pytest.mark.parametrize("links", [["task", "doc"], '["doc", "task"]', "doc, task", "task"])
def test_backlinks_are_found_in_every_form_in_which_links_are_read(links):
    """W4"""
    records = [
        a_block("task", "Dredge the basin"),
        a_block("back", "VAT is shown for each customer", links=links),
        a_block("near", "A block about tasks", links="tasks, task-2"),
        {**a_block("secret", "A rival links here", links="task"), "workspace": "rival"},
    ]
    assert ids(build(records, "basin", focus={"block_id": "task"}, embeddings=LOCAL), "relations") == ["back"]


def test_of_more_blocks_than_are_read_the_store_finds_backlinks_in_lists():
    """W4, W12"""
    told = {"mine": "acme", "theirs": "rival"}
    records = [{**a_block(id_, "A link", links=["task"]), "workspace": scope} for id_, scope in told.items()]
    blocks = Blocks(a_collection(records, embeddings=EMBEDDINGS))
    request = a_request(scope={"workspace": "acme"})
    assert [*blocks.read(blocks.linking(["task"], None, request), request)] == ["mine"]


def test_ten_related_blocks_at_most_however_many_edges():
    """W4, K87"""
    notes = [a_block(f"n{i}", f"note {i}", links=["hub"]) for i in range(300)]
    records = [a_block("hub", "The hub", links=[note["id"] for note in notes]), *notes]
    assert len(relevances(build(records, "hub", focus={"block_id": "hub"}), "relations")) == 10


def test_the_activity_collector_offers_recent_edits_and_views_of_this_user(tmp_path):
    """W5"""
    journal = Journal(tmp_path / "journal.db")
    edits = [(f"e{i}", "ann", f"2026-01-31T{11 - i:02}:00:00Z") for i in range(12)]
    edits += [("old", "ann", "2026-01-20T00:00:00Z"), ("epoch", "ann", 1_600_000_000), ("bob", "bob", NOW)]
    records = [
        *(a_block(id_, f"edited {id_}", updated_by=by, updated_at=at) for id_, by, at in edits),
        a_block("v0", "A viewed page", "page", summary="Summary of the viewed page."),
        {**a_block("v1", "A rival's page", "page"), "workspace": "rival"},
    ]
    builder = a_builder(records, journal=journal)
    for i, id_ in enumerate(("v1", "v0", "e11")):
        builder.viewed(ANN, id_, at=f"2026-01-31T10:0{i}:00Z")
    payload = build(records, "x", builder=builder, budget=TokenBudget(semantic=0))
    recent = {f"e{i}": round(0.6 - 0.02 * i, 2) for i in range(10)}
    assert relevances(payload, "activity") == {**recent, "e11": 0.5, "v0": 0.48}
    assert "Summary of the viewed page." in payload.serialized
    journal.close()


def test_signals_have_the_documents_formulas():
    """W6"""
    records = a_page(3)
    records[2] |= {"updated_at": "2026-01-16T12:00:00Z", "updated_by": "nobody"}
    records.append(a_block("todo", "Berths to paint", "todo", updated_by="ann", updated_at=NOW))
    payload = build(records, "Which task is next?", focus={"block_id": "p1"}, config=ANY_SIMILARITY)
    told = {"relevance": 0.8, "structural": 0.8, "recency_linear": 0.5, "type_match": 0.5, "user_affinity": 0}
    assert signals(payload, "p0") == told
    # Two tops, one step below the workspace.
    todo = {"structural": pytest.approx(0.6), "recency_linear": 1, "type_match": 0.9, "user_affinity": 1}
    assert signals(payload, "todo").items() >= {**signals(payload, "todo"), **todo}.items()
    weights = dict(zip(told, (0.35, 0.25, 0.15, 0.15, 0.1), strict=True))
    for passage in payload.context.passages:
        expected = sum(weight * passage.ranked.signals[name] for name, weight in weights.items())
        assert passage.ranked.score == pytest.approx(expected)
    with pytest.raises(UnknownNameError, match="semantic"):
        a_builder([], config=ContextConfig(weights={"semantics": 1}))


def test_without_a_focus_nearness_is_neutral_and_affinity_is_the_share_of_the_users_recent_blocks():
    """W1, W6"""
    edited = [("a", "one", NOW), ("b", "one", "2026-01-31T11:00:00Z"), ("c", "two", "2026-01-31T10:00:00Z")]
    own = [a_block(i, f"harbor {i * 4}", page_id=p, updated_by="ann", updated_at=at) for i, p, at in edited]
    others = [
        a_block("d", "harbor rent", page_id="two"),
        a_block("e", "harbor toll", "quote", page_id="three"),
    ]
    hints = ContextHints(prioritize_types=["quote"])
    payload = build([*own, *others], "harbor", config=ANY_SIMILARITY, hints=hints)
    shares = {id_: round(signals(payload, id_)["user_affinity"], 3) for id_ in "abcde"}
    assert shares == {"a": 0.667, "b": 0.667, "c": 0.333, "d": 0.333, "e": 0.0}
    assert {signals(payload, id_)["structural"] for id_ in "abcde"} == {0.5}
    assert signals(payload, "e")["type_match"] == 1.0


def test_the_default_budgets_are_the_documents_and_are_scaled_to_the_total():
    """W7"""
    budget = TokenBudget()
    assert (budget.total, sum(budget.shares().values())) == (4000, 4500)
    assert a_builder([]).engine.config.budget.split(4000) == {
        "focus": 1333, "semantic": 1067, "relations": 711, "activity": 267, "history": 444, "system": 178,
    }  # fmt: skip


def test_each_section_has_its_share_first_and_what_is_left_over_goes_to_the_best():
    """W7"""
    history = [("user", " ".join(f"word{i}-{j}" for j in range(30))) for i in range(20)]
    records = [a_block(f"b{i}", f"harbor {i} " + " ".join(f"t{i}x{j}" for j in range(28))) for i in range(15)]
    budget = TokenBudget(total=400, focus=0, semantic=300, relations=0, activity=0, history=100, system=0)
    asked = {"budget": budget, "config": ANY_SIMILARITY, "tokenizer": count_words}
    payload, alone = (build(records, **asked, conversation_history=said) for said in (history, ()))
    assert section(payload, "history").token_count >= 64
    assert section(payload, "semantic").token_count >= 240
    assert 360 <= payload.metadata.total_tokens <= 400
    assert section(alone, "semantic").token_count > 330
    assert payload.metadata.collectors_used == ("semantic", "history")  # a section of 0 is not asked
    assert build(a_page(), budget=TokenBudget(total=0), focus={"block_id": "p0"}).serialized == ""


@pytest.mark.parametrize(
    ("tokens", "is_cut", "others"), [(250, True, {"short", "top"}), (100, False, {"short", "top"})]
)
def test_what_does_not_fit_is_cut_above_a_hundred_tokens_and_smaller_ones_still_get_in(
    tokens, is_cut, others
):
    """W8"""
    records = [
        a_block("long", long_text("northern"), "todo", parent_id="top", position=1),
        a_block("short", "A short remark.", parent_id="top", position=2), a_block("top", "Piers"),
    ]  # fmt: skip
    budget = TokenBudget(total=tokens, focus=tokens, **ONLY_FOCUS)
    payload = build(records, budget=budget, focus={"block_id": "long"}, tokenizer=count_words)
    told = {item.block_id: item.is_truncated for item in section(payload, "focus").items}
    assert (told.pop("long", False), {*told}) == (is_cut, others)


@pytest.mark.parametrize("total", range(150, 420, 45))
def test_a_small_block_behind_one_that_is_cut_gets_in(total):
    """W8: a child of 9 tokens was lost at 18 of 37 totals."""
    top = a_block("top", "The top of it all has many words to read. " * 30, "page")
    records = [top, a_block("kid", "A small child.", "todo", parent_id="top", position=1)]
    payload = build(records, "words", focus={"block_id": "top"}, budget=TokenBudget(total=total))
    assert ids(payload, "focus") == ["top", "kid"]


@pytest.mark.parametrize("strategy", ["keep_start", "keep_end", "extractive", "summarize"])
def test_the_strategies_keep_what_they_say(strategy):
    """W9"""
    text, model = long_text("southern"), FakeListChatModel(responses=["All piers need planks."])
    config = ContextConfig(truncation=TruncationSettings(default_strategy=strategy, model=model))
    asked = {"budget": TokenBudget(total=300, focus=300, **ONLY_FOCUS), "focus": {"block_id": "x"}}
    (item,) = section(build([a_block("x", text)], config=config, **asked), "focus").items
    if strategy == "summarize":
        assert item.content == "All piers need planks."
        return
    assert item.is_truncated
    assert item.content.startswith(text[:40]) == (strategy != "keep_end")
    assert item.content.endswith(text[-40:]) == (strategy == "keep_end")


def test_less_than_the_minimum_is_left_out_and_a_strategy_is_known():
    """W9"""
    for least, begins in ((10, "Short start."), (5000, "")):
        truncation = TruncationSettings(default_strategy="keep_start", min_content_length=least)
        payload = build(
            [a_block("x", "Short start. " + "x" * 3000)], budget=TokenBudget(total=300),
            focus={"block_id": "x"}, config=ContextConfig(truncation=truncation),
        )  # fmt: skip
        assert (begins in payload.serialized, bool(payload.serialized)) == (True, bool(begins))
    with pytest.raises(ConfigError, match="extractive"):
        TruncationSettings(default_strategy="extract")
    with pytest.raises(ConfigError, match="chat model"):
        a_builder([], config=ContextConfig(truncation=TruncationSettings(default_strategy="summarize")))


def test_the_text_has_the_documents_sections_items_and_strings():
    """W10"""
    payload = build(
        [a_block("t", "Order planks {{score}}", "todo", page_title="{{content}}")], "What {{query}} is missing?",
        focus={"block_id": "t"}, conversation_history=[("user", "Hello"), ("assistant", "Hi there")],
        system="Answer briefly.", user=User(id="ann", preferences={"tone": "brief"}),
    )  # fmt: skip
    assert payload.serialized == (
        "## Current Context\n\n"
        "### Focused Content\n[{{content}}] [todo]\nOrder planks {{score}}\n\n"
        "### Related Content\n_No relevant content found._\n\n"
        "### Connected Items\n_No relevant content found._\n\n"
        "### Recent Activity\n_No relevant content found._\n\n"
        "### Conversation\n[user]\nHello\n\n[assistant]\nHi there\n\n"
        "### System\n[system]\nAnswer briefly.\n\n[system]\nThe user's preferences:\n- tone: brief\n\n"
        "---\n\nUser Query: What {{query}} is missing?"
    )
    (item,) = section(payload, "focus").items
    assert (item.block_id, item.block_type, item.page_title) == ("t", "todo", "{{content}}")


def test_an_item_names_its_page_and_its_way_there():
    """W11"""
    records = [
        a_block("top", "Everything about the harbor", "page", title="Harbor"),
        a_block("part", "Berths and moorings", parent_id="top", page_id="top", title="Berths"),
        a_block("leaf", "Visitors pay forty euros.", parent_id="part", page_id="top", position=1),
        {**a_block("hidden", "Rival top", title="Rival"), "workspace": "rival"},
        a_block("lone", "Visitors pay in cash.", parent_id="hidden"),
    ]
    payload = build(records, "What do visitors pay?", embeddings=LOCAL)
    told = {item.block_id: (item.page_title, item.path) for part in payload.sections for item in part.items}
    assert told["leaf"] == ("Harbor", ("Harbor", "Berths"))
    assert told["lone"] == ("", ())


def test_never_without_permissions_a_user_or_a_budget():
    """W12"""
    with pytest.raises(TypeError):
        WorkspaceContextBuilder(a_collection([]), embeddings=EMBEDDINGS)
    with pytest.raises(ConfigError, match="permissions"):
        a_builder([], permissions=None)
    for says_nothing in ({}, None, {"workspace": None}):
        with pytest.raises(ScopeError):
            build(a_page(), permissions=lambda user, scope=says_nothing: scope)
    with pytest.raises(ConfigError, match="user"):
        a_builder([]).build("x")
    for wrong in (lambda: TokenBudget(total=None), lambda: searched(top_k=float("inf"))):
        with pytest.raises(ConfigError):
            wrong()
    assert a_builder([]).build("x", user=ANN).context.budget == 4000
    nothing = build(a_page(), permissions=lambda user: {"workspace": []}, focus={"block_id": "p0"})
    assert (nothing.serialized, nothing.sections, nothing.metadata.blocks_considered) == ("", (), 0)


def test_a_page_is_summarised_from_its_own_blocks():
    """W13, 8.1"""
    place = {"parent_id": "page-123", "page_id": "page-123"}
    own = [a_block(f"c{i}", PARAGRAPHS[i], position=i, **place) for i in range(5)]
    bees = [a_block(f"o{i}", f"Another page of the workspace, about bees, part {i}") for i in range(10)]
    page = a_block("page-123", "Harbor", "page", title="Harbor", summary="All about the harbor.")
    budget = TokenBudget(
        total=3000, focus=2500, semantic=200, relations=200, activity=0, history=0, system=100
    )
    asked = {"focus": {"page_id": "page-123"}, "embeddings": LOCAL, "budget": budget}
    payload = build([page, *own, *bees], "Summarize this page", **asked)
    assert {*ids(payload, "focus")} == {"page-123", "c0", "c1", "c2", "c3", "c4"}


def test_the_chat_finds_the_overdue_tasks_by_search_alone():
    """W3, W13, 8.2: nothing passed a similarity of .6."""
    records = [
        a_block("t1", "Paint the northern buoy; this task is overdue since Monday", "todo"),
        a_block("k1", "Repair the crane: overdue task of last week", "kanban_card"),
        a_block("n1", "How we grow tulips in the garden", "text"), *OTHERS,
    ]  # fmt: skip
    payload = build(
        records, "What tasks are overdue?", type="chat", embeddings=LOCAL,
        budget=TokenBudget(total=4000, focus=0, semantic=2500, relations=500, activity=500, history=300, system=200),
        hints=ContextHints(prioritize_types=["todo", "kanban_card"]),
    )  # fmt: skip
    assert {*ids(payload, "semantic")[:2]} == {"t1", "k1"}
    assert "n1" not in ids(payload, "semantic")
    fate = payload.context.final_decisions()[payload.context.candidates[0].source, "x6"]
    assert (fate.reason, fate.details["source"]) == (Reason.BELOW_THRESHOLD, "semantic")
    assert fate.details["score"] < fate.details["threshold"]


@pytest.mark.parametrize("space", ["cosine", "l2"])
def test_a_task_is_broken_down_beside_similar_tasks_by_its_own_words(space):
    """W13, 8.3: the search never saw the task, and offered lunch notes; LangChain's stores measure by l2."""
    records = [
        a_block("task", "Renovate the wooden pier: measure and replace planks", "todo"),
        a_block("sub", "Measure the old pier", "todo", parent_id="task", position=1),
        a_block("like", "Replace the planks of the old wooden bridge", "todo"),
        *(a_block(f"l{i}", f"Lunch on day {i}: soup, bread and a salad for everyone") for i in range(14)),
    ]
    budget = TokenBudget(
        total=2000, focus=1200, semantic=500, relations=200, activity=0, history=0, system=100
    )
    asked = {"focus": {"block_id": "task"}, "embeddings": LOCAL, "space": space, "budget": budget}
    payload = build(records, "Break this task into subtasks", **asked)
    assert (ids(payload, "focus"), ids(payload, "semantic")) == (["task", "sub"], ["like"])
