"""The elastic plan's texts and counts."""

from __future__ import annotations

import json

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool

from langchain_context_engine import (
    ConfigError,
    TemplateError,
    UnknownNameError,
)
from langchain_context_engine.designs import (
    ContextPlan,
)
from langchain_context_engine.text.tokens import resolve_tokenizer
from tests.designs.plan_builders import (
    ASKED,
    HISTORY,
    SYSTEM,
    USER,
    a_conversation,
    a_pack,
    a_plan,
    budget,
)


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


def test_a_message_given_is_the_new_one_and_the_plans_own_stands_before_it():
    """P8."""
    result = a_plan().invoke({**ASKED, "user_message": "And when?"}).to_messages()
    assert [m.content for m in result[1:]] == ["Question: Where is my order?", "And when?"]


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


def test_messages_are_counted_by_the_model_where_it_is_asked_to():
    """P9."""
    plan = a_plan(
        (SYSTEM, HISTORY, USER), count_messages=lambda messages: 7 * len(messages), policy=budget(28)
    )
    result = plan.assemble(ASKED, history=a_conversation(4))
    assert (len(result.history), result.token_count) == (2, 28)


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


def test_a_compactor_acts_on_packs_too():
    """P6."""
    text = " ".join(f"word{i}" for i in range(40))
    policy = budget(25, compactor={"type": "mine"})
    plan = a_plan(
        [a_pack(), USER],
        packs={"kb": lambda request: text},
        policy=policy,
        compactors={"mine": lambda text, allowance: "mine was here"},
    )
    assert plan.assemble(ASKED).system_prompt == "mine was here"


def test_the_texts_of_content_blocks_are_filled_in_and_other_blocks_stay():
    """P1, P9."""
    picture = {"type": "image_url", "image_url": {"url": "http://x/{input.question}.png"}}
    blocks = [{"type": "text", "text": "Q: {input.question}"}, "or {input.question}", picture]
    result = a_plan([{"type": "user", "content": blocks}]).assemble(ASKED)
    question = ASKED["question"]
    assert result.user_message == [{"type": "text", "text": f"Q: {question}"}, f"or {question}", picture]


def test_a_path_that_leads_nowhere_names_what_there_is():
    """P1."""
    with pytest.raises(TemplateError, match=r"\{input\.nothing\} leads nowhere.*question"):
        a_plan([{"type": "user", "content": "{input.nothing}"}]).assemble(ASKED)
