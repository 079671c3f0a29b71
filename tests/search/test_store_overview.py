from __future__ import annotations

import socket

import chromadb
import pytest

from langchain_context_engine import ConfigError
from langchain_context_engine.search import store_overview
from langchain_context_engine.search.store_overview import describe, doubts, open_client, sheets
from tests.builders import a_collection

RECORDS = [{"id": "1", "text": "one", "kind": "memory"}, {"id": "2", "text": "two", "author": "ann"}]


def test_a_collection_is_told_by_count_dimension_metric_and_keys():
    sheet = describe(a_collection(RECORDS))
    assert (sheet["records"], sheet["dimension"], sheet["metric"]) == (2, 64, "cosine")
    assert sheet["metadata keys"] == "author, kind"
    assert sheet["index"] == "index in memory, made when a question comes"
    assert sheet["embedder"] == "not said"


def test_mixed_and_unmeant_metrics_empty_collections_and_unknown_embedders_are_doubted():
    told = " ".join(
        doubts(
            [
                describe(a_collection(RECORDS)),
                describe(a_collection(RECORDS, space="l2")),
                describe(a_collection([])),
            ]
        )
    )
    for doubt in (
        "different metrics",
        "l2",
        "is empty",
        "does not say what embedded it",
    ):
        assert doubt in told


def test_a_folder_without_a_store_is_refused_and_nothing_is_made(tmp_path):
    with pytest.raises(ConfigError, match="no Chroma store"):
        open_client(str(tmp_path / "typo"))
    assert list(tmp_path.iterdir()) == []


def test_a_store_is_opened_and_its_collections_told_by_name(tmp_path):
    client = chromadb.PersistentClient(path=str(tmp_path))
    a_collection(RECORDS, client=client, name="zebras")
    a_collection([], client=client, name="apples")
    assert [sheet["collection"] for sheet in sheets(open_client(str(tmp_path)))] == ["apples", "zebras"]


def test_opening_a_folder_writes_nothing_to_it(tmp_path):
    a_collection(RECORDS, client=chromadb.PersistentClient(path=str(tmp_path)), name="zebras")

    def state():
        return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in tmp_path.rglob("*")}

    before = state()
    client = open_client(str(tmp_path))
    client.get_collection("zebras", embedding_function=None).add(ids=["3"], embeddings=[[0.0] * 64])
    assert state() == before


def test_a_server_that_says_nothing_ends_after_a_deadline_with_a_word(monkeypatch):
    monkeypatch.setattr(store_overview, "DEADLINE_SECONDS", 0.3)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(ConfigError, match="did not answer within"):
            open_client(f"http://127.0.0.1:{silent.getsockname()[1]}")
