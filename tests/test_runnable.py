"""ContextRunnable: a question in, a Context out, within the bound scope."""

from __future__ import annotations

import pytest

from langchain_context_engine import ContextEngine
from langchain_context_engine.models.errors import ConfigError, ScopeError
from langchain_context_engine.models.types import ContextRequest
from langchain_context_engine.trace.context import Context
from tests.runnable_builders import a_runnable, a_source, same


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


def test_the_first_of_query_question_and_input_is_the_question():
    source = a_source()
    a_runnable(source).invoke({"input": "c", "question": "b", "query": "a"})
    a_runnable(source).invoke({"input": "c", "question": "b"})
    assert [r.query for r in source.requests] == ["a", "b"]


def test_request_fields_beside_the_question_are_honoured():
    source = a_source()
    question = {"question": "billing", "scope": {"user": "u1"}, "k": 2, "token_budget": 500, "limit": None}
    context = a_runnable(source).invoke(question)
    assert len(context.passages) == 2
    assert context.budget == 500
    assert source.requests[0].scope == {"user": "u1"}
    assert question == {
        "question": "billing",
        "scope": {"user": "u1"},
        "k": 2,
        "token_budget": 500,
        "limit": None,
    }


def test_foreign_keys_that_a_chain_carries_are_left_alone():
    assert (
        a_runnable().invoke({"question": "a", "language": "de", "chat_history": [], "answer": "x"}).passages
    )


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


def test_no_option_leaves_the_scope_of_the_question():
    with pytest.raises(ScopeError):
        a_runnable().invoke({"query": "a", "scope": {"tenant": "acme"}}, scope={"tenant": "globex"})
