"""CachedEmbeddings and what it keeps: bounds, times, and stores that fail."""

from __future__ import annotations

import copy
import math
import pickle
import re
import time
import warnings

import pytest
from langchain_core.stores import BaseStore, InMemoryByteStore

from langchain_context_engine.embeddings import CachedEmbeddings
from langchain_context_engine.models.errors import ConfigError
from tests.builders import WordEmbeddings
from tests.embedding_builders import asked


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


def test_keys_suit_stores_that_make_file_names_of_them():
    """Such stores take letters, digits, dots, dashes, underscores and slashes only."""

    class FileNameStore(InMemoryByteStore):
        def mset(self, key_value_pairs):
            assert all(re.fullmatch(r"[a-zA-Z0-9_.\-]{1,128}", key) for key, _ in key_value_pairs)
            super().mset(key_value_pairs)

    cached = CachedEmbeddings(WordEmbeddings(), FileNameStore(), model="org/model:v1 ü" * 50)
    cached.embed_query("a:/\\..")
    assert len(cached) == 1


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
    assert len(list(cached._entries.store.yield_keys())) == 1000


def test_a_batch_larger_than_the_maximum_is_answered_whole():
    """I81."""
    cached = CachedEmbeddings(WordEmbeddings(), max_size=2)
    texts = ["a", "b", "c", "d", "a"]
    assert cached.embed_documents(texts) == WordEmbeddings().embed_documents(texts)
    assert len(cached) == 2


def test_the_least_recently_used_entry_goes_first():
    """I81 and M7."""
    cached = CachedEmbeddings(WordEmbeddings(), max_size=2)
    for text in ("a", "b", "a", "c"):
        cached.embed_query(text)
    assert cached.get("b") is None
    assert cached.get("a") is not None
    assert cached.get("c") is not None


def test_what_a_store_already_holds_counts():
    """I81: a program that starts again over the same store keeps the bound."""
    store = InMemoryByteStore()
    CachedEmbeddings(WordEmbeddings(), store, "m").embed_documents(list("abcdef"))
    CachedEmbeddings(WordEmbeddings(), store, "m", max_size=3).embed_documents(["x"])
    assert len(list(store.yield_keys())) == 3


def test_an_entry_is_forgotten_after_its_time():
    """I81 and M7."""
    inner = WordEmbeddings()
    cached = CachedEmbeddings(inner, ttl_seconds=0.5)
    cached.embed_query("a")
    cached.embed_query("a")
    assert asked(inner) == {"a": 1}
    time.sleep(0.55)
    assert cached.get("a") is None
    cached.embed_query("a")
    assert asked(inner) == {"a": 2}


def test_without_a_maximum_everything_is_kept():
    for store in (None, InMemoryByteStore()):
        cached = CachedEmbeddings(WordEmbeddings(), store, "m", max_size=None)
        cached.embed_documents(list("abc"))
        assert len(cached) == 3
        cached.clear()
        assert len(cached) == 0


@pytest.mark.parametrize(
    "wrong",
    [{"max_size": 0}, {"max_size": -1}, {"max_size": 1.5}, {"ttl_seconds": 0}, {"ttl_seconds": math.nan}],
)
def test_a_bound_that_is_not_positive_is_a_config_error(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        CachedEmbeddings(WordEmbeddings(), **wrong)


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


def test_an_entry_of_another_length_is_embedded_anew():
    store = InMemoryByteStore()
    CachedEmbeddings(WordEmbeddings(8), store, "m").embed_query("a")
    assert len(CachedEmbeddings(WordEmbeddings(16), store, "m").embed_query("a")) == 16


def test_it_is_pickled_and_copied_with_its_entries():
    """H73."""
    cached = CachedEmbeddings(WordEmbeddings())
    cached.embed_query("a")
    for twin in (pickle.loads(pickle.dumps(cached)), copy.deepcopy(cached)):
        twin.embed_query("a")
        assert len(twin.embeddings.calls) == 1
        twin.embed_query("b")
    assert cached.get("b") is None
