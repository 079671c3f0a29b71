"""ChromaSource over real clients: who may see what, behind many others."""

from __future__ import annotations

import chromadb
import pytest

from langchain_context_engine import ChromaSource
from tests.builders import a_collection, a_request
from tests.chroma_builders import EMBEDDINGS, HYBRID, a_source, client, ids, notes

pytestmark = pytest.mark.unmeasured

__all__ = ["client"]


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


@pytest.fixture(scope="module", params=["memory", "persistent"])
def many(request, tmp_path_factory):
    """Return a collection in which three of three hundred are like no other, and the worst for the question."""
    days = {100: "2024-04-10", 101: "2024-04-11", 102: "2024-04-12"}
    rare = {
        "text": "another thing",
        "kind": "rare",
        "confidence": 0.95,
        "conversation_id": "c",
        "team": "blue",
    }
    records = [
        {
            "id": f"n{i:03}",
            "n": i,
            "text": "billing decide",
            "created_at": days.get(i, f"2024-0{(1, 2, 3, 5, 6, 7)[i % 6]}-{1 + i % 28:02}"),
            **(rare if i in days else {}),
        }
        for i in range(300)
    ]
    path = tmp_path_factory.mktemp("many")
    client = chromadb.EphemeralClient() if request.param == "memory" else chromadb.PersistentClient(str(path))
    return a_collection(records, embeddings=EMBEDDINGS, client=client)


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
def test_rare_records_are_found_behind_many_that_a_filter_keeps_out(many, hybrid, asked):
    """G58, J84."""
    source = ChromaSource(many, embeddings=EMBEDDINGS, hybrid=hybrid)
    assert sorted(ids(source.fetch(a_request(limit=5, **asked)))) == ["n100", "n101", "n102"]


@HYBRID
def test_what_the_request_excludes_takes_no_place_of_the_limit(client, hybrid):
    """J84."""
    source = a_source(notes(30), client=client, hybrid=hybrid)
    every = ids(source.fetch(a_request(limit=30)))
    excluded = [every[0], (source.collection_name, every[2]), ["elsewhere", every[3]]]
    left = ids(source.fetch(a_request(limit=30, excluded=excluded)))
    assert sorted(left) == sorted([every[1], *every[3:]])
    assert ids(source.fetch(a_request(limit=2, excluded=excluded))) == left[:2]
    assert ids(source.fetch(a_request(limit=2, offset=2, excluded=excluded))) == left[2:4]
