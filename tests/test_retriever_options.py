"""ContextRetriever: fields and options are honoured or refused, and never widen what isolates."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from langchain_classic.retrievers import MultiQueryRetriever
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import ConfigurableField
from pydantic import ValidationError

from langchain_context_engine import ContextRetriever
from langchain_context_engine.langchain.calls import narrowed
from langchain_context_engine.models.errors import ScopeError
from langchain_context_engine.models.types import ContextRequest
from tests.builders import SlowSource
from tests.retriever_builders import a_retriever, a_source


@pytest.mark.parametrize(
    "fields",
    [
        {"k_typo": 3},
        {"k": "x"},
        {"k": -1},
        {"budget": -5},
        {"min_confidence": "high"},
        {"scope": "acme"},
        {"since": "soon"},
    ],
)
def test_an_unknown_or_wrong_field_is_refused_when_built(fields):
    """H69: BaseRetriever alone would ignore `k_typo` silently."""
    with pytest.raises(ValidationError, match=next(iter(fields))):
        a_retriever(**fields)


def test_something_that_builds_no_context_is_no_engine():
    with pytest.raises(ValidationError, match="engine"):
        ContextRetriever(engine=object())


def test_a_wrong_assignment_is_refused():
    """H69."""
    retriever = a_retriever(k=2)
    for name, value in (("k", "x"), ("budget", -1), ("typo", 1)):
        with pytest.raises(ValidationError):
            setattr(retriever, name, value)
    retriever.k = 1
    assert len(retriever.invoke("billing")) == 1


async def test_options_of_one_call_are_honoured():
    """H69: sync and async."""
    retriever = a_retriever(k=5)
    assert len(retriever.invoke("billing")) == 5
    assert len(retriever.invoke("billing", k=2)) == len(await retriever.ainvoke("billing", k=2)) == 2
    assert len(retriever.invoke("billing", None, k=1)) == 1
    for options in ({"budget": 50}, {"token_budget": 50}):
        for found in (retriever.invoke("billing", **options), await retriever.ainvoke("billing", **options)):
            assert 0 < len(found) < 5
            assert sum(d.metadata["context"]["tokens"] for d in found) <= 50
    assert retriever.invoke("billing", k=0) == retriever.invoke("billing", budget=0) == []


@pytest.mark.parametrize("option", [{"k_typo": 3}, {"top_k": 3}, {"tokens_budget": 5}, {"query_": "x"}])
async def test_an_unknown_option_is_a_type_error(option):
    """H69."""
    retriever = a_retriever()
    with pytest.raises(TypeError, match=next(iter(option))):
        retriever.invoke("billing", **option)
    with pytest.raises(TypeError, match=next(iter(option))):
        await retriever.ainvoke("billing", **option)


def test_an_option_given_twice_is_a_type_error():
    """H69."""
    with pytest.raises(TypeError, match="twice"):
        a_retriever().invoke("billing", budget=50, token_budget=60)


def test_every_field_of_a_request_reaches_the_sources():
    """H69."""
    source = a_source()
    options = {
        "scope": {"user": "u1"},
        "where": {"a": 1},
        "kinds": ["memory"],
        "sources": ["memories"],
        "since": "2020-01-01",
        "until": "2030-01-01",
        "min_confidence": 0.2,
        "conversation_id": "c1",
        "depth": 2,
        "limit": 7,
        "offset": 1,
        "excluded": ["r1"],
        "focus": {"block": "b"},
        "now": "2026-01-01",
        "vector": [1.0, 2.0],
        "history": ["hello"],
    }
    a_retriever(source).invoke("billing", **options)
    expected = ContextRequest(query="billing", **options)
    assert all(getattr(source.requests[0], name) == getattr(expected, name) for name in ("query", *options))


def test_concurrent_calls_with_different_options_do_not_mix():
    """H69."""
    retriever = a_retriever(SlowSource(a_source().candidates, seconds=0.02))
    counts = [1, 2, 3, 4, 5] * 8
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda k: len(retriever.invoke("billing", k=k)), counts))
    assert found == counts
    assert retriever.k is None


async def test_k_and_budget_are_configurable():
    """B8."""
    retriever = a_retriever(k=5).configurable_fields(
        k=ConfigurableField(id="k"), budget=ConfigurableField(id="tokens")
    )
    assert len(retriever.invoke("billing", config={"configurable": {"k": 2}})) == 2
    assert len(await retriever.ainvoke("billing", config={"configurable": {"k": 3}})) == 3
    assert retriever.invoke("billing", config={"configurable": {"tokens": 0}}) == []
    assert len(retriever.invoke("billing", k=1, config={"configurable": {"k": 2}})) == 1
    assert len(retriever.invoke("billing")) == 5


def test_a_call_cannot_leave_the_bound_scope():
    source = a_source()
    retriever = a_retriever(source, scope={"tenant": "acme"})
    retriever.invoke("billing", scope={"user": "u1"})
    assert source.requests[0].scope == {"tenant": "acme", "user": "u1"}
    for other in ("globex", ["acme", "globex"], None):
        with pytest.raises(ScopeError, match="tenant"):
            retriever.invoke("billing", scope={"tenant": other})


@pytest.mark.parametrize(
    ("bound", "asked", "expected"),
    [
        ({"scope": {"t": ["a", "b"]}}, {"scope": {"t": "a"}}, {"scope": {"t": "a"}}),
        ({"where": {"a": 1}}, {"where": {"b": 2}}, {"where": {"$and": [{"a": 1}, {"b": 2}]}}),
        ({"where": {"a": 1}}, {"where": {}}, {"where": {"a": 1}}),
        ({}, {"where": {"b": 2}}, {"where": {"b": 2}}),
        ({"kinds": ["m", "c"]}, {"kinds": ["c", "x"]}, {"kinds": ("c",)}),
        ({"kinds": ["m"]}, {"kinds": ["x"]}, {"kinds": ()}),
        ({"sources": []}, {"sources": ["x"]}, {"sources": ()}),
        ({}, {"sources": ["x"]}, {"sources": ("x",)}),
        ({"since": "2024-01-01"}, {"since": "2020-01-01"}, {"since": datetime(2024, 1, 1, tzinfo=UTC)}),
        ({"until": "2024-01-01"}, {"until": "2030-01-01"}, {"until": datetime(2024, 1, 1, tzinfo=UTC)}),
        ({"min_confidence": 0.5}, {"min_confidence": 0.0}, {"min_confidence": 0.5}),
        ({"excluded": ["a"]}, {"excluded": ["b"]}, {"excluded": ("a", "b")}),
        ({"budget": 100}, {"budget": 5000}, {"budget": 5000}),
    ],
)
def test_filters_join_and_other_options_replace(bound, asked, expected):
    """DESIGN 5: filters compose by intersection."""
    request = narrowed(ContextRequest(**bound), asked)
    assert {name: getattr(request, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("bound", "asked"), [(0, False), (1, True), ("1", 1), (1, 1.0), ([], "a"), ("a", ["a", "b"])]
)
def test_a_scope_is_compared_with_its_type(bound, asked):
    with pytest.raises(ScopeError):
        narrowed(ContextRequest(scope={"t": bound}), {"scope": {"t": asked}})


def test_without_annotation_a_record_is_the_same_document_whatever_was_asked():
    """LangChain's MultiQueryRetriever drops what it has already by comparing whole Documents."""
    model = FakeListChatModel(responses=["when is billing due?\nwhat is due?"])
    retriever = a_retriever(is_annotated=False)
    documents = MultiQueryRetriever.from_llm(retriever=retriever, llm=model).invoke("billing")
    assert len(documents) == len({document.id for document in documents}) > 1
    assert not any("context" in document.metadata for document in documents)
