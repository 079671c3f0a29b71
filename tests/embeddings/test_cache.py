"""CachedEmbeddings: one call for equal texts, exact vectors, nothing unusable kept; bounds, times, other threads."""

from __future__ import annotations

import asyncio
import copy
import math
import pickle
import struct
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.stores import BaseStore, InMemoryByteStore
from langchain_openai import AzureOpenAIEmbeddings
from langchain_tests.integration_tests import EmbeddingsIntegrationTests
from langchain_tests.unit_tests import EmbeddingsUnitTests
from pydantic import BaseModel

from langchain_context_engine.embeddings.cache import CachedEmbeddings
from langchain_context_engine.errors import ConfigError, EmbeddingError
from tests.builders import WordEmbeddings
from tests.embedding_builders import (
    AnsweringEmbeddings,
    FailingOnceEmbeddings,
    SlowEmbeddings,
    WaitingEmbeddings,
    asked,
)


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


async def test_sync_and_async_share_what_is_kept():
    inner = WordEmbeddings()
    cached = CachedEmbeddings(inner)
    assert await cached.aembed_query("a") == cached.embed_query("a")
    assert await cached.aembed_documents(["b", "c"]) == cached.embed_documents(["b", "c"])
    assert asked(inner) == {"a": 1, "b": 1, "c": 1}


def test_queries_and_documents_are_kept_apart():
    """Models such as E5 embed the two differently."""

    class Asymmetric(WordEmbeddings):
        def embed_query(self, text):
            return super().embed_query("query: " + text)

    cached = CachedEmbeddings(Asymmetric())
    assert cached.embed_documents(["a"])[0] == WordEmbeddings().embed_query("a")
    assert cached.embed_query("a") == WordEmbeddings().embed_query("query: a")


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(-1e17, 1e17), min_size=1, max_size=5).filter(lambda v: math.hypot(*v) > 1e-18))
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


@pytest.mark.parametrize(
    "vector",
    [
        [math.nan, math.nan],
        [1.0, math.inf],
        [0.0, 0.0],
        [],
        [-0.0, 0.0],
        None,
        ["x", "y"],
        [1e308, 1.0],
        [1e30, 0.0],
        [1e-30, 0.0],
    ],
)
def test_an_unusable_vector_is_refused_and_not_kept(vector):
    """I79: NaN, infinite, zero or empty, also once a store has squared it in single precision."""
    inner = AnsweringEmbeddings([vector], [[1.0, 2.0]])
    cached = CachedEmbeddings(inner)
    with pytest.raises(EmbeddingError):
        cached.embed_query("a")
    assert len(cached) == 0
    assert cached.embed_query("a") == [1.0, 2.0]


class BrokenStore(BaseStore[str, bytes]):
    """A store whose server is gone."""

    def mget(self, keys):
        raise ConnectionError("redis://user:hunter2@cache.internal is down")

    mset = mdelete = mget

    def yield_keys(self, *, prefix=None):
        raise ConnectionError("down")


def test_a_store_needs_a_model_name():
    with pytest.raises(ConfigError, match="model="):
        CachedEmbeddings(WordEmbeddings(), InMemoryByteStore())


@pytest.mark.parametrize("make_store", [lambda: None, InMemoryByteStore])
def test_the_cache_never_holds_more_than_its_maximum(make_store):
    """I81: 10,000 distinct queries, at most 1000 entries."""
    store = make_store()
    cached = CachedEmbeddings(WordEmbeddings(8), store, "m", max_size=1000)
    for i in range(0, 10_000, 500):
        cached.embed_documents([f"query {n}" for n in range(i, i + 500)])
        assert len(cached) <= 1000
    assert len(cached) == 1000
    assert store is None or len(list(store.yield_keys())) == 1000


def test_an_entry_is_forgotten_after_its_time(monkeypatch):
    """I81 and M7."""
    inner = WordEmbeddings()
    cached = CachedEmbeddings(inner, ttl_seconds=600)
    cached.embed_query("a")
    cached.embed_query("a")
    assert asked(inner) == {"a": 1}
    monkeypatch.setattr("time.time", lambda now=time.time: now() + 600)
    assert cached.get("a") is None
    cached.embed_query("a")
    assert asked(inner) == {"a": 2}


def test_get_set_and_clear():
    """M7."""
    store = InMemoryByteStore()
    store.mset([("foreign", b"x")])
    cached = CachedEmbeddings(WordEmbeddings(2), store, "m")
    assert cached.get("a") is None
    cached.set("a", [1, 2])
    assert cached.get("a") == cached.embed_query("a") == [1.0, 2.0]
    CachedEmbeddings(WordEmbeddings(2), store, "other").embed_query("a")
    cached.clear()
    assert cached.get("a") is None
    assert len(list(store.yield_keys())) == 2


async def test_a_store_that_fails_degrades_to_embedding_with_one_warning():
    """I80 and L93: a cache that is down costs neither the answer nor a secret."""
    inner = WordEmbeddings()
    cached = CachedEmbeddings(inner, BrokenStore(), "m")
    with pytest.warns(UserWarning, match="embedded anew") as caught:  # noqa: PT031 - both calls, one warning
        assert cached.embed_documents(["a", "", "b"])[2] == inner._vector("b")
        assert await cached.aembed_query("a") == inner._vector("a")
    assert len(caught) == 1
    assert "hunter2" not in str(caught[0].message)


@pytest.mark.parametrize(
    "raw", [b"", b"garbage", b"\x00" * 40, b"e1f" + b"\x00" * 8 + b"abc", b"e1?" + b"\x00" * 16]
)
def test_an_entry_that_cannot_be_read_is_embedded_anew(raw):
    store = InMemoryByteStore()
    cached = CachedEmbeddings(WordEmbeddings(), store, "m")
    expected = cached.embed_query("a")
    (key,) = store.yield_keys()
    store.mset([(key, raw)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cached.embed_query("a") == expected


def test_it_is_pickled_and_copied_with_its_entries():
    """H73."""
    cached = CachedEmbeddings(WordEmbeddings())
    cached.embed_query("a")
    for twin in (pickle.loads(pickle.dumps(cached)), copy.deepcopy(cached)):
        twin.embed_query("a")
        assert len(twin.embeddings.calls) == 1
        twin.embed_query("b")
    assert cached.get("b") is None


async def test_fifty_coroutines_with_one_query_cost_one_call():
    """I80."""
    inner = SlowEmbeddings()
    cached = CachedEmbeddings(inner)
    vectors = await asyncio.gather(*(cached.aembed_query("a") for _ in range(50)))
    assert asked(inner) == {"a": 1}
    assert vectors == [inner._vector("a")] * 50


async def test_a_failure_reaches_all_coroutines_and_the_next_call_tries_again():
    """I80: asyncio."""
    inner = FailingOnceEmbeddings()
    cached = CachedEmbeddings(inner)
    results = await asyncio.gather(*(cached.aembed_query("a") for _ in range(50)), return_exceptions=True)
    assert {type(r) for r in results} == {RuntimeError}
    assert asked(inner) == {"a": 1}
    assert await cached.aembed_query("a") == inner._vector("a")


async def test_a_cancelled_caller_does_not_take_the_others_with_it():
    """I80: the first one hangs up."""
    inner = WaitingEmbeddings()
    cached = CachedEmbeddings(inner)
    first = asyncio.create_task(cached.aembed_query("a"))
    await asyncio.sleep(0.02)
    others = [asyncio.create_task(cached.aembed_query("a")) for _ in range(3)]
    await asyncio.sleep(0.02)
    first.cancel()
    others[0].cancel()
    inner.goes_on.set()
    results = await asyncio.gather(first, *others, return_exceptions=True)
    assert [type(r) for r in results] == [asyncio.CancelledError, asyncio.CancelledError, list, list]


async def test_a_synchronous_call_inside_the_loop_does_not_wait_for_a_coroutine_of_that_loop():
    """I80 and H72: it would wait for ever."""
    cached = CachedEmbeddings(SlowEmbeddings())
    task = asyncio.create_task(cached.aembed_query("a"))
    await asyncio.sleep(0.02)
    assert cached.embed_query("a") == await task


def test_overlapping_batches_wait_for_each_other_without_a_deadlock():
    """I80: each text is sent once though two batches want it."""
    inner = SlowEmbeddings()
    cached = CachedEmbeddings(inner)
    batches = [["a", "b", "c"], ["c", "b", "d"], ["d", "a", "e"], ["e", "c", "f"]] * 4
    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(cached.embed_documents, batches))
    assert max(asked(inner).values()) == 1
    assert results == [[inner._vector(t) for t in batch] for batch in batches]


def an_azure(deployment, endpoint="https://one.openai.azure.com", **fields):
    return AzureOpenAIEmbeddings(
        azure_deployment=deployment, azure_endpoint=endpoint, api_key="k", api_version="2024-06-01", **fields
    )


@pytest.mark.parametrize(
    "other",
    [an_azure("large"), an_azure("small", "https://two.openai.azure.com"), an_azure("small", dimensions=256)],
)
def test_two_deployments_that_share_a_store_each_have_their_own_vectors(other):
    """K1: both say that their model is text-embedding-ada-002."""
    store = InMemoryByteStore()
    first = CachedEmbeddings(an_azure("small"), store)
    first.set("a", [1.0, 2.0])
    assert CachedEmbeddings(an_azure("small"), store).get("a") == [1.0, 2.0]
    assert CachedEmbeddings(other, store).get("a") is None


class SetEmbeddings(BaseModel, WordEmbeddings):
    """Embeddings whose vectors depend on settings, as LangChain's own declare them."""

    model: str = "m"
    encode_kwargs: dict[str, Any] = {}
    task_type: str = ""
    normalize: bool = True
    max_retries: int = 2
    api_key: str = ""


@pytest.mark.parametrize(
    "settings",
    [
        {"encode_kwargs": {"normalize_embeddings": True}},
        {"task_type": "retrieval_query"},
        {"normalize": False},
    ],
)
def test_a_setting_that_changes_vectors_has_its_own_entries(settings):
    """K1 and I78: one class, one model, one store."""
    store = InMemoryByteStore()
    CachedEmbeddings(SetEmbeddings(), store).set("a", [1.0, 2.0])
    assert CachedEmbeddings(SetEmbeddings(**settings), store).get("a") is None
    assert CachedEmbeddings(SetEmbeddings(max_retries=5, api_key="k"), store).get("a") == [1.0, 2.0]
