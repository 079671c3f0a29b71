"""Collect: ask every source at once, each under one deadline; `admit` then lets only sound candidates in."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from langchain_context_engine.errors import AllSourcesFailedError, SourceError
from langchain_context_engine.models.redact import safe_message
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.source import Source, SupportsAsync
from langchain_context_engine.models.types import Offer
from langchain_context_engine.pipeline import threads
from langchain_context_engine.pipeline.admit import Collected, admit
from langchain_context_engine.pipeline.bounding import bounded
from langchain_context_engine.pipeline.running import (
    OVERDUE,
    Answer,
    LateError,
    Partial,
    begin,
    busy,
    is_plain,
    run,
    walked,
    warnings_of,
)
from langchain_context_engine.pipeline.turnstile import passing_on


def collect(sources: Sequence[Any], request: ContextRequest, deadline: float) -> Collected:
    """Ask all sources at once, in threads that nothing waits for beyond the deadline.

    A source that hangs is not asked again until its late call has ended.

    Args:
        sources: Asked in parallel; the order only breaks ties.
        request: With `limit` and `now` filled in.
        deadline: On `time.monotonic()`'s clock, in seconds.

    Raises:
        AllSourcesFailedError: Every source failed.
    """
    calls = [_blocking(source, request.apart()) for source in sources]
    return _settle(sources, *run(calls, sources, deadline), request)


async def acollect(sources: Sequence[Any], request: ContextRequest, deadline: float) -> Collected:
    """Do the same from a running event loop: a source's `afetch` is awaited, `fetch` runs in a thread."""
    asked = time.monotonic()
    async with passing_on():
        calls = (_timed(_afetch(source, request.apart(), asked, deadline)) for source in sources)
        given = await asyncio.gather(*calls)
    return _settle(sources, [answer for answer, _ in given], [waited for _, waited in given], request)


async def _timed(answer: Awaitable[Answer]) -> tuple[Answer, float]:
    start = time.monotonic()
    return await answer, time.monotonic() - start


def _blocking(source: Any, request: ContextRequest) -> Callable[[], Any]:
    if isinstance(source, Source):
        return lambda: source.fetch(request)
    return lambda: asyncio.run(source.afetch(request))


async def _afetch(source: Any, request: ContextRequest, asked: float, deadline: float) -> Answer:
    if OVERDUE.has(source):
        return busy()
    begun: list[Callable[[], bool]] = []
    task = asyncio.ensure_future(_answered(source, request, asked, begun))
    try:
        # Unlike `wait_for`, which would wait for a source that takes no notice of being cancelled.
        await asyncio.wait({task}, timeout=max(0.0, deadline - time.monotonic()))
    finally:
        is_late = task.cancel()  # does nothing to one that is done
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
    if is_late:
        loop = asyncio.get_running_loop()
        begun.append(lambda: not (task.done() or loop.is_closed()))
        OVERDUE.add(source, lambda: any(is_running() for is_running in begun))
        return LateError()
    if task.cancelled():
        return SourceError("it was cancelled")
    return task.exception() or task.result()


async def _answered(
    source: Any, request: ContextRequest, asked: float, begun: list[Callable[[], bool]]
) -> Answer:
    """Return what a source answers, walked through; a sequence of its own is walked in a thread."""
    if not isinstance(source, SupportsAsync):
        return await _in_thread(lambda: source.fetch(request), asked, begun)
    answer = await source.afetch(request)
    return answer if is_plain(answer) else await _in_thread(lambda: walked(answer), asked, begun)


async def _in_thread(call: Callable[[], Any], asked: float, begun: list[Callable[[], bool]]) -> Any:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(answer: Answer) -> None:
        if not future.done():
            future.set_result(answer)

    def give(answer: Answer) -> None:
        # After the deadline nobody waits any more, and the loop may be gone.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, answer)

    begun.append(begin(call, give, asked))
    answer = await future
    if isinstance(answer, Exception):
        raise answer
    return answer


def _settle(
    sources: Sequence[Any], answers: Sequence[Answer], waited: Sequence[float], request: ContextRequest
) -> Collected:
    """Turn what the sources gave, and how many seconds each took, into sound candidates and warnings."""
    warnings: list[str] = []
    told: list[str] = []
    searched: dict[str, str] = {}
    offers: list[tuple[str, Sequence[Any]]] = []
    for source, answer in zip(sources, answers, strict=True):
        problem, items = read_answer(answer)
        if problem:
            warnings.append(f"source {source.name!r} failed: {problem}")
        if items is not None:
            offers.append((source.name, items))
            told.extend(warnings_of(answer))
        if isinstance(answer, Offer) and answer.searched:
            searched[source.name] = answer.searched
    took = {source.name: 1000 * seconds for source, seconds in zip(sources, waited, strict=True)}
    if sources and not offers:
        threads.linger()
        raise AllSourcesFailedError(warnings, took)
    admitted = bounded(admit(offers, request), request)
    all_told = (*warnings, *told, *admitted.warnings)
    return replace(admitted, warnings=all_told, has_failures=bool(warnings), took=took, searched=searched)


def read_answer(answer: Answer) -> tuple[str, Sequence[Any] | None]:
    """Return what went wrong with an answer, "" where nothing did, and its items, None where it has none."""
    if isinstance(answer, LateError):
        return "no answer within the deadline (timeout_seconds)", None
    if isinstance(answer, Exception):
        return safe_message(answer), None
    if isinstance(answer, Partial):
        return answer.trouble, answer.items
    if answer is None or isinstance(answer, (str, bytes)) or not isinstance(answer, Sequence):
        return f"it answered {type(answer).__name__}, expected a sequence of candidates", None
    return "", answer
