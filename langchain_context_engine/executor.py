"""The executor of what sources do: at once, in threads under one deadline, a few questions at a time.

A daemon thread that is in native code (Chroma, SQLite) when the interpreter goes down takes the process
with it. So a program's end waits for all of them together, for some seconds; one that hangs longer is left.

Two hundred questions at once are a thousand threads that all take turns at one interpreter: each is late. So
a few are worked on at once, first come, first served, and a question's deadline begins with its turn. Who
only waits (for a store far away, a source that hangs) passes the turn on: waiting costs nothing.
"""

from __future__ import annotations

import asyncio
import atexit
import contextvars
import itertools
import os
import queue
import threading
import time
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from langchain_context_engine.errors import SourceError
from langchain_context_engine.models.clock import asked_at
from langchain_context_engine.models.locks import ForkSafeLock
from langchain_context_engine.models.redact import safe_message
from langchain_context_engine.models.types import Offer

AT_ONCE = 4
"""Answers that are worked on at once in this process, however many cores there are: Python runs on one."""

MOST_OFFERED = 50_000
"""So many candidates of one answer are looked at: an answer may never end."""

PATIENCE_SECONDS = 5.0
"""How long a program's end waits for all threads together; between two looks at `is_ending` less passes."""

_IDLE_SECONDS = 10.0
_STAY_SECONDS = 60.0
_LATE_SECONDS = 2.0
"""A turn that was waited for so long is told of."""

_GLANCE_SECONDS = 0.02
_ON_TIME_SECONDS = 0.005
_GLANCES = 3
"""How often a glance must come on time before who waits is held to be idle: a busy machine wakes it late."""

Value = TypeVar("Value")
Answer = Any
"""What a source gave: a sequence of candidates, or the exception that it raised."""


class _Threads:
    """The threads and the answers of a process, and whether it ends."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.ending = threading.Event()
        self.running: weakref.WeakSet[threading.Thread] = weakref.WeakSet()
        self.idle: list[queue.SimpleQueue[Callable[[], object] | None]] = []
        self.answers = 0
        self.is_watched = False

    def watch(self) -> None:
        """Have the end of the program wait; under the lock."""
        if not self.is_watched:
            # With the first thread, so that it runs before what libraries registered when imported.
            self.is_watched = True
            atexit.register(_end)


_threads = _Threads()


def start(target: Callable[..., object], *args: Any, name: str) -> threading.Thread:
    """Start a thread that nothing waits for but the end of the program.

    Raises:
        RuntimeError: No thread can be had, or the program ends.
    """
    thread = threading.Thread(target=target, args=args, name=name, daemon=True)
    with _threads.lock:
        if _threads.ending.is_set():
            msg = "the program ends"
            raise RuntimeError(msg)
        _threads.watch()
        # Under the lock, so that the end never meets a thread that has not begun.
        thread.start()
        _threads.running.add(thread)
    return thread


def hand_over(task: Callable[[], object]) -> None:
    """Have a thread do a task: an idle one, else a new one, which takes as long to start as a small answer.

    Raises:
        RuntimeError: No thread can be had, or the program ends.
    """
    with _threads.lock:
        tasks = _threads.idle.pop() if _threads.idle and not _threads.ending.is_set() else None
    if tasks is None:
        tasks = queue.SimpleQueue()
        start(_work, tasks, _threads, name="context-engine-source")
    tasks.put(task)


def _work(tasks: queue.SimpleQueue[Callable[[], object] | None], mine: _Threads) -> None:
    """Do tasks as they come; None, or none for a while, is the end."""
    while True:
        try:
            task = tasks.get(timeout=_IDLE_SECONDS)
        except queue.Empty:
            with mine.lock:
                if tasks in mine.idle:
                    mine.idle.remove(tasks)
                    return
            continue  # it is being handed one
        if task is None:
            return
        task()
        with mine.lock:
            if mine.ending.is_set():
                return
            mine.idle.append(tasks)


@contextmanager
def answering() -> Iterator[None]:
    """Have the end of the program wait for a question that is being answered in anybody's thread."""
    linger()
    mine = _threads
    with mine.lock:
        mine.watch()
        mine.answers += 1
    try:
        yield
    finally:
        with mine.lock:
            mine.answers -= 1


def rest(seconds: float) -> None:
    """Sleep, but not beyond the end of the program."""
    _threads.ending.wait(seconds)


def is_ending() -> bool:
    """Tell whether the program ends; who works in steps asks before each."""
    return _threads.ending.is_set()


def linger() -> None:
    """Wait for the end of the program where it has begun and this is a daemon thread, which it will end.

    Such a thread that still asks gets no answer any more, and should neither die of that with a traceback
    nor meet the end in native code.
    """
    if is_ending() and threading.current_thread().daemon:
        time.sleep(_STAY_SECONDS)


def _end() -> None:
    with _threads.lock:
        _threads.ending.set()
        running = tuple(_threads.running)
        for tasks in _threads.idle:
            tasks.put(None)
    until = time.monotonic() + PATIENCE_SECONDS
    for thread in running:
        thread.join(max(0.0, until - time.monotonic()))
    while _threads.answers and time.monotonic() < until:
        time.sleep(_ON_TIME_SECONDS)


def _forget_in_child() -> None:
    # Threads stay with the parent; a lock that one of them held would never be released here.
    global _threads  # noqa: PLW0603
    was_watched = _threads.is_watched
    _threads = _Threads()
    _threads.is_watched = was_watched
    _overdue.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)


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

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is told where the turn came late."""
        if self.waited_seconds < _LATE_SECONDS:
            return ()
        waited = f"it waited {self.waited_seconds:.1f} s for its turn"
        return (f"{waited}: more is asked at once than can be answered",)

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
        self._waiting: deque[Future[None]] = deque()
        self._lock = ForkSafeLock(self._forget)

    def _forget(self) -> None:
        """Begin anew in the child of a fork: who was let in, and who waits, stayed with the parent."""
        self._free = self._at_once
        self._waiting.clear()

    def enter(self) -> Future[None]:
        """Return what is done when there is room."""
        let_in: Future[None] = Future()
        with self._lock:
            if self._free > 0:
                self._free -= 1
                let_in.set_result(None)
            else:
                self._waiting.append(let_in)
        return let_in

    def leave(self) -> None:
        """Make room for the next one that still waits."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._free += 1
                    return
                let_in = self._waiting.popleft()
            if let_in.set_running_or_notify_cancel():
                let_in.set_result(None)
                return

    def give_up(self, let_in: Future[None]) -> None:
        """Wait no longer; who was let in meanwhile leaves."""
        if not let_in.cancel():
            self.leave()


_turnstile = Turnstile(AT_ONCE)
_current: ContextVar[Turn | None] = ContextVar("turn", default=None)


@contextmanager
def _held(asked: float) -> Iterator[Turn]:
    mine = Turn(time.monotonic() - asked, _turnstile.leave)
    token = _current.set(mine)
    try:
        yield mine
    finally:
        mine.pass_on()
        _current.reset(token)


@contextmanager
def _let_in() -> Iterator[Future[None]]:
    """Stand in the queue and give what is done when there is room; whoever does not wait for it gives up."""
    let_in = _turnstile.enter()
    with ExitStack() as waiting:
        waiting.callback(_turnstile.give_up, let_in)
        yield let_in
        waiting.pop_all()


@contextmanager
def turn() -> Iterator[Turn]:
    """Wait for a turn and have it for a block; within a turn there is nothing to wait for."""
    if _current.get() is not None:
        yield Turn(0.0, lambda: None)
        return
    asked = time.monotonic()
    with _let_in() as let_in:
        let_in.result()
    with _held(asked) as mine, answering():
        yield mine


@asynccontextmanager
async def aturn() -> AsyncIterator[Turn]:
    """Do the same in a running event loop, which goes on meanwhile."""
    if _current.get() is not None:
        yield Turn(0.0, lambda: None)
        return
    asked = time.monotonic()
    with _let_in() as let_in:
        await asyncio.wrap_future(let_in)
    with _held(asked) as mine:
        yield mine


@asynccontextmanager
async def passing_on() -> AsyncIterator[None]:
    """Pass the current turn on while a block of a running event loop only waits."""
    mine = _current.get()

    async def watch(held: Turn) -> None:
        while True:
            began = time.monotonic()
            await asyncio.sleep(_GLANCE_SECONDS)
            held.glance(time.monotonic() - began - _GLANCE_SECONDS)

    watcher = None if mine is None else asyncio.ensure_future(watch(mine))
    try:
        yield
    finally:
        if watcher is not None:
            watcher.cancel()


class LateError(Exception):
    """A source did not answer within its deadline; never raised, only carried."""


_overdue: dict[int, tuple[object, list[Callable[[], bool]]]] = {}
"""Calls that ran past their deadline; who is in one is not asked: every question would leave one thread more.

The owner is kept with its calls, so that its id is nobody else's meanwhile.
"""


def overdue(owner: object, is_running: Callable[[], bool]) -> None:
    """Remember a call of an owner until it ends."""
    _overdue.setdefault(id(owner), (owner, []))[1].append(is_running)


def busy(owner: object) -> SourceError | None:
    """Return what is told of an owner that is not asked because it hangs in an earlier call."""
    _, calls = _overdue.get(id(owner), (owner, []))
    if any(is_running() for is_running in tuple(calls)):
        return SourceError(
            "it has not answered an earlier question yet; it is asked again once that has ended"
        )
    _overdue.pop(id(owner), None)
    return None


def run(
    calls: Sequence[Callable[[], Any]], owners: Sequence[object], deadline: float
) -> tuple[list[Answer], list[float]]:
    """Run calls at once and return what each gave, or the exception it raised, in order.

    Nothing waits for a thread that hangs but the program's exit, and that for some seconds at most.

    Args:
        calls: What to run.
        owners: Whose call each is; one that still is in an earlier, late call is not called.
        deadline: On `time.monotonic()`'s clock, in seconds.

    Returns:
        The answers, and how many seconds were waited for each: 0 where it was not asked.
    """
    results: queue.SimpleQueue[tuple[int, Answer]] = queue.SimpleQueue()
    answers: list[Answer] = [busy(owner) or LateError() for owner in owners]
    open_places: dict[int, Callable[[], bool]] = {}
    waited = [0.0] * len(owners)
    asked = time.monotonic()
    for place, call in enumerate(calls):
        if isinstance(answers[place], LateError):

            def give(answer: Answer, place: int = place) -> None:
                results.put((place, answer))

            open_places[place] = begin(call, give, (asked, deadline))
    while open_places and (found := _next(results, deadline)) is not None:
        place, answer = found
        answers[place] = answer
        waited[place] = time.monotonic() - asked
        open_places.pop(place, None)
    for place, is_running in open_places.items():
        waited[place] = time.monotonic() - asked
        overdue(owners[place], is_running)
    return answers, waited


def _next(results: queue.SimpleQueue[tuple[int, Answer]], deadline: float) -> tuple[int, Answer] | None:
    """Return the next answer, or None at the deadline; who only waits passes the turn on."""
    mine = _current.get()
    while True:
        began = time.monotonic()
        left = max(0.0, deadline - began)
        short = left if mine is None else min(left, _GLANCE_SECONDS)
        try:
            return results.get(timeout=short)
        except queue.Empty:
            if not left:
                return None
        if mine is not None:
            mine.glance(time.monotonic() - began - short)


def begin(
    call: Callable[[], Any], give: Callable[[Answer], None], asked: tuple[float, float]
) -> Callable[[], bool]:
    """Have a thread do a call and give its answer; return what tells whether it still runs.

    Where no thread can be had, that is the answer.

    Args:
        call: What to run.
        give: Takes the answer.
        asked: When the question was asked, and until when an answer is waited for.
    """
    context = contextvars.copy_context()
    context.run(asked_at.set, asked)
    is_over = threading.Event()

    def work() -> None:
        try:
            give(walked(answer_of(call)))
        except KeyboardInterrupt:  # the source's own: a person's reaches the main thread alone
            give(SourceError("it was interrupted"))
        finally:
            is_over.set()

    try:
        hand_over(lambda: context.run(work))
    except RuntimeError as error:
        is_over.set()
        give(SourceError(f"no thread can be had to ask it: {error}"))
    return lambda: not is_over.is_set()


def within(until: float, call: Callable[[], Value], owner: object) -> Value:
    """Return what a call gives until a moment; an owner that still is in an earlier, late call is not called.

    Args:
        until: On `time.monotonic()`'s clock, in seconds.
        call: What to run.
        owner: Whose call it is.

    Raises:
        TimeoutError: It gives nothing until then.
    """
    if busy(owner) is not None:
        raise TimeoutError
    # In a tuple, since what a source offers is looked at only so far.
    (answer,), _ = run([lambda: (call(),)], [owner], until)
    if isinstance(answer, LateError):
        raise TimeoutError
    if isinstance(answer, Exception):
        raise answer
    found: Value = answer[0]
    return found


def answer_of(call: Callable[..., Any], *args: Any) -> Answer:
    """Return what a call gives or raises: whatever a source raises costs only that source.

    A panic in a Rust library, which is no `Exception`, is an error like any other.
    """
    try:
        return call(*args)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - anyone's code
        return error if isinstance(error, Exception) else SourceError(safe_message(error))


def is_plain(answer: Answer) -> bool:
    """Tell whether walking through an answer is nothing to wait for, or it is none."""
    if type(answer) in {list, tuple, Offer}:
        return len(answer) <= MOST_OFFERED
    return isinstance(answer, (str, bytes)) or not isinstance(answer, Sequence)


def walked(answer: Answer) -> Answer:
    """Return an answer as a list: a sequence of its own may take long, fail on the way or never end."""
    if is_plain(answer):
        return answer
    items: list[Any] = []
    trouble, said = answer_of(_take, items, answer), warnings_of(answer)
    if trouble is None and len(items) <= MOST_OFFERED:
        return Offer(items, warnings=said)
    if trouble is None:
        told = f"it offered more than {MOST_OFFERED:,} candidates; the others were not looked at"
        return Offer(items[:MOST_OFFERED], warnings=said, trouble=told)
    if not items:
        return trouble
    told = f"its answer broke off after {len(items)} candidates: {safe_message(trouble)}"
    return Offer(items, warnings=said, trouble=told)


def warnings_of(answer: Answer) -> Sequence[str]:
    """Return what the context is to say of an answer."""
    return answer.warnings if isinstance(answer, Offer) else ()


def _take(items: list[Any], answer: Sequence[Any]) -> None:
    for item in itertools.islice(answer, MOST_OFFERED + 1):
        items.append(item)  # noqa: PERF402 - what came before a failure is kept
