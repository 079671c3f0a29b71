"""as_tool: the model asks, the application decides what may be found."""

from __future__ import annotations

import copy
import json
import pickle

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_tests.integration_tests import ToolsIntegrationTests
from langgraph.checkpoint.memory import InMemorySaver

from langchain_context_engine import ChromaSource, ConfigError, ContextEngine, PinnedSource
from langchain_context_engine.langchain.tool import as_tool
from langchain_context_engine.trace.context import Context
from tests.builders import ListSource, WordEmbeddings, a_candidate, a_collection


def a_source():
    return ListSource([a_candidate(id="r1", text="Pay by card.", relevance=0.9)])


def a_tool(source=None, **bound):
    return as_tool(ContextEngine(sources=[source or a_source()]), **bound)


def a_call(**arguments):
    return {"name": "search_context", "args": arguments, "id": "1", "type": "tool_call"}


class TestContextToolIntegration(ToolsIntegrationTests):
    @property
    def tool_constructor(self):
        return a_tool()

    @property
    def tool_invoke_params_example(self):
        return {"query": "how do I pay?"}


class AToolCallingModel(GenericFakeChatModel):
    """A chat model that says what it is told to."""

    def bind_tools(self, tools, **kwargs):
        return self


async def test_the_answer_is_the_text_with_the_context_as_artifact():
    """B8."""
    for message in (a_tool().invoke(a_call(query="pay?")), await a_tool().ainvoke(a_call(query="pay?"))):
        assert isinstance(message, ToolMessage)
        assert message.content == "[1] Pay by card."
        assert Context.from_dict(json.loads(json.dumps(message.artifact))).citations == {
            "[1]": ("memories", "r1")
        }
    assert a_tool().invoke({"query": "pay?"}) == "[1] Pay by card."


def test_the_model_can_say_the_query_and_nothing_else():
    """The scope is bound at construction and never comes from the model."""
    source = a_source()
    tool = a_tool(source, scope={"tenant": "acme"}, budget=100)
    assert list(tool.args) == ["query"]
    assert list(tool.tool_call_schema.model_json_schema()["properties"]) == ["query"]
    tool.invoke(a_call(query="pay?", scope={"tenant": "globex"}, budget=10_000, config={"a": 1}))
    assert source.requests[0].scope == {"tenant": "acme"}
    assert source.requests[0].budget == 100


async def test_an_agent_calls_it_and_a_checkpoint_keeps_its_artifact():
    """B8: with langchain's create_agent, sync and async."""
    saver = InMemorySaver()
    for number in range(2):
        answers = [AIMessage("", tool_calls=[a_call(query="pay?")]), AIMessage("By card [1].")]
        agent = create_agent(AToolCallingModel(messages=iter(answers)), [a_tool()], checkpointer=saver)
        config = {"configurable": {"thread_id": str(number)}}
        question = {"messages": [("user", "how do I pay?")]}
        result = await agent.ainvoke(question, config) if number else agent.invoke(question, config)
        message = next(m for m in result["messages"] if isinstance(m, ToolMessage))
        assert message.content == "[1] Pay by card."
        assert Context.from_dict(message.artifact).passages[0].text == "Pay by card."
        kept = next(m for m in agent.get_state(config).values["messages"] if isinstance(m, ToolMessage))
        assert kept.content == message.content


def test_it_is_pickled_where_its_engine_is():
    """H73: an engine over a store says why not."""
    tool = ContextEngine(sources=[PinnedSource(["Pay by card."])]).as_tool(budget=100)
    for twin in (pickle.loads(pickle.dumps(tool)), copy.deepcopy(tool)):
        assert twin.invoke({"query": "how do I pay?"}) == "[1] Pay by card."
    source = ChromaSource(a_collection([]), embeddings=WordEmbeddings())
    with pytest.raises(ConfigError, match="live client"):
        pickle.dumps(ContextEngine(sources=[source]).as_tool())
