"""Collect and admit: failing, hanging and malformed sources cost only themselves."""

from __future__ import annotations

import asyncio
import time

import pytest

from langchain_context_engine import (
    AllSourcesFailedError,
    Candidate,
    ConfigError,
    Context,
    ContextEngine,
    UnknownNameError,
    replay,
)
from langchain_context_engine.models.types import Offer, Reason, Status, Verdict
from tests.builders import FailingSource, HangingSource, ListSource, MeetingSource, SlowSource, a_candidate


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
    hanging = HangingSource(), HangingSource("another")
    context = engine_of(ListSource([a_candidate()]), *hanging, timeout_seconds=1).build("x")
    assert not any(source.requests for source in hanging)  # they hang yet
    for source in hanging:
        source.is_over.set()
    assert len(context.passages) == 1
    assert len([w for w in context.warnings if "deadline" in w]) == 2


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


def test_what_is_no_candidate_is_dropped_with_a_warning():
    context = engine_of(ListSource(["a string", None, a_candidate(id="good"), Candidate(id="")])).build("x")
    assert [p.key[1] for p in context.passages] == ["good"]
    assert any("3 malformed" in warning for warning in context.warnings)


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


def test_a_request_for_an_unknown_source_is_refused_with_the_nearest_name():
    with pytest.raises(UnknownNameError, match="memories"):
        engine_of(ListSource([])).build("x", sources=["memoris"])


@pytest.mark.parametrize("nothing", [{"budget": 0}, {"k": 0}, {"limit": 0}, {"kinds": []}, {"sources": []}])
def test_asking_for_nothing_asks_nobody(nothing):
    """C24."""
    source = ListSource([a_candidate()])
    context = engine_of(source).build("x", **nothing)
    assert (context.text, context.passages, source.requests) == ("", (), [])
    assert context.is_truncated == ("budget" in nothing)


@pytest.mark.parametrize(
    "sources", ["memories", 3, [object()], [ListSource([], "")], [ListSource([], "a"), ListSource([], "a")]]
)
def test_sources_that_cannot_work_are_refused_while_building(sources):
    with pytest.raises(ConfigError):
        ContextEngine(sources=sources)


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

    engine = engine_of(ListSource([a_candidate()]), Hangs(), timeout_seconds=1)
    assert (await engine.abuild("x")).status is Status.PARTIAL


async def test_a_trace_says_how_long_each_source_was_waited_for():
    quick, slow = ListSource([a_candidate()], name="quick"), SlowSource([a_candidate(id="s")], seconds=0.2)
    for context in (engine_of(quick, slow).build("x"), await engine_of(quick, slow).abuild("x")):
        took = context.source_timings
        assert took["quick"] < took["slow"]
        assert 200 <= took["slow"] <= context.timings["collect"]
        assert Context.from_dict(context.to_dict()).source_timings == took
        assert replay(context).source_timings == took


class Saying:
    """A source that answers one thing."""

    name = "saying"

    def __init__(self, answer: list[Candidate]) -> None:
        self.answer = answer

    def fetch(self, request):
        return self.answer


class Breaking(Offer):
    """An offer that ends in an error."""

    def __iter__(self):
        yield from super().__iter__()
        raise OSError("cable pulled")


class Own(Offer):
    """An offer of one's own class."""


@pytest.mark.parametrize("kind", [Offer, Own])
@pytest.mark.parametrize("asks", [lambda e: e.build("x"), lambda e: asyncio.run(e.abuild("x"))])
def test_what_a_source_says_stands_in_the_context_and_is_no_failure(kind, asks):
    answer = kind([a_candidate()], warnings=["saying: half of it is read"])
    context = asks(ContextEngine(sources=[Saying(answer)]))
    assert context.warnings == ("saying: half of it is read",)
    assert (context.status, len(context.passages)) == ("ok", 1)


def test_what_a_source_says_stands_in_the_context_though_its_answer_breaks_off():
    context = ContextEngine(sources=[Saying(Breaking([a_candidate()], warnings=["half is read"]))]).build("x")
    assert context.status is Status.PARTIAL
    assert [w for w in context.warnings if "broke off" in w]
    assert "half is read" in context.warnings


class Panic(BaseException):
    """What a library in Rust raises when it fails: no `Exception`."""


@pytest.mark.parametrize("error", [Panic("api_key=sk-test"), SystemExit(), KeyboardInterrupt()])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_source_that_panics_costs_its_own_candidates_at_once(error, is_async):
    """Promise 8, A3."""
    engine = ContextEngine([FailingSource(error), ListSource([a_candidate(text="fine")])], timeout_seconds=30)
    start = time.monotonic()
    context = asyncio.run(engine.abuild("q")) if is_async else engine.build("q")
    assert time.monotonic() - start < 15  # nothing is waited for
    assert context.text == "[1] fine"
    assert len(context.warnings) == 1
    assert "sk-test" not in context.warnings[0]


class StubbornSource(ListSource):
    """A source that takes no notice of being cancelled, or cancels itself."""

    def __init__(self, seconds):
        super().__init__([], "stubborn")
        self.seconds = seconds

    async def afetch(self, request):
        if not self.seconds:
            raise asyncio.CancelledError
        try:
            await asyncio.sleep(self.seconds)
        except asyncio.CancelledError:
            await asyncio.sleep(self.seconds)


@pytest.mark.parametrize("seconds", [0, 60])
def test_a_source_that_mistakes_cancelling_costs_its_own_candidates(seconds):
    """Promise 8."""

    async def answered_after():
        engine = ContextEngine(
            [StubbornSource(seconds), ListSource([a_candidate(text="fine")])], timeout_seconds=1
        )
        start = time.monotonic()
        context = await engine.abuild("q")
        assert context.text == "[1] fine"
        assert len(context.warnings) == 1
        return time.monotonic() - start

    assert asyncio.run(answered_after()) < 30


def test_a_source_of_nothing_but_vectors_says_why_it_is_silent():
    """A collection that was filled with embeddings alone gave an empty context and no word."""
    engine = ContextEngine([ListSource([a_candidate(id=i, text="") for i in "ab"], name="vectors")])
    context = engine.build("where are the boats?")
    assert context.status is Status.EMPTY
    assert "source 'vectors' offered 2 records, and none of them has a text to read" in context.warnings
    mixed = ContextEngine([ListSource([a_candidate(id="a", text=""), a_candidate(id="b", text="Boats.")])])
    assert mixed.build("where are the boats?").warnings == ()
