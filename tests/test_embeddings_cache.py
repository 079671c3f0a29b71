"""CachedEmbeddings: one call for equal texts, exact vectors, nothing unusable kept."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.stores import InMemoryByteStore
from langchain_tests.integration_tests import EmbeddingsIntegrationTests
from langchain_tests.unit_tests import EmbeddingsUnitTests

from langchain_context_engine.embeddings import CachedEmbeddings, LocalEmbeddings
from langchain_context_engine.models.errors import ConfigError, EmbeddingError
from tests.builders import WordEmbeddings
from tests.embedding_builders import AnsweringEmbeddings, asked


class TestCachedEmbeddingsUnit(EmbeddingsUnitTests):
    @property
    def embeddings_class(self):
        return CachedEmbeddings

    @property
    def embedding_model_params(self):
        return {"embeddings": DeterministicFakeEmbedding(size=8)}


class TestCachedEmbeddingsIntegration(EmbeddingsIntegrationTests):
    @property
    def embeddings_class(self):
        return CachedEmbeddings

    @property
    def embedding_model_params(self):
        return {"embeddings": DeterministicFakeEmbedding(size=8)}


def test_an_equal_query_is_embedded_once():
    inner = WordEmbeddings()
    cached = CachedEmbeddings(inner)
    assert cached.embed_query("a b") == cached.embed_query("a b") == WordEmbeddings().embed_query("a b")
    assert asked(inner) == {"a b": 1}


async def test_sync_and_async_share_what_is_kept():
    inner = WordEmbeddings()
    cached = CachedEmbeddings(inner)
    assert await cached.aembed_query("a") == cached.embed_query("a")
    assert await cached.aembed_documents(["b", "c"]) == cached.embed_documents(["b", "c"])
    assert asked(inner) == {"a": 1, "b": 1, "c": 1}


def test_a_partly_known_batch_sends_only_what_is_new_once_and_keeps_the_order():
    inner = WordEmbeddings()
    cached = CachedEmbeddings(inner)
    cached.embed_documents(["b"])
    assert cached.embed_documents(["a", "b", "c", "a"]) == WordEmbeddings().embed_documents(
        ["a", "b", "c", "a"]
    )
    assert inner.calls == [("b",), ("a", "c")]


def test_queries_and_documents_are_kept_apart():
    """Models such as E5 embed the two differently."""

    class Asymmetric(WordEmbeddings):
        def embed_query(self, text):
            return super().embed_query("query: " + text)

    cached = CachedEmbeddings(Asymmetric())
    assert cached.embed_documents(["a"])[0] == WordEmbeddings().embed_query("a")
    assert cached.embed_query("a") == WordEmbeddings().embed_query("query: a")


def test_changing_a_vector_changes_it_for_no_one_else():
    cached = CachedEmbeddings(WordEmbeddings())
    first, twin = cached.embed_documents(["a", "a"])
    first[0] = 99.0
    assert twin[0] != 99.0
    assert cached.embed_documents(["a"])[0][0] != 99.0


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5).filter(any))
def test_vectors_come_back_to_the_bit(vector):
    for store in (None, InMemoryByteStore()):
        cached = CachedEmbeddings(AnsweringEmbeddings(), store, "m")
        cached.set("a", vector)
        assert [struct.pack("d", x) for x in cached.get("a")] == [struct.pack("d", x) for x in vector]


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.lists(st.sampled_from(["", " ", "a", "b", "c", "a b", "d\ud83d"]), max_size=6), max_size=6)
)
def test_any_sequence_of_batches_is_as_without_a_cache(batches):
    """I74 and I80: alignment holds for any mixture of new, known, repeated and empty texts."""
    cached = CachedEmbeddings(WordEmbeddings(), max_size=3)
    plain = WordEmbeddings()
    for batch in batches:
        expected = [plain.embed_query(t) if t.strip() else [0.0] * 64 for t in batch]
        assert cached.embed_documents(batch) == expected


@pytest.mark.parametrize("text", ["", "   ", "\n"])
async def test_an_empty_query_is_an_error_and_no_call(text):
    """I74."""
    inner = WordEmbeddings()
    cached = CachedEmbeddings(inner)
    with pytest.raises(EmbeddingError, match="empty"):
        cached.embed_query(text)
    with pytest.raises(EmbeddingError, match="empty"):
        await cached.aembed_query(text)
    assert inner.calls == []


async def test_empty_documents_are_never_sent_and_keep_their_place():
    """I74: ["a", "", "b"]."""
    inner = WordEmbeddings()
    cached = CachedEmbeddings(inner)
    for vectors in (
        cached.embed_documents(["a", "", "b", "  "]),
        await cached.aembed_documents(["a", "", "b", "  "]),
    ):
        assert vectors == [inner._vector("a"), [0.0] * 64, inner._vector("b"), [0.0] * 64]
    assert inner.calls == [("a", "b")]
    assert cached.embed_documents([""]) == [[0.0] * 64]
    assert cached.embed_documents([]) == []


def test_only_empty_documents_of_an_unknown_length_are_an_error():
    """I74."""
    with pytest.raises(EmbeddingError, match="empty"):
        CachedEmbeddings(DeterministicFakeEmbedding(size=3)).embed_documents(["", " "])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a:b", "c"), ("a", "b:c")),
        (("a", "bc"), ("ab", "c")),
        (("a-", "b"), ("a", "-b")),
        (("m", "é"), ("m", "e\u0301")),
    ],
)
def test_no_two_pairs_of_model_and_text_share_an_entry(one, other):
    """I78: keys are never built by joining."""
    store = InMemoryByteStore()
    inner = WordEmbeddings()
    vectors = [CachedEmbeddings(inner, store, model=model).embed_query(text) for model, text in (one, other)]
    assert len(list(store.yield_keys())) == 2
    assert vectors == [inner._vector(one[1]), inner._vector(other[1])]


def test_entries_of_another_model_are_not_served():
    store = InMemoryByteStore()
    CachedEmbeddings(WordEmbeddings(8), store, model="small").embed_query("a")
    assert len(CachedEmbeddings(WordEmbeddings(64), store, model="large").embed_query("a")) == 64


def test_the_model_names_itself_and_its_dimensions_where_it_can():
    class Named(WordEmbeddings):
        model = "named"

    store = InMemoryByteStore()
    assert CachedEmbeddings(Named(), store).model == "named"
    assert CachedEmbeddings(LocalEmbeddings()).model == "wordllama-l2-supercat-256"
    CachedEmbeddings(Named(8), store).embed_query("a")
    assert len(CachedEmbeddings(Named(16), store).embed_query("a")) == 16


@pytest.mark.parametrize(
    "vector", [[math.nan, math.nan], [1.0, math.inf], [0.0, 0.0], [], [-0.0, 0.0], None, ["x", "y"]]
)
def test_an_unusable_vector_is_refused_and_not_kept(vector):
    """I79: NaN, infinite, zero or empty."""
    inner = AnsweringEmbeddings([vector], [[1.0, 2.0]])
    cached = CachedEmbeddings(inner)
    with pytest.raises(EmbeddingError):
        cached.embed_query("a")
    assert len(cached) == 0
    assert cached.embed_query("a") == [1.0, 2.0]


def test_a_vector_shorter_than_the_others_is_refused():
    """I79."""
    cached = CachedEmbeddings(AnsweringEmbeddings([[1.0, 2.0]], [[1.0]], [[1.0, 2.0], [3.0]]))
    cached.embed_query("a")
    with pytest.raises(EmbeddingError, match="1 dimensions instead of 2"):
        cached.embed_query("b")
    with pytest.raises(EmbeddingError, match="text 2 of 2"):
        cached.embed_documents(["c", "d"])
    assert cached.get("c", role="document") is None


@pytest.mark.parametrize("answer", [[[1.0]], [], [[1.0]] * 3, None])
def test_too_few_or_too_many_vectors_are_refused(answer):
    """I79."""
    cached = CachedEmbeddings(AnsweringEmbeddings(answer))
    with pytest.raises(EmbeddingError):
        cached.embed_documents(["a", "b"])
    assert len(cached) == 0


def test_an_unusable_vector_cannot_be_set():
    with pytest.raises(EmbeddingError):
        CachedEmbeddings(WordEmbeddings()).set("a", [math.nan])


def test_numpy_vectors_are_taken_as_they_are():
    import numpy as np

    cached = CachedEmbeddings(AnsweringEmbeddings(np.ones((2, 3), dtype=np.float32)))
    assert cached.embed_documents(["a", "b"]) == [[1.0] * 3] * 2


@pytest.mark.parametrize("wrong", [None, "text-embedding-3-small", 5])
def test_what_cannot_embed_is_refused_at_once(wrong):
    with pytest.raises(ConfigError, match="embeddings"):
        CachedEmbeddings(wrong, model="m")
