"""ContextEngineMiddleware in a real agent of langchain, with a chat model that shows what it was given."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, StrEnum

import numpy as np
import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import Field

from langchain_context_engine import AllSourcesFailedError, ConfigError, ContextEngine
from langchain_context_engine.langchain.calls import NOT_ASKED
from langchain_context_engine.langchain.middleware import ContextEngineMiddleware
from langchain_context_engine.langchain.tool import as_tool
from tests.builders import FailingSource, ListSource, a_candidate


def a_source():
    return ListSource(
        [
            a_candidate(
                id="r1", text="Pay by card.", relevance=0.9, metadata={"title": "Paying", "tenant": "acme"}
            )
        ]
    )


class ShowingModel(BaseChatModel):
    """Answers with given messages, and keeps the messages of each call."""

    answers: list[AIMessage]
    calls: list = Field(default_factory=list)

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.calls.append(messages)
        return ChatResult(generations=[ChatGeneration(message=self.answers[len(self.calls) - 1])])

    def bind_tools(self, tools, **kwargs):
        return self

    @property
    def _llm_type(self):
        return "showing"


@tool
def today() -> str:
    """Tell the date."""
    return "Monday"


def calls_today(number):
    return AIMessage("", tool_calls=[{"name": "today", "args": {}, "id": str(number), "type": "tool_call"}])


def an_agent(source, *, answers=None, middleware=None, **settings):
    model = ShowingModel(answers=answers or [AIMessage("By card [1].")])
    middleware = middleware or ContextEngineMiddleware(ContextEngine(sources=[source]))
    return create_agent(model, [today], middleware=[middleware], **settings), model


def ask(text="how do I pay?"):
    return {"messages": [HumanMessage(text)]}


async def test_the_context_is_added_to_the_system_message():
    """B8: sync and async."""
    for is_async in (False, True):
        agent, model = an_agent(a_source(), system_prompt="Be brief.")
        result = await agent.ainvoke(ask()) if is_async else agent.invoke(ask())
        system, *rest = model.calls[0]
        assert isinstance(system, SystemMessage)
        assert system.content[0]["text"] == "Be brief."
        assert system.content[1]["text"].endswith("\n\n[1] Pay by card.")
        assert [m.content for m in rest] == ["how do I pay?"]
        assert [m.type for m in result["messages"]] == ["human", "ai"]


async def test_a_loop_of_tool_calls_assembles_once():
    """B8: a context per turn, not per model call."""
    for is_async in (False, True):
        source = a_source()
        agent, model = an_agent(
            source, answers=[calls_today(1), calls_today(2), AIMessage("Monday, by card.")]
        )
        result = await agent.ainvoke(ask()) if is_async else agent.invoke(ask())
        assert len(model.calls) == 3
        assert len(source.requests) == 1
        assert all("Pay by card." in call[0].text for call in model.calls)
        assert sum(m.type == "system" for m in result["messages"]) == 0


def test_the_scope_may_depend_on_who_asks():
    """The user comes from the agent's runtime context, never from the conversation."""

    @dataclass
    class Who:
        user_id: str

    source = a_source()
    middleware = ContextEngineMiddleware(
        ContextEngine(sources=[source], scope_keys=("user_id",)),
        scope=lambda runtime: {"user_id": runtime.context.user_id},
    )
    agent, _ = an_agent(
        source, middleware=middleware, context_schema=Who, answers=[AIMessage("a"), AIMessage("b")]
    )
    for user in ("ann", "bob"):
        agent.invoke(ask(), context=Who(user))
    assert [r.scope for r in source.requests] == [{"user_id": "ann"}, {"user_id": "bob"}]


def test_the_state_of_a_caller_cannot_plant_a_context():
    source = ListSource([])
    agent, model = an_agent(source)
    agent.invoke({**ask(), "context_text": "forged", "context_passages": [{"citation": "[1]"}]})
    assert all("forged" not in m.text for m in model.calls[0])


async def test_the_agents_answer_is_kept_beside_its_context(tmp_path):
    """B23: sync and async."""
    engine = ContextEngine([a_source()], journal=tmp_path / "journal.db")
    for is_async in (False, True):
        agent, _ = an_agent(None, middleware=ContextEngineMiddleware(engine, scope={"tenant": "acme"}))
        result = await agent.ainvoke(ask()) if is_async else agent.invoke(ask())
        assert "context_trace" not in result
        (answer,) = engine.journal.answers(engine.journal.traces(1)[0].id)
        assert (answer.query, answer.text, answer.cited) == (
            "how do I pay?",
            "By card [1].",
            (("memories", "r1"),),
        )
    engine.journal.close()


class Colour(Enum):
    RED = 1


class Tier(StrEnum):
    GOLD = "gold"


def an_odd_engine():
    odd = {
        "relevance_score": np.float32(0.25), "vector": np.array([1, 2]), "colour": Colour.RED,
        "tier": Tier.GOLD, "at": datetime(2026, 1, 2, tzinfo=UTC),
    }  # fmt: skip
    return ContextEngine([ListSource([a_candidate(id="r1", text="Pay by card.", metadata=odd)])])


def a_call():
    return {"name": "search_context", "args": {"query": "pay?"}, "id": "1", "type": "tool_call"}


def a_turn(**settings):
    model = ShowingModel(answers=[AIMessage("", tool_calls=[a_call()]), AIMessage("done")])
    if "tools" not in settings:
        model.answers.pop(0)
    agent = create_agent(model, settings.pop("tools", []), checkpointer=InMemorySaver(), **settings)
    config = {"configurable": {"thread_id": "1"}}
    return agent.invoke({"messages": [("user", "pay?")]}, config), model


def test_an_agents_state_and_artifact_are_plain_json():
    """L1, L2: numpy's numbers and enums in metadata killed a checkpointed agent."""
    engine = an_odd_engine()
    result, _ = a_turn(tools=[as_tool(engine)], middleware=[ContextEngineMiddleware(engine)])
    artifact = next(m for m in result["messages"] if m.type == "tool").artifact
    assert json.loads(json.dumps(artifact)) == artifact
    (passage,) = json.loads(json.dumps(result["context_passages"]))
    assert passage["metadata"] == {
        "relevance_score": 0.25, "vector": [1, 2], "colour": 1, "tier": "gold", "at": "2026-01-02T00:00:00Z",
    }  # fmt: skip


def test_two_contexts_in_one_agent_have_names_and_do_not_mix():
    """L8."""
    first = ContextEngine([ListSource([a_candidate(text="Pay by card.")])])
    second = ContextEngine([ListSource([a_candidate(text="Cards cost two percent.")])])
    result, model = a_turn(
        middleware=[ContextEngineMiddleware(first), ContextEngineMiddleware(second, name="prices")]
    )
    shown = str(model.calls[0][0].content)
    assert shown.count("Pay by card.") == shown.count("Cards cost two percent.") == 1
    assert [p["text"] for p in result["context_passages"]] == ["Pay by card."]
    assert [p["text"] for p in result["context_passages_prices"]] == ["Cards cost two percent."]


def test_a_model_is_told_that_no_source_could_be_asked():
    """L9: one policy for tool, middleware and MCP."""
    engine = ContextEngine([FailingSource(RuntimeError("down, api_key=sk-123"))])
    result, model = a_turn(tools=[as_tool(engine)], middleware=[ContextEngineMiddleware(engine)])
    assert result["messages"][-1].content == "done"
    assert next(m for m in result["messages"] if m.type == "tool").content == NOT_ASKED
    assert NOT_ASKED in str(model.calls[0][0].content)
    assert result["context_passages"] == []


@pytest.mark.parametrize("part", ["tool", "middleware"])
def test_who_wants_that_raised_says_so(part):
    """L9."""
    engine = ContextEngine([FailingSource(RuntimeError("down"))])

    def attempt():
        if part == "tool":
            return as_tool(engine, on_failure="raise").invoke({"query": "pay?"})
        return a_turn(middleware=[ContextEngineMiddleware(engine, on_failure="raise")])

    with pytest.raises(AllSourcesFailedError):
        attempt()
    with pytest.raises(ConfigError, match="on_failure"):
        as_tool(engine, on_failure="ignore")
