"""Several machines: what an engine keeps that another could use stands in stores that both reach."""

from __future__ import annotations

import pytest
from langchain_core.stores import InMemoryByteStore

from langchain_context_engine import ContextEngine
from langchain_context_engine.embeddings.cache import CachedEmbeddings
from langchain_context_engine.sources.chroma import ChromaSource
from tests.builders import WordEmbeddings, a_collection
from tests.chroma_builders import notes
from tests.embedding_builders import asked


@pytest.fixture(params=["memory", "files"])
def open_store(request, tmp_path):
    """Return what gives each machine its own access to one store."""
    if request.param == "memory":
        shared = InMemoryByteStore()
        return lambda: shared
    storage = pytest.importorskip(
        "langchain_classic.storage", reason="LocalFileStore is in langchain-classic"
    )
    return lambda: storage.LocalFileStore(tmp_path)


def test_a_question_is_embedded_once_for_all_machines(open_store):
    collection, question = a_collection(notes(20)), "what about note 7 and billing?"
    told = []
    for vectors in (WordEmbeddings(), WordEmbeddings()):
        cached = CachedEmbeddings(vectors, open_store(), "words", max_size=None)
        engine = ContextEngine([ChromaSource(collection, embeddings=cached)], budget=200, timeout_seconds=60)
        engine.sources[0].prepare()
        told.append((engine.build(question).text, cached.get(question), asked(vectors)))
    (text, vector, first), (text_there, vector_there, second) = told
    assert text == text_there != ""
    assert vector == vector_there == WordEmbeddings().embed_query(question)
    assert (first, second) == ({question: 1}, {})


def test_with_a_bound_a_machine_counts_what_the_store_holds(open_store):
    CachedEmbeddings(WordEmbeddings(), open_store(), "words", max_size=None).embed_documents(list("abcdef"))
    bounded = CachedEmbeddings(WordEmbeddings(), open_store(), "words", max_size=3)
    bounded.embed_query("x")
    assert len(bounded) == 3
    assert len(CachedEmbeddings(WordEmbeddings(), open_store(), "words", max_size=None)) == 3
