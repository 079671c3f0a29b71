"""Embedding a query: once, checked, remembered within bounds."""

from __future__ import annotations

import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from chromadb import EmbeddingFunction

from langchain_context_engine.errors import EmbeddingError
from langchain_context_engine.sources.chroma import ChromaSource
from langchain_context_engine.sources.shared import QueryVectors, SharedResources
from tests.builders import WordEmbeddings, a_collection, a_request
from tests.chroma_builders import EMBEDDINGS, notes


@pytest.mark.parametrize("vector", [[math.nan, math.nan], [0.0, 0.0], [], [1.0, math.inf], "ab", None])
def test_an_unusable_vector_is_an_error_before_the_query(vector):
    """I79."""

    class Broken:
        def embed_query(self, text):
            return vector

    shared = SharedResources()
    source = ChromaSource(a_collection(notes(3)), embeddings=Broken()).share(shared)
    with pytest.raises(EmbeddingError):
        source.fetch(a_request())
    assert len(shared.query_vectors) == 0


def test_one_query_is_embedded_once_for_all_sources():
    """I80."""

    class Slow(WordEmbeddings):
        def embed_query(self, text):
            time.sleep(0.05)
            return super().embed_query(text)

    embeddings, shared = Slow(), SharedResources()
    sources = [ChromaSource(a_collection(notes(3)), embeddings=embeddings).share(shared) for _ in range(5)]
    with ThreadPoolExecutor(5) as pool:
        list(pool.map(lambda s: s.fetch(a_request()), sources))
    assert len(embeddings.calls) == 1


def test_a_failed_embedding_reaches_all_who_wait_and_is_tried_again():
    """I80."""

    class Flaky(WordEmbeddings):
        fails = True

        def embed_query(self, text):
            vector = super().embed_query(text)
            time.sleep(0.3)
            if self.fails:
                raise RuntimeError("no")
            return vector

    embeddings, shared, all_are_here = Flaky(), SharedResources(), threading.Barrier(8)

    def ask():
        all_are_here.wait(20)
        return shared.query_vectors.embed(embeddings, "q")

    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(ask) for _ in range(8)]
    assert all(isinstance(future.exception(), EmbeddingError) for future in futures)
    assert len(embeddings.calls) == 1
    embeddings.fails = False
    assert shared.query_vectors.embed(embeddings, "q")


def test_the_memo_of_queries_is_bounded():
    """I81."""
    shared = SharedResources()
    shared.query_vectors = QueryVectors(max_queries=10)
    for i in range(50):
        shared.query_vectors.embed(EMBEDDINGS, f"q{i}")
    assert len(shared.query_vectors) == 10


def test_two_embedders_do_not_share_a_vector():
    """I78."""
    shared, two, three = SharedResources(), WordEmbeddings(2), WordEmbeddings(3)
    assert len(shared.query_vectors.embed(two, "q")) == 2
    assert len(shared.query_vectors.embed(three, "q")) == 3


def test_a_function_of_chroma_s_embeds_the_question_of_its_collection():
    """Whoever has a collection with a function of its own has no LangChain embeddings at hand."""

    class Words(EmbeddingFunction):
        def __init__(self):
            self.asked = []

        def __call__(self, input):
            self.asked.append(input)
            return [EMBEDDINGS.embed_query(text) for text in input]

    function, shared = Words(), SharedResources()
    sources = [ChromaSource(a_collection(notes(3)), embeddings=function).share(shared) for _ in range(2)]
    found = [candidate for source in sources for candidate in source.fetch(a_request(query="note 2"))]
    assert found[0].id == "n002"
    assert function.asked == [["note 2"]]
