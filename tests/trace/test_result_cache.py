"""Whole answers are kept for a short while, under everything that the request says."""

from __future__ import annotations

from langchain_core.documents import Document

from langchain_context_engine import ContextEngine
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.result_cache import ResultCache, request_key
from tests.builders import ListSource, a_candidate


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def an_engine(*sources, **settings):
    cache = ResultCache()
    return ContextEngine(
        sources=sources or [ListSource([a_candidate(relevance=1.0)])], cache=cache, **settings
    )


def test_the_least_recently_used_of_more_than_a_hundred_makes_room():
    cache = ResultCache()
    for n in range(100):
        cache.set(str(n), Context(text=str(n)))
    assert cache.get("0") is not None
    cache.set("100", Context())
    assert len(cache) == 100
    assert cache.get("0") is not None
    assert cache.get("1") is None


def test_an_entry_serves_30_seconds_after_its_last_use():
    clock = Clock()
    cache = ResultCache(clock=clock)
    cache.set("a", Context(text="a"))
    for _ in range(3):
        clock.now += 29.9
        assert cache.get("a") is not None
    clock.now += 30
    assert cache.get("a") is None


def test_an_entry_that_is_used_all_the_time_ends_nevertheless():
    clock = Clock()
    cache = ResultCache(clock=clock)
    cache.set("a", Context())
    served = 0
    for _ in range(100):
        clock.now += 20
        served += cache.get("a") is not None
    assert served == 29


def test_entries_are_forgotten_by_a_part_of_their_key_by_a_rule_or_all():
    cache = ResultCache()
    for key in ("thread-1 why", "thread-1 how", "thread-2 why", "thread-3"):
        cache.set(key, Context(text=key))
    assert cache.invalidate("thread-1") == 2
    assert cache.invalidate(lambda key, context: "why" in context.text) == 1
    assert cache.get("thread-3") is not None
    assert cache.invalidate() == 1
    assert len(cache) == 0


REQUESTS = [
    {"query": "other"}, {"scope": {"user_id": 0}}, {"scope": {"user_id": False}}, {"scope": {"user_id": "0"}},
    {"where": {"a": 1}}, {"kinds": ()}, {"history": [("user", "a")]}, {"history": [("assistant", "a")]},
    {"pinned": [a_candidate(id="p", text="pinned")]}, {"pinned": ["pinned"]}, {"excluded": ["c1"]},
    {"focus": {"thread": "t1"}}, {"budget": 7}, {"k": 2}, {"template": "xml"}, {"now": "2026-01-01"}, {},
]  # fmt: skip


def test_two_requests_share_a_key_only_if_they_ask_for_the_same():
    keys = [request_key(ContextRequest(**{"query": "why?", **fields})) for fields in REQUESTS]
    assert None not in keys
    assert len(set(keys)) == len(REQUESTS)
    assert keys == [request_key(ContextRequest(**{"query": "why?", **fields})) for fields in REQUESTS]


def test_a_request_that_no_text_can_tell_from_another_is_not_kept():
    assert request_key(ContextRequest(query="why?", pinned=[Document("a rule")])) is None


def test_the_same_question_asks_no_source_again():
    source = ListSource([a_candidate(relevance=1.0)])
    engine = an_engine(source)
    first, second = engine.build("why?"), engine.build("why?")
    assert len(source.requests) == 1
    assert (second.text, second.decisions) == (first.text, first.decisions)
    assert list(second.timings) == ["cache"]
    assert second.source_timings == {}


def test_another_question_another_scope_and_other_settings_are_asked_anew():
    source = ListSource([a_candidate(relevance=1.0, metadata={"user_id": u}, text=f"of {u}") for u in "ab"])
    engine = an_engine(source)
    assert engine.build("why?", scope={"user_id": "a"}).text == "[1] of a"
    assert engine.build("why?", scope={"user_id": "b"}).text == "[1] of b"
    assert (
        engine.with_settings(template="xml")
        .build("why?", scope={"user_id": "b"})
        .text.startswith("<context>")
    )
    assert len(source.requests) == 3
