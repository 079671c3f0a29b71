"""How the elastic plan shares out and compacts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langchain_context_engine import (
    ConfigError,
)
from langchain_context_engine.designs import (
    ContextPackBlock,
    ContextPlan,
    Pack,
)
from langchain_context_engine.models.errors import BudgetError
from tests.builders import count_with_join_cost, count_words
from tests.designs.plan_builders import (
    ASKED,
    HISTORY,
    SYSTEM,
    USER,
    Pages,
    a_conversation,
    a_pack,
    a_plan,
    an_engine,
    budget,
)


def test_a_ratio_of_the_input_budget_acts_on_the_models_window():
    """P3."""
    plan = a_plan((SYSTEM, HISTORY, USER), policy={"input_budget": {"ratio": 0.5}}, context_window=40)
    result = plan.assemble(ASKED, history=a_conversation(20))
    assert result.max_tokens == 20
    assert result.token_count <= 20


def test_packs_share_by_weight():
    """P3."""
    packs = {"a": Pages(word="apple"), "b": Pages(word="berry")}
    plan = a_plan(
        [a_pack("a", weight=3), a_pack("b", weight=1), USER],
        packs=packs,
        policy=budget(200, pack_budget={"default_max_tokens": 80}),
        count_messages=None,
    )
    plan_packs = plan.assemble(ASKED).packs
    assert (plan_packs["a"].tokens, plan_packs["b"].tokens) == (40, 40)  # ten of each: b takes what a leaves
    narrow = a_plan(
        [a_pack("a", weight=3), a_pack("b", weight=1), USER],
        packs=packs,
        policy=budget(200, pack_budget={"default_max_tokens": 40}),
    )
    result = narrow.assemble(ASKED).packs
    assert (result["a"].tokens, result["b"].tokens) == (30, 10)
    assert [packs[name].asked[-1].max_tokens for name in "ab"] == [30, 10]


def test_what_a_pack_does_not_need_goes_to_the_others_whatever_their_order():
    """P3."""
    for order in (["small", "large"], ["large", "small"]):
        packs = {"small": Pages(1), "large": Pages(30, word="berry")}
        plan = a_plan(
            [*map(a_pack, order), USER],
            packs=packs,
            policy=budget(200, pack_budget={"default_max_tokens": 40}),
        )
        result = plan.assemble(ASKED).packs
        assert (result["small"].tokens, result["large"].tokens) == (4, 36)


def test_a_higher_priority_is_served_first():
    """P3."""
    packs = {"low": Pages(), "high": Pages(word="berry")}
    messages = [a_pack("low"), a_pack("high", priority=5), USER]
    result = a_plan(
        messages, packs=packs, policy=budget(200, pack_budget={"default_max_tokens": 44})
    ).assemble(ASKED)
    assert (result.packs["high"].tokens, result.packs["low"].tokens) == (40, 4)


def test_a_starved_pack_gets_a_share_of_what_is_left_and_never_the_default():
    """P3."""
    packs = {"greedy": Pages(), "starved": Pages(word="berry")}
    messages = [a_pack("greedy", priority=1, budget={"max_tokens": 36}), a_pack("starved"), USER]
    policy = budget(44, pack_budget={"default_max_tokens": 40})
    result = a_plan(messages, packs=packs, policy=policy).assemble(ASKED)
    assert result.packs["greedy"].tokens == 36
    assert result.packs["starved"].tokens <= 3
    assert packs["starved"].asked[0].max_tokens <= 3
    assert result.token_count <= 44


def test_a_packs_own_ratio_is_of_the_input_budget():
    """P3."""
    plan = a_plan([a_pack(budget={"ratio": 0.25}), USER], packs={"kb": Pages()}, policy=budget(80))
    assert plan.assemble(ASKED).packs["kb"].tokens == 20
    with pytest.raises(ConfigError, match="ratio"):
        a_plan([a_pack(budget={"ratio": 0.25})], packs={"kb": Pages()})


def test_the_documents_expansion_fills_a_pack_page_by_page():
    """P4."""
    pages = Pages()
    plan = a_plan(
        [SYSTEM, a_pack(), USER],
        packs={"kb": Pack(source=pages, limit=2)},
        policy={
            "input_budget": {"max_tokens": 40},
            "pack_budget": {"default_ratio": 0.5},
            "expansion": {"max_pages": 3, "min_fill_ratio": 1.0},
        },
    )
    result = plan.assemble(ASKED)
    assert [request.offset for request in pages.asked] == [0, 2, 4]
    assert result.packs["kb"].tokens == 20  # 24 words in three pages, fitted once more
    assert result.token_count <= 40


def test_pages_end_when_the_pack_is_full_or_the_source_is_dry():
    """P4."""

    def offsets(pages, **expansion):
        policy = budget(100, pack_budget={"default_max_tokens": 20}, expansion={"max_pages": 9, **expansion})
        a_plan([a_pack(), USER], packs={"kb": Pack(source=pages, limit=2)}, policy=policy).assemble(ASKED)
        return [request.offset for request in pages.asked]

    assert offsets(Pages(30), min_fill_ratio=0.7) == [0, 2]
    assert offsets(Pages(3)) == [0, 2]
    assert offsets(Pages(0)) == [0]


def test_a_retriever_that_repeats_itself_adds_nothing_twice():
    """P4."""
    asked = []

    def same(request):
        asked.append(request.offset)
        return [ContextPackBlock(evidence_item_id=str(i), text=f"always {i}") for i in range(request.limit)]

    policy = budget(100, expansion={"max_pages": 5})
    plan = a_plan([a_pack(), USER], packs={"kb": Pack(source=same, limit=2)}, policy=policy)
    assert plan.assemble(ASKED).system_prompt == "always 0\n\nalways 1"
    assert asked == [0, 2]


def test_an_engine_is_paged_too():
    """P4."""
    plan = a_plan(
        [a_pack(), USER],
        packs={"kb": Pack(source=an_engine(template="summary"), limit=1, fields={"scope": {"tenant": "a"}})},
        policy=budget(100, expansion={"max_pages": 5}),
    )
    text = plan.assemble(ASKED).system_prompt
    assert "ship" in text
    assert "tracked" in text


def test_oldest_history_goes_first_then_packs_then_the_system_and_never_the_user():
    """P5."""
    plan = a_plan((SYSTEM, a_pack(), HISTORY, USER), packs={"kb": Pages(5)})

    def at(tokens):
        return plan.assemble(ASKED, history=a_conversation(3), max_tokens=tokens)

    whole = 5 + 20 + 18 + 5
    sizes = {}
    for tokens in range(5, whole + 1):
        result = at(tokens)
        assert result.token_count <= tokens
        assert result.user_message == "Question: Where is my order?"
        pack = result.packs["kb"].tokens if "kb" in result.packs else 0
        sizes[tokens] = (len(result.history), pack, result.system_prompt)
    assert sizes[whole][:2] == (6, 20)
    assert sizes[whole - 1][:2] == (4, 20)
    assert sizes[30][:2] == (0, 20)
    assert sizes[20][:2] == (0, 10)
    assert sizes[20][2].startswith("You are a support agent.")
    assert sizes[8][2] == "You are a"
    assert at(whole - 1).history[0].content == "question number 1"
    assert any("2 older messages" in warning for warning in at(whole - 1).warnings)
    with pytest.raises(BudgetError, match="5 tokens"):
        at(4)


def test_a_tool_call_and_its_result_stay_together():
    """P5."""
    call = AIMessage("", tool_calls=[{"name": "look", "args": {"x": 1}, "id": "t1"}])
    history = [
        HumanMessage("look it up"),
        call,
        ToolMessage("found it", tool_call_id="t1"),
        AIMessage("here it is"),
        HumanMessage("thanks"),
        AIMessage("welcome"),
    ]
    plan = a_plan((HISTORY, USER))
    whole = plan.assemble(ASKED, history=history).token_count
    for tokens in range(5, whole + 1):
        kept = plan.assemble(ASKED, history=history, max_tokens=tokens).history
        assert [m.content for m in kept] in ([], ["thanks", "welcome"], [m.content for m in history])


def test_overflow_error_raises_instead():
    """P5."""
    plan = a_plan((SYSTEM, HISTORY, USER), policy=budget(12, overflow="error"))
    assert plan.assemble(ASKED).token_count == 10
    with pytest.raises(BudgetError, match="history"):
        plan.assemble(ASKED, history=a_conversation(1))
    with pytest.raises(BudgetError, match="over budget"):
        plan.assemble(ASKED, base_system_prompt="a b c d e f")


def test_the_documents_compaction():
    """P5, P6."""
    policy = {"input_budget": {"max_tokens": 10}, "overflow": "compact", "compactor": {"type": "truncate"}}
    long = {"type": "system", "content": "one two three four five six seven eight nine ten"}
    result = a_plan((long, USER), policy=policy).assemble(ASKED)
    assert result.system_prompt == "one two three four five"
    assert result.token_count == 10


@given(
    tokens=st.integers(8, 90),
    pages=st.lists(
        st.tuples(st.integers(0, 12), st.integers(2, 9), st.integers(0, 3), st.integers(0, 2)), max_size=3
    ),
    turns=st.integers(0, 6),
    count=st.sampled_from([count_words, count_with_join_cost]),
)
@settings(deadline=None, max_examples=40)
def test_a_plan_never_exceeds_its_budget_and_never_cuts_the_user(tokens, pages, turns, count):
    """P3, P5, P9."""
    packs = {f"p{i}": Pages(n, length=length, word="ab") for i, (n, length, _, _) in enumerate(pages)}
    places = [
        a_pack(f"p{i}", weight=weight, priority=priority) for i, (_, _, weight, priority) in enumerate(pages)
    ]
    plan = ContextPlan(
        [SYSTEM, *places, HISTORY, {"type": "user", "content": "why?"}],
        packs=packs,
        tokenizer=count,
        policy=budget(tokens, expansion={"max_pages": 2}),
    )
    result = plan.assemble({}, history=a_conversation(turns))
    assert result.user_message == "why?"
    assert result.token_count <= tokens
    assert result.token_count == sum(count(m.content) for m in result.messages)
    assert result.to_prompt() == plan.invoke({}, history=a_conversation(turns))
