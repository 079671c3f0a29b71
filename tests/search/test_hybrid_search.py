"""ChromaSource over real clients: what it answers."""

from __future__ import annotations

import uuid

import chromadb
import pytest
from chromadb.config import Settings
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine import ContextEngine
from langchain_context_engine.errors import ConfigError, SourceError
from langchain_context_engine.search.records import relevance_of
from langchain_context_engine.sources.chroma import ChromaSource
from tests.builders import WordEmbeddings, a_collection, a_request
from tests.chroma_builders import EMBEDDINGS, HYBRID, a_source, client, ids, notes

__all__ = ["client"]


@HYBRID
def test_more_asked_than_there_is_gives_what_there_is(client, hybrid):
    """G55."""
    assert len(a_source(notes(3), client=client, hybrid=hybrid).fetch(a_request(limit=10))) == 3
    assert a_source([], client=client, hybrid=hybrid).fetch(a_request(limit=10)) == []


def test_a_limit_of_none_asks_nobody():
    """C24: the collection is gone, and yet nothing fails."""
    source = a_source(notes(3))
    source._handle._collection = None
    assert source.fetch(a_request(limit=0)) == []
    assert source.fetch(a_request(scope={"user": []})) == []
    assert source.fetch(a_request(where={"n": {"$in": []}})) == []
    assert source.fetch(a_request(kinds=())) == []
    assert source.get([], a_request()) == []


@pytest.mark.parametrize("query", ["", "   ", "\n"])
def test_an_empty_query_embeds_nothing(query):
    """I74."""
    embeddings = WordEmbeddings()
    source = ChromaSource(a_collection(notes(3)), embeddings=embeddings)
    assert source.fetch(a_request(query=query)) == []
    assert embeddings.calls == []


@HYBRID
@settings(deadline=None, max_examples=25)
@given(n=st.integers(0, 25), m=st.integers(0, 25), offset=st.integers(0, 20))
def test_a_shorter_answer_is_the_start_of_a_longer_one_and_pages_join(hybrid, n, m, offset):
    source = PAGED[hybrid]
    n, m = sorted((n, m))
    long = ids(source.fetch(a_request(limit=m, offset=offset)))
    assert ids(source.fetch(a_request(limit=n, offset=offset))) == long[:n]
    pages = ids(source.fetch(a_request(limit=n, offset=offset))) + ids(
        source.fetch(a_request(limit=m - n, offset=offset + n))
    )
    assert pages == long


# Many of these are the same distance away, so ties are at stake.
PAGED = {
    hybrid: ChromaSource(
        a_collection(
            [{"id": f"n{i:02}", "text": f"billing item {i % 4}"} for i in range(40)], embeddings=EMBEDDINGS
        ),
        embeddings=EMBEDDINGS,
        hybrid=hybrid,
    )
    for hybrid in (True, False)
}


def test_ties_go_on_beyond_what_is_fetched_at_once():
    source = a_source([{"id": f"n{i:03}", "text": "the same text"} for i in range(450)], hybrid=False)
    found = ids(source.fetch(a_request(query="the same text", limit=5)))
    assert found == [f"n{i:03}" for i in range(5)]


def test_metadata_of_every_kind_come_through(client):
    """G61."""
    collection = a_collection([], client=client)
    collection.add(
        ids=["bare", "listed", "wordless"],
        documents=["billing", "billing note", None],
        metadatas=[None, {"tags": ["a", "b"], "type": "memory", "created_at": 1714550400}, {"title": "x"}],
        embeddings=[[1.0, 0.0], [0.9, 0.1], [0.8, 0.2]],
    )
    source = ChromaSource(collection, embeddings=EMBEDDINGS, kind="note")
    found = {c.id: c for c in source.fetch(a_request(vector=(1.0, 0.0)))}
    assert found["bare"].metadata == {}
    assert found["bare"].kind == "note"
    assert list(found["listed"].metadata["tags"]) == ["a", "b"]
    assert found["listed"].kind == "memory"
    assert found["listed"].created_at.year == 2024
    assert found["wordless"].text == ""
    assert {c.source for c in found.values()} == {collection.name}


def test_ids_are_answered_in_the_order_asked(client):
    """G62."""
    source = a_source(notes(5), client=client)
    assert ids(source.get(["n003", "n000", "absent", "n002", "n003"], a_request())) == [
        "n003",
        "n000",
        "n002",
    ]
    assert source.get([], a_request()) == []


def test_thousands_of_ids_are_read_in_batches():
    """G63."""
    source = a_source(notes(40), hybrid=False)
    wanted = [*(f"absent{i}" for i in range(40_000)), "n001"]
    assert ids(source.get(wanted, a_request(query=""))) == ["n001"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"collection": object()}, "Collection"),
        ({"embeddings": object()}, "embed_query"),
        ({"sequence": "start"}, "sequence"),
        ({"sequence": ("a", "b", "c")}, "sequence"),
    ],
)
def test_a_wrong_argument_is_refused_while_building(arguments, says):
    with pytest.raises(ConfigError, match=says):
        ChromaSource(**{"collection": a_collection([]), **arguments})


def test_without_embeddings_a_request_must_bring_its_vector():
    source = ChromaSource(a_collection(notes(3)))
    with pytest.raises(SourceError, match="embeddings"):
        source.fetch(a_request())


def test_a_langchain_store_brings_its_embeddings():
    from langchain_chroma import Chroma

    store = Chroma(
        collection_name=f"c{uuid.uuid4().hex}",
        embedding_function=EMBEDDINGS,
        client=chromadb.EphemeralClient(),
    )
    store.add_texts(["what we decided about billing"], ids=["1"])
    assert ids(ChromaSource(store).fetch(a_request())) == ["1"]


@pytest.mark.parametrize("space", ["cosine", "l2", "ip"])
def test_relevance_falls_with_distance_in_every_space(space):
    source = a_source(notes(60), space=space, hybrid=False)
    assert source._handle.space == space
    found = source.fetch(a_request(query="note 17 about billing and item 3", limit=60))
    relevance = [c.relevance for c in found]
    assert relevance == sorted(relevance, reverse=True)
    assert all(0 <= r <= 1 for r in relevance)
    assert found[0].id == "n017"
    assert found[0].claims == {}


@given(a=st.floats(-1e9, 1e9), b=st.floats(-1e9, 1e9), space=st.sampled_from(["cosine", "l2", "ip"]))
def test_a_smaller_distance_is_never_less_relevant(a, b, space):
    near, far = sorted((a, b))
    assert 0 <= relevance_of(far, space) <= relevance_of(near, space) <= 1


@pytest.mark.parametrize("space", ["cosine", "l2", "ip"])
def test_every_candidate_states_all_claims_in_every_space(client, space):
    records = [*notes(40), {"id": "word", "text": "unrelated thing, quite far away, mentions zebra once"}]
    source = a_source(records, client=client, space=space)
    query = "note 17 about billing and item 3 zebra"
    vector = EMBEDDINGS.embed_query(query)
    found = source.fetch(a_request(query=query, limit=41))
    for candidate in found:
        expected = sum(a * b for a, b in zip(vector, EMBEDDINGS.embed_query(candidate.text), strict=True))
        assert candidate.claims["dense"] == pytest.approx(expected, abs=1e-5)
        assert set(candidate.claims) == {"dense", "lexical"}
    assert next(c for c in found if c.id == "word").claims["lexical"] > 0
    assert {c.id for c in source.get(["word"], a_request(query=query))[0:1] if c.claims["lexical"] > 0} == {
        "word"
    }


def test_two_collections_of_one_name_in_two_databases_are_two(tmp_path):
    """G64, G65."""
    admin = chromadb.AdminClient(Settings(is_persistent=True, persist_directory=str(tmp_path)))
    admin.create_database("second")
    clients = (
        chromadb.PersistentClient(str(tmp_path)),
        chromadb.PersistentClient(str(tmp_path), database="second"),
    )
    first, second = (
        a_collection([{"id": "1", "text": text}], client=client, name="same")
        for text, client in zip(("pay by card", "cats sleep"), clients, strict=True)
    )
    sources = [
        ChromaSource(collection, embeddings=EMBEDDINGS, name=name)
        for name, collection in (("a", first), ("b", second), ("again", first))
    ]
    found = ContextEngine(sources).search("pay cats")
    assert {item.key: (item.candidate.text, item.candidate.provenance) for item in found} == {
        ("same", "1"): ("pay by card", ("a", "again")),
        ("same#2", "1"): ("cats sleep", ("b",)),
    }
