"""Several machines: what an engine keeps that another could use stands in stores that both reach."""

from __future__ import annotations

import asyncio
import importlib
import shutil
import socket
import subprocess
import time

import pytest
from langchain_core.stores import InMemoryByteStore

from langchain_context_engine import ConfigError, Context, ContextEngine
from langchain_context_engine.embeddings import CachedEmbeddings
from langchain_context_engine.sources.chroma import ChromaSource
from langchain_context_engine.trace.stored_results import StoredResultCache
from tests.builders import WordEmbeddings, a_candidate, a_collection, a_free_port
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


def test_machines_of_different_models_do_not_share_vectors(open_store):
    CachedEmbeddings(WordEmbeddings(), open_store(), "words", max_size=None).embed_query("a")
    other = WordEmbeddings(8)
    assert len(CachedEmbeddings(other, open_store(), "other", max_size=None).embed_query("a")) == 8
    assert asked(other) == {"a": 1}


def test_a_machine_that_forgets_its_model_leaves_the_others_alone(open_store):
    keeping = CachedEmbeddings(WordEmbeddings(), open_store(), "words", max_size=None)
    leaving = CachedEmbeddings(WordEmbeddings(), open_store(), "other", max_size=None)
    keeping.embed_query("a")
    leaving.embed_query("a")
    leaving.clear()
    assert leaving.get("a") is None
    assert keeping.get("a") is not None


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


class Counting:
    """A source that counts how often it is asked."""

    name = "notes"

    def __init__(self):
        self.asked = 0

    def fetch(self, request):
        self.asked += 1
        day = request.scope.get("day", 1)
        return [a_candidate(id="a", text=f"Invoices go out on day {day}.", metadata={"day": day})]


def machines(open_store, names=("shop", "shop"), **settings):
    return [
        (
            source := Counting(),
            ContextEngine([source], cache=StoredResultCache(open_store(), name), **settings),
        )
        for name in names
    ]


def test_what_one_machine_has_answered_no_other_asks_its_sources(open_store):
    (first, engine), (second, engine_there) = machines(open_store)
    answer = engine.build("When do invoices go out?")
    again = engine_there.build("When do invoices go out?")
    later = asyncio.run(engine_there.abuild("When do invoices go out?"))
    assert (first.asked, second.asked) == (1, 0)
    assert again.text == later.text == answer.text
    assert again.passages == answer.passages
    assert again.decisions == answer.decisions
    assert engine_there.cache.hit_rate == 1.0


def test_another_scope_setting_or_name_shares_no_answer(open_store):
    (first, engine), (other, named) = machines(open_store, ("shop", "another shop"))
    engine.build("When?", scope={"day": 1})
    assert "day 2" in engine.build("When?", scope={"day": 2}).text
    named.build("When?", scope={"day": 1})
    engine.with_settings(budget=30).build("When?", scope={"day": 1})
    assert (first.asked, other.asked) == (3, 1)


def test_what_is_forgotten_on_one_machine_is_forgotten_on_all(open_store):
    (first, engine), (second, engine_there) = machines(open_store)
    for question in ("When do invoices go out?", "When are they due?"):
        engine.build(question)
    assert len(engine_there.cache) == 2
    assert engine_there.cache.invalidate("due") == 1
    assert len(engine.cache) == 1
    engine.build("When are they due?")
    assert (first.asked, second.asked) == (3, 0)
    assert engine.cache.invalidate() == 2


def test_a_shared_answer_serves_for_its_time_and_what_is_not_ours_serves_nobody(open_store):
    store = open_store()
    short = StoredResultCache(store, "shop", ttl_seconds=0.05)
    short.set("key", Context(text="answer"))
    (place,) = store.yield_keys()
    time.sleep(0.06)
    kept = StoredResultCache(store, "shop")
    assert kept.get("key") is None
    kept.set("key", Context(text="answer"))
    assert str(kept.get("key")) == "answer"
    for foreign in (b"", b"{", b"[1]", b'{"key": "key", "until": 1e300, "context": {}}', b"[" * 5000):
        store.mset([(place, foreign)])
        assert kept.get("key") is None


def test_a_result_store_that_fails_costs_one_warning_and_no_answer():
    class Failing(InMemoryByteStore):
        def mget(self, keys):
            raise ConnectionError("no route, password=hunter2hunter2")

        mset = mdelete = mget

    source = Counting()
    engine = ContextEngine([source], cache=StoredResultCache(Failing(), "shop"))
    with pytest.warns(UserWarning, match="answers are made anew") as caught:  # noqa: PT031 - one for both
        assert engine.build("When?").text
        assert engine.build("When?").text
    assert len(caught) == 1
    assert "hunter2" not in str(caught[0].message)
    assert source.asked == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (({}, "shop"), "ByteStore"),
        ((InMemoryByteStore(), " "), "name"),
        ((InMemoryByteStore(), "a", 0), "above 0"),
    ],
)
def test_a_wrong_result_store_is_refused_while_building(arguments, said):
    with pytest.raises(ConfigError, match=said):
        StoredResultCache(*arguments)


def test_an_error_of_the_function_that_chooses_is_its_callers():
    cache = StoredResultCache(InMemoryByteStore(), "shop")
    cache.set("key", Context(text="answer"))
    with pytest.raises(ZeroDivisionError):
        cache.invalidate(lambda *_: 1 / 0)
    assert len(cache) == 1
