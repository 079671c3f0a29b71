"""The vectors in memory answer what the store would, and stay in step with it."""

from __future__ import annotations

import chromadb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine.search.collection import CollectionHandle
from langchain_context_engine.search.records import compare
from langchain_context_engine.search.vectors import Vectors
from langchain_context_engine.sources.chroma import ChromaSource
from tests.builders import WordEmbeddings, a_request

SPACES = pytest.mark.parametrize("space", ["cosine", "l2", "ip"])
MEGABYTE = 2**20


def some(n: int, seed: int = 0, dimensions: int = 8) -> dict[str, np.ndarray]:
    numbers = np.random.default_rng(seed)
    return {f"v{i:03}": numbers.normal(size=dimensions) * numbers.uniform(0.1, 9) for i in range(n)}


def measured(vectors: dict, query, space: str) -> list[tuple[str, float]]:
    """What measuring one by one gives, nearest first."""
    hits = [(id_, compare(query, np.float32(v), space)[0]) for id_, v in vectors.items()]
    return sorted(hits, key=lambda hit: (hit[1], hit[0]))


@SPACES
@settings(deadline=None, max_examples=20)
@given(n=st.integers(1, 40), seed=st.integers(0, 99))
def test_the_nearest_are_those_of_measuring_each(space, n, seed):
    given_, kept = some(40, seed), Vectors(MEGABYTE)
    kept.put(given_)
    query = np.random.default_rng(seed + 1).normal(size=8)
    found = kept.nearest(query, space)(n)
    assert found[:n] == measured(given_, query, space)[:n]


@SPACES
def test_all_that_are_as_near_come_too_in_order_of_their_ids(space):
    kept = Vectors(MEGABYTE)
    kept.put({f"v{i:02}": [1.0, 0.0] for i in reversed(range(30))} | {"far": [0.0, 5.0]})
    found = [id_ for id_, _ in kept.nearest([1.0, 0.0], space)(3)]
    assert found[:30] == [f"v{i:02}" for i in range(30)]


@SPACES
def test_the_store_gives_the_same(space, tmp_path):
    client = chromadb.PersistentClient(str(tmp_path))
    collection = client.create_collection(
        "same", embedding_function=None, configuration={"hnsw": {"space": space}}
    )
    given_, kept = some(60), Vectors(MEGABYTE)
    kept.put(given_)
    collection.add(ids=list(given_), embeddings=list(given_.values()), documents=list(given_))
    query = [float(x) for x in some(1, seed=5)["v000"]]
    theirs = CollectionHandle(collection).nearest(query, 60, None)
    ours = kept.nearest(query, space)(60)
    assert [id_ for id_, _ in ours] == [id_ for id_, _ in theirs]
    assert [d for _, d in ours] == pytest.approx([d for _, d in theirs], rel=1e-4, abs=1e-5)


@settings(deadline=None, max_examples=30)
@given(steps=st.lists(st.tuples(st.booleans(), st.integers(0, 150)), max_size=12))
def test_what_was_put_and_removed_is_what_is_found(steps):
    kept, there = Vectors(MEGABYTE), {}
    for step, (is_put, first) in enumerate(steps):
        chosen = {id_: v for id_, v in some(first + 60, seed=step).items() if int(id_[1:]) >= first}
        if is_put:
            kept.put(chosen)
            there |= chosen
        else:
            kept.remove(chosen)
            there = {id_: v for id_, v in there.items() if id_ not in chosen}
    query = np.ones(8)
    assert kept.nearest(query, "l2")(10)[:10] == measured(there, query, "l2")[:10]
    assert set(kept.measure(query, list(some(300)), "l2")) == set(there)


def test_they_serve_only_where_all_are_there_and_as_long_as_the_question():
    kept = Vectors(MEGABYTE)
    assert not kept.serves([1.0], 0)
    kept.put({"a": [1.0, 0.0], "b": None})
    assert kept.missing == {"b"}
    assert not kept.serves([1.0, 0.0], 2)
    kept.put({"b": [0.0, 1.0]})
    assert kept.serves([1.0, 0.0], 2)
    assert not kept.serves([1.0, 0.0, 0.0], 2)
    assert not kept.serves([1.0, 0.0], 3)


def test_more_than_may_be_kept_is_not_kept():
    kept = Vectors(8 * 4 * 50)
    kept.put(some(50))
    assert kept.serves(np.ones(8), 50)
    kept.put({"one more": np.ones(8)})
    assert kept.is_too_large
    assert not kept.serves(np.ones(8), 51)


def test_a_vector_of_nothing_is_far_from_all():
    kept = Vectors(MEGABYTE)
    kept.put({"nothing": [0.0, 0.0], "same": [1.0, 0.0]})
    assert kept.nearest([1.0, 0.0], "cosine")(2) == [("same", 0.0), ("nothing", 1.0)]


def test_a_source_follows_the_vectors_that_are_written(tmp_path):
    client = chromadb.PersistentClient(str(tmp_path))
    collection = client.create_collection("moving", embedding_function=None)
    collection.add(ids=["a", "b"], embeddings=[[1.0, 0.0], [0.0, 1.0]], documents=["one", "two"])
    source = ChromaSource(collection)

    def nearest(*vector: float) -> str:
        return source.fetch(a_request(query="", vector=vector, limit=1))[0].id

    assert (nearest(1.0, 0.0), nearest(0.0, 1.0)) == ("a", "b")
    collection.update(ids=["a"], embeddings=[[0.0, 9.0]])
    assert nearest(0.0, 9.0) == "a"
    collection.delete(ids=["a"])
    assert nearest(0.0, 9.0) == "b"
    collection.add(ids=["c"], embeddings=[[0.0, 9.0]], documents=["three"])
    assert nearest(0.0, 9.0) == "c"


def test_a_source_in_memory_shares_a_thread_and_one_that_waits_does_not(tmp_path):
    client = chromadb.PersistentClient(str(tmp_path))
    collection = client.create_collection("kept", embedding_function=None)
    collection.add(ids=["a"], embeddings=[[1.0, 0.0]], documents=["one"])
    source = ChromaSource(collection, embeddings=WordEmbeddings(2))
    asked, embedded = a_request(query="one", vector=(1.0, 0.0)), a_request(query="one")
    assert source.company(asked) is None  # not read yet
    source.prepare()
    assert source.company(asked) is not None
    assert source.company(embedded) is None  # its embedder may have to be waited for
    in_memory = ChromaSource(
        chromadb.EphemeralClient().get_or_create_collection("elsewhere", embedding_function=None)
    )
    in_memory.prepare()
    assert in_memory.company(asked) is None  # what changes there is not told
