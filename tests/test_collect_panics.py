"""Sources that fail in ways that `except Exception` and `wait_for` do not see."""

from __future__ import annotations

import asyncio
import time

import pytest

from langchain_context_engine import ContextEngine
from tests.builders import FailingSource, ListSource, a_candidate


class Panic(BaseException):
    """What a library in Rust raises when it fails: no `Exception`."""


@pytest.mark.parametrize("error", [Panic("api_key=sk-test"), SystemExit(), GeneratorExit()])
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


@pytest.mark.parametrize("seconds", [0, 1.5])
def test_a_source_that_mistakes_cancelling_costs_its_own_candidates(seconds):
    """Promise 8."""

    async def answered_after():
        engine = ContextEngine(
            [StubbornSource(seconds), ListSource([a_candidate(text="fine")])], timeout_seconds=0.3
        )
        start = time.monotonic()
        context = await engine.abuild("q")
        assert context.text == "[1] fine"
        assert len(context.warnings) == 1
        return time.monotonic() - start

    assert asyncio.run(answered_after()) < 1.6  # where it was waited for, 1.8
