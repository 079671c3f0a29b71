"""ContextRunnable: a question in, a Context out, within the bound scope; in chains, runs, loops and graphs."""

from __future__ import annotations

import asyncio
import copy
import json
import operator
import pickle
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from langchain_context_engine import ChromaSource, Context, ContextEngine
from langchain_context_engine.errors import ConfigError, ScopeError
from langchain_context_engine.models.request import ContextRequest
from tests.builders import ListSource, WordEmbeddings, a_candidate, a_collection
from tests.runnable_builders import Recorder, a_runnable, a_source, same


async def test_all_ways_to_ask_give_the_same_context():
    """DESIGN 4.10: invoke, ainvoke, batch, abatch, stream and astream."""
    runnable = a_runnable()
    question = "what about billing?"
    assert same(
        runnable.invoke(question),
        await runnable.ainvoke(question),
        *runnable.batch([question]),
        *(await runnable.abatch([question])),
        *runnable.stream(question),
        *[c async for c in runnable.astream(question)],
        runnable.invoke(ContextRequest(query=question)),
        runnable.invoke({"query": question}),
        runnable.invoke({"question": question}),
        runnable.invoke({"input": question}),
        ContextEngine(sources=[a_source()]).as_runnable().invoke(question),
    )
    assert isinstance(runnable.invoke(question), Context)


@pytest.mark.parametrize("slip", ["scopes", "scpoe", "bugdet", "min_confidense", "tokn_budget", "querry"])
def test_a_key_that_nearly_is_a_request_field_is_refused(slip):
    """H69: a filter that is silently not applied shows too much."""
    with pytest.raises(ConfigError, match=slip):
        a_runnable().invoke({"question": "a", slip: {"tenant": "acme"}})


@pytest.mark.parametrize(
    "question", [{}, {"foo": "bar"}, {"k": 3}, 5, None, ["a"], {"query": 5}, {"question": ["a"]}]
)
async def test_something_without_a_question_is_a_config_error(question):
    with pytest.raises(ConfigError):
        a_runnable().invoke(question)
    with pytest.raises(ConfigError):
        await a_runnable().ainvoke(question)


async def test_options_of_one_call_are_honoured_or_refused():
    """H69."""
    runnable = a_runnable(k=4)
    assert len(runnable.invoke("a", k=2).passages) == len((await runnable.ainvoke("a", k=2)).passages) == 2
    assert len(runnable.bind(k=1).invoke("a").passages) == 1
    assert len(runnable.invoke("a").passages) == 4
    with pytest.raises(TypeError, match="k_typo"):
        runnable.invoke("a", k_typo=2)
    with pytest.raises(TypeError, match="k_typo"):
        await runnable.ainvoke("a", k_typo=2)
    with pytest.raises(TypeError, match="k_typo"):
        a_runnable(k_typo=2)
    with pytest.raises(ConfigError, match="budget"):
        a_runnable(budget=-1)


@pytest.mark.parametrize(
    "question",
    [{"query": "a", "scope": {"tenant": "globex"}}, ContextRequest(query="a", scope={"tenant": "globex"})],
)
def test_no_question_leaves_the_bound_scope(question):
    source = a_source()
    runnable = a_runnable(source, scope={"tenant": "acme"})
    with pytest.raises(ScopeError):
        runnable.invoke(question)
    runnable.invoke({"query": "a", "scope": {"user": "u1"}})
    assert source.requests[0].scope == {"tenant": "acme", "user": "u1"}


async def test_a_context_stands_in_a_prompt_as_its_text():
    """DESIGN 6: {"context": engine.as_runnable(), "question": …} | prompt | model."""
    engine = ContextEngine(sources=[a_source()])
    prompt = ChatPromptTemplate.from_template("Known:\n{context}\n\nAsked: {question}")
    seen = []
    chain = (
        {"context": engine.as_runnable(), "question": RunnablePassthrough()}
        | prompt
        | RunnableLambda(lambda value: seen.append(value.to_string()) or value)
        | FakeListChatModel(responses=["done"])
        | StrOutputParser()
    )
    assert chain.invoke("what about billing?") == await chain.ainvoke("what about billing?") == "done"
    text = engine.build("what about billing?").text
    assert seen == [f"Human: Known:\n{text}\n\nAsked: what about billing?"] * 2


async def test_each_call_is_one_run_under_its_parent_with_one_custom_event():
    """H71: invoke, ainvoke, batch, abatch, stream."""
    runnable = a_runnable()
    seen = Recorder()

    async def all_ways(_, config):
        await asyncio.to_thread(runnable.invoke, "a", config)
        await runnable.ainvoke("b", config)
        await asyncio.to_thread(runnable.batch, ["c", "d"], config)
        await runnable.abatch(["e", "f"], config)
        assert len([c async for c in runnable.astream("g", config)]) == 1

    await RunnableLambda(all_ways).ainvoke("x", {"callbacks": [seen]})
    root = next(run_id for name, run_id, parent in seen.starts if parent is None)
    starts = [s for s in seen.starts if s[0] == "ContextRunnable"]
    assert len(starts) == len(seen.custom) == 7
    assert {parent for _, _, parent in starts} == {root}
    assert {run_id for _, run_id, _ in starts} == {run_id for _, run_id, _ in seen.custom}
    assert all(sum(run_id == ended for ended, _ in seen.ends) == 1 for _, run_id, _ in starts)


def test_it_is_copied_sharing_the_engine_and_pickled_where_that_can_be():
    """H73."""
    runnable = a_runnable(k=2, scope={"tenant": "acme"}, name="facts")
    twin = copy.deepcopy(runnable)
    assert twin.engine is runnable.engine
    assert (twin.bound, twin.name) == (runnable.bound, "facts")
    pickled = pickle.loads(pickle.dumps(runnable))
    assert (pickled.bound, pickled.name) == (runnable.bound, "facts")
    embeddings = WordEmbeddings()
    live = a_runnable(ChromaSource(a_collection([], embeddings=embeddings), embeddings=embeddings))
    assert copy.copy(live).engine is live.engine


class Asked(TypedDict, total=False):
    question: str
    messages: Annotated[list[Any], operator.add]
    context: dict[str, Any]


@pytest.mark.parametrize(
    "state", [{"question": "pay?"}, {"messages": [("user", "pay?"), ("assistant", "…")]}]
)
async def test_what_enters_the_state_of_a_graph_is_plain_data(state, monkeypatch, caplog):
    """A Context in a checkpointed state printed nine warnings of types that LangGraph will refuse."""
    monkeypatch.setenv("LANGGRAPH_STRICT_MSGPACK", "true")
    engine = ContextEngine([ListSource([a_candidate(text="Pay by card.", metadata={"tenant": "acme"})])])
    node = engine.as_node(question=next(iter(state)), scope={"tenant": "acme"})
    graph = (
        StateGraph(Asked).add_node("ask", node).add_edge(START, "ask").compile(checkpointer=InMemorySaver())
    )
    for thread in ("sync", "async"):
        config = {"configurable": {"thread_id": thread}}
        done = graph.invoke(state, config) if thread == "sync" else await graph.ainvoke(state, config)
        assert done["context"]["text"] == "[1] Pay by card."
        kept = graph.get_state(config).values["context"]
        assert json.loads(json.dumps(kept)) == kept == done["context"]
        assert Context.from_dict(kept).request.query == "pay?"
    assert not caplog.records
    with pytest.raises(ConfigError, match="no question under"):
        node.invoke({"other": 1})


def test_a_chains_own_keys_are_left_alone():
    """L6."""
    engine = ContextEngine([ListSource([a_candidate(text="Pay by card.", metadata={"tenant": "acme"})])])
    own = {"question_id": 7, "source": "web", "kind": "faq", "inputs": {}, "score": 3, "included": 1}
    asked = {"question": "pay?", **own, "context_request": {"scope": {"tenant": "acme"}, "budget": 50}}
    context = engine.as_runnable().invoke(asked)
    assert context.text == "[1] Pay by card."
    assert (context.request.scope, context.budget) == ({"tenant": "acme"}, 50)


@pytest.mark.parametrize("name", ["ok", "pk", "know", "snow", "here_is"])
def test_a_foreign_key_need_not_differ_much_from_a_short_field(name):
    """L6: `pk` was taken for `k`, `know` for `now`."""
    assert ContextEngine([]).as_runnable().invoke({"question": "pay?", name: 1}).text == ""
