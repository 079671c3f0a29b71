"""Collect and admit: failing, hanging and malformed sources cost only themselves."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import time

import pytest

from langchain_context_engine import (
    AllSourcesFailedError,
    ContextEngine,
)
from langchain_context_engine.models.types import Reason, Status, Verdict
from tests.builders import FailingSource, ListSource, MeetingSource, SlowSource, a_candidate


def engine_of(*sources, **settings):
    return ContextEngine(sources=list(sources), **settings)


def test_a_failing_source_costs_its_candidates_and_one_warning():
    context = engine_of(ListSource([a_candidate()]), FailingSource(RuntimeError("disk on fire"))).build("x")
    assert len(context.passages) == 1
    assert context.status is Status.PARTIAL
    assert [w for w in context.warnings if "failing" in w and "RuntimeError" in w]


def test_all_sources_failing_is_not_an_empty_answer():
    """L90."""
    with pytest.raises(AllSourcesFailedError, match=r"one.*two"):
        engine_of(FailingSource(RuntimeError("a"), "one"), FailingSource(OSError("b"), "two")).build("x")
    assert engine_of(ListSource([])).build("x").status is Status.EMPTY


@pytest.mark.parametrize(
    "secret",
    [
        "api_key=sk-test-123456789",
        "Bearer abc.def.ghi",
        "https://user:pa55word@host/db",
        "password: hunter22",
    ],
)
def test_a_secret_in_an_error_never_reaches_a_warning(secret):
    """L93."""
    context = engine_of(
        ListSource([a_candidate()]), FailingSource(RuntimeError(f"refused {secret} !"))
    ).build("x")
    told = str(context.to_dict())
    for part in ("sk-test-123456789", "abc.def.ghi", "pa55word", "hunter22"):
        assert part not in told


def test_a_hanging_source_costs_no_more_than_the_deadline():
    engine = engine_of(
        ListSource([a_candidate()]),
        SlowSource(seconds=5),
        SlowSource(name="slow2", seconds=5),
        timeout_seconds=0.5,
    )
    start = time.monotonic()
    context = engine.build("x")
    assert time.monotonic() - start < 4
    assert len(context.passages) == 1
    assert len([w for w in context.warnings if "deadline" in w]) == 2


def test_a_hanging_source_does_not_keep_the_program_from_ending():
    script = textwrap.dedent(
        """
        import time
        from langchain_context_engine import Candidate, ContextEngine
        class Hangs:
            name = "hangs"
            def fetch(self, request): time.sleep(60)
        class Answers:
            name = "answers"
            def fetch(self, request): return [Candidate(id="1", text="here", relevance=1)]
        print(ContextEngine(sources=[Hangs(), Answers()], timeout_seconds=0.2).build("x").text)
        """
    )
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=True
    )
    assert "here" in done.stdout
    assert time.monotonic() - start < 20


@pytest.mark.parametrize("answer", [None, 3, "text", b"bytes", {"a": 1}])
def test_an_answer_that_is_no_sequence_is_a_failure(answer):
    source = ListSource([], "odd")
    source.candidates = answer
    context = engine_of(ListSource([a_candidate()]), source).build("x")
    assert context.status is Status.PARTIAL
    assert any("odd" in warning for warning in context.warnings)


@pytest.mark.parametrize(
    "bad",
    [
        {"relevance": float("nan")},
        {"relevance": float("inf")},
        {"relevance": "high"},
        {"text": b"bytes"},
        {"text": 7},
        {"claims": {"dense": float("nan")}},
    ],
)
def test_one_malformed_candidate_is_dropped_and_the_others_stand(bad):
    context = engine_of(ListSource([a_candidate(id="bad", **bad), a_candidate(id="good")])).build("x")
    assert [p.key[1] for p in context.passages] == ["good"]
    assert [(d.key[1], d.reason) for d in context.decisions if d.verdict is Verdict.DROPPED] == [
        ("bad", Reason.INVALID)
    ]


@pytest.mark.parametrize("text", [None, "", "   ", "\n\t"])
def test_an_empty_text_is_skipped_and_listed(text):
    """A6, D26."""
    context = engine_of(ListSource([a_candidate(id="none", text=text), a_candidate(id="some")])).build("x")
    assert [(d.key[1], d.reason) for d in context.decisions if d.verdict is Verdict.DROPPED] == [
        ("none", Reason.EMPTY)
    ]


def test_relevance_outside_zero_to_one_is_clamped_with_one_warning():
    context = engine_of(ListSource([a_candidate(relevance=1.7), a_candidate(relevance=-2)])).build("x")
    assert sorted(p.ranked.score for p in context.passages) == [0.0, 1.0]
    assert len([w for w in context.warnings if "clamped" in w]) == 1


def test_two_sources_over_one_collection_give_one_candidate():
    """D35."""
    first, second = (
        a_candidate(id="1", text="short", relevance=0.3),
        a_candidate(id="1", text="longer text", relevance=0.8),
    )
    (item,) = engine_of(ListSource([first], "a"), ListSource([second], "b")).search("x")
    assert (item.candidate.relevance, item.candidate.text) == (0.8, "longer text")
    assert item.candidate.provenance == ("a", "b")


def test_one_id_in_two_collections_is_two_candidates():
    """G64."""
    found = [a_candidate(id="1", source="a", text="apples"), a_candidate(id="1", source="b", text="pears")]
    assert {item.key for item in engine_of(ListSource(found)).search("x")} == {("a", "1"), ("b", "1")}


def test_the_engine_enforces_the_limit_and_the_first_n_stay_the_same():
    found = [a_candidate(id=str(i), text=f"unlike text {i} {'xyz' * i}") for i in range(30)]
    context = engine_of(ListSource(found)).build("x", limit=10)
    assert {p.key[1] for p in context.passages} == {str(i) for i in range(10)}
    assert sum(d.reason is Reason.OVER_LIMIT for d in context.decisions) == 20


def test_scope_is_enforced_before_the_limit():
    """J84."""
    found = [
        *(a_candidate(metadata={"user": "A"}) for _ in range(100)),
        a_candidate(id="B1", metadata={"user": "B"}),
    ]
    context = engine_of(ListSource(found)).build("x", scope={"user": "B"}, limit=1)
    assert [p.key[1] for p in context.passages] == ["B1"]
    assert len(context.decisions) == 1


def test_a_source_that_forgets_the_scope_gives_nothing_unfiltered():
    """J83."""
    forgetful = ListSource([a_candidate(metadata={}), a_candidate(metadata={"user": None})], "forgetful")
    assert engine_of(forgetful).build("x", scope={"user": "B"}).passages == ()


def test_filters_are_enforced_whatever_a_source_did():
    found = [
        a_candidate(id="old", created_at="2020-01-01"),
        a_candidate(id="new", created_at="2025-06-01", kind="note"),
    ]
    engine = engine_of(ListSource(found))
    assert [i.key[1] for i in engine.search("x", since="2025-01-01")] == ["new"]
    assert [i.key[1] for i in engine.search("x", until="2025-01-01")] == ["old"]
    assert [i.key[1] for i in engine.search("x", kinds="note")] == ["new"]
    assert [i.key[1] for i in engine.search("x", excluded=["new"])] == ["old"]
    assert [i.key[1] for i in engine.search("x", excluded=[("memories", "old")])] == ["new"]


def test_soft_deleted_records_are_hidden_and_leave_no_trace():
    """G67."""
    found = [
        a_candidate(id="gone", metadata={"deleted": True}),
        a_candidate(id="here", metadata={"deleted": False}),
        a_candidate(id="plain"),
    ]
    context = engine_of(ListSource(found)).build("x")
    assert {p.key[1] for p in context.passages} == {"here", "plain"}
    assert "gone" not in str(context.to_dict())


@pytest.mark.parametrize("nothing", [{"budget": 0}, {"k": 0}, {"limit": 0}, {"kinds": []}, {"sources": []}])
def test_asking_for_nothing_asks_nobody(nothing):
    """C24."""
    source = ListSource([a_candidate()])
    context = engine_of(source).build("x", **nothing)
    assert (context.text, context.passages, source.requests) == ("", (), [])
    assert context.is_truncated == ("budget" in nothing)


class AsyncOnly:
    name = "async"

    async def afetch(self, request):
        await asyncio.sleep(0)
        return [a_candidate(id="a", source="async")]


async def test_a_source_that_is_only_async_works_from_sync_and_async():
    engine = engine_of(AsyncOnly())
    assert len((await engine.abuild("x")).passages) == 1
    assert len((await asyncio.to_thread(engine.build, "x")).passages) == 1
    assert len(engine.build("x").passages) == 1


async def test_ten_answers_at_once_wait_for_each_other_no_longer_than_one():
    """H72."""
    engine = engine_of(MeetingSource([a_candidate()], many=10))  # all ten are in it at once, or it fails
    contexts = await asyncio.gather(*(engine.abuild("x") for _ in range(10)))
    assert all(len(context.passages) == 1 for context in contexts)


async def test_a_hanging_async_source_costs_no_more_than_the_deadline():
    class Hangs:
        name = "hangs"

        async def afetch(self, request):
            await asyncio.sleep(30)

    engine = engine_of(ListSource([a_candidate()]), Hangs(), timeout_seconds=0.5)
    assert (await engine.abuild("x")).status is Status.PARTIAL
