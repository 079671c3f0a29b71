"""ChromaSource when the world changes or fails: collections, threads, processes, servers."""

from __future__ import annotations

import subprocess
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import chromadb
import pytest

from langchain_context_engine.errors import EmbeddingError, SourceError
from langchain_context_engine.sources.chroma import ChromaSource
from langchain_context_engine.sources.shared import SharedResources
from tests.builders import WordEmbeddings, a_collection, a_free_port, a_request
from tests.chroma_builders import EMBEDDINGS, HYBRID, a_source, client, ids, notes

__all__ = ["client"]


@HYBRID
def test_a_recreated_collection_is_found_again_and_a_missing_one_is_named(client, hybrid):
    """G59."""
    name = f"c{uuid.uuid4().hex}"
    source = ChromaSource(
        a_collection(notes(3), client=client, name=name), embeddings=EMBEDDINGS, hybrid=hybrid
    )
    assert len(source.fetch(a_request())) == 3
    client.delete_collection(name)
    with pytest.raises(SourceError, match=name):
        source.fetch(a_request())
    a_collection([{"id": "new", "text": "billing anew"}], client=client, name=name)
    found = source.fetch(a_request())
    assert ids(found) == ["new"]
    client.delete_collection(name)
    a_collection([{"id": "newer", "text": "billing once more"}], client=client, name=name)
    found = source.fetch(a_request())
    assert ids(found) == ["newer"]
    if hybrid:
        assert found[0].claims["lexical"] > 0


@HYBRID
def test_a_vector_of_another_length_is_told_in_one_sentence(client, hybrid):
    """G60."""
    collection = a_collection(notes(3), client=client, embeddings=WordEmbeddings(3))
    source = ChromaSource(collection, embeddings=WordEmbeddings(2), hybrid=hybrid)
    with pytest.raises(SourceError, match="expected 3, got 2"):
        source.fetch(a_request())


def test_an_embedders_secrets_stay_with_it():
    """L93."""

    class Leaking:
        def embed_query(self, text):
            raise RuntimeError("401: api_key=sk-test-abc for https://me:hunter2@host, Bearer abcdef")

    with pytest.raises(EmbeddingError) as raised:
        ChromaSource(a_collection(notes(1)), embeddings=Leaking()).fetch(a_request())
    assert not any(secret in str(raised.value) for secret in ("sk-test", "hunter2", "abcdef"))
    assert raised.value.__cause__ is None


@pytest.mark.unmeasured
def test_many_threads_get_what_one_gets(client):
    """G66."""
    shared = SharedResources()
    sources = [a_source(notes(60, team=t), client=client).share(shared) for t in ("red", "blue")]
    queries = [f"note {i} about billing" for i in range(5)]

    def ask(query):
        return [
            [(c.key, c.relevance, c.claims) for c in s.fetch(a_request(query=query, scope={"team": "red"}))]
            for s in sources
        ]

    serial = [ask(query) for query in queries]
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: [ask(query) for query in queries], range(16)))
    assert all(answer == serial for answer in answers)


def test_an_index_that_is_behind_another_process_is_still_answered_from_the_store(tmp_path):
    source = a_source(notes(3), client=chromadb.PersistentClient(str(tmp_path)))
    source.fetch(a_request())
    name = source.collection_name
    script = (
        "import chromadb, sys\n"
        "c = chromadb.PersistentClient(sys.argv[1]).get_collection(sys.argv[2], embedding_function=None)\n"
        "c.update(ids=['n001'], metadatas=[{'deleted': True}], embeddings=[[1.0] * 64])\n"
        "c.add(ids=['other'], documents=['a zebra elsewhere'], embeddings=[[1.0] * 64])\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path), name], check=True, timeout=60)
    found = source.fetch(a_request(query="zebra billing"))
    assert sorted(ids(found)) == ["n000", "n002", "other"]


def test_a_server_answers_as_a_local_client_does(tmp_path):
    """B11."""
    port = a_free_port()
    command = [Path(sys.executable).with_name("chroma"), "run", "--path", tmp_path, "--host", "127.0.0.1"]
    server = subprocess.Popen(
        [*map(str, command), "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        client = _connected(port)
        local = a_source(notes(50, team="red"))
        remote = a_source(notes(50, team="red"), client=client)
        request = a_request(query="note 17 about billing", limit=10, scope={"team": "red"})
        assert ids(remote.fetch(request)) == ids(local.fetch(request))
        assert remote.fetch(request)[0].claims["lexical"] > 0
        server.terminate()
        server.wait(10)
        with pytest.raises(SourceError, match=remote.collection_name):
            remote.fetch(request)
    finally:
        server.kill()
        server.wait(10)


def _connected(port: int):
    for _ in range(100):
        try:
            return chromadb.HttpClient(host="127.0.0.1", port=port)
        except ValueError:  # not up yet
            time.sleep(0.1)
    pytest.fail("chroma run did not start")


class Refusing:
    """A collection of a store that gives so many records at once, and refuses more in its own words."""

    def __init__(self, collection, most, words):
        self.collection, self.most, self.words, self.refused = collection, most, words, 0

    def __getattr__(self, name):
        return getattr(self.collection, name)

    def _check(self, number):
        if number is None or number > self.most:
            self.refused += 1
            raise RuntimeError(self.words.format(number, self.most))

    def query(self, **asked):
        self._check(asked["n_results"])
        return self.collection.query(**asked)

    def get(self, **asked):
        self._check(len(asked["ids"]) if asked.get("ids") is not None else asked.get("limit"))
        return self.collection.get(**asked)


@pytest.mark.parametrize("most", [300, 10])
@pytest.mark.parametrize(
    "words",
    [
        "Quota exceeded: 'Number of results' exceeded quota limit for action 'Query': usage of {} exceeds limit of {}",
        "limit must be at most {1}, got {0}",
        "n_results {} is too large, the maximum is {}",
        "too many SQL variables",
        "Number of requested results {} cannot be greater than {}",
        "n_results must be <= {1}",
        "Received message larger than max ({} vs. {})",
    ],
)
@HYBRID
def test_a_store_that_gives_fewer_at_once_is_asked_for_fewer_however_it_says_so(hybrid, most, words):
    """S1: a quota below 300, or told in other words, failed every question."""
    collection = a_collection(notes(60))
    refusing = Refusing(collection, most, words)
    source = ChromaSource(refusing, embeddings=EMBEDDINGS, hybrid=hybrid)
    plain = ChromaSource(collection, embeddings=EMBEDDINGS, hybrid=hybrid)
    source.prepare()
    assert sorted(ids(source.fetch(a_request(limit=40)))) == sorted(ids(plain.fetch(a_request(limit=40))))
    assert refusing.refused < 12
    before = refusing.refused
    source.fetch(a_request(limit=40))
    assert refusing.refused == before  # it is learnt once


class Remembering:
    """A collection whose index of vectors still knows a record that another process has deleted."""

    def __init__(self, collection):
        self.collection = collection

    def __getattr__(self, name):
        return getattr(self.collection, name)

    def query(self, **asked):
        answer = self.collection.query(**asked)
        return {
            **answer,
            "ids": [["ghost", *answer["ids"][0]]],
            "distances": [[0.0, *answer["distances"][0]]],
        }


@HYBRID
@pytest.mark.parametrize("limit", [1, 20])
def test_a_vector_of_a_record_that_is_gone_is_passed_over_and_not_asked_for_without_end(hybrid, limit):
    collection = Remembering(a_collection(notes(3)))
    source = ChromaSource(collection, embeddings=EMBEDDINGS, hybrid=hybrid)
    assert len(source.fetch(a_request(limit=limit))) == min(limit, 3)
