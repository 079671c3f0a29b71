"""ContextRetriever: Documents complete, options honoured or refused, one run a call, copied without what is live."""

from __future__ import annotations

import asyncio
import copy
import json
from datetime import UTC, datetime

import pytest
from langchain_classic.retrievers import MultiQueryRetriever
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import FakeListChatModel
from langchain_core.load import dumps, loads
from langchain_core.runnables import ConfigurableField, RunnableLambda
from langchain_tests.integration_tests import RetrieversIntegrationTests
from pydantic import ValidationError

from langchain_context_engine import CachedEmbeddings, ChromaSource, ContextEngine, ContextRetriever
from langchain_context_engine.errors import ScopeError
from langchain_context_engine.langchain.calls import narrowed
from langchain_context_engine.models.types import ContextRequest
from tests.builders import ListSource, MeetingSource, WordEmbeddings, a_candidate, a_collection
from tests.retriever_builders import TEXTS, Recorder, a_retriever, a_source


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


def test_a_document_carries_its_own_metadata_and_what_the_context_says_of_it():
    document = a_retriever(k=1).invoke("billing")[0]
    assert document.metadata["title"] == "Title 0"
    about = document.metadata["context"]
    assert set(about) == {"source", "score", "signals", "citation", "tokens", "is_truncated", "place"}
    assert about["source"] == "memories"
    assert 0 < about["score"] <= 1
    assert about["citation"] == "[1]"
    assert about["tokens"] > 0
    assert about["is_truncated"] is False
    assert json.dumps(document.metadata)


def test_a_cut_passage_is_a_cut_document():
    long = ListSource([a_candidate(text="A sentence about billing. " * 200, relevance=1.0)])
    (document,) = a_retriever(long, budget=60).invoke("billing")
    assert document.metadata["context"]["is_truncated"] is True
    assert len(document.page_content) < 1000


def test_changing_a_document_changes_nothing_else():
    source = a_source()
    retriever = a_retriever(source, k=1)
    first = retriever.invoke("billing")[0]
    first.metadata["tags"].append("c")
    first.metadata["context"]["signals"]["relevance"] = 99
    again = retriever.invoke("billing")[0]
    assert again is not first
    assert again.metadata["tags"] == ["a", "b"]
    assert again.metadata["context"]["signals"]["relevance"] != 99
    assert source.candidates[0].metadata["tags"] == ["a", "b"]


async def test_ten_calls_wait_for_a_slow_source_together():
    """H72: 10 ainvoke of a source of 0.2 s."""
    retriever = a_retriever(MeetingSource(a_source().candidates, many=10), k=1)
    found = await asyncio.gather(*(retriever.ainvoke("billing") for _ in range(10)))
    assert all(len(f) == 1 for f in found)


async def test_all_ways_to_call_give_the_same_documents():
    """DESIGN 4.10."""
    retriever = a_retriever(k=3)
    expected = retriever.invoke("billing")
    assert await retriever.ainvoke("billing") == expected
    assert retriever.batch(["billing"]) == await retriever.abatch(["billing"]) == [expected]
    assert [d for chunk in retriever.stream("billing") for d in chunk] == expected
    assert [d async for chunk in retriever.astream("billing") for d in chunk] == expected


def test_the_configuration_is_dumped_without_the_engine():
    """H73."""
    retriever = a_retriever(k=3, scope={"tenant": "acme"})
    data = json.loads(dumps(retriever))
    assert data["id"] == ["langchain_context_engine", "retriever", "ContextRetriever"]
    assert data["kwargs"]["k"] == 3
    assert "engine" not in data["kwargs"]
    with pytest.raises(ValueError, match="ContextRetriever"):
        loads(dumps(retriever), allowed_objects="core")


def test_a_deep_copy_shares_the_engine():
    """H73."""
    retriever = a_retriever(k=3, scope={"tenant": ["acme"]})
    twin = copy.deepcopy(retriever)
    assert twin.engine is retriever.engine
    assert (twin.k, twin.scope) == (3, {"tenant": ["acme"]})
    assert twin.scope is not retriever.scope
    assert copy.deepcopy([retriever, retriever.engine])[1] is not None


def test_a_document_added_between_equal_queries_is_seen_though_the_embeddings_are_cached():
    """I81: what is cached is the query's vector, never the answer."""
    embeddings = CachedEmbeddings(WordEmbeddings())
    collection = a_collection([{"id": "old", "text": "Billing is monthly."}], embeddings=embeddings)
    retriever = a_retriever(ChromaSource(collection, embeddings=embeddings))
    assert [d.id for d in retriever.invoke("billing when?")] == ["old"]
    text = "Billing when? On the first."
    collection.add(ids=["new"], documents=[text], embeddings=embeddings.embed_documents([text]))
    assert {d.id for d in retriever.invoke("billing when?")} == {"old", "new"}


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


@pytest.mark.parametrize("option", [{"k_typo": 3}, {"top_k": 3}, {"tokens_budget": 5}, {"query_": "x"}])
async def test_an_unknown_option_is_a_type_error(option):
    """H69."""
    retriever = a_retriever()
    with pytest.raises(TypeError, match=next(iter(option))):
        retriever.invoke("billing", **option)
    with pytest.raises(TypeError, match=next(iter(option))):
        await retriever.ainvoke("billing", **option)


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


async def test_runs_that_a_source_starts_are_children_of_the_retriever_s():
    """H71."""

    class Nested(ListSource):
        def fetch(self, request):
            RunnableLambda(lambda x: x).invoke("inner")
            return super().fetch(request)

    parents = []

    class Chains(BaseCallbackHandler):
        def on_chain_start(self, *args, run_id, parent_run_id=None, **kwargs):
            parents.append(parent_run_id)

    seen = Recorder()
    retriever = a_retriever(Nested(a_source().candidates))
    retriever.invoke("a", {"callbacks": [seen, Chains()]})
    await retriever.ainvoke("a", {"callbacks": [seen, Chains()]})
    assert parents == [event[1] for event in seen.named("start")]


def test_tags_metadata_and_names_of_store_and_embedding_reach_the_run():
    """B8."""
    embeddings = WordEmbeddings()
    source = ChromaSource(a_collection([], embeddings=embeddings), embeddings=embeddings)
    retriever = ContextRetriever(
        engine=ContextEngine(sources=[source]), tags=["own"], metadata={"team": "billing"}
    )
    seen = Recorder()
    retriever.invoke("a", {"callbacks": [seen], "tags": ["call"], "metadata": {"x": 1}, "run_name": "ask"})
    ((_, _, _, run),) = seen.named("start")
    assert {"own", "call"} <= set(run["tags"])
    assert run["name"] == "ask"
    assert (
        run["metadata"]
        | {
            "team": "billing",
            "x": 1,
            "ls_retriever_name": "context",
            "ls_vector_store_provider": "chroma",
            "ls_embedding_provider": "WordEmbeddings",
        }
        == run["metadata"]
    )


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
