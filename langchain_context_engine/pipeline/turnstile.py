"""The turnstile: how many answers are worked on at once, so that none spends its deadline waiting.

Two hundred questions at once are a thousand threads that all take turns at one interpreter: each of them is
late, and nobody has an answer. So a few are worked on at once, first come, first served, and a question's
deadline begins with its turn. Who only waits for somebody else (a store far away, a source that hangs) passes
the turn on: waiting costs nothing.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import replace

from langchain_context_engine.models.locks import ForkSafeLock
from langchain_context_engine.pipeline.admit import Collected
from langchain_context_engine.pipeline.threads import answering

__all__ = ["AT_ONCE", "Turn", "after", "aturn", "glances", "passing_on", "turn"]

AT_ONCE = 4
"""Answers that are worked on at once in this process, however many cores there are: Python runs on one."""

_LATE_SECONDS = 2.0
"""A turn that was waited for so long is told of."""

_GLANCE_SECONDS = 0.02
_ON_TIME_SECONDS = 0.005
_GLANCES = 3
"""How often a glance must come on time before who waits is held to be idle: a busy machine wakes it late."""


class Turn:
    """One turn; `pass_on` ends it, once.

    Attributes:
        waited_seconds: How long it was waited for.
    """

    def __init__(self, waited_seconds: float, leave: Callable[[], None]) -> None:
        self.waited_seconds = waited_seconds
        self._leave = leave
        self._is_over = False
        self._on_time = 0

    def pass_on(self) -> None:
        """Let the next one in."""
        if not self._is_over:
            self._is_over = True
            self._leave()

    def glance(self, late_seconds: float) -> None:
        """Take notice of how late a short sleep ended, and pass on where nobody needs the processor."""
        self._on_time = self._on_time + 1 if late_seconds < _ON_TIME_SECONDS else 0
        if self._on_time >= _GLANCES:
            self.pass_on()


class Turnstile:
    """Lets a number of callers through at once, the others in the order in which they came."""

    def __init__(self, at_once: int) -> None:
        self._at_once = self._free = at_once
        self._waiting: deque[Callable[[], bool]] = deque()
        self._lock = ForkSafeLock(self._forget)

    def _forget(self) -> None:
        """Begin anew in the child of a fork: who was let in, and who waits, stayed with the parent."""
        self._free = self._at_once
        self._waiting.clear()

    def enter(self, admit: Callable[[], bool]) -> bool:
        """Return whether there is room now; else `admit` is called when there is, True if it was heard."""
        with self._lock:
            if self._free > 0:
                self._free -= 1
                return True
            self._waiting.append(admit)
            return False

    def leave(self) -> None:
        """Make room for the next one that still waits."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._free += 1
                    return
                admit = self._waiting.popleft()
            if admit():
                return

    def give_up(self, admit: Callable[[], bool]) -> None:
        """Wait no longer; who was let in meanwhile leaves."""
        with self._lock:
            if admit in self._waiting:
                self._waiting.remove(admit)
                return
        self.leave()


_turnstile = Turnstile(AT_ONCE)
_current: ContextVar[Turn | None] = ContextVar("turn", default=None)


@contextmanager
def turn() -> Iterator[Turn]:
    """Wait for a turn and have it for a block; within a turn there is nothing to wait for."""
    if _current.get() is not None:
        yield Turn(0.0, lambda: None)
        return
    asked, is_let_in = time.monotonic(), threading.Event()

    def admit() -> bool:
        is_let_in.set()
        return True

    if not _turnstile.enter(admit):
        try:
            is_let_in.wait()
        except BaseException:
            _turnstile.give_up(admit)
            raise
    mine = Turn(time.monotonic() - asked, _turnstile.leave)
    token = _current.set(mine)
    try:
        with answering():
            yield mine
    finally:
        mine.pass_on()
        _current.reset(token)


@asynccontextmanager
async def aturn() -> AsyncIterator[Turn]:
    """Do the same in a running event loop, which goes on meanwhile."""
    if _current.get() is not None:
        yield Turn(0.0, lambda: None)
        return
    asked, loop = time.monotonic(), asyncio.get_running_loop()
    is_let_in: asyncio.Future[None] = loop.create_future()

    def settle() -> None:
        if is_let_in.done():  # given up in the meantime
            _turnstile.leave()
        else:
            is_let_in.set_result(None)

    def admit() -> bool:
        try:
            loop.call_soon_threadsafe(settle)
        except RuntimeError:  # the loop is gone, and its question with it
            return False
        return True

    if not _turnstile.enter(admit):
        try:
            await is_let_in
        except BaseException:
            if is_let_in.done() and not is_let_in.cancelled():
                _turnstile.leave()
            raise
    mine = Turn(time.monotonic() - asked, _turnstile.leave)
    token = _current.set(mine)
    try:
        yield mine
    finally:
        mine.pass_on()
        _current.reset(token)


@asynccontextmanager
async def passing_on() -> AsyncIterator[None]:
    """Pass the current turn on while a block of a running event loop only waits."""
    mine = _current.get()

    async def watch(held: Turn) -> None:
        while True:
            start = time.monotonic()
            await asyncio.sleep(_GLANCE_SECONDS)
            held.glance(time.monotonic() - start - _GLANCE_SECONDS)

    watcher = None if mine is None else asyncio.ensure_future(watch(mine))
    try:
        yield
    finally:
        if watcher is not None:
            watcher.cancel()


def glances(deadline: float) -> Iterator[float]:
    """Yield how long to wait at a time until a deadline; between two of them the turn may be passed on.

    Args:
        deadline: On `time.monotonic()`'s clock, in seconds.
    """
    mine = _current.get()
    while (left := deadline - time.monotonic()) > 0:
        if mine is None:
            yield left
            continue
        start, short = time.monotonic(), min(left, _GLANCE_SECONDS)
        yield short
        mine.glance(time.monotonic() - start - short)
    yield 0.0


def after(mine: Turn, found: Collected) -> Collected:
    """Return what was collected, with a warning where its turn came late."""
    if mine.waited_seconds < _LATE_SECONDS:
        return found
    late = f"it waited {mine.waited_seconds:.1f} s for its turn: more is asked at once than can be answered"
    return replace(found, warnings=(late, *found.warnings))
