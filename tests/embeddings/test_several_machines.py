"""Several machines: what an engine keeps that another could use stands in stores that both reach."""

from __future__ import annotations

import importlib
import shutil
import socket
import subprocess
import time

import pytest
from langchain_core.stores import InMemoryByteStore

from langchain_context_engine import ContextEngine
from langchain_context_engine.embeddings import CachedEmbeddings
from langchain_context_engine.sources.chroma import ChromaSource
from tests.builders import WordEmbeddings, a_collection, a_free_port
from tests.chroma_builders import notes
from tests.embedding_builders import asked


@pytest.fixture(scope="module")
def redis_url():
    """Start a Redis of its own on the loopback interface; return its address."""
    binary = shutil.which("redis-server") or shutil.which("valkey-server")
    if binary is None:
        pytest.skip("no redis-server is installed here")
    port = a_free_port()
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    server = subprocess.Popen([binary, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"redis://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(10)


@pytest.fixture(params=["memory", "files", "redis"])
def open_store(request, tmp_path):
    """Return what gives each machine its own access to one store."""
    if request.param == "memory":
        shared = InMemoryByteStore()
        return lambda: shared
    if request.param == "files":
        storage = pytest.importorskip(
            "langchain_classic.storage", reason="LocalFileStore is in langchain-classic"
        )
        return lambda: storage.LocalFileStore(tmp_path)
    pytest.importorskip("redis", reason="the Redis client is not installed")
    storage = pytest.importorskip(
        "langchain_community.storage", reason="RedisStore is in langchain-community"
    )
    url = request.getfixturevalue("redis_url")
    importlib.import_module("redis").Redis.from_url(url).flushall()
    return lambda: storage.RedisStore(redis_url=url)


def a_machine(store, collection, *, vectors=None, **options):
    vectors = vectors or WordEmbeddings()
    cached = CachedEmbeddings(vectors, store, "words", max_size=None, **options)
    engine = ContextEngine([ChromaSource(collection, embeddings=cached)], budget=200, timeout_seconds=60)
    engine.sources[0].prepare()
    return vectors, cached, engine


def test_a_question_is_embedded_once_for_all_machines(open_store):
    collection = a_collection(notes(20))
    first, cached, engine = a_machine(open_store(), collection)
    second, cached_there, engine_there = a_machine(open_store(), collection)
    answers = [one.build("what about note 7 and billing?").text for one in (engine, engine_there)]
    assert answers[0] == answers[1] != ""
    assert asked(first) == {"what about note 7 and billing?": 1}
    assert asked(second) == {}
    question = "what about note 7 and billing?"
    assert cached.get(question) == cached_there.get(question) == WordEmbeddings().embed_query(question)


def test_with_a_bound_a_machine_counts_what_the_store_holds(open_store):
    CachedEmbeddings(WordEmbeddings(), open_store(), "words", max_size=None).embed_documents(list("abcdef"))
    bounded = CachedEmbeddings(WordEmbeddings(), open_store(), "words", max_size=3)
    bounded.embed_query("x")
    assert len(bounded) == 3
    assert len(CachedEmbeddings(WordEmbeddings(), open_store(), "words", max_size=None)) == 3


def test_a_store_that_is_gone_costs_one_warning_and_no_answer():
    redis = pytest.importorskip("redis", reason="the Redis client is not installed")
    storage = pytest.importorskip(
        "langchain_community.storage", reason="RedisStore is in langchain-community"
    )
    at_once = redis.retry.Retry(redis.backoff.NoBackoff(), 0)  # by itself it tries for seconds
    nobody = redis.Redis(host="127.0.0.1", port=1, retry=at_once)
    _, _, engine = a_machine(storage.RedisStore(client=nobody), a_collection(notes(5)))
    with pytest.warns(UserWarning, match="embedded anew") as caught:  # noqa: PT031 - both answers, one warning
        assert "note" in engine.build("note about billing").text
        assert "note" in engine.build("another note about billing").text
    assert len([one for one in caught if "embedded anew" in str(one.message)]) == 1
