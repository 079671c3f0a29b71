"""What is given rather than searched: pinned texts and the conversation."""

from __future__ import annotations

import pytest
from langchain_core.documents import Document

from langchain_context_engine import ContextEngine
from langchain_context_engine.filters import in_scope
from langchain_context_engine.sources.given import HistorySource, PinnedSource
from tests.builders import ListSource, a_candidate, a_request


def test_pinned_items_come_first_to_last_and_are_marked():
    items = ["a text", a_candidate(id="c", relevance=0.1), Document("a document", id="d")]
    found = PinnedSource(items).fetch(a_request(pinned=["another"]))
    assert [c.text for c in found][0::2] == ["a text", "a document"]
    assert [c.id for c in found][1:3] == ["c", "d"]
    assert found[3].text == "another"
    assert all(c.is_pinned and c.relevance == 1.0 for c in found)


@pytest.mark.parametrize("scope", [{"user": "A"}, {"user": ["A", "B"]}, {"user": 0, "team": True}])
def test_a_pinned_text_is_in_the_scope_of_whoever_asks(scope):
    request = a_request(scope=scope, pinned=["mine"])
    found = PinnedSource(["ours"]).fetch(request)
    assert [c.text for c in found] == ["ours", "mine"]
    assert all(in_scope(c, request) for c in found)


def test_a_pinned_candidate_is_in_scope_by_its_own_metadata_only():
    """J83."""
    items = [a_candidate(id="a", metadata={"user": "A"}), a_candidate(id="b"), Document("d", id="d")]
    assert [c.id for c in PinnedSource(items).fetch(a_request(scope={"user": "A"}))] == ["a"]


def test_the_last_messages_are_offered_newest_first():
    history = [("user", f"message {i}") for i in range(30)]
    found = HistorySource(last=3).fetch(a_request(history=history))
    assert [c.text for c in found] == ["message 29", "message 28", "message 27"]
    assert [c.position for c in found] == [("history", 29.0), ("history", 28.0), ("history", 27.0)]
    assert [c.relevance for c in found] == [1.0, 2 / 3, 1 / 3]
    assert {c.kind for c in found} == {"message"}


def test_a_message_said_twice_is_two_candidates_with_lasting_ids():
    said = [("user", "yes"), ("assistant", "sure?"), ("user", "yes")]
    first = [c.id for c in HistorySource().fetch(a_request(history=said))]
    later = [c.id for c in HistorySource().fetch(a_request(history=[*said, ("assistant", "done")]))]
    assert len(set(first)) == 3
    assert later[1:] == first


def test_pages_of_history_join():
    history = [("user", f"message {i}") for i in range(10)]
    source = HistorySource()
    pages = [c.text for o in (0, 4, 8) for c in source.fetch(a_request(history=history, limit=4, offset=o))]
    assert pages == [f"message {i}" for i in reversed(range(10))]
    assert source.fetch(a_request(history=history, limit=0)) == []


@pytest.mark.parametrize("claims", [{}, {"dense": 0.1, "lexical": 0.0}])
def test_what_is_pinned_is_wholly_relevant_whatever_its_source_claims(claims):
    candidates = [
        a_candidate(id="a", text="an old rule", relevance=0.1, claims=claims),
        a_candidate(id="b", text="new words", relevance=0.9),
    ]
    engine = ContextEngine([ListSource(candidates)])
    assert engine.build("q", pinned=[("memories", "a")]).passages[0].key == ("memories", "a")
