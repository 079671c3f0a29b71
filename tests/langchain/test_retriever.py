"""ContextRetriever: Documents complete, options honoured or refused, one run a call, copied without what is live."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime

import pytest
from langchain_tests.integration_tests import RetrieversIntegrationTests
from pydantic import ValidationError

from langchain_context_engine import ChromaSource, ContextEngine, ContextRetriever
from langchain_context_engine.errors import ScopeError
from langchain_context_engine.langchain.calls import narrowed
from langchain_context_engine.models.request import ContextRequest
from tests.builders import WordEmbeddings, a_collection
from tests.retriever_builders import TEXTS, a_retriever, a_source


def test_a_document_has_the_record_s_id():
    """H68: over a real Chroma collection."""
    embeddings = WordEmbeddings()
    records = [{"id": f"id-{i}", "text": text} for i, text in enumerate(TEXTS)]
    source = ChromaSource(a_collection(records, embeddings=embeddings), embeddings=embeddings)
    found = a_retriever(source, k=3).invoke("billing")
    assert len(found) == 3
    assert {document.id for document in found} < {record["id"] for record in records}
    by_id = {record["id"]: record["text"] for record in records}
    assert all(document.page_content == by_id[document.id] for document in found)


async def test_all_ways_to_call_give_the_same_documents():
    """DESIGN 4.10."""
    retriever = a_retriever(k=3)
    expected = retriever.invoke("billing")
    assert await retriever.ainvoke("billing") == expected
    assert retriever.batch(["billing"]) == await retriever.abatch(["billing"]) == [expected]
    assert [d for chunk in retriever.stream("billing") for d in chunk] == expected
    assert [d async for chunk in retriever.astream("billing") for d in chunk] == expected


def test_a_deep_copy_shares_the_engine():
    """H73."""
    retriever = a_retriever(k=3, scope={"tenant": ["acme"]})
    twin = copy.deepcopy(retriever)
    assert twin.engine is retriever.engine
    assert (twin.k, twin.scope) == (3, {"tenant": ["acme"]})
    assert twin.scope is not retriever.scope
    assert copy.deepcopy([retriever, retriever.engine])[1] is not None


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


async def test_the_custom_event_is_json_ready_and_reaches_astream_events():
    retriever = a_retriever(k=2)
    found = [
        e async for e in retriever.astream_events("billing", version="v2") if e["event"] == "on_custom_event"
    ]
    (event,) = found
    assert event["name"] == "context_assembled"
    data = json.loads(json.dumps(event["data"]))
    assert [p["id"] for p in data["passages"]] == ["r0", "r1"]
    assert data["status"] == "ok"
    assert 0 < data["tokens"] <= data["budget"]
    assert data["candidates"] == 5
    assert sum(data["dropped"].values()) == 3


class TestStandard(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _an_engine(self):
        embeddings = WordEmbeddings()
        source = ChromaSource(
            a_collection([{"id": text[:9], "text": text} for text in TEXTS], embeddings=embeddings),
            embeddings=embeddings,
        )
        self.engine = ContextEngine(sources=[source])

    @property
    def retriever_constructor(self):
        return ContextRetriever

    @property
    def retriever_constructor_params(self):
        return {"engine": self.engine}

    @property
    def retriever_query_example(self):
        return "what did we decide about billing?"
