"""The store's own search: Chroma Cloud's and distributed Chroma's, asked at a server on this machine."""

from __future__ import annotations

import math

import chromadb
import pytest

from langchain_context_engine import ContextEngine
from langchain_context_engine.errors import ConfigError, SourceError
from langchain_context_engine.search.collection_index import folder_of
from langchain_context_engine.search.store_overview import index_state
from langchain_context_engine.sources.chroma import ChromaSource
from tests.builders import a_collection, a_request
from tests.chroma_builders import EMBEDDINGS, ids, notes
from tests.store_server import RECORDS, SPARSE, a_source, serve

__all__ = ["serve"]


def by_id(candidates):
    return {candidate.id: candidate for candidate in candidates}


def test_both_legs_are_asked_in_one_request(serve):
    server = serve()
    a_source(server).fetch(a_request(query="invoices"))
    assert next(len(body["searches"]) for _, body in server.asked) == 2
    assert len(server.asked) <= 2


@pytest.mark.parametrize("space", ["cosine", "l2", "ip"])
def test_claims_are_those_of_our_own_search_and_the_scores_of_the_store(serve, space):
    server = serve(space=space)
    request = a_request(query="when do invoices go out?", scope={"team": "red"})
    theirs = by_id(a_source(server).fetch(request))
    own = ChromaSource(server.local, embeddings=EMBEDDINGS)
    own.prepare()
    ours = by_id(own.fetch(request))
    assert theirs.keys() == ours.keys()
    for id_, candidate in theirs.items():
        assert candidate.relevance == pytest.approx(ours[id_].relevance, abs=1e-5)
        assert candidate.claims["dense"] == pytest.approx(ours[id_].claims["dense"], abs=1e-5)
        assert (candidate.claims["lexical"] > 0) == (ours[id_].claims["lexical"] > 0)
        assert candidate.text == ours[id_].text
        assert candidate.metadata == ours[id_].metadata
    (query,) = server.function(["when do invoices go out?"])
    knn = type("Knn", (), {"query": query})
    expected = 1 - server._sparse(knn)["invoice"]
    assert theirs["invoice"].claims["lexical"] == pytest.approx(expected, abs=1e-5)


def test_scope_where_and_the_other_filters_stand_in_every_request(serve):
    server = serve()
    a_source(server).fetch(
        a_request(query="invoices", scope={"team": "red"}, where={"n": {"$gt": 1}}, kinds=("note",),
                  conversation_id="7")
    )  # fmt: skip
    first = server.asked[0][1]["searches"]
    for search in first:
        parts = search["filter"]["$and"]
        assert {"team": {"$eq": "red"}} in parts
        assert {"n": {"$gt": 1}} in parts
        assert {"$or": [{"kind": {"$eq": "note"}}, {"type": {"$eq": "note"}}]} in parts
        assert {"$or": [{"conversation_id": {"$eq": "7"}}, {"conversation_id": {"$eq": 7}}]} in parts
    assert all({"team": {"$eq": "red"}} in search["filter"]["$and"] for search in server.searches())


def test_a_server_that_ignores_a_filter_shows_nobody_what_is_out_of_scope(serve):
    server = serve()
    server.leaks = True
    source = a_source(server)
    request = a_request(query="invoices of the blue team", scope={"team": "red"}, where={"n": 3})
    assert ids(source.fetch(request)) == ["other"]
    assert ids(source.get(["secret", "gone", "invoice"], request)) == ["invoice"]
    assert source.fetch(a_request(query="invoices", scope={"team": "Red"})) == []


def test_what_the_store_cannot_check_is_checked_here_and_asked_deeper(serve):
    records = notes(120, created_at="2020-01-01")
    records[117]["created_at"] = records[3]["created_at"] = "2026-01-01"
    server = serve(records)
    found = a_source(server).fetch(a_request(query="note about billing", limit=2, since="2025-06-01"))
    assert sorted(ids(found)) == ["n003", "n117"]
    offsets = [s["limit"]["offset"] for s in server.searches() if s["rank"]["$knn"]["key"] == "#embedding"]
    assert offsets[:2] == [0, 12]


def test_a_filter_that_hardly_anything_passes_ends_with_one_warning(serve, monkeypatch):
    monkeypatch.setattr("langchain_context_engine.search.store_search._DEEPEST", 50)
    server = serve(notes(300, created_at="2020-01-01"))
    found = a_source(server, name="docs", hybrid=True).fetch(
        a_request(query="billing", limit=5, since="2025-06-01")
    )
    assert found == []
    assert len(found.warnings) == 1
    assert "'docs'" in found.warnings[0]
    assert "60" in found.warnings[0]


def test_no_more_is_asked_for_at_once_than_a_quota_gives(serve):
    server = serve(notes(700))
    server.quota = 300
    where = {f"k{i}": {"$nin": [f"v{i}"]} for i in range(12)}
    found = a_source(server).fetch(a_request(query="note about billing", limit=400, where=where))
    assert len(found) == 400
    assert max(s["limit"]["limit"] for s in server.searches()[2:]) <= 300


def test_what_only_one_leg_found_is_measured_by_the_other(serve):
    server = serve([*notes(60), {"id": "word", "text": "zebra " + "unrelated filler words " * 30}])
    found = by_id(a_source(server).fetch(a_request(query="note about billing and the zebra", limit=5)))
    direct = by_id(ChromaSource(server.local, embeddings=EMBEDDINGS, hybrid=False).fetch(
        a_request(query="note about billing and the zebra", limit=100)
    ))  # fmt: skip
    assert found["word"].relevance == pytest.approx(direct["word"].relevance, abs=1e-5)
    assert found["word"].claims["lexical"] > 0
    assert all(candidate.claims["lexical"] > 0 for candidate in found.values())


def test_records_without_a_word_of_the_question_are_no_hits_of_the_words(serve):
    """The service lists them too, each with the score of nothing in common."""
    far = [{"id": f"a{i}", "text": f"the kitchen is cleaned on fridays {i}"} for i in range(9)]
    server = serve([*far, *notes(9), {"id": "word", "text": "a zebra crossing"}])
    vector = EMBEDDINGS.embed_query("note about billing")
    found = ids(a_source(server).fetch(a_request(query="zebra", vector=vector, limit=6)))
    assert "word" in found
    assert not [id_ for id_ in found if id_.startswith("a")]


@pytest.mark.parametrize("search", ["auto", "own"])
def test_sparse_vectors_are_no_metadata_of_a_record(serve, search):
    source, request = a_source(serve(), search=search), a_request(query="invoices")
    source.prepare()
    for found in (source.fetch(request), source.fetch(request), source.get(["invoice"], request)):
        assert found
        assert all(SPARSE not in candidate.metadata for candidate in found)


@pytest.mark.parametrize(
    "answer",
    [{}, {"ids": [[]]}, {"ids": None, "scores": None}, {"ids": [["invoice"], ["invoice"]], "scores": 3}, []],
)
def test_an_answer_of_another_shape_is_one_error_of_the_source(serve, answer):
    server = serve()
    server.spoil = lambda _: answer
    with pytest.raises(SourceError, match=server.local.name):
        a_source(server).fetch(a_request(query="invoices"))


def test_an_engine_answers_over_a_store_that_searches_by_itself(serve):
    server = serve()
    engine = ContextEngine([a_source(server, name="docs")], scope_keys=("team",), budget=200)
    context = engine.build("when do invoices go out?", scope={"team": "red"})
    assert "invoices go out monthly" in context.text
    assert "blue" not in context.text
    assert "searched by the store itself, 5 records" in str(index_state(server.collection()))
    assert math.isfinite(context.passages[0].ranked.score)
    engine.sources[0].prepare()
    assert "get" not in {path for path, _ in server.asked}


def test_a_server_whose_schema_has_a_sparse_index_searches_by_itself(serve):
    server = serve()
    source = a_source(server)
    folder = folder_of(source._handle)
    found = source.fetch(a_request(query="when do invoices go out?", scope={"team": "red"}))
    assert set(ids(found)) == {"invoice", "refund", "other"}
    assert found[0].id == "invoice"
    assert {path for path, _ in server.asked} == {"search"}
    assert {search["rank"]["$knn"]["key"] for search in server.searches()} == {"#embedding", SPARSE}
    assert not folder.exists()


@pytest.mark.parametrize("kind", ["memory", "persistent"])
def test_local_chroma_refuses_the_stores_search_and_names_the_two_ways(kind, tmp_path):
    client = chromadb.EphemeralClient() if kind == "memory" else chromadb.PersistentClient(str(tmp_path))
    collection = a_collection(RECORDS, client=client)
    with pytest.raises(ConfigError, match=r'local Chroma.*search="own".*Chroma Cloud or distributed Chroma'):
        ChromaSource(collection, embeddings=EMBEDDINGS, search="store")
    assert len(ChromaSource(collection, embeddings=EMBEDDINGS).fetch(a_request(query="invoices"))) == 4


@pytest.mark.parametrize("options", [{"has_sparse": False}, {"embeds": False}])
def test_without_a_sparse_index_that_embeds_our_own_search_answers(serve, options):
    server = serve(**options)
    with pytest.raises(ConfigError, match="no sparse index"):
        a_source(server, search="store")
    source = a_source(server)
    source.prepare()
    assert source.fetch(a_request(query="invoices"))[0].claims["lexical"] > 0
    assert "search" not in {path for path, _ in server.asked}


def test_a_server_that_has_no_search_is_told_with_the_two_ways(serve):
    server = serve()
    server.refusal = (
        "Error executing plan: Not implemented: Search operation is not implemented for local executor"
    )
    with pytest.raises(SourceError, match=r'no search of its own.*search="own".*distributed Chroma'):
        a_source(server).fetch(a_request(query="invoices"))
