"""Rows W7–W10 and W13 of the workspace builder: budgets, cuts, the text, the document's example flows."""

from __future__ import annotations

import runpy

import pytest
from langchain_core.language_models import FakeListChatModel

from langchain_context_engine import ConfigError
from langchain_context_engine.designs import ContextHints, TokenBudget
from langchain_context_engine.designs.workspace import ContextConfig
from langchain_context_engine.designs.workspace import TruncationSettings
from langchain_context_engine.models.types import Reason
from tests.builders import count_words
from tests.conftest import ROOT
from tests.designs.workspace_builders import (
    ANN,
    ANY_SIMILARITY,
    NOW,
    PARAGRAPHS,
    a_block,
    a_builder,
    a_page,
    build,
    section,
)

SENTENCE = "The {name} pier number {i} needs {i} new planks before the {i} of May. "


def long_text(name, sentences=40):
    return "".join(SENTENCE.format(name=name, i=i) for i in range(sentences)).strip()


def test_the_default_budgets_are_the_documents_and_are_scaled_to_the_total():
    """W7"""
    budget = TokenBudget()
    assert (budget.total, sum(budget.shares().values())) == (4000, 4500)
    own = a_builder([])._engine(budget, ()).config.budget
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


def test_the_flow_of_a_page_summary_is_heavy_with_the_pages_own_blocks():
    """W13, 8.1"""
    records = [
        a_block("page-123", "Harbor", "page", title="Harbor", summary="All about the harbor."),
        *(
            a_block(f"c{i}", PARAGRAPHS[i] * 3, parent_id="page-123", page_id="page-123", position=i)
            for i in range(5)
        ),
        *(a_block(f"o{i}", f"Another page that is to summarize, part {i}") for i in range(10)),
    ]
    budget = TokenBudget(
        total=3000, focus=2500, semantic=200, relations=200, activity=0, history=0, system=100
    )
    payload = a_builder(records).build(
        "Summarize this page",
        focus={"page_id": "page-123"},
        type="assist",
        user=ANN,
        token_budget=budget,
        now=NOW,
    )
    focused = section(payload, "focus")
    assert {item.block_id for item in focused.items} == {"page-123", "c0", "c1", "c2", "c3", "c4"}
    assert focused.items[0].block_id == "page-123"
    assert focused.token_count > section(payload, "semantic").token_count


def test_the_flow_of_a_workspace_chat_finds_the_overdue_tasks():
    """W13, 8.2"""
    records = [
        a_block("t1", "Overdue tasks: paint the northern buoy", "todo"),
        a_block("k1", "Overdue tasks: repair the crane", "kanban_card"),
        a_block("n1", "Overdue tasks are discussed on Mondays", "text"),
        *(a_block(f"x{i}", PARAGRAPHS[i]) for i in range(8)),
    ]
    budget = TokenBudget(
        total=4000, focus=0, semantic=2500, relations=500, activity=500, history=300, system=200
    )
    payload = a_builder(records, config=ANY_SIMILARITY).build(
        "What tasks are overdue?",
        type="chat",
        user=ANN,
        token_budget=budget,
        hints=ContextHints(prioritize_types=["todo", "kanban_card"]),
        now=NOW,
    )
    found = section(payload, "semantic").items
    assert {item.block_id for item in found[:2]} == {"t1", "k1"}
    assert found[2].block_id == "n1"
    assert "focus" not in payload.metadata.collectors_used


def test_the_flow_of_a_task_breakdown_has_the_task_and_similar_tasks():
    """W13, 8.3"""
    records = [
        a_block("task-456", "Break the pier renovation into steps", "todo", parent_id="list", position=1),
        a_block("list", "Renovation", "page", title="Renovation"),
        a_block("sub", "Measure the pier", "todo", parent_id="task-456", position=1),
        a_block("like", "Break the crane task into subtasks: lift, grease, test", "todo"),
    ]
    budget = TokenBudget(
        total=2000, focus=1200, semantic=500, relations=200, activity=0, history=0, system=100
    )
    payload = a_builder(records, config=ANY_SIMILARITY).build(
        "Break this task into subtasks",
        focus={"block_id": "task-456"},
        type="assist",
        user=ANN,
        token_budget=budget,
        now=NOW,
    )
    assert [item.block_id for item in section(payload, "focus").items][:1] == ["task-456"]
    assert "sub" in {item.block_id for item in section(payload, "focus").items}
    assert [item.block_id for item in section(payload, "semantic").items] == ["like"]


def test_the_example_fills_every_section(capsys):
    """W10, W13"""
    runpy.run_path(str(ROOT / "examples" / "workspace_builder.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "[Spring release] [todo]\nMove billing to monthly invoices" in printed
    assert "### Related Content\n[todo]\nBreak the move of support into subtasks" in printed
    assert "### Connected Items\n[text]\nVAT must be shown" in printed
    assert "### Recent Activity\n[text]\nDraft of a blue logo." in printed
    assert "### System\n[system]\nYou plan work.\n\n[system]\nThe user's preferences:\n- language" in printed
    assert "_No relevant content found._" not in printed
    assert "Salaries" not in printed
    assert "Spring release > Move billing to monthly invoices > Write the migration" in printed
