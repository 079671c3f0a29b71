"""Who searches a collection by words: the store itself or this package."""

from __future__ import annotations

import chromadb
import pytest

from langchain_context_engine.errors import ConfigError, SourceError
from langchain_context_engine.search.index_folder import folder_of
from langchain_context_engine.sources.chroma import ChromaSource
from tests.builders import a_collection, a_request
from tests.chroma_builders import EMBEDDINGS, ids
from tests.store_server import RECORDS, SPARSE, a_source, serve

__all__ = ["serve"]


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


def test_an_unknown_search_is_refused_with_the_known_ones():
    with pytest.raises(ConfigError, match="auto, store, own"):
        ChromaSource(a_collection([]), search="stores")


def test_a_server_that_has_no_search_is_told_with_the_two_ways(serve):
    server = serve()
    server.refusal = (
        "Error executing plan: Not implemented: Search operation is not implemented for local executor"
    )
    with pytest.raises(SourceError, match=r'no search of its own.*search="own".*distributed Chroma'):
        a_source(server).fetch(a_request(query="invoices"))
