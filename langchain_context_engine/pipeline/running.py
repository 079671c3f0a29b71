"""Running what sources do in threads of their own: at once, under a deadline, not again while it hangs."""

from __future__ import annotations

import contextvars
import itertools
import os
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_context_engine.errors import SourceError
from langchain_context_engine.models.clock import asked_at
from langchain_context_engine.models.redact import safe_message
from langchain_context_engine.models.types import Offer
from langchain_context_engine.pipeline import threads
from langchain_context_engine.pipeline.turnstile import glances

MOST_OFFERED = 50_000
"""So many candidates of one answer are looked at: an answer may never end."""

Answer = Any
"""What a source gave: a sequence of candidates, or the exception that it raised."""


class LateError(Exception):
    """A source did not answer within its deadline; never raised, only carried."""


@dataclass(frozen=True, slots=True)
class Partial:
    """An answer that could not be read to its end.

    Attributes:
        items: What was read.
        trouble: Why no more was.
        warnings: What it had to say all the same.
    """

    items: Sequence[Any]
    trouble: str
    warnings: Sequence[str] = ()


class Overdue:
    """Calls that ran past their deadline and have not ended: who is in one is not asked again meanwhile.

    Otherwise every question would leave one more thread behind in a source that hangs.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Know of no call: in a child process those threads do not run, and a held lock is never released."""
        self._lock = threading.Lock()
        self._calls: dict[int, tuple[object, list[Callable[[], bool]]]] = {}

    def add(self, owner: object, is_running: Callable[[], bool]) -> None:
        """Remember a call of an owner until it ends."""
        with self._lock:
            # The owner is kept with its calls, so that its id is nobody else's meanwhile.
            self._calls.setdefault(id(owner), (owner, []))[1].append(is_running)

    def has(self, owner: object) -> bool:
        """Tell whether an owner is still in a call."""
        with self._lock:
            if id(owner) not in self._calls:
                return False
            running = [each for each in self._calls.pop(id(owner))[1] if each()]
            if running:
                self._calls[id(owner)] = (owner, running)
            return bool(running)


OVERDUE = Overdue()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=OVERDUE.forget)


def busy() -> SourceError:
    """Return what is told of a source that is not asked because it hangs."""
    return SourceError("it has not answered an earlier question yet; it is asked again once that has ended")


def run_all(calls: Sequence[Callable[[], Any]], owners: Sequence[object], deadline: float) -> list[Answer]:
    """Run calls at once and return what each gave, as `run`, alone."""
    return run(calls, owners, deadline)[0]


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
    answers: list[Answer] = [busy() if OVERDUE.has(owner) else LateError() for owner in owners]
    open_places: dict[int, Callable[[], bool]] = {}
    waited = [0.0] * len(owners)
    asked = time.monotonic()
    for place, call in enumerate(calls):
        if isinstance(answers[place], LateError):

            def give(answer: Answer, place: int = place) -> None:
                results.put((place, answer))

            open_places[place] = begin(call, give, asked)
    while open_places:
        found = _next(results, deadline)
        if found is None:
            break
        answers[found[0]], waited[found[0]] = found[1], time.monotonic() - asked
        open_places.pop(found[0], None)
    for place, is_running in open_places.items():
        waited[place] = time.monotonic() - asked
        OVERDUE.add(owners[place], is_running)
    return answers, waited


def _next(results: queue.SimpleQueue[tuple[int, Answer]], deadline: float) -> tuple[int, Answer] | None:
    """Return the next answer, or None at the deadline; who only waits passes the turn on."""
    for seconds in glances(deadline):
        try:
            return results.get(timeout=seconds)
        except queue.Empty:
            continue
    return None


def begin(call: Callable[[], Any], give: Callable[[Answer], None], asked: float) -> Callable[[], bool]:
    """Start a call in a thread, which gives its answer, and return what tells whether it still runs.

    Where no thread can be had, that is the answer.
    """
    context = contextvars.copy_context()
    context.run(asked_at.set, asked)

    def work() -> None:
        give(walked(answer_of(call)))

    try:
        return threads.start(context.run, work, name="context-engine-source").is_alive
    except RuntimeError as error:
        give(SourceError(f"no thread can be had to ask it: {error}"))
        return lambda: False


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
        return Partial(items[:MOST_OFFERED], told, said)
    if not items:
        return trouble
    told = f"its answer broke off after {len(items)} candidates: {safe_message(trouble)}"
    return Partial(items, told, said)


def warnings_of(answer: Answer) -> Sequence[str]:
    """Return what the context is to say of an answer."""
    return answer.warnings if isinstance(answer, (Offer, Partial)) else ()


def _take(items: list[Any], answer: Sequence[Any]) -> None:
    for item in itertools.islice(answer, MOST_OFFERED + 1):
        items.append(item)  # noqa: PERF402 - what came before a failure is kept
