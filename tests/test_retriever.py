"""ContextRetriever: Documents complete, the same by every way to call, copied without what is live."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import threading

import pytest
from langchain_core.documents import Document
from langchain_core.load import dumps, loads

from langchain_context_engine import CachedEmbeddings, ChromaSource, ContextEngine
from langchain_context_engine.models.errors import ConfigError
from tests.builders import ListSource, MeetingSource, WordEmbeddings, a_candidate, a_collection
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


def test_documents_are_the_passages_in_the_order_of_the_text():
    engine = ContextEngine(sources=[a_source()])
    context = engine.build("billing")
    found = engine.as_retriever().invoke("billing")
    assert [d.page_content for d in found] == [p.text for p in context.passages]
    assert [d.metadata["context"]["citation"] for d in found] == list(context.citations)


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


async def test_invoke_works_inside_a_running_loop():
    """H72."""
    assert len(a_retriever(k=1).invoke("billing")) == 1


def test_invoke_works_in_a_thread_without_a_loop():
    """H72: as in Streamlit."""
    found = []
    thread = threading.Thread(target=lambda: found.extend(a_retriever(k=1).invoke("billing")))
    thread.start()
    thread.join(5)
    assert isinstance(found[0], Document)


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


def test_pickling_a_live_client_is_a_clear_error():
    """H73."""
    embeddings = WordEmbeddings()
    source = ChromaSource(a_collection([], embeddings=embeddings), embeddings=embeddings)
    with pytest.raises(ConfigError, match="live"):
        pickle.dumps(a_retriever(source))


def test_a_document_added_between_equal_queries_is_seen_though_the_embeddings_are_cached():
    """I81: what is cached is the query's vector, never the answer."""
    embeddings = CachedEmbeddings(WordEmbeddings())
    collection = a_collection([{"id": "old", "text": "Billing is monthly."}], embeddings=embeddings)
    retriever = a_retriever(ChromaSource(collection, embeddings=embeddings))
    assert [d.id for d in retriever.invoke("billing when?")] == ["old"]
    text = "Billing when? On the first."
    collection.add(ids=["new"], documents=[text], embeddings=embeddings.embed_documents([text]))
    assert {d.id for d in retriever.invoke("billing when?")} == {"old", "new"}


def test_there_are_exactly_k_documents_where_candidates_suffice():
    """B8: k beyond the engine's usual limit of a source too."""
    source = ListSource(
        [a_candidate(text=f"number{i} word{i * 7}", relevance=1 - i / 200) for i in range(100)]
    )
    retriever = a_retriever(source, budget=20_000)
    assert [len(retriever.invoke("billing", k=k)) for k in (1, 49, 80, 100, 150)] == [1, 49, 80, 100, 100]


def test_it_is_pickled_where_the_engine_can_be():
    """H73: configuration round-trips."""
    retriever = a_retriever(k=2, scope={"tenant": "acme"})
    twin = pickle.loads(pickle.dumps(retriever))
    assert (twin.k, twin.scope) == (2, {"tenant": "acme"})
    twin.scope = None
    assert len(twin.invoke("billing")) == 2
