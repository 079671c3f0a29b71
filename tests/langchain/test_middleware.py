"""ContextEngineMiddleware in a real agent of langchain, with a chat model that shows what it was given."""

from __future__ import annotations

import json
from dataclasses import dataclass

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from pydantic import Field

from langchain_context_engine import ContextEngine
from langchain_context_engine.langchain.middleware import ContextEngineMiddleware
from tests.builders import ListSource, a_candidate


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


def test_the_passages_come_out_with_the_answer_and_the_text_does_not():
    """langchain users ask for the documents in the state, to resolve citations."""
    agent, _ = an_agent(a_source())
    result = agent.invoke(ask())
    (passage,) = json.loads(json.dumps(result["context_passages"]))
    assert (passage["citation"], passage["source"], passage["id"]) == ("[1]", "memories", "r1")
    assert passage["text"] == "Pay by card."
    assert passage["metadata"] == {"title": "Paying", "tenant": "acme"}
    assert "context_text" not in result


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
