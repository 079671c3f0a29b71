"""The elastic plan (rows P1 to P10), with real engines over real Chroma collections among its packs."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.prompt_values import ChatPromptValue
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool

from langchain_context_engine import (
    AllSourcesFailedError,
    ConfigError,
    Context,
    TemplateError,
    UnknownNameError,
    replay,
)
from langchain_context_engine.designs import (
    ContextAssembler,
    ContextDeclaration,
    ContextPack,
    ContextPackBlock,
    ContextPlan,
    Pack,
)
from langchain_context_engine.errors import BudgetError, ScopeError
from langchain_context_engine.journal import Journal
from langchain_context_engine.text.tokens import resolve_tokenizer
from tests.builders import FailingSource, count_with_join_cost, count_words
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


def test_texts_name_packs_and_context_by_dot_path():
    """P8."""
    messages = [{"type": "user", "content": "Known: {context.kb}\nIn {context.place.city}: {input.question}"}]
    plan = a_plan(messages, packs={"kb": lambda request: "tea is green"})
    result = plan.assemble({"input": ASKED, "context": {"place": {"city": "Oslo"}}})
    assert result.user_message == "Known: tea is green\nIn Oslo: Where is my order?"


def test_a_path_to_nowhere_fails_naming_it():
    """P8."""
    with pytest.raises(TemplateError, match=r"input\.question"):
        a_plan().assemble({"input": {}})
    with pytest.raises(TemplateError, match="__class__"):
        a_plan([{"type": "user", "content": "{input.question.__class__}"}]).assemble(ASKED)


def test_values_never_expand_and_other_braces_stand():
    """P8, F50."""
    messages = [{"type": "user", "content": '{input.question} {"a": {b: 1}} {} {0} {{input.question}}'}]
    result = a_plan(messages).assemble({"question": "{input.secret} {context.kb}", "secret": "s3"})
    assert result.user_message == '{input.secret} {context.kb} {"a": {b: 1}} {} {0} {input.question}'
    assert a_plan([{"type": "user", "content": "[{input.x}]"}]).assemble({"x": None}).user_message == "[]"


def test_the_historys_last_user_message_does_not_replace_the_new_one():
    """P8."""
    history = [("user", "old question")]
    result = a_plan((SYSTEM, USER, HISTORY)).assemble(ASKED, history=history)
    assert result.user_message == "Question: Where is my order?"
    assert [m.content for m in result.history] == ["old question"]
    said = a_plan((SYSTEM, HISTORY)).assemble({}, history=history, user_message="new question")
    assert said.user_message == "new question"
    assert [m.content for m in said.history] == ["old question"]


def test_without_messages_a_plan_is_its_packs_the_history_and_the_message():
    """P1."""
    plan = ContextPlan(packs={"kb": lambda request: f"about {request.query}"})
    result = plan.assemble({}, base_system_prompt="Base.", history=[("user", "a")], user_message="hi")
    assert result.system_prompt == "Base.\n\nabout hi"
    assert [m.content for m in result.messages[1:]] == ["a", "hi"]


def test_a_plans_examples_stand_in_their_place():
    """P1."""
    examples = [{"type": "user", "content": "2+2?"}, {"type": "assistant", "content": "4"}]
    result = a_plan((SYSTEM, *examples, HISTORY, USER)).assemble(ASKED, history=[("user", "hm")])
    assert [m.content for m in result.history] == ["2+2?", "4", "hm"]


def test_tokens_are_counted_in_all_that_a_message_carries():
    """P9."""
    count = resolve_tokenizer("auto")
    plan = ContextPlan([HISTORY, USER], tokens_per_message=3)
    bare = plan.assemble(ASKED).token_count
    assert bare == 3 + count("Question: Where is my order?")

    def cost(message):
        return plan.assemble(ASKED, history=[message]).token_count - bare

    assert cost(HumanMessage([{"type": "text", "text": "see this"}, "now"])) == 3 + count("see this") + count(
        "now"
    )
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 9000}}
    assert cost(HumanMessage([picture])) == 3 + 85
    assert cost({"role": "assistant", "content": None}) == 3
    asked = {"name": "look", "args": {"query": "x"}}
    assert cost(AIMessage("", tool_calls=[{**asked, "id": "t"}])) == 3 + count(json.dumps(asked))
    assert cost({"role": "tool", "content": "found", "tool_call_id": "t"}) == 3 + count("found") + count("t")


def test_tool_schemas_are_counted():
    """P9."""

    @tool
    def weather(city: str) -> str:
        """Tell the weather of a city."""
        return city

    without = a_plan().assemble(ASKED).token_count
    assert a_plan(tools=[weather]).assemble(ASKED).token_count > without
    assert a_plan().assemble(ASKED, tools=[weather]).token_count > without
    with pytest.raises(ConfigError, match="tool"):
        a_plan(tools=[3])


def test_a_users_message_may_be_content_blocks():
    """P9."""
    blocks = [
        {"type": "text", "text": "what is this?"},
        {"type": "image_url", "image_url": {"url": "http://x/y.png"}},
    ]
    result = a_plan((SYSTEM,)).assemble({}, user_message=blocks)
    assert result.user_message == blocks
    assert result.token_count == 5 + 3 + 85


def test_what_is_no_history_is_refused():
    """P9."""
    for history in ("hello", [3], {"role": "user", "content": "x"}):
        with pytest.raises(ConfigError, match="history"):
            a_plan((HISTORY, USER)).assemble(ASKED, history=history)


def test_compactors_are_truncate_extractive_summary_and_ones_own():
    """P6."""
    text = "It rains. The order number nine is late. It snows often here."

    def system(compactor, **settings):
        policy = budget(9, compactor=compactor)
        plan = a_plan(
            [{"type": "system", "content": text}, {"type": "user", "content": "w x"}],
            policy=policy,
            **settings,
        )
        return plan.assemble({}).system_prompt

    assert system({"type": "truncate"}).startswith("It rains. The order")
    assert system("extractive") == "The order number nine is late."
    model = FakeListChatModel(responses=["Order nine late."])
    assert system("summary", model=model) == "Order nine late."
    shout = {"shout": lambda text, allowance: "SHORT"}
    assert system({"type": "shout"}, compactors=shout) == "SHORT"


def test_an_unknown_or_impossible_compactor_never_becomes_another():
    """P6."""
    with pytest.raises(UnknownNameError, match="extractive"):
        a_plan(policy={"compactor": {"type": "extractiv"}})
    with pytest.raises(ConfigError, match="model"):
        a_plan(policy={"compactor": {"type": "summary"}})
    with pytest.raises(ConfigError, match="built-in"):
        a_plan(compactors={"truncate": lambda text, allowance: ""})


def a_full_plan(tokens=60, **settings):
    return a_plan(
        [
            SYSTEM,
            a_pack(weight=2),
            a_pack("faq", priority=1),
            {"type": "assistant", "content": "Ask me."},
            HISTORY,
            {"type": "user", "content": "With {context.notes}: {input.question}"},
        ],
        packs={"kb": Pages(), "faq": an_engine(), "notes": Pages(2, word="note")},
        policy=budget(tokens, expansion={"max_pages": 3}),
        **{"tokenizer": "auto", **settings},
    )


def named(trace):
    return {part.name: part for part in trace.parts}


def test_a_plan_tells_what_each_part_was_promised_took_and_lost():
    """B9: function packs, history and system with their tokens; what stands in the prompt is in the trace."""
    result = a_full_plan(120).assemble(ASKED, history=a_conversation(20))
    parts = named(result.trace)
    assert [parts[name].kind for name in ("system 1", "kb", "faq", "notes", "examples", "user")] == [
        "system", "pack", "pack", "pack", "example", "user",
    ]  # fmt: skip
    assert result.parts == result.trace.parts
    prompt = result.to_prompt().to_string()
    for part in result.parts:
        assert part.text in prompt or part.kind == "history"
    assert parts["notes"].within == "user"
    assert parts["kb"].promised
    assert parts["kb"].tokens > 0
    assert parts["kb"].lost > 0
    assert parts["history"].lost > 0
    assert parts["history"].reason == "left out for room"
    assert result.trace.tokens == result.token_count
    assert result.trace.budget == result.max_tokens
    assert parts["kb"].context.text == parts["kb"].text
    assert {key[0] for key in (p.key for p in result.trace.passages)} >= {"kb", "notes"}
    assert result.trace.is_truncated


def test_the_joined_pages_are_recorded_once_and_read_back(tmp_path):
    """B9: into the journal, as one trace that says it is a plan."""
    path = tmp_path / "journal.db"
    plan = a_full_plan(120, journal=path)
    result = plan.assemble(ASKED, history=a_conversation(3))
    plan.journal.close()
    with Journal(path, read_only=True) as journal:
        (row,) = journal.traces()
        trace = journal.trace(row.id)
    assert trace == Context.from_dict(result.trace.to_dict())
    assert trace.request.focus == {"plan": "plan"}
    assert row.tokens == result.token_count
    assert len(named(trace)["kb"].context.candidates) > 10
    assert replay(trace).text == trace.text == result.trace.text


@pytest.mark.parametrize("tokens", [20, 45, 60, 90, 150, 400, None])
def test_a_plans_replay_keeps_every_budget_and_unchanged_is_the_same(tokens):
    """B3: promise 9, and promise 2 under another budget."""
    plan = a_full_plan(tokens) if tokens else a_full_plan(10_000)
    trace = plan.assemble(ASKED, history=a_conversation(4)).trace
    again = replay(trace)
    assert (again.text, again.tokens, again.decisions) == (trace.text, trace.tokens, trace.decisions)
    assert [(p.name, p.text, p.tokens, p.lost) for p in again.parts] == [
        (p.name, p.text, p.tokens, p.lost) for p in trace.parts
    ]
    for other in (0, 5, 18, 30, 50, 80, 130, 300):
        changed = replay(trace, budget=other)
        assert changed.tokens <= other
        assert bool(changed.text) == bool(changed.tokens)


def test_a_nested_plan_is_a_part_with_its_own_parts():
    """B9, P7."""
    inner = a_plan(
        [{"type": "system", "content": "Facts:"}, a_pack()], packs={"kb": Pages()}, tokenizer="auto"
    )
    outer = a_plan(
        [SYSTEM, a_pack("facts"), USER], packs={"facts": inner}, policy=budget(60), tokenizer="auto"
    )
    trace = outer.assemble(ASKED).trace
    (facts,) = [part for part in trace.parts if part.kind == "plan"]
    assert [part.name for part in facts.context.parts] == ["system 1", "kb"]
    assert facts.lost > 0
    assert replay(Context.from_dict(trace.to_dict())).text == trace.text
    assert replay(trace, budget=40).tokens <= 40
    assert replay(trace, budget=120).tokens > trace.tokens
