"""Many questions at once: a few are worked on, who only waits passes the turn on, nobody waits for oneself."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from langchain_context_engine import ContextEngine
from langchain_context_engine.executor import AT_ONCE, aturn, turn
from tests.builders import ListSource, MeetingSource, a_candidate

MANY = 3 * AT_ONCE


class Busy:
    """A source that computes, and knows how many computed with it."""

    name = "busy"

    def __init__(self, seconds=0.05):
        self.seconds, self.now, self.most, self.lock = seconds, 0, 0, threading.Lock()

    def fetch(self, request):
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        end = time.thread_time() + self.seconds
        while time.thread_time() < end:
            sum(range(200))
        with self.lock:
            self.now -= 1
        return [a_candidate(id="a", text=f"answer to {request.query}")]


class Asks:
    """A source that asks another engine."""

    name = "asks"

    def __init__(self, engine):
        self.engine = engine

    def fetch(self, request):
        return [a_candidate(id="n", text=self.engine.build(request.query).text)]


@pytest.mark.unmeasured
def test_all_of_many_questions_at_once_are_answered_within_deadlines_of_their_own():
    """Promise 8: the deadline of the last one began long after it was asked."""
    # All of them compute for longer than that, whatever the machine.
    engine = ContextEngine([Busy(0.02)], timeout_seconds=2)
    with ThreadPoolExecutor(120) as pool:
        contexts = list(pool.map(engine.build, [f"question {i}" for i in range(120)]))
    assert [c.text for c in contexts] == [f"[1] answer to question {i}" for i in range(120)]
    assert {str(c.status) for c in contexts} == {"ok"}


def test_who_only_waits_for_a_store_lets_others_in():
    engine = ContextEngine([MeetingSource(many=MANY), ListSource([a_candidate()])], timeout_seconds=9)
    with ThreadPoolExecutor(MANY) as pool:
        contexts = list(pool.map(engine.build, ["text"] * MANY))
    assert not any(context.warnings for context in contexts)


def test_an_engine_within_an_engine_waits_for_no_turn_of_its_own():
    outer = ContextEngine([Asks(ContextEngine([Busy(0.01)]))], timeout_seconds=20)
    with ThreadPoolExecutor(MANY) as pool:
        contexts = list(pool.map(outer.build, map(str, range(MANY))))
    assert all("answer to" in context.text for context in contexts)


async def test_in_an_event_loop_too():
    engine = ContextEngine([Busy(0.02)], timeout_seconds=3)
    contexts = await asyncio.gather(*(engine.abuild(f"question {i}") for i in range(60)))
    assert [c.text for c in contexts] == [f"[1] answer to question {i}" for i in range(60)]


async def test_who_is_cancelled_while_waiting_keeps_no_turn():
    is_over = asyncio.Event()

    async def hold():
        async with aturn():
            await is_over.wait()
        return True

    held = [asyncio.create_task(hold()) for _ in range(AT_ONCE)]
    await asyncio.sleep(0.05)
    waiting = [asyncio.create_task(hold()) for _ in range(3)]
    await asyncio.sleep(0.05)
    waiting[0].cancel()
    is_over.set()
    assert all(await asyncio.wait_for(asyncio.gather(*held, *waiting[1:]), 5))
    for _ in range(2 * AT_ONCE):
        with turn() as mine:
            assert mine.waited_seconds < 1


def test_a_turn_that_was_waited_for_long_is_told(monkeypatch):
    monkeypatch.setattr("langchain_context_engine.executor._LATE_SECONDS", 0.0)
    (warning,) = ContextEngine([ListSource([a_candidate()])]).build("x").warnings
    assert "s for its turn" in warning


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_turn_ends_with_its_block_however_that_ends(error):
    for _ in range(2 * AT_ONCE):
        with pytest.raises(error), turn():
            raise error
