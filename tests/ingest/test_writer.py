"""Rules of the writer: batches, names, one embedder for one collection, and nothing left behind."""

from __future__ import annotations

import math
import uuid

import chromadb
import pytest
from chromadb import Collection

from langchain_context_engine.errors import ConfigError, EmbeddingError
from langchain_context_engine.ingest import delete_collection, index_jsonl
from langchain_context_engine.ingest.record import Record
from langchain_context_engine.ingest.writer import CollectionWriter
from langchain_context_engine.search.store_overview import describe
from tests.builders import WordEmbeddings, a_collection
from tests.ingest_builders import lines, stored


@pytest.mark.unmeasured
def test_six_thousand_records_are_written_within_the_batch_limit(client, name):
    """G63."""
    writer = CollectionWriter(client, name, WordEmbeddings(4))
    writer.put(Record(id=str(n), text=f"text {n}") for n in range(6000))
    writer.flush()
    assert client.get_collection(name, embedding_function=None).count() == writer.report.added == 6000
    assert sum(1 for _ in writer.stored_metadata()) == 6000
    writer.delete(str(n) for n in range(6000))
    writer.flush()
    assert writer.report.deleted == 6000


@pytest.mark.parametrize(
    "bad",
    ["ab", "my docs", "données", "a..b", "-ab", "ab-", "", "x" * 513, "1.2.3.4", "a/b", "abc\n", 5],
)
def test_a_name_that_chroma_would_not_take_is_refused_with_the_rule(tmp_path, client, bad):
    """G65."""
    with pytest.raises(ConfigError, match=r"3-512 characters from \[a-zA-Z0-9\._-\]"):
        index_jsonl(lines(tmp_path, {"text": "x"}), bad, client, WordEmbeddings())


class OtherEmbeddings(WordEmbeddings):
    pass


def test_another_model_is_refused_by_name_and_nothing_is_written(tmp_path, client, name):
    index_jsonl(lines(tmp_path, {"id": "a", "text": "x"}), name, client, WordEmbeddings())
    with pytest.raises(
        ConfigError, match=r"made with the embedding model 'WordEmbeddings', not 'OtherEmbeddings'"
    ):
        index_jsonl(lines(tmp_path, {"id": "b", "text": "y"}), name, client, OtherEmbeddings())
    assert set(stored(client, name)) == {"a"}


def test_another_dimension_is_refused_and_nothing_is_written(tmp_path, client, name):
    """G60."""
    index_jsonl(lines(tmp_path, {"id": "a", "text": "x"}), name, client, WordEmbeddings(8))
    with pytest.raises(ConfigError, match="8 dimensions, but WordEmbeddings gives 16"):
        index_jsonl(lines(tmp_path, {"id": "b", "text": "y"}), name, client, WordEmbeddings(16))
    assert set(stored(client, name)) == {"a"}


def test_a_collection_made_by_others_is_checked_by_its_vectors_and_keeps_its_own(tmp_path, client, name):
    """G60."""
    a_collection(
        [{"id": "theirs", "text": "x"}], embeddings=WordEmbeddings(8), client=client, space="l2", name=name
    )
    path = lines(tmp_path, {"id": "ours", "text": "y"})
    with pytest.raises(ConfigError, match="8 dimensions"):
        index_jsonl(path, name, client, WordEmbeddings(16))
    index_jsonl(path, name, client, WordEmbeddings(8))
    collection = client.get_collection(name, embedding_function=None)
    assert set(stored(client, name)) == {"theirs", "ours"}
    assert collection.configuration["hnsw"]["space"] == "l2"


class BrokenEmbeddings(WordEmbeddings):
    def __init__(self, vector):
        super().__init__(2)
        self.vector = vector

    def embed_documents(self, texts):
        return [self.vector for _ in texts]


@pytest.mark.parametrize("vector", [[math.nan, 1.0], [math.inf, 1.0], [], [0.0, 0.0], None])
def test_an_unusable_vector_is_never_written(tmp_path, client, name, vector):
    """I79."""
    with pytest.raises(EmbeddingError):
        index_jsonl(lines(tmp_path, {"text": "x"}), name, client, BrokenEmbeddings(vector))
    assert stored(client, name) == {}


def _refuse_more(monkeypatch, most):
    """Let every collection give and take no more than so many records at once."""
    for method in ("get", "upsert", "update", "delete"):
        monkeypatch.setattr(Collection, method, _refusing(getattr(Collection, method), most))


def _refusing(called, most):
    def refusing(self, **asked):
        ids = asked.get("ids")
        number = asked["limit"] if ids is None else len(ids)
        if number > most:
            raise RuntimeError(f"usage of {number} exceeds limit of {most} for action '{called.__name__}'")
        return called(self, **asked)

    return refusing


@pytest.mark.parametrize("most", [300, 100])
def test_a_store_that_takes_fewer_at_once_is_given_fewer(client, name, most, monkeypatch):
    """S1: `index` read by 1,000 and wrote by 1,024."""
    _refuse_more(monkeypatch, most)
    records = [Record(id=str(n), text=f"text {n}") for n in range(350)]
    writer = CollectionWriter(client, name, WordEmbeddings(4))
    writer.put(records)
    writer.flush()
    assert dict(writer.stored_metadata()).keys() == {record.id for record in records}
    again = CollectionWriter(client, name, WordEmbeddings(4))
    again.put(Record(id=record.id, text=record.text, metadata={"kind": "note"}) for record in records)
    again.delete(record.id for record in records[:320])
    again.flush()
    assert (again.report.updated, again.report.deleted) == (350, 320)
    assert len(list(again.stored_metadata())) == 30
    assert describe(client.get_collection(name, embedding_function=None))["metadata keys"] == "kind"
    delete_collection(client, name)


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
