"""The index of words: within a scope, in step before and after a commit, seen while it is made, bounded."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import chromadb
import pytest

from langchain_context_engine import ChromaSource, Context, ContextEngine, replay
from langchain_context_engine.filtering.filters import EVERYTHING, read_scope
from langchain_context_engine.search.folders import folder_of
from langchain_context_engine.search.state import index_state
from tests.builders import a_collection, a_request
from tests.chroma_builders import EMBEDDINGS, client, ids, notes

__all__ = ["client"]


def shelf_of(source):
    return source._shared.lexical.peek(source._handle)


def put(collection, id_, text, **metadata) -> None:
    collection.upsert(
        ids=[id_], documents=[text], metadatas=[metadata or None], embeddings=[EMBEDDINGS.embed_query(text)]
    )


def claims(source, query, **fields):
    return {c.id: c.claims for c in source.fetch(a_request(query=query, **fields))}


@pytest.mark.parametrize("query", ["invocie", "billing invoice", "zebra note"])
def test_what_another_tenant_has_changes_no_score_and_no_correction(client, query):
    """Promise 4: nobody learns from an answer whether a word stands in another tenant's records."""
    mine = [{"id": f"a{i}", "text": f"invoice {i} about billing", "user": "A"} for i in range(6)]
    theirs = [{"id": f"b{i}", "text": "invocie zebra billing note", "user": "B"} for i in range(30)]
    alone, beside = (
        ChromaSource(a_collection(records, client=client, embeddings=EMBEDDINGS), embeddings=EMBEDDINGS)
        for records in (mine, [*mine, *theirs])
    )
    told = [claims(source, query, scope={"user": "A"}) for source in (alone, beside)]
    assert told[0] == told[1]
    assert told[0]["a1"]["lexical"] > 0 or query == "zebra note"


def test_a_deleted_records_words_correct_nothing(client):
    records = [{"id": "a", "text": "an invoice"}, {"id": "b", "text": "an invocie", "deleted": True}]
    source = ChromaSource(a_collection(records, client=client, embeddings=EMBEDDINGS), embeddings=EMBEDDINGS)
    assert claims(source, "invocie")["a"]["lexical"] > 0


def test_what_was_written_since_the_last_commit_is_answered_as_it_is_after_it(client):
    collection = a_collection(notes(40, team="red"), client=client, embeddings=EMBEDDINGS)
    source = ChromaSource(collection, embeddings=EMBEDDINGS, sequence=("document", "start"))
    source.prepare()
    put(collection, "n003", "a zebra and billing", team="red", document="d", start=1, title="Ada Lovelace")
    put(collection, "n004", "another zebra", team="blue", document="d", start=2)
    put(collection, "new", "one more zebra about item 3", team="red", document="d", start=3)
    collection.delete(ids=["n005"])
    asked = [
        ("zebra billing", {}),
        ("zebra billing", {"scope": {"team": "red"}}),
        ("zebar", {"scope": {"team": "blue"}}),
        ("note about item 5", {}),
    ]

    def answers():
        found = [
            [(c.id, c.claims, c.neighbours, c.text) for c in source.fetch(a_request(query=query, **fields))]
            for query, fields in asked
        ]
        return [*found, source.link_named("as Ada Lovelace said", a_request())]

    answers()  # a client in memory is told of what was rewritten in place when it is shown
    before = answers()
    assert len(shelf_of(source).view.since) or not shelf_of(source).is_exact
    shelf_of(source).flush()
    assert not len(shelf_of(source).view.since)
    assert answers() == before
    assert before[-1] == ["n003"]


def test_a_question_during_a_reading_says_so_with_figures_and_without_them_in_a_scope(tmp_path):
    """S2."""
    store = chromadb.PersistentClient(str(tmp_path)).create_collection("docs", embedding_function=None)
    store.add(ids=["a"], documents=["zebra"], embeddings=[[1.0, 0.0]], metadatas=[{"user": "A"}])
    engine = ContextEngine(sources=[ChromaSource(store)])
    source = engine.sources[0]
    shelf = source._shared.lexical._shelf(source._handle)
    with shelf.volume.writing():  # as another process that reads it just now
        shelf.progress = (12_000, 100_000)
        open_ = engine.build("zebra", vector=[1.0, 0.0])
        scoped = engine.build("zebra", vector=[1.0, 0.0], scope={"user": "A"})
    assert [c.id for c in open_.candidates] == [c.id for c in scoped.candidates] == ["a"]
    assert len(open_.warnings) == len(scoped.warnings) == 1
    assert "the words of 'docs' are being read: " in open_.warnings[0]
    assert scoped.warnings == ("the words of 'docs' are being read; this answer did without",)
    source.prepare()
    assert engine.build("zebra", vector=[1.0, 0.0]).warnings == ()


def test_vectors_beyond_the_limit_of_an_engine_are_left_to_the_store(tmp_path):
    client = chromadb.PersistentClient(str(tmp_path))
    kept = [
        a_collection(notes(100), name=f"notes{i}", embeddings=EMBEDDINGS, client=client) for i in range(2)
    ]
    size = 100 * 4 * len(EMBEDDINGS.embed_query("x")) / 2**20
    answers = {}
    for limit, expected in ((0.0, [False, False]), (1.6 * size, [True, False]), (64.0, [True, True])):
        sources = [ChromaSource(each, embeddings=EMBEDDINGS) for each in kept]
        engine = ContextEngine(sources=sources, memory_megabytes=limit, index_dir=tmp_path / f"i{limit}")
        for source in engine.sources:
            source.prepare()
        context = engine.build("billing item 3")
        assert list(context.searched.values()) == [
            f"vectors {'in memory' if is_kept else 'by the store'}, words by the index"
            for is_kept in expected
        ]
        assert replay(context).searched == Context.from_dict(context.to_dict()).searched == context.searched
        found = engine.search("billing item 3", limit=20)
        held = [bool(shelf_of(source).vectors.bytes) for source in engine.sources]
        assert held == expected
        answers[limit] = [(item.candidate.key, round(item.score, 4)) for item in found]
    assert answers[0.0] == answers[1.6 * size] == answers[64.0]


def test_the_newest_are_found_by_their_date_whatever_their_words(client):
    start = datetime(2024, 1, 1, tzinfo=UTC)
    records = [
        {
            "id": f"n{i:03}",
            "text": "note",
            "team": "red" if i % 3 else "blue",
            "created_at": (start + timedelta(hours=i)).isoformat(),
        }
        for i in range(60)
    ]
    collection = a_collection([*records, {"id": "undated", "text": "note"}], client=client)
    source = ChromaSource(collection, embeddings=EMBEDDINGS)
    source.prepare()

    def newest(n, condition=EVERYTHING):
        return [r.id for r in shelf_of(source).view.newest(n, condition, lambda *_: True)]

    assert newest(3) == ["n059", "n058", "n057"]
    assert newest(2, read_scope({"team": "blue"})) == ["n057", "n054"]
    put(collection, "n001", "note", team="blue", created_at="2025-01-01")
    source.fetch(a_request(query="note"))
    if shelf_of(source).is_exact:
        assert newest(2, read_scope({"team": "blue"})) == ["n001", "n057"]


def test_an_index_lies_beside_the_store_as_private_as_that_or_where_one_says(tmp_path, monkeypatch):
    store = tmp_path / "store"
    collection = a_collection(notes(3), client=chromadb.PersistentClient(str(store)))
    store.chmod(0o750)
    source = ChromaSource(collection, embeddings=EMBEDDINGS)
    source.prepare()
    folder = folder_of(source._handle)
    assert folder is not None
    assert folder.parent.parent == store
    assert folder.stat().st_mode & 0o777 == 0o750
    monkeypatch.setenv("CONTEXT_ENGINE_INDEX_DIR", str(tmp_path / "elsewhere"))
    assert tmp_path / "elsewhere" in folder_of(source._handle).parents
    assert tmp_path / "here" in folder_of(source._handle, tmp_path / "here").parents
    assert folder_of(ChromaSource(a_collection(notes(1)))._handle) is None
    assert "of 3 records" not in str(index_state(collection, tmp_path / "here"))


def test_ids_with_line_breaks_and_a_long_text_are_records_like_others(tmp_path):
    collection = chromadb.PersistentClient(str(tmp_path)).create_collection("odd", embedding_function=None)
    collection.add(
        ids=["a\nb", "long"],
        documents=["a zebra", "word " * 400_000 + "tail"],
        embeddings=[[1.0, 0.0], [0.0, 1.0]],
    )
    source = ChromaSource(collection)
    source.prepare(with_texts=False)
    found = {c.id: c for c in source.fetch(a_request(query="zebra word", vector=[1.0, 0.0]))}
    assert found["a\nb"].claims["lexical"] > 0
    assert found["long"].text.endswith("tail")


@pytest.mark.unmeasured
def test_a_hundred_collections_are_one_engine(tmp_path):
    client = chromadb.PersistentClient(str(tmp_path))
    sources = [
        ChromaSource(
            a_collection(
                [{"id": f"r{i}", "text": f"zebra number{i}x"}],
                name=f"c{i:03}{uuid.uuid4().hex[:6]}",
                embeddings=EMBEDDINGS,
                client=client,
            ),
            embeddings=EMBEDDINGS,
        )
        for i in range(30)
    ]
    engine = ContextEngine(sources=sources, timeout_seconds=60)
    for source in engine.sources:
        source.prepare()
    found = engine.search("number17x")
    assert [c.candidate.id for c in found if c.candidate.claims["lexical"]] == ["r17"]
    assert ids(engine.sources[3].fetch(a_request(query="number3x", limit=1))) == ["r3"]
