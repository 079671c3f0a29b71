"""The lexical index: what it finds, and that it stays in step with its collections."""

from __future__ import annotations

import time
import uuid

import chromadb
import pytest

from langchain_context_engine.filtering.filters import EVERYTHING, read_scope
from langchain_context_engine.search.collection import CollectionHandle
from langchain_context_engine.search.file_watch import FileWatch
from langchain_context_engine.search.lexical import LexicalIndex
from langchain_context_engine.search.postings import LexicalQuery
from langchain_context_engine.search.ranking import merge_by_rank, settled
from langchain_context_engine.search.watches import CountWatch, watch
from langchain_context_engine.sources.chroma import ChromaSource
from langchain_context_engine.sources.shared import SharedResources
from tests.builders import WordEmbeddings, a_collection, a_request
from tests.growth import least_seconds

EMBEDDINGS = WordEmbeddings()


@pytest.fixture(params=["memory", "persistent"])
def client(request, tmp_path):
    return (
        chromadb.EphemeralClient() if request.param == "memory" else chromadb.PersistentClient(str(tmp_path))
    )


def everything(_id, _metadata) -> bool:
    return True


def found(index, collection, query, *, scope=None, limit=10) -> list[str]:
    shelf = index.sync(CollectionHandle(collection))
    hits = index.search(LexicalQuery.of(query), shelf, read_scope(scope or {}), everything, limit)
    return [id_ for id_, _ in hits]


def put(collection, id_, text, **metadata) -> None:
    collection.upsert(
        ids=[id_], documents=[text], metadatas=[metadata or None], embeddings=[EMBEDDINGS.embed_query(text)]
    )


def test_what_was_added_changed_or_deleted_is_found_by_the_next_search(client):
    """I81."""
    index = LexicalIndex()
    collection = a_collection(
        [{"id": "a", "text": "the zebra"}, {"id": "b", "text": "the lion"}], client=client
    )
    assert found(index, collection, "zebra") == ["a"]
    put(collection, "c", "another zebra and yet another zebra")
    assert set(found(index, collection, "zebra")) == {"a", "c"}
    collection.delete(ids=["a"])
    assert found(index, collection, "zebra") == ["c"]
    put(collection, "d", "a tiger")
    collection.delete(ids=["b"])
    assert found(index, collection, "tiger") == ["d"]
    assert found(index, collection, "lion") == []


def test_a_record_rewritten_in_place_is_found_at_once_in_a_local_file(tmp_path):
    client = chromadb.PersistentClient(str(tmp_path))
    index = LexicalIndex()
    collection = a_collection([{"id": f"n{i}", "text": f"note {i}"} for i in range(50)], client=client)
    assert found(index, collection, "zebra") == []
    put(collection, "n7", "now a zebra", user="A")
    assert found(index, collection, "zebra") == ["n7"]
    assert found(index, collection, "zebra", scope={"user": "B"}) == []
    collection.update(ids=["n7"], metadatas=[{"user": "B"}])
    assert found(index, collection, "zebra", scope={"user": "B"}) == ["n7"]


def test_a_record_rewritten_in_memory_is_taken_in_when_it_is_shown():
    collection = a_collection(
        [{"id": f"n{i}", "text": f"note {i}"} for i in range(10)], embeddings=EMBEDDINGS
    )
    source = ChromaSource(collection, embeddings=EMBEDDINGS)
    source.fetch(a_request(query="zebra"))
    put(collection, "n7", "now a zebra")
    shown = {c.id: c for c in source.fetch(a_request(query="zebra"))}
    assert shown["n7"].text == "now a zebra"
    assert shown["n7"].claims["lexical"] > 0


def test_the_whole_of_a_collection_in_memory_is_compared_now_and_then():
    collection = a_collection([{"id": f"n{i}", "text": f"note {i}"} for i in range(10)])
    index = LexicalIndex(refresh_seconds=0.0)
    assert found(index, collection, "zebra") == []
    put(collection, "n7", "now a zebra")
    for _ in range(200):
        if found(index, collection, "zebra"):
            break
    assert found(index, collection, "zebra") == ["n7"]


def test_each_client_is_watched_as_exactly_as_it_can_be(tmp_path):
    local = watch(CollectionHandle(a_collection([], client=chromadb.PersistentClient(str(tmp_path)))))
    memory = watch(CollectionHandle(a_collection([])))
    assert isinstance(local, FileWatch)
    assert local.is_exact
    assert isinstance(memory, CountWatch)
    assert not memory.is_exact


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("zebras", ["title", "text"]),
        ("parse_url", ["code"]),
        ("url", ["code"]),
        ("parseUrl", ["code"]),
        ("zebar crossing", ["text", "title"]),
        ("zbera", ["title", "text"]),
        ("zrbea", []),
        ("yebra", []),
        ("authentification", ["auth"]),
        ("認証", ["cjk"]),
        ("the of and", []),
        ("", []),
        ("C++ (beta", []),
        ("art", []),
    ],
)
def test_words_are_found_as_people_mean_them(query, expected):
    """E47."""
    records = [
        {"id": "title", "text": "an animal", "title": "Zebra"},
        {"id": "text", "text": "one zebra at a crossing among many other words"},
        {"id": "code", "text": "def parse_url(parseUrl)", "path": "net/x.py"},
        {"id": "auth", "text": "authentication of users"},
        {"id": "cjk", "text": "認証システムはJWTを使う"},
        {"id": "start", "text": "start the party"},
    ]
    assert found(LexicalIndex(), a_collection(records), query) == expected


def test_a_misspelt_word_counts_less_than_a_right_one():
    index = LexicalIndex()
    collection = a_collection(
        [{"id": "a", "text": "quarterly invoice"}, {"id": "b", "text": "monthly report"}]
    )
    shelf = index.sync(CollectionHandle(collection))

    def score(query):
        return dict(index.search(LexicalQuery.of(query), shelf, EVERYTHING, everything, 5)).get("a", 0.0)

    assert 0 < score("invocie") < score("invoic") == score("invoice")


def test_scores_compare_over_collections():
    shared = SharedResources()
    common = [{"id": f"n{i}", "text": "billing note"} for i in range(20)]
    sources = [
        ChromaSource(a_collection(records, embeddings=EMBEDDINGS), embeddings=EMBEDDINGS).share(shared)
        for records in (
            [{"id": "a", "text": "billing zebra"}],
            [*common, {"id": "b", "text": "billing zebra"}],
        )
    ]
    claims = [
        next(c for c in s.fetch(a_request(query="billing zebra")) if "zebra" in c.text).claims
        for s in sources
    ]
    assert claims[0]["lexical"] == claims[1]["lexical"] > 0


def test_a_phrase_scores_only_where_its_words_stand_together():
    records = [{"id": "a", "text": "open the code fence"}, {"id": "b", "text": "a fence of code, open"}]
    source = ChromaSource(a_collection(records, embeddings=EMBEDDINGS), embeddings=EMBEDDINGS)
    claims = {c.id: c.claims for c in source.fetch(a_request(query="code fence"))}
    assert claims["a"]["phrase"] > 0 == claims["b"]["phrase"]


def test_a_hit_by_words_alone_is_offered_with_its_cosine(client):
    records = [{"id": f"n{i}", "text": f"alpha beta gamma {i % 5}"} for i in range(300)]
    records.append({"id": "far", "text": "zebra and nothing else that matters to anybody"})
    source = ChromaSource(a_collection(records, client=client, embeddings=EMBEDDINGS), embeddings=EMBEDDINGS)
    by_id = {c.id: c for c in source.fetch(a_request(query="alpha beta gamma zebra", limit=4))}
    cosine = sum(
        a * b
        for a, b in zip(
            EMBEDDINGS.embed_query("alpha beta gamma zebra"),
            EMBEDDINGS.embed_query(records[-1]["text"]),
            strict=True,
        )
    )
    assert by_id["far"].claims["dense"] == pytest.approx(cosine, abs=1e-5)
    assert len(by_id) == 4


def test_equal_scores_are_ordered_by_id_and_a_limit_cuts_only_the_end():
    collection = a_collection([{"id": f"n{i:03}", "text": "the very same zebra"} for i in range(300)])
    index = LexicalIndex()
    everyone = found(index, collection, "zebra", limit=300)
    assert everyone == sorted(everyone)
    assert found(index, collection, "zebra", limit=7) == everyone[:7]


def test_what_adjoins_is_told_within_scope_only(client):
    """K, promise 4: who stands between two tenants' pieces is nobody's business."""
    records = [
        {"id": f"{user}{i}", "text": f"billing piece {i}", "user": user, "document": "d", "start": i}
        for user in ("a", "b")
        for i in (10, 2, 1)
    ]
    records.append({"id": "other", "text": "billing piece", "user": "a", "document": "e", "start": 3})
    collection = a_collection(records, client=client, embeddings=EMBEDDINGS)
    source = ChromaSource(collection, embeddings=EMBEDDINGS, sequence=("document", "start"))
    by_id = {c.id: c for c in source.fetch(a_request(query="billing piece", scope={"user": "a"}))}
    assert by_id["a2"].neighbours == ("a1", "a10")
    assert by_id["a1"].neighbours == ("a2",)
    assert by_id["other"].neighbours == ()
    assert by_id["a10"].position == ("d", 10.0)
    put(collection, "a5", "billing piece 5", user="a", document="d", start=5)
    by_id = {c.id: c for c in source.fetch(a_request(query="billing piece", scope={"user": "a"}))}
    assert by_id["a2"].neighbours == ("a1", "a5")


def test_a_name_is_found_in_a_text_verbatim_and_in_scope(client):
    records = [
        {"id": "t", "text": "x", "title": "Ada Lovelace", "user": "a"},
        {"id": "s", "text": "x", "path": "net/url.py", "symbol": "parse_url", "user": "a"},
        {"id": "hidden", "text": "x", "title": "Ada Lovelace", "user": "b"},
        {"id": "short", "text": "x", "title": "It", "user": "a"},
    ]
    source = ChromaSource(a_collection(records, client=client, embeddings=EMBEDDINGS), embeddings=EMBEDDINGS)
    request = a_request(scope={"user": "a"})
    assert source.link_named("Ada Lovelace", request) == []
    source.prepare()
    assert source.link_named("It was Ada Lovelace who", request) == ["t"]
    assert source.link_named("ada lovelace", request) == []
    assert source.link_named("Adamant Lovelace", request) == []
    assert source.link_named("see net/url.py parse_url", request) == ["s"]


def test_an_index_kept_on_disk_is_opened_again_and_catches_up(tmp_path):
    client = chromadb.PersistentClient(str(tmp_path / "chroma"))
    collection = a_collection([{"id": "a", "text": "zebra"}, {"id": "b", "text": "lion"}], client=client)
    first = LexicalIndex(tmp_path / "index")
    assert found(first, collection, "zebra") == ["a"]
    del first
    put(collection, "b", "zebra too, and more")
    second = LexicalIndex(tmp_path / "index")
    assert found(second, collection, "zebra") == ["a", "b"]
    third = LexicalIndex(tmp_path / "index")
    assert found(third, collection, "zebra") == ["a", "b"]


def test_a_recreated_collection_leaves_nothing_behind(client):
    name = f"c{uuid.uuid4().hex}"
    index = LexicalIndex()
    handle = CollectionHandle(a_collection([{"id": "a", "text": "zebra"}], client=client, name=name))
    index.sync(handle)
    client.delete_collection(name)
    a_collection([{"id": "a", "text": "lion"}], client=client, name=name)
    shelf = index.sync(handle)
    hits = index.search(LexicalQuery.of("zebra lion"), shelf, EVERYTHING, everything, 5)
    assert [id_ for id_, _ in hits] == ["a"]
    assert index.search(LexicalQuery.of("zebra"), shelf, EVERYTHING, everything, 5) == []


def test_merging_takes_the_best_rank_the_dense_one_first():
    assert merge_by_rank(["a", "b", "c"], ["c", "a", "d"]) == ["a", "c", "b", "d"]
    assert merge_by_rank([], []) == []


def test_a_ranking_is_settled_only_before_the_last_score():
    hits = [("a", 1.0), ("b", 2.0), ("c", 2.0)]
    assert settled(hits, lambda _: True, 1, is_all=False) == [("a", 1.0)]
    assert settled(hits, lambda _: True, 2, is_all=False) is None
    assert settled(hits, lambda _: True, 9, is_all=True) == hits
    assert settled(hits, lambda id_: id_ != "a", 1, is_all=True) == [("b", 2.0)]


def test_a_collection_that_hangs_keeps_only_the_first_question_waiting():
    """Promise 8."""

    class Hanging:
        name, id, metadata, _client = "hanging", "0", {}, None

        def count(self):
            time.sleep(3)
            raise ConnectionError("gone")

        query = get = count

    index = LexicalIndex()
    index.register(CollectionHandle(Hanging()))
    handle = CollectionHandle(a_collection([{"id": "a", "text": "zebra"}]))
    assert index.sync(handle, wait_seconds=0.2) is not None
    assert index.sync(handle, wait_seconds=0.2) is not None
    assert least_seconds(lambda: index.sync(handle, wait_seconds=0.2), 0.2) < 0.2
