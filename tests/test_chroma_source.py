"""ChromaSource over real clients."""

from __future__ import annotations

import math
import socket
import subprocess
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import chromadb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine.errors import ConfigError, EmbeddingError, ScopeError, SourceError
from langchain_context_engine.redact import safe_message
from langchain_context_engine.sources.chroma import ChromaSource
from langchain_context_engine.sources.collection import CollectionHandle, check_collection_name
from langchain_context_engine.sources.records import relevance_of
from langchain_context_engine.sources.source import SharedResources, Source
from tests.builders import WordEmbeddings, a_collection, a_request

EMBEDDINGS = WordEmbeddings()
HYBRID = pytest.mark.parametrize("hybrid", [True, False])


@pytest.fixture(params=["memory", "persistent"])
def client(request, tmp_path):
    return (
        chromadb.EphemeralClient() if request.param == "memory" else chromadb.PersistentClient(str(tmp_path))
    )


def a_source(records, *, client=None, space="cosine", **options) -> ChromaSource:
    collection = a_collection(records, embeddings=EMBEDDINGS, client=client, space=space)
    return ChromaSource(collection, embeddings=EMBEDDINGS, **options)


def ids(candidates) -> list[str]:
    return [candidate.id for candidate in candidates]


def notes(n: int, **metadata) -> list[dict]:
    return [
        {"id": f"n{i:03}", "text": f"note {i} about billing and item {i % 7}", **metadata} for i in range(n)
    ]


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


@HYBRID
def test_an_offset_beyond_the_end_gives_nothing(hybrid):
    """C24."""
    assert a_source(notes(3), hybrid=hybrid).fetch(a_request(offset=3)) == []


@pytest.mark.parametrize("query", ["", "   ", "\n"])
def test_an_empty_query_embeds_nothing(query):
    """I74."""
    embeddings = WordEmbeddings()
    source = ChromaSource(a_collection(notes(3)), embeddings=embeddings)
    assert source.fetch(a_request(query=query)) == []
    assert embeddings.calls == []


@HYBRID
def test_a_given_vector_embeds_nothing(hybrid):
    embeddings = WordEmbeddings()
    source = ChromaSource(a_collection(notes(9)), embeddings=embeddings, hybrid=hybrid)
    found = source.fetch(
        a_request(query="", vector=WordEmbeddings().embed_query("note 4 about billing and item 4"))
    )
    assert found[0].id == "n004"
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


@HYBRID
def test_the_other_tenants_nearer_records_do_not_crowd_out_the_only_own_one(client, hybrid):
    """J84."""
    records = [{"id": f"a{i}", "text": "billing billing decide", "user": "A"} for i in range(300)]
    records.append({"id": "b", "text": "an invoice that was about something else", "user": "B"})
    source = a_source(records, client=client, hybrid=hybrid)
    assert ids(source.fetch(a_request(limit=1, scope={"user": "B"}))) == ["b"]
    assert ids(source.fetch(a_request(limit=5, scope={"user": ["B"]}))) == ["b"]


@HYBRID
def test_what_lacks_the_scopes_key_is_outside(client, hybrid):
    """J83."""
    source = a_source(notes(30), client=client, hybrid=hybrid)
    assert source.fetch(a_request(scope={"user": "A"})) == []
    assert source.get(["n001"], a_request(scope={"user": "A"})) == []


@HYBRID
def test_zero_is_not_false_in_a_scope(client, hybrid):
    records = [{"id": "zero", "text": "billing", "t": 0}, {"id": "false", "text": "billing", "t": False}]
    source = a_source(records, client=client, hybrid=hybrid)
    assert ids(source.fetch(a_request(scope={"t": 0}))) == ["zero"]
    assert ids(source.fetch(a_request(scope={"t": False}))) == ["false"]


def test_a_scope_of_none_is_refused():
    with pytest.raises(ScopeError):
        a_source(notes(1)).fetch(a_request(scope={"user": None}))


@HYBRID
def test_the_deleted_are_hidden_everywhere(client, hybrid):
    """G67."""
    records = [
        {"id": "gone", "text": "billing", "deleted": True, "document": "d", "start": 1},
        {"id": "plain", "text": "billing", "document": "d", "start": 0},
        {"id": "kept", "text": "billing", "deleted": False, "document": "d", "start": 2},
    ]
    source = a_source(records, client=client, hybrid=hybrid, sequence=("document", "start"))
    found = source.fetch(a_request(query="billing"))
    assert sorted(ids(found)) == ["kept", "plain"]
    assert ids(source.get(["gone", "kept"], a_request())) == ["kept"]
    assert all("gone" not in candidate.neighbours for candidate in found)
    assert len(source.fetch(a_request(query="billing", limit=1))) == 1


@HYBRID
def test_many_deleted_records_in_front_hide_nothing_behind_them(client, hybrid):
    """G67."""
    records = [{"id": f"d{i}", "text": "billing", "deleted": True} for i in range(250)]
    source = a_source(
        [*records, {"id": "kept", "text": "a note about billing"}], client=client, hybrid=hybrid
    )
    assert ids(source.fetch(a_request(query="billing", limit=3))) == ["kept"]


@HYBRID
@pytest.mark.parametrize(
    "asked",
    [
        {"where": {"n": {"$gte": 100, "$lt": 103}}},
        {"where": {"created_at": {"$gte": "2024-04-10", "$lt": "2024-04-13"}}},
        {"since": "2024-04-10", "until": "2024-04-12T12:00"},
        {"where": {"$not": {"$or": [{"n": {"$lt": 100}}, {"n": {"$gt": 102}}]}}},
        {"kinds": ("rare",)},
        {"min_confidence": 0.9},
        {"conversation_id": "c"},
        {"scope": {"team": "blue"}},
        {"scope": {"team": "blue"}, "where": {"n": {"$in": [100, 101, 102]}}},
    ],
)
def test_rare_records_are_found_behind_many_that_a_filter_keeps_out(client, hybrid, asked):
    """G58, J84."""
    rare = {
        "kind": "rare",
        "confidence": 0.95,
        "conversation_id": "c",
        "team": "blue",
    }
    records = [
        {
            "id": f"n{i:03}",
            "text": "billing decide" if i not in (100, 101, 102) else "another thing",
            "n": i,
            "created_at": f"2024-{1 + i // 30:02}-{1 + i % 30:02}" if i // 30 != 1 else "2023-01-01",
            **(rare if i in (100, 101, 102) else {}),
        }
        for i in range(300)
    ]
    days = {100: "2024-04-10", 101: "2024-04-11", 102: "2024-04-12"}
    for record in records:
        in_april = record["created_at"].startswith("2024-04")
        record["created_at"] = days.get(record["n"], "2023-01-01" if in_april else record["created_at"])
    source = a_source(records, client=client, hybrid=hybrid)
    assert sorted(ids(source.fetch(a_request(limit=5, **asked)))) == ["n100", "n101", "n102"]


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


@HYBRID
def test_a_recreated_collection_is_found_again_and_a_missing_one_is_named(client, hybrid):
    """G59."""
    name = f"c{uuid.uuid4().hex}"
    source = ChromaSource(
        a_collection(notes(3), client=client, name=name), embeddings=EMBEDDINGS, hybrid=hybrid
    )
    assert len(source.fetch(a_request())) == 3
    client.delete_collection(name)
    with pytest.raises(SourceError, match=name):
        source.fetch(a_request())
    a_collection([{"id": "new", "text": "billing anew"}], client=client, name=name)
    found = source.fetch(a_request())
    assert ids(found) == ["new"]
    client.delete_collection(name)
    a_collection([{"id": "newer", "text": "billing once more"}], client=client, name=name)
    found = source.fetch(a_request())
    assert ids(found) == ["newer"]
    if hybrid:
        assert found[0].claims["lexical"] > 0


@HYBRID
def test_a_vector_of_another_length_is_told_in_one_sentence(client, hybrid):
    """G60."""
    collection = a_collection(notes(3), client=client, embeddings=WordEmbeddings(3))
    source = ChromaSource(collection, embeddings=WordEmbeddings(2), hybrid=hybrid)
    with pytest.raises(SourceError, match="expected 3, got 2"):
        source.fetch(a_request())


@pytest.mark.parametrize("vector", [[math.nan, math.nan], [0.0, 0.0], [], [1.0, math.inf], "ab", None])
def test_an_unusable_vector_is_an_error_before_the_query(vector):
    """I79."""

    class Broken:
        def embed_query(self, text):
            return vector

    shared = SharedResources()
    source = ChromaSource(a_collection(notes(3)), embeddings=Broken()).share(shared)
    with pytest.raises(EmbeddingError):
        source.fetch(a_request())
    assert len(shared.query_vectors) == 0


def test_an_embedders_secrets_stay_with_it():
    """L93."""

    class Leaking:
        def embed_query(self, text):
            raise RuntimeError("401: api_key=sk-test-abc for https://me:hunter2@host, Bearer abcdef")

    with pytest.raises(EmbeddingError) as raised:
        ChromaSource(a_collection(notes(1)), embeddings=Leaking()).fetch(a_request())
    assert not any(secret in str(raised.value) for secret in ("sk-test", "hunter2", "abcdef"))
    assert raised.value.__cause__ is None


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-proj-SECRET99. Find it at",
        "{'OPENAI_API_KEY': 'SECRET99'}",
        "password: SECRET99",
        "postgres://user:SECRET99@db/x",
        "https://host/v1?token=SECRET99&a=1",
        "Authorization: Bearer SECRET99",
        "x-api-key: SECRET99",
        "aws_secret_access_key=SECRET99",
        "ghp_SECRET99SECRET99",
    ],
)
def test_no_kind_of_secret_is_repeated(text):
    """L93."""
    assert "SECRET99" not in safe_message(RuntimeError(text))


def test_what_is_no_secret_is_repeated():
    text = "maximum context length is 8192 tokens, however you requested 9000 tokens"
    assert safe_message(ValueError(text)) == f"ValueError: {text}"


@pytest.mark.parametrize(
    "name", ["ab", "my docs", "données", "a..b", "_ab", "ab-", "x" * 513, "", None, "a/b", "abc\n"]
)
def test_a_name_that_chroma_refuses_is_refused_with_the_rule(name):
    """G65."""
    with pytest.raises(ConfigError, match="3 to 512"):
        check_collection_name(name)


@pytest.mark.parametrize("name", ["abc", "my-docs", "a.b_c", "x" * 512])
def test_a_name_that_chroma_takes_is_taken(name):
    """G65."""
    assert check_collection_name(name) == name


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
        assert set(candidate.claims) == {"dense", "lexical", "phrase"}
    assert next(c for c in found if c.id == "word").claims["lexical"] > 0
    assert {c.id for c in source.get(["word"], a_request(query=query))[0:1] if c.claims["lexical"] > 0} == {
        "word"
    }


def test_many_threads_get_what_one_gets(client):
    """G66."""
    shared = SharedResources()
    sources = [a_source(notes(60, team=t), client=client).share(shared) for t in ("red", "blue")]
    queries = [f"note {i} about billing" for i in range(10)]

    def ask(query):
        return [
            [(c.key, c.relevance, c.claims) for c in s.fetch(a_request(query=query, scope={"team": "red"}))]
            for s in sources
        ]

    serial = [ask(query) for query in queries]
    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(lambda _: [ask(query) for query in queries], range(32)))
    assert all(answer == serial for answer in answers)


def test_one_query_is_embedded_once_for_all_sources():
    """I80."""

    class Slow(WordEmbeddings):
        def embed_query(self, text):
            time.sleep(0.05)
            return super().embed_query(text)

    embeddings, shared = Slow(), SharedResources()
    sources = [ChromaSource(a_collection(notes(3)), embeddings=embeddings).share(shared) for _ in range(5)]
    with ThreadPoolExecutor(5) as pool:
        list(pool.map(lambda s: s.fetch(a_request()), sources))
    assert len(embeddings.calls) == 1


def test_a_failed_embedding_reaches_all_who_wait_and_is_tried_again():
    """I80."""

    class Flaky(WordEmbeddings):
        fails = True

        def embed_query(self, text):
            vector = super().embed_query(text)
            time.sleep(0.1)
            if self.fails:
                raise RuntimeError("no")
            return vector

    embeddings, shared = Flaky(), SharedResources()
    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(shared.query_vectors.embed, embeddings, "q") for _ in range(8)]
    assert all(isinstance(future.exception(), EmbeddingError) for future in futures)
    assert len(embeddings.calls) == 1
    embeddings.fails = False
    assert shared.query_vectors.embed(embeddings, "q")


def test_the_memo_of_queries_is_bounded():
    """I81."""
    shared = SharedResources(max_queries=10)
    for i in range(50):
        shared.query_vectors.embed(EMBEDDINGS, f"q{i}")
    assert len(shared.query_vectors) == 10


def test_two_embedders_do_not_share_a_vector():
    """I78."""
    shared, two, three = SharedResources(), WordEmbeddings(2), WordEmbeddings(3)
    assert len(shared.query_vectors.embed(two, "q")) == 2
    assert len(shared.query_vectors.embed(three, "q")) == 3


def test_an_id_in_two_collections_is_two_candidates():
    """G64."""
    one, two = a_source([{"id": "1", "text": "billing a"}]), a_source([{"id": "1", "text": "billing b"}])
    assert one.fetch(a_request())[0].key != two.fetch(a_request())[0].key


def test_a_named_source_still_tells_where_its_records_live():
    source = a_source(notes(1), name="memories")
    assert source.name == "memories"
    assert source.collection_name == source.fetch(a_request())[0].source != "memories"
    assert isinstance(source, Source)


def test_an_index_that_is_behind_another_process_is_still_answered_from_the_store(tmp_path):
    source = a_source(notes(3), client=chromadb.PersistentClient(str(tmp_path)))
    source.fetch(a_request())
    name = source.collection_name
    script = (
        "import chromadb, sys\n"
        "c = chromadb.PersistentClient(sys.argv[1]).get_collection(sys.argv[2], embedding_function=None)\n"
        "c.update(ids=['n001'], metadatas=[{'deleted': True}], embeddings=[[1.0] * 64])\n"
        "c.add(ids=['other'], documents=['a zebra elsewhere'], embeddings=[[1.0] * 64])\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path), name], check=True, timeout=60)
    found = source.fetch(a_request(query="zebra billing"))
    assert sorted(ids(found)) == ["n000", "n002", "other"]


def test_a_server_answers_as_a_local_client_does(tmp_path):
    """B11."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [Path(sys.executable).with_name("chroma"), "run", "--path", tmp_path, "--host", "127.0.0.1"]
    server = subprocess.Popen(
        [*map(str, command), "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        client = _connected(port)
        local = a_source(notes(50, team="red"))
        remote = a_source(notes(50, team="red"), client=client)
        request = a_request(query="note 17 about billing", limit=10, scope={"team": "red"})
        assert ids(remote.fetch(request)) == ids(local.fetch(request))
        assert remote.fetch(request)[0].claims["lexical"] > 0
        server.terminate()
        server.wait(10)
        with pytest.raises(SourceError, match=remote.collection_name):
            remote.fetch(request)
    finally:
        server.kill()
        server.wait(10)


def _connected(port: int):
    for _ in range(100):
        try:
            return chromadb.HttpClient(host="127.0.0.1", port=port)
        except ValueError:  # not up yet
            time.sleep(0.1)
    pytest.fail("chroma run did not start")


def test_an_asynchronous_collection_is_refused_while_building():
    class Asynchronous:
        name = "abc"

        async def query(self): ...

        async def get(self): ...

        async def count(self): ...

    with pytest.raises(ConfigError, match="synchronous"):
        CollectionHandle(Asynchronous())
