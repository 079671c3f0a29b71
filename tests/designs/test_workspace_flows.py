"""Row W13: the document's example flows with its defaults on vectors of the local embedder; and W3's threshold."""

from __future__ import annotations

import pytest

from langchain_context_engine import LocalEmbeddings
from langchain_context_engine.designs import (
    CollectorSettings,
    ContextConfig,
    ContextHints,
    SemanticSettings,
    TokenBudget,
    User,
    WorkspaceContextBuilder,
)
from langchain_context_engine.models.types import Reason
from langchain_context_engine.trace.explain import final_decisions
from langchain_context_engine.trace.whatif import what_would_it_take
from tests.builders import a_collection
from tests.designs.workspace_builders import ANN, NOW, PARAGRAPHS, a_block, section

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


def test_what_a_threshold_takes_away_can_be_let_in_by_a_lower_one():
    """W3, B2"""
    records = [a_block("t1", "This task is overdue since Monday", "todo"), *OTHERS]
    context = a_workspace(records).build("What tasks are overdue?", type="chat", user=ANN, now=NOW).context
    lost = [key for key, d in final_decisions(context).items() if d.reason is Reason.BELOW_THRESHOLD]
    changes = what_would_it_take(context, lost[0])
    assert any(change.setting == "thresholds.semantic" for change in changes)
    for change in changes:
        assert lost[0] in {passage.key for passage in change.context.passages}


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


def test_a_link_that_is_written_or_taken_away_later_is_seen():
    """W4"""
    collection = a_collection(
        [a_block("task", "Dredge the basin"), a_block("other", "Bread")], embeddings=LOCAL
    )
    builder = WorkspaceContextBuilder(
        collection, permissions=lambda user: {"workspace": "acme"}, embeddings=LOCAL
    )
    asked = {"focus": {"block_id": "task"}, "user": ANN, "now": NOW}
    assert ids(builder.build("basin", **asked), "relations") == []
    collection.update(ids=["other"], metadatas=[{"workspace": "acme", "links": "a, task"}])
    assert ids(builder.build("the basin", **asked), "relations") == ["other"]
    collection.update(ids=["other"], metadatas=[{"workspace": "acme", "links": "a"}])
    assert ids(builder.build("a basin", **asked), "relations") == []


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
