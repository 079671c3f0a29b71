from __future__ import annotations

import socket

import chromadb
import pytest

from inspector.views.collections import offered_table
from langchain_context_engine import ConfigError
from langchain_context_engine.filters import parse_scope
from langchain_context_engine.search import stores
from langchain_context_engine.search.sheets import describe, doubts, sheets
from langchain_context_engine.search.stores import is_server, open_client
from tests.builders import a_candidate, a_collection
from tests.inspector.builders import a_context

RECORDS = [{"id": "1", "text": "one", "kind": "memory"}, {"id": "2", "text": "two", "author": "ann"}]


def test_a_collection_is_told_by_count_dimension_metric_and_keys():
    sheet = describe(a_collection(RECORDS))
    assert (sheet["records"], sheet["dimension"], sheet["metric"]) == (2, 64, "cosine")
    assert sheet["metadata keys"] == "kind, author"
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
    # Of Chroma in this process there is nothing to doubt: it searches what was written at once.
    assert "not indexed" not in told


def test_a_server_that_does_not_say_what_it_has_indexed_is_doubted():
    sheet = {**describe(a_collection(RECORDS)), "unindexed": None}
    assert "not indexed yet cannot be seen" in " ".join(doubts([sheet]))


def test_changes_that_a_server_has_not_indexed_yet_are_counted_and_doubted():
    sheet = {**describe(a_collection(RECORDS)), "unindexed": 1200}
    told = " ".join(doubts([sheet]))
    assert "1,200 changes are not indexed yet" in told
    assert "cannot be seen" not in told


def test_a_doubt_about_many_collections_is_one_line():
    sheet = describe(a_collection(RECORDS, space="l2"))
    told = doubts([{**sheet, "collection": name} for name in ("notes", "code", "docs")])
    assert sum("l2" in doubt for doubt in told) == 1
    assert sum("does not say what embedded it" in doubt for doubt in told) == 1
    assert any(doubt.startswith("notes, code, docs: metric l2") for doubt in told)


def test_a_folder_without_a_store_is_refused_and_nothing_is_made(tmp_path):
    with pytest.raises(ConfigError, match="no Chroma store"):
        open_client(str(tmp_path / "typo"))
    assert list(tmp_path.iterdir()) == []


def test_a_store_is_opened_and_its_collections_told_by_name(tmp_path):
    client = chromadb.PersistentClient(path=str(tmp_path))
    a_collection(RECORDS, client=client, name="zebras")
    a_collection([], client=client, name="apples")
    assert [sheet["collection"] for sheet in sheets(open_client(str(tmp_path)))] == ["apples", "zebras"]


def test_the_folder_that_index_printed_is_a_store_too(tmp_path):
    client = chromadb.PersistentClient(path=str(tmp_path / "chroma"))
    a_collection(RECORDS, client=client, name="zebras")
    assert [sheet["collection"] for sheet in sheets(open_client(str(tmp_path)))] == ["zebras"]


def test_opening_a_folder_writes_nothing_to_it(tmp_path):
    a_collection(RECORDS, client=chromadb.PersistentClient(path=str(tmp_path)), name="zebras")

    def state():
        return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in tmp_path.rglob("*")}

    before = state()
    client = open_client(str(tmp_path))
    client.get_collection("zebras", embedding_function=None).add(ids=["3"], embeddings=[[0.0] * 64])
    assert state() == before


def test_a_server_that_says_nothing_ends_after_a_deadline_with_a_word(monkeypatch):
    monkeypatch.setattr(stores, "DEADLINE_SECONDS", 0.3)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(ConfigError, match="did not answer within"):
            open_client(f"http://127.0.0.1:{silent.getsockname()[1]}")


def test_a_server_is_told_from_a_folder():
    assert is_server("http://localhost:8000")
    assert not is_server("/data/chroma")
    with pytest.raises(ConfigError, match="answers"):
        open_client("http://127.0.0.1:9")


def test_a_scope_is_read_with_types():
    assert parse_scope(' a=x , n = 7, t=true, s="7", f=[1] ') == {
        "a": "x",
        "n": 7,
        "t": True,
        "s": "7",
        "f": "[1]",
    }
    assert parse_scope("") == {}
    with pytest.raises(ConfigError):
        parse_scope("acme")


def test_sources_are_told_from_a_trace_alone_whatever_their_metadata():
    context = a_context(
        [
            a_candidate(id="1", text="one two", metadata={"v": 10.0}),
            a_candidate(id="2", text="three four", metadata={"v": "OK", "w": (1, 2)}, kind="memory"),
        ]
    )
    (row,) = offered_table([context])
    assert row["candidates"] == 2
    assert row["metadata keys"] == "v, w"
