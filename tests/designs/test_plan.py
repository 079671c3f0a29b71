"""The elastic plan (rows P1 to P10), with real engines over real Chroma collections among its packs."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
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
    ContextRetrieverRequest,
    Pack,
)
from langchain_context_engine.errors import BudgetError, ScopeError
from langchain_context_engine.journal import Journal
from langchain_context_engine.rendering.compact import resolve_compactor
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

EXAMPLES = [{"type": "user", "content": "2+2?"}, {"type": "assistant", "content": "4"}]


def contents(messages):
    return [message.content for message in messages]


def test_the_documents_basic_usage():
    """P1, P8"""
    spec = ContextDeclaration(name="support", messages=[SYSTEM, USER])
    result = ContextAssembler({"support": spec}).assemble(
        context_name="support", base_system_prompt="", history_messages=[], user_message="",
        template_context={"input": {"question": "Where is my order?"}, "context": {}},
    )  # fmt: skip
    assert (result.system_prompt, result.history) == ("You are a support agent.", ())
    assert result.user_message == "Question: Where is my order?"
    count = resolve_tokenizer("auto")
    assert result.token_count == count(result.system_prompt) + count(result.user_message)


async def test_a_plan_is_a_runnable_from_a_dictionary_to_a_chat_prompt():
    """P1, P9"""
    packs = {"kb": Pages(), "faq": an_engine()}
    messages = (SYSTEM, a_pack(), a_pack("faq"), *EXAMPLES, HISTORY, USER)
    plan = a_plan(messages, packs=packs, policy=budget(60))
    wanted = plan.invoke({**ASKED, "history": [("user", "hm")]})
    assert isinstance(wanted, ChatPromptValue)
    said = wanted.to_messages()
    assert [type(m) for m in said] == [SystemMessage, HumanMessage, AIMessage, HumanMessage, HumanMessage]
    assert contents(said)[1:4] == ["2+2?", "4", "hm"]
    wanted = plan.invoke(ASKED)
    assert await plan.ainvoke(ASKED) == wanted == plan.assemble(ASKED).to_prompt()
    assert plan.batch([ASKED, ASKED]) == [wanted, wanted]
    assert list(plan.stream(ASKED)) == [wanted]
    assert (plan | FakeListChatModel(responses=["On its way."])).invoke(ASKED).content == "On its way."


def test_packs_are_engines_retrievers_functions_and_plans():
    """P1"""
    packs = {
        "engine": an_engine(),
        "retriever": RunnableLambda(lambda query: [Document(f"Doc about {query}", id="d")]),
        "configured": RunnableLambda(lambda query: [Document("Tagged.")]).with_config(tags=["t"]),
        "function": lambda request: "A text.",
        "documents": lambda request: [Document("A document.", id="1")],
        "plan": a_plan([{"type": "system", "content": "Nested for {input.question}"}]),
        "facade": an_engine().as_retriever(k=1),
    }
    prompt = a_plan([SYSTEM, *map(a_pack, packs), USER], packs=packs).assemble(ASKED).system_prompt
    said = ("ship within two days", "Doc about Where is my order?", "Tagged.", "A text.", "A document.")
    assert all(piece in prompt for piece in (*said, "Nested for Where"))
    with pytest.raises(ConfigError, match="kb"):
        a_plan([a_pack()], packs={"kb": 7})
    bare = ContextPlan([a_pack(), HISTORY], packs={"kb": lambda request: f"about {request.query}"})
    result = bare.assemble({}, base_system_prompt="Base.", history=[("user", "a")], user_message="hi")
    assert contents(result.messages) == ["Base.\n\nabout hi", "a", "hi"]


@pytest.mark.parametrize(
    "policy",
    [
        {"overflow": "error"}, {"input_bugdet": {"max_tokens": 10}}, {"input_budget": {"max_tokens": -1}},
        {"input_budget": {"max_tokens": 10, "min_tokens": 1}}, {"pack_budget": {"ratio": 0.5}},
        {"expansion": {"max_pages": 0}}, {"max_iterations": 0}, {"compactor": {"type": "truncate", "speed": 9}},
        {"input_budget": {"ratio": 0.5}}, {"pack_budget": {"default_ratio": 0.5}},
    ],
)  # fmt: skip
def test_a_policy_that_says_nothing_known_is_refused(policy):
    """P2, P3, P5"""
    with pytest.raises(ConfigError):
        a_plan(policy=policy)


def test_a_ratio_of_the_input_budget_acts_on_the_models_window():
    """P3"""
    plan = a_plan((SYSTEM, HISTORY, USER), policy={"input_budget": {"ratio": 0.5}}, context_window=40)
    result = plan.assemble(ASKED, history=a_conversation(20))
    assert (result.max_tokens, result.token_count <= 20) == (20, True)


@pytest.mark.parametrize(
    ("packs", "tokens", "taken"),
    [
        ([("a", 10, {"weight": 3}), ("b", 10, {})], 80, {"a": 40, "b": 40}),  # b takes what a leaves
        ([("a", 30, {"weight": 3}), ("b", 30, {})], 40, {"a": 30, "b": 10}),
        ([("small", 1, {}), ("large", 30, {})], 40, {"small": 4, "large": 36}),
        ([("large", 30, {}), ("small", 1, {})], 40, {"small": 4, "large": 36}),
        ([("low", 30, {}), ("high", 10, {"priority": 5})], 44, {"high": 40, "low": 4}),
    ],
)
def test_packs_share_by_priority_and_weight_and_what_one_leaves_goes_on(packs, tokens, taken):
    """P3"""
    sources = {name: Pages(n, word=name) for name, n, _ in packs}
    messages = [*(a_pack(name, **more) for name, _, more in packs), USER]
    policy = budget(200, pack_budget={"default_max_tokens": tokens})
    result = a_plan(messages, packs=sources, policy=policy).assemble(ASKED).packs
    assert {name: context.tokens for name, context in result.items()} == taken


def test_a_starved_pack_gets_a_share_of_what_is_left_and_never_the_default():
    """P3"""
    packs = {"greedy": Pages(), "starved": Pages(word="berry")}
    messages = [a_pack("greedy", priority=1, budget={"max_tokens": 36}), a_pack("starved"), USER]
    policy = budget(44, pack_budget={"default_max_tokens": 40})
    result = a_plan(messages, packs=packs, policy=policy).assemble(ASKED)
    assert (result.packs["greedy"].tokens, result.packs["starved"].tokens <= 3) == (36, True)
    assert packs["starved"].asked[0].max_tokens <= 3
    assert result.token_count <= 44


class Repeating(Pages):
    """Gives the same page whatever is asked."""

    def __call__(self, request):
        self.asked.append(request)
        return [ContextPackBlock(evidence_item_id=str(i), text=f"always {i}") for i in range(request.limit)]


@pytest.mark.parametrize(
    ("pages", "share", "expansion", "offsets", "taken"),
    [
        # The document's own: 24 words in three pages, fitted once more.
        (Pages(), {"default_ratio": 0.5}, {"max_pages": 3, "min_fill_ratio": 1.0}, [0, 2, 4], 20),
        (Pages(30), {"default_max_tokens": 20}, {"max_pages": 9, "min_fill_ratio": 0.7}, [0, 2], 16),
        (Pages(3), {"default_max_tokens": 20}, {"max_pages": 9}, [0, 2], 12),
        (Pages(0), {"default_max_tokens": 20}, {"max_pages": 9}, [0], 0),
        (Repeating(), {"default_max_tokens": 20}, {"max_pages": 9}, [0, 2], 4),
    ],
)
def test_pages_are_asked_until_the_pack_is_full_or_the_source_is_dry_or_repeats_itself(
    pages, share, expansion, offsets, taken
):
    """P4"""
    policy = budget(40, pack_budget=share, expansion=expansion)
    plan = a_plan([SYSTEM, a_pack(), USER], packs={"kb": Pack(source=pages, limit=2)}, policy=policy)
    result = plan.assemble(ASKED)
    assert [request.offset for request in pages.asked] == offsets
    assert (result.packs["kb"].tokens, result.token_count <= 40) == (taken, True)


def test_oldest_history_goes_first_then_packs_then_the_system_and_never_the_user():
    """P5"""
    plan = a_plan((SYSTEM, a_pack(), HISTORY, USER), packs={"kb": Pages(5)})
    whole, sizes = 5 + 20 + 18 + 5, {}
    for tokens in range(5, whole + 1):
        result = sizes[tokens] = plan.assemble(ASKED, history=a_conversation(3), max_tokens=tokens)
        assert result.token_count <= tokens
        assert result.user_message == "Question: Where is my order?"
    taken = {n: (len(sizes[n].history), sizes[n].packs["kb"].tokens) for n in (whole, whole - 1, 30, 20)}
    assert taken == {whole: (6, 20), whole - 1: (4, 20), 30: (0, 20), 20: (0, 10)}
    assert sizes[20].system_prompt.startswith("You are a support agent.")
    assert sizes[8].system_prompt == "You are a"
    assert sizes[whole - 1].history[0].content == "question number 1"
    assert any("2 older messages" in warning for warning in sizes[whole - 1].warnings)
    with pytest.raises(BudgetError, match="5 tokens"):
        plan.assemble(ASKED, max_tokens=4)


def test_a_tool_call_and_its_result_stay_together():
    """P5"""
    call = AIMessage("", tool_calls=[{"name": "look", "args": {"x": 1}, "id": "t1"}])
    history = [
        HumanMessage("look it up"), call, ToolMessage("found it", tool_call_id="t1"), AIMessage("here it is"),
        HumanMessage("thanks"), AIMessage("welcome"),
    ]  # fmt: skip
    plan = a_plan((HISTORY, USER))
    for tokens in range(5, plan.assemble(ASKED, history=history).token_count + 1):
        kept = contents(plan.assemble(ASKED, history=history, max_tokens=tokens).history)
        assert kept in ([], ["thanks", "welcome"], contents(history))


@pytest.mark.parametrize(
    ("compactor", "text"),
    [
        ({"type": "truncate"}, "It rains. The order number nine is"),
        ({"type": "extractive"}, "The order number nine is late."),
        ({"type": "summary"}, "Order nine late."),
        ({"type": "shout"}, "SHORT"),
    ],
)
def test_compactors_are_truncate_extractive_summary_and_ones_own(compactor, text):
    """P5, P6: the document's compaction."""
    said = "It rains. The order number nine is late. It snows often here."
    plan = a_plan(
        [{"type": "system", "content": said}, {"type": "user", "content": "w x"}],
        policy={"input_budget": {"max_tokens": 9}, "overflow": "compact", "compactor": compactor},
        model=FakeListChatModel(responses=["Order nine late."]),
        compactors={"shout": lambda text, allowance: "SHORT"},
    )
    assert plan.assemble({}).system_prompt == text


def test_an_unknown_or_impossible_compactor_never_becomes_another():
    """P6"""
    with pytest.raises(UnknownNameError, match="extractive"):
        a_plan(policy={"compactor": {"type": "extractiv"}})
    with pytest.raises(ConfigError, match="model"):
        a_plan(policy={"compactor": {"type": "summary"}})
    with pytest.raises(ConfigError, match="compactor must be a name"):
        resolve_compactor(7)
    with pytest.raises(ConfigError, match="built-in"):
        a_plan(compactors={"truncate": lambda text, allowance: ""})


def test_a_nested_plan_keeps_to_its_own_policy():
    """P7"""
    about = {"type": "system", "content": "About:"}
    nested = a_plan([about, a_pack()], packs={"kb": Pages()}, policy=budget(13))
    plan = a_plan([SYSTEM, a_pack("inner"), USER], packs={"inner": nested}, policy=budget(100))
    result = plan.assemble(ASKED)
    inner = result.packs["inner"]
    assert (inner.tokens, inner.budget) == (13, 13)
    assert result.system_prompt == f"You are a support agent.\n\n{inner.text}"
    assert inner.text.startswith("About:\n\nfact 0")
    small = plan.assemble(ASKED, max_tokens=18)
    assert (small.packs["inner"].tokens <= 8, small.token_count <= 18) == (True, True)


def test_a_circle_an_unknown_pack_and_a_nested_history_are_refused_at_construction():
    """P7"""
    second = {"messages": [{"type": "system", "content": "{context.a}"}]}
    with pytest.raises(ConfigError, match="a → b → a"):
        ContextAssembler({"a": {"messages": [a_pack("b")]}, "b": second})
    plans = ContextAssembler({"a": {"messages": [a_pack("b")]}, "b": {"messages": [SYSTEM]}})
    assert plans.assemble("a").system_prompt == SYSTEM["content"]
    with pytest.raises(UnknownNameError, match="kb"):
        a_plan([a_pack("kbb")], packs={"kb": Pages()})
    with pytest.raises(ConfigError, match="twice"):
        a_plan([a_pack(), a_pack()], packs={"kb": Pages()})
    with pytest.raises(ConfigError, match="has a history"):
        a_plan([a_pack()], packs={"kb": a_plan([HISTORY])})


@pytest.mark.parametrize(
    ("content", "values", "text"),
    [
        ("Known: {context.kb} in {context.place.city}: {input.question}",
         {"input": ASKED, "context": {"place": {"city": "Oslo"}}}, "Known: tea is green in Oslo: Where is my order?"),
        ('{input.question} {"a": {b: 1}} {} {0} {{input.question}}',
         {"question": "{input.secret} {context.kb}", "secret": "s3"},
         '{input.secret} {context.kb} {"a": {b: 1}} {} {0} {input.question}'),
        ("[{input.x}]", {"x": None}, "[]"),
        ([{"type": "text", "text": "Re {input.x}"}, "{input.x}"], {"x": 1}, [{"type": "text", "text": "Re 1"}, "1"]),
    ],
)  # fmt: skip
def test_texts_name_values_and_packs_by_dot_path_and_values_never_expand(content, values, text):
    """P8, F50"""
    plan = a_plan([{"type": "user", "content": content}], packs={"kb": lambda request: "tea is green"})
    assert plan.assemble(values).user_message == text


def test_a_path_to_nowhere_fails_naming_it():
    """P8"""
    for path, values in (("input.question", {"input": {}}), ("input.question.__class__", ASKED)):
        with pytest.raises(TemplateError, match=path):
            a_plan([{"type": "user", "content": f"{{{path}}}"}]).assemble(values)


def test_the_historys_last_user_message_does_not_replace_the_new_one():
    """P8"""
    history = [("user", "old question")]
    result = a_plan((SYSTEM, USER, HISTORY)).assemble(ASKED, history=history)
    said = a_plan((SYSTEM, HISTORY)).assemble({}, history=history, user_message="new question")
    assert (result.user_message, said.user_message) == ("Question: Where is my order?", "new question")
    assert contents(result.history) == contents(said.history) == ["old question"]


@tool
def weather(city: str) -> str:
    """Tell the weather of a city."""
    return city


def test_tokens_are_counted_in_all_that_a_message_carries_and_in_tool_schemas():
    """P9"""
    count = resolve_tokenizer("auto")
    plan = ContextPlan([HISTORY, USER], tokens_per_message=3)
    bare = plan.assemble(ASKED).token_count
    assert bare == 3 + count("Question: Where is my order?")
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 9000}}
    asked = {"name": "look", "args": {"query": "x"}}
    for message, cost in (
        (HumanMessage([{"type": "text", "text": "see this"}, "now"]), count("see this") + count("now")),
        (HumanMessage([picture]), 85),
        ({"role": "assistant", "content": None}, 0),
        (AIMessage("", tool_calls=[{**asked, "id": "t"}]), count(json.dumps(asked))),
        ({"role": "tool", "content": "found", "tool_call_id": "t"}, count("found") + count("t")),
    ):
        assert plan.assemble(ASKED, history=[message]).token_count - bare == 3 + cost
    blocks = [{"type": "text", "text": "what is this?"}, picture]
    result = a_plan((SYSTEM,)).assemble({}, user_message=blocks)
    assert (result.user_message, result.token_count) == (blocks, 5 + 3 + 85)
    for history in ("hello", [3], {"role": "user", "content": "x"}):
        with pytest.raises(ConfigError, match="history"):
            plan.assemble(ASKED, history=history)
    assert a_plan(tools=[weather]).assemble(ASKED).token_count > a_plan().assemble(ASKED).token_count
    with pytest.raises(ConfigError, match="tool"):
        a_plan(tools=[3])


@example(tokens=4, pages=[], turns=2, count=count_words)
@given(
    tokens=st.integers(3, 90),
    pages=st.lists(
        st.tuples(st.integers(0, 12), st.integers(2, 9), st.integers(0, 3), st.integers(0, 2)), max_size=3
    ),
    turns=st.integers(0, 6),
    count=st.sampled_from([count_words, count_with_join_cost]),
)
@settings(deadline=None, max_examples=25)
def test_a_plan_never_exceeds_its_budget_and_never_cuts_the_user(tokens, pages, turns, count):
    """P3, P5, P9"""
    packs = {f"p{i}": Pages(n, length=length, word="ab") for i, (n, length, _, _) in enumerate(pages)}
    places = [
        a_pack(f"p{i}", weight=weight, priority=priority) for i, (_, _, weight, priority) in enumerate(pages)
    ]
    plan = a_plan(
        [SYSTEM, *places, *EXAMPLES, HISTORY, {"type": "user", "content": "why?"}],
        packs=packs, tokenizer=count, policy=budget(tokens, expansion={"max_pages": 2}),
    )  # fmt: skip
    result = plan.assemble({}, history=a_conversation(turns))
    assert result.user_message == "why?"
    assert result.token_count == sum(map(count, contents(result.messages))) <= tokens
    assert result.to_prompt() == plan.invoke({}, history=a_conversation(turns))


def test_a_retriever_is_asked_with_query_offset_limit_tokens_and_metadata():
    """P10"""
    pages, told = Pages(), {"split": "train"}
    pack = Pack(source=pages, query="about {input.question}", limit=3, offset=6, metadata=told)
    policy = budget(30, pack_budget={"default_max_tokens": 12})
    a_plan([a_pack(), USER], packs={"kb": pack}, policy=policy).assemble(ASKED)
    wanted = {"query": "about Where is my order?", "offset": 6, "limit": 3, "max_tokens": 12}
    assert pages.asked == [ContextRetrieverRequest(**wanted, metadata={"retriever": "kb", **told})]


def test_the_documents_retriever_pack_with_an_override():
    """P10"""

    def fake_retrieve(request):
        assert (request.query, request.limit) == ("demo", 3)
        block = ContextPackBlock(evidence_item_id="demo-1", text="Evidence chunk", metadata=None)
        return ContextPack(text="Evidence chunk", evidence_count=1, blocks=[block])

    spec = ContextDeclaration(
        name="support",
        policy={"input_budget": {"max_tokens": 10}, "pack_budget": {"default_ratio": 1.0}},
        messages=[{"type": "system", "content": "Use this context."}, a_pack("kb_search"),
                  {"type": "user", "content": "Question"}],
    )  # fmt: skip
    retriever_spec = type("RetrieverSpec", (), {"config": {"query": "demo", "limit": 3}})()
    assembler = ContextAssembler({"support": spec}, retriever_registry={"kb_search": retriever_spec})
    asked = {"context_name": "support", "template_context": {"input": {}, "context": {}}}
    result = assembler.assemble(**asked, retriever_override=fake_retrieve)
    assert contents(result.messages) == ["Use this context.\n\nEvidence chunk", "Question"]
    assert result.token_count <= 10
    with pytest.raises(ConfigError, match="kb_search"):
        assembler.assemble(**asked)


def test_a_call_brings_a_scope_that_only_narrows():
    """P10"""
    engine = an_engine(scope_keys=("tenant",))
    plan = a_plan([a_pack(), USER], packs={"kb": engine})
    assert "another" not in plan.assemble(ASKED, scope={"tenant": "a"}).system_prompt
    assert "another" in plan.invoke(ASKED, scope={"tenant": "b"}).to_string()
    bound = a_plan([a_pack(), USER], packs={"kb": Pack(source=engine, fields={"scope": {"tenant": "a"}})})
    assert "another" not in bound.assemble(ASKED).system_prompt
    for narrow, options in ((plan, {}), (bound, {"scope": {"tenant": "b"}})):
        with pytest.raises(ScopeError):
            narrow.assemble(ASKED, **options)
    with pytest.raises(TypeError, match="scope"):
        plan.assemble(ASKED, scpoe={"tenant": "a"})


def test_a_failing_pack_costs_itself_and_a_warning_and_only_all_of_them_raise():
    """Promise 8"""
    packs = {"bad": FailingSource(OSError("disk")), "good": lambda request: "found"}
    result = a_plan([a_pack("bad"), a_pack("good"), USER], packs=packs).assemble(ASKED)
    assert result.system_prompt == "found"
    assert any("'bad'" in warning for warning in result.warnings)
    with pytest.raises(AllSourcesFailedError):
        a_plan([a_pack("bad"), USER], packs=packs).assemble(ASKED)


def a_full_plan(tokens, **settings):
    return a_plan(
        [
            SYSTEM, a_pack(weight=2), a_pack("faq", priority=1), {"type": "assistant", "content": "Ask me."},
            HISTORY, {"type": "user", "content": "With {context.notes}: {input.question}"},
        ],
        packs={"kb": Pages(), "faq": an_engine(), "notes": Pages(2, word="note")},
        policy=budget(tokens, expansion={"max_pages": 3}),
        **{"tokenizer": "auto", **settings},
    )  # fmt: skip


def named(trace):
    return {part.name: part for part in trace.parts}


def test_a_plan_tells_what_each_part_was_promised_took_and_lost(tmp_path):
    """B9: function packs, history and system with their tokens, in the journal as one trace."""
    path = tmp_path / "journal.db"
    plan = a_full_plan(120, journal=path)
    result = plan.assemble(ASKED, history=a_conversation(20))
    parts = named(result.trace)
    assert {name: parts[name].kind for name in ("system 1", "kb", "faq", "notes", "assistant 4", "user")} == {
        "system 1": "system", "kb": "pack", "faq": "pack", "notes": "pack", "assistant 4": "example", "user": "user",
    }  # fmt: skip
    prompt = result.to_prompt().to_string()
    assert all(part.text in prompt or part.kind == "history" for part in result.parts)
    assert (parts["notes"].within, parts["history"].reason) == ("user", "left out for room")
    assert min(parts["kb"].promised, parts["kb"].tokens, parts["kb"].lost, parts["history"].lost) > 0
    assert (result.trace.tokens, result.trace.budget) == (result.token_count, result.max_tokens)
    assert {passage.key[0] for passage in result.trace.passages} >= {"kb", "notes"}
    plan.journal.close()
    with Journal(path, read_only=True) as journal:
        (row,) = journal.traces()
        trace = journal.trace(row.id)
    assert trace == Context.from_dict(result.trace.to_dict())
    assert (trace.request.focus, row.tokens) == ({"plan": "plan"}, result.token_count)
    assert replay(trace).text == trace.text == result.trace.text


@pytest.mark.parametrize("tokens", [20, 60, 150, 10_000])
def test_a_plans_replay_keeps_every_budget_and_unchanged_is_the_same(tokens):
    """B3: promise 9, and promise 2 under another budget."""
    trace = a_full_plan(tokens).assemble(ASKED, history=a_conversation(4)).trace
    again = replay(trace)
    assert (again.text, again.tokens, again.decisions) == (trace.text, trace.tokens, trace.decisions)
    assert [(p.name, p.text, p.tokens, p.lost) for p in again.parts] == [
        (p.name, p.text, p.tokens, p.lost) for p in trace.parts
    ]
    for other in (0, 18, 50, 130, 300):
        changed = replay(trace, budget=other)
        assert changed.tokens <= other
        assert bool(changed.text) == bool(changed.tokens)
    damaged = replace(trace, parts=tuple(replace(part, rule={}) for part in trace.parts))
    with pytest.raises(ConfigError, match="damaged"):
        replay(damaged, budget=50)


def test_a_nested_plan_is_a_part_with_its_own_parts():
    """B9, P7"""
    told = {"type": "system", "content": "Facts:"}
    inner = a_plan([told, a_pack()], packs={"kb": Pages()}, tokenizer="auto")
    asked = {"packs": {"facts": inner}, "policy": budget(60), "tokenizer": "auto"}
    trace = a_plan([SYSTEM, a_pack("facts"), USER], **asked).assemble(ASKED).trace
    (facts,) = [part for part in trace.parts if part.kind == "plan"]
    assert [part.name for part in facts.context.parts] == ["system 1", "kb"]
    assert facts.lost > 0
    assert replay(Context.from_dict(trace.to_dict())).text == trace.text
    assert replay(trace, budget=40).tokens <= 40
    assert replay(trace, budget=120).tokens > trace.tokens
