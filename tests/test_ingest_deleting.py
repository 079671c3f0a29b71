"""What is deleted leaves nothing for others."""

from __future__ import annotations

import uuid

import chromadb
import pytest

from langchain_context_engine.ingest import delete_collection


def a_collection_of(client, **metadata):
    collection = client.create_collection(f"c{uuid.uuid4().hex}", embedding_function=None)
    collection.add(ids=["a", "b"], documents=["x", "y"], metadatas=[metadata] * 2, embeddings=[[1.0], [2.0]])
    return collection


def test_a_deleted_collections_lists_are_given_to_no_record_that_comes_after(tmp_path):
    """Chroma gave the next collection's records the files and links of those that were deleted."""
    client = chromadb.PersistentClient(str(tmp_path))
    theirs = a_collection_of(client, tenant="theirs", links=["secret"], files=["their.md"])
    delete_collection(client, theirs.name)
    ours = a_collection_of(client, tenant="ours")
    assert ours.get(include=["metadatas"])["metadatas"] == [{"tenant": "ours"}] * 2
    assert [collection.name for collection in client.list_collections()] == [ours.name]


def test_a_collection_that_is_not_there_is_an_error():
    with pytest.raises(chromadb.errors.NotFoundError):
        delete_collection(chromadb.EphemeralClient(), "none-of-this-name")
