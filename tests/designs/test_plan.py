"""The elastic plan, row by row, with real engines over real Chroma collections among its packs."""

from __future__ import annotations

import asyncio
import runpy

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.prompt_values import ChatPromptValue
from langchain_core.runnables import RunnableLambda

from langchain_context_engine import (
    AllSourcesFailedError,
    ConfigError,
    UnknownNameError,
)
from langchain_context_engine.designs import (
    ContextAssembler,
    ContextDeclaration,
    ContextPack,
    ContextPackBlock,
    ContextPolicySpec,
    Pack,
)
from langchain_context_engine.models.errors import ScopeError
from langchain_context_engine.text.tokens import resolve_tokenizer
from tests.builders import FailingSource, count_words
from tests.conftest import ROOT
from tests.designs.plan_builders import ASKED, HISTORY, SYSTEM, USER, Pages, a_pack, a_plan, an_engine, budget


def test_the_documents_basic_usage():
    """P1, P8."""
    spec = ContextDeclaration(name="support", messages=[SYSTEM, USER])
    result = ContextAssembler({"support": spec}).assemble(
        context_name="support",
        base_system_prompt="",
        history_messages=[],
        user_message="",
        template_context={"input": {"question": "Where is my order?"}, "context": {}},
    )
    assert result.system_prompt == "You are a support agent."
    assert result.user_message == "Question: Where is my order?"
    assert result.history == ()
    count = resolve_tokenizer("auto")
    assert result.token_count == count(result.system_prompt) + count(result.user_message)


def test_a_plan_is_a_runnable_from_a_dictionary_to_a_chat_prompt():
    """P1."""
    plan = a_plan((SYSTEM, HISTORY, USER))
    prompt = plan.invoke({**ASKED, "history": [("user", "Hello"), ("assistant", "Hi")]})
    assert isinstance(prompt, ChatPromptValue)
    assert [type(m) for m in prompt.to_messages()] == [SystemMessage, HumanMessage, AIMessage, HumanMessage]
    answer = (plan | FakeListChatModel(responses=["On its way."])).invoke(ASKED)
    assert answer.content == "On its way."


async def test_sync_async_and_batch_give_the_same_prompt():
    """P1, P9."""
    plan = a_plan(
        (SYSTEM, a_pack(), a_pack("faq"), USER), packs={"kb": Pages(), "faq": an_engine()}, policy=budget(60)
    )
    wanted = plan.invoke(ASKED)
    assert await plan.ainvoke(ASKED) == wanted
    assert plan.batch([ASKED, ASKED]) == [wanted, wanted]
    assert list(plan.stream(ASKED)) == [wanted]
    assert plan.assemble(ASKED).to_prompt() == wanted


def test_packs_are_engines_retrievers_functions_and_plans():
    """P1."""
    retriever = RunnableLambda(lambda query: [Document(f"Doc about {query}", id="d")])
    packs = {
        "engine": an_engine(),
        "retriever": retriever,
        "function": lambda request: "A text.",
        "documents": lambda request: [Document("A document.", id="1")],
        "plan": a_plan([{"type": "system", "content": "Nested for {input.question}"}]),
        "facade": an_engine().as_retriever(k=1),
    }
    plan = a_plan([SYSTEM, *map(a_pack, packs), USER], packs=packs)
    parts = plan.assemble(ASKED).system_prompt
    for piece in (
        "ship within two days",
        "Doc about Where is my order?",
        "A text.",
        "A document.",
        "Nested for Where",
    ):
        assert piece in parts
    with pytest.raises(ConfigError, match="kb"):
        a_plan([a_pack()], packs={"kb": 7})


def test_a_coroutine_function_retrieves_in_both_worlds():
    """P1, P10."""

    async def retrieve(request):
        await asyncio.sleep(0)
        return f"Found {request.query}"

    plan = a_plan([a_pack(), USER], packs={"kb": retrieve})
    assert plan.assemble(ASKED).system_prompt == "Found Where is my order?"
    assert asyncio.run(plan.aassemble(ASKED)).to_prompt() == plan.invoke(ASKED)


@pytest.mark.parametrize(
    "policy",
    [
        {"overflow": "truncate"},
        {"input_bugdet": {"max_tokens": 10}},
        {"input_budget": {"max_tokens": 10, "min_tokens": 1}},
        {"input_budget": {"max_tokens": -1}},
        {"pack_budget": {"ratio": 0.5}},
        {"expansion": {"max_pages": 0}},
        {"max_iterations": 0},
        {"compactor": {"type": "truncate", "speed": 9}},
        {"input_budget": {"ratio": 0.5}},
        {"pack_budget": {"default_ratio": 0.5}},
    ],
)
def test_a_policy_that_says_nothing_known_is_refused(policy):
    """P2, P3, P5."""
    with pytest.raises(ConfigError):
        a_plan(policy=policy)


def test_a_policy_has_the_documents_fields():
    """P2."""
    policy = ContextPolicySpec(
        input_budget={"max_tokens": 40, "ratio": 0.5},
        pack_budget={"default_ratio": 0.5, "default_max_tokens": 10},
        overflow="compact",
        compactor={"type": "truncate"},
        max_iterations=3,
        expansion={"max_pages": 3, "min_fill_ratio": 1.0},
    )
    assert a_plan(policy=policy, context_window=60).max_tokens == 30


def test_a_nested_plan_keeps_to_its_own_policy():
    """P7."""
    pages = Pages()
    nested = a_plan(
        [{"type": "system", "content": "About:"}, a_pack()], packs={"kb": pages}, policy=budget(13)
    )
    plan = a_plan([SYSTEM, a_pack("inner"), USER], packs={"inner": nested}, policy=budget(100))
    result = plan.assemble(ASKED)
    inner = result.packs["inner"]
    assert (inner.token_count, inner.max_tokens) == (13, 13)
    assert result.system_prompt == f"You are a support agent.\n\n{inner.system_prompt}"
    assert inner.system_prompt.startswith("About:\n\nfact 0")
    small = plan.assemble(ASKED, max_tokens=18)
    assert small.packs["inner"].token_count <= 8
    assert small.token_count <= 18


def test_a_circle_of_plans_is_refused_at_construction():
    """P7."""
    declarations = {
        "a": {"messages": [a_pack("b")]},
        "b": {"messages": [{"type": "system", "content": "{context.a}"}]},
    }
    with pytest.raises(ConfigError, match="a → b → a"):
        ContextAssembler(declarations)
    with pytest.raises(ConfigError, match="circle"):
        ContextAssembler({"a": {"messages": [a_pack("a")]}})
    assert (
        ContextAssembler({"a": {"messages": [a_pack("b")]}, "b": {"messages": [SYSTEM]}})
        .assemble("a")
        .system_prompt
    )


def test_a_history_inside_a_nested_plan_is_refused_at_construction():
    """P7."""
    nested = a_plan([HISTORY, USER])
    with pytest.raises(ConfigError, match="history"):
        a_plan([a_pack("inner")], packs={"inner": nested})


def test_a_pack_that_there_is_not_is_refused_at_construction():
    """P7."""
    with pytest.raises(UnknownNameError, match="kb"):
        a_plan([a_pack("kbb")], packs={"kb": Pages()})
    with pytest.raises(ConfigError, match="twice"):
        a_plan([a_pack(), a_pack()], packs={"kb": Pages()})


def test_a_retriever_is_asked_with_query_offset_limit_tokens_and_metadata():
    """P10."""
    pages = Pages()
    pack = Pack(source=pages, query="about {input.question}", limit=3, offset=6, metadata={"split": "train"})
    a_plan(
        [a_pack(), USER], packs={"kb": pack}, policy=budget(30, pack_budget={"default_max_tokens": 12})
    ).assemble(ASKED)
    (asked,) = pages.asked
    assert (asked.query, asked.offset, asked.limit, asked.max_tokens) == (
        "about Where is my order?",
        6,
        3,
        12,
    )
    assert asked.metadata == {"retriever": "kb", "split": "train"}


def test_the_documents_retriever_pack_with_an_override():
    """P10."""

    def fake_retrieve(request):
        text = "Evidence chunk"
        assert (request.query, request.limit) == ("demo", 3)
        return ContextPack(
            text=text,
            evidence_count=1,
            blocks=[ContextPackBlock(evidence_item_id="demo-1", text=text, metadata=None)],
        )

    spec = ContextDeclaration(
        name="support",
        policy={"input_budget": {"max_tokens": 10}, "pack_budget": {"default_ratio": 1.0}},
        messages=[
            {"type": "system", "content": "Use this context."},
            {"type": "context", "name": "kb_search"},
            {"type": "user", "content": "Question"},
        ],
    )
    retriever_spec = type("RetrieverSpec", (), {"config": {"query": "demo", "limit": 3}})()
    assembler = ContextAssembler({"support": spec}, retriever_registry={"kb_search": retriever_spec})
    asked = {"context_name": "support", "template_context": {"input": {}, "context": {}}}
    result = assembler.assemble(**asked, retriever_override=fake_retrieve)
    assert result.system_prompt == "Use this context.\n\nEvidence chunk"
    assert result.user_message == "Question"
    assert result.token_count <= 10
    with pytest.raises(ConfigError, match="kb_search"):
        assembler.assemble(**asked)


def test_a_call_may_override_one_retriever():
    """P10."""
    plan = a_plan([a_pack("a"), a_pack("b"), USER], packs={"a": lambda r: "from a", "b": lambda r: "from b"})
    result = plan.assemble(ASKED, retriever_override={"b": lambda request: "from elsewhere"})
    assert result.system_prompt == "from a\n\nfrom elsewhere"
    assert plan.assemble(ASKED).system_prompt == "from a\n\nfrom b"


def test_a_call_brings_a_scope_that_only_narrows():
    """P10."""
    engine = an_engine(scope_keys=("tenant",))
    plan = a_plan([a_pack(), USER], packs={"kb": engine})
    assert "another" not in plan.assemble(ASKED, scope={"tenant": "a"}).system_prompt
    assert "another" in plan.invoke(ASKED, scope={"tenant": "b"}).to_string()
    with pytest.raises(ScopeError):
        plan.assemble(ASKED)
    bound = a_plan([a_pack(), USER], packs={"kb": Pack(source=engine, fields={"scope": {"tenant": "a"}})})
    assert "another" not in bound.assemble(ASKED).system_prompt
    with pytest.raises(ScopeError):
        bound.assemble(ASKED, scope={"tenant": "b"})
    with pytest.raises(TypeError, match="scope"):
        plan.assemble(ASKED, scpoe={"tenant": "a"})


def test_a_failing_pack_costs_itself_and_a_warning_and_only_all_of_them_raise():
    packs = {"bad": FailingSource(OSError("disk")), "good": lambda request: "found"}
    result = a_plan([a_pack("bad"), a_pack("good"), USER], packs=packs).assemble(ASKED)
    assert result.system_prompt == "found"
    assert any("'bad'" in warning for warning in result.warnings)
    with pytest.raises(AllSourcesFailedError):
        a_plan([a_pack("bad"), USER], packs=packs).assemble(ASKED)


def test_a_packs_engine_counts_by_the_plans_tokens():
    """P9."""
    plan = a_plan(
        [a_pack(), USER], packs={"kb": an_engine(tokenizer="auto", template="summary")}, policy=budget(13)
    )
    result = plan.assemble(ASKED)
    assert result.packs["kb"].tokens == count_words(result.system_prompt) <= 8


def test_the_example_runs(capsys):
    name = "context_plan"
    runpy.run_path(str(ROOT / "examples" / f"{name}.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert printed.startswith("System: You are a support agent.")
    assert "Order 1007" in printed
    assert "of 120 tokens" in printed
    assert printed.endswith("It left on Monday: DE-77120.\n")
