"""Collect: ask every source at once, each under one deadline; `admit` then lets only sound candidates in."""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from langchain_context_engine.stages.admit import Collected, admit
from langchain_context_engine.values.clock import asked_at
from langchain_context_engine.values.errors import AllSourcesFailedError, SourceError
from langchain_context_engine.values.offer import Offer
from langchain_context_engine.values.redact import safe_message
from langchain_context_engine.values.request import ContextRequest

Answer = Any
"""What a source gave: a sequence of candidates, or the exception that it raised."""


class _Late(Exception):  # noqa: N818 - never raised, only carried
    """A source did not answer within its deadline."""


def collect(sources: Sequence[Any], request: ContextRequest, deadline: float) -> Collected:
    """Ask all sources at once, in threads that nothing waits for beyond the deadline.

    Args:
        sources: Asked in parallel; the order only breaks ties.
        request: With `limit` and `now` filled in.
        deadline: On `time.monotonic()`'s clock, in seconds.

    Raises:
        AllSourcesFailedError: Every source failed.
    """
    companies: dict[Hashable, list[int]] = {}
    for i, source in enumerate(sources):
        company = source.company(request) if hasattr(source, "company") else None
        companies.setdefault((i,) if company is None else company, []).append(i)
    jobs = [
        (places, _asking(company, [sources[i] for i in places], request))
        for company, places in companies.items()
    ]
    answers = _run(jobs, deadline)
    return _settle(sources, answers, request)


async def acollect(sources: Sequence[Any], request: ContextRequest, deadline: float) -> Collected:
    """Do the same from a running event loop: a source's `afetch` is awaited, `fetch` runs in a thread."""
    asked = time.monotonic()
    answers = await asyncio.gather(*(_afetch(source, request.apart(), asked, deadline) for source in sources))
    return _settle(sources, answers, request)


def run_all(calls: Sequence[Callable[[], Any]], deadline: float) -> list[Answer]:
    """Run calls at once and return what each gave, or the exception it raised, in order.

    Threads are daemons: one that hangs keeps neither the answer nor the program's exit waiting.

    Args:
        calls: What to run.
        deadline: On `time.monotonic()`'s clock, in seconds.
    """
    return _run([([i], _each([call])) for i, call in enumerate(calls)], deadline)


Job = Callable[[], Iterable[Answer]]
"""What one thread does: gives the answers of some sources in their order."""


def _run(jobs: Sequence[tuple[Sequence[int], Job]], deadline: float) -> list[Answer]:
    """Run jobs at once; each comes with the places of its answers."""
    results: queue.SimpleQueue[tuple[int, Answer]] = queue.SimpleQueue()
    answers: list[Answer] = [_Late()] * sum(len(places) for places, _ in jobs)
    asked = time.monotonic()
    for places, job in jobs:
        _start(places, job, lambda i, answer: results.put((i, answer)), asked)
    for _ in answers:
        try:
            i, answer = results.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            break
        answers[i] = answer
    return answers


def _start(places: Sequence[int], job: Job, give: Callable[[int, Answer], None], asked: float) -> None:
    context = contextvars.copy_context()
    context.run(asked_at.set, asked)

    def work() -> None:
        for place, answer in zip(places, job(), strict=True):
            give(place, answer)

    threading.Thread(target=context.run, args=(work,), daemon=True, name="context-engine-source").start()


def _asking(company: Hashable, sources: Sequence[Any], request: ContextRequest) -> Job:
    """Return what asks sources that share something: all together where that can, or one after the other."""
    if not callable(company):
        return _each([_blocking(source, request.apart()) for source in sources])

    def ask() -> Iterable[Answer]:
        answers = answer_of(company, sources, request.apart())
        return [answers] * len(sources) if isinstance(answers, Exception) else answers

    return ask


def _each(calls: Sequence[Callable[[], Any]]) -> Job:
    return lambda: (answer_of(contextvars.copy_context().run, call) for call in calls)


def answer_of(call: Callable[..., Any], *args: Any) -> Answer:
    """Return what a call gives or raises: whatever a source raises costs only that source.

    A panic in a Rust library, which is no `Exception`, is an error like any other.
    """
    try:
        return call(*args)
    except Exception as error:  # noqa: BLE001
        return error
    except BaseException as error:  # noqa: BLE001
        return SourceError(safe_message(error))


def _blocking(source: Any, request: ContextRequest) -> Callable[[], Any]:
    if hasattr(source, "fetch"):
        return lambda: source.fetch(request)
    return lambda: asyncio.run(source.afetch(request))


async def _afetch(source: Any, request: ContextRequest, asked: float, deadline: float) -> Answer:
    try:
        call = (
            source.afetch(request)
            if hasattr(source, "afetch")
            else _in_thread(lambda: source.fetch(request), asked)
        )
        task: asyncio.Future[Any] = asyncio.ensure_future(call)
    except Exception as error:  # noqa: BLE001 - whatever a source raises costs only that source
        return error
    try:
        # Unlike `wait_for`, which would wait for a source that takes no notice of being cancelled.
        await asyncio.wait({task}, timeout=max(0.0, deadline - time.monotonic()))
    finally:
        is_late = task.cancel()  # does nothing to one that is done
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
    if is_late:
        return _Late()
    if task.cancelled():
        return SourceError("it was cancelled")
    return task.exception() or task.result()


async def _in_thread(call: Callable[[], Any], asked: float) -> Any:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(answer: Answer) -> None:
        if not future.done():
            future.set_result(answer)

    def give(_: int, answer: Answer) -> None:
        # After the deadline nobody waits any more, and the loop may be gone.
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, answer)

    _start([0], _each([call]), give, asked)
    answer = await future
    if isinstance(answer, Exception):
        raise answer
    return answer


def _settle(sources: Sequence[Any], answers: Sequence[Answer], request: ContextRequest) -> Collected:
    """Turn what the sources gave into sound candidates, decisions and warnings."""
    warnings: list[str] = []
    told: list[str] = []
    offers: list[tuple[str, Sequence[Any]]] = []
    for source, answer in zip(sources, answers, strict=True):
        problem = _problem(answer)
        if problem:
            warnings.append(f"source {source.name!r} failed: {problem}")
        else:
            offers.append((source.name, answer))
            told.extend(answer.warnings if isinstance(answer, Offer) else ())
    if sources and not offers:
        raise AllSourcesFailedError(warnings)
    admitted = admit(offers, request)
    return replace(admitted, warnings=(*warnings, *told, *admitted.warnings), has_failures=bool(warnings))


def _problem(answer: Answer) -> str:
    if isinstance(answer, _Late):
        return "no answer within the deadline (timeout_seconds)"
    if isinstance(answer, Exception):
        return safe_message(answer)
    if answer is None or isinstance(answer, (str, bytes)) or not isinstance(answer, Sequence):
        return f"it answered {type(answer).__name__}, expected a sequence of candidates"
    return ""
