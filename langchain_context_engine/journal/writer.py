"""A thread that writes traces behind the answers' backs: it never slows one, never fails one."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import queue
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_context_engine.models.errors import ContextEngineError

__all__ = ["BackgroundWriter"]

_LOGGER = logging.getLogger("langchain_context_engine.journal")
_BATCH = 32
MOST_CHARACTERS = 2**27
"""Of what waits to be written: a thousand answers of five thousand candidates each would be gigabytes."""

_IDLE_SECONDS = 2.0
_EXIT_SECONDS = 2.0
_WRITERS: weakref.WeakSet[BackgroundWriter] = weakref.WeakSet()


class _Queue(queue.Queue[Any]):
    """A queue that holds on to what was taken from it until that is written, and knows what it all weighs."""

    def __init__(self, maxsize: int, weigh: Callable[[Any], int]) -> None:
        self._weigh = weigh
        super().__init__(maxsize)

    def _init(self, maxsize: int) -> None:
        super()._init(maxsize)
        self.taken: list[Any] = []
        self.weight = 0

    def _put(self, item: Any) -> None:
        super()._put(item)
        self.weight += self._weigh(item)

    def let_go(self) -> None:
        """Let go of what was taken; `mutex` is held."""
        self.weight -= sum(map(self._weigh, self.taken))
        self.taken.clear()

    def _get(self) -> Any:
        item = super()._get()
        self.taken.append(item)
        return item


class BackgroundWriter:
    """Hands items to `write` in a daemon thread, in order, several at once.

    The thread starts with the first item and ends after two idle seconds. A full queue drops the
    new item; a failing `write` loses its items: both are counted, and the 1st, 2nd, 4th, 8th, … logged.

    Args:
        write: Takes a batch; called by one thread at a time.
        name: What warnings call it.
        capacity: Items that may wait.
        weigh: What an item weighs, the same each time; cheap, since every item is weighed twice.
        most_weight: Of what weighs so much together no more is taken, however few items they are.
        on_idle: Called by the thread when it has had nothing to do for a while.
    """

    def __init__(
        self,
        write: Callable[[Sequence[Any]], None],
        *,
        name: str,
        capacity: int = 1024,
        weigh: Callable[[Any], int] = lambda _: 0,
        most_weight: int = MOST_CHARACTERS,
        on_idle: Callable[[], None] = lambda: None,
    ) -> None:
        self._write = write
        self._on_idle = on_idle
        self._name = name
        self._capacity = capacity
        self._weigh, self._most_weight = weigh, most_weight
        self.dropped = 0
        self.failed = 0
        self._reset()
        _WRITERS.add(self)

    def _reset(self) -> None:
        self._queue = _Queue(self._capacity, self._weigh)
        self._written = 0
        self._totals: Mapping[Any, int] | None = None
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_closed = False
        self._has_warned = False

    def pending(self) -> tuple[int, Mapping[Any, int] | None, list[Any]]:
        """Return how many batches are written, what the one that is being written leads to, and what waits.

        What waits is in order; it holds the batch itself until `leads_to` was told of it.
        """
        with self._queue.mutex:
            taken = [] if self._totals is not None else self._queue.taken
            return self._written, self._totals, [*taken, *self._queue.queue]

    def leads_to(self, totals: Mapping[Any, int]) -> None:
        """Tell what will be stored once the batch that is being written is."""
        with self._queue.mutex:
            self._totals = totals

    def put(self, item: object) -> bool:
        """Take an item, or drop it where the queue is full or closed; never wait, never raise."""
        try:
            with self._lock:
                if self._is_closed or self._queue.weight > self._most_weight:
                    raise queue.Full  # noqa: TRY301
                self._queue.put_nowait(item)
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="context-journal", daemon=True)
                    self._thread.start()
        except queue.Full:
            self.dropped += 1
            if self.dropped.bit_count() == 1:  # the 1st, 2nd, 4th, 8th, … so that a log is not flooded
                why = "is closed" if self._is_closed else "cannot keep up"
                _LOGGER.warning("journal %s %s: %d traces dropped", self._name, why, self.dropped)
            return False
        except RuntimeError as error:  # no thread can start, for example while the program ends
            self._thread = None
            self.fail(error, 0)
        return True

    def flush(self, timeout_seconds: float = 5.0) -> bool:
        """Wait until everything taken so far is written; return whether it was in time."""
        done = self._queue.all_tasks_done
        with done:
            return done.wait_for(lambda: not self._queue.unfinished_tasks, timeout_seconds)

    def close(self, timeout_seconds: float = 5.0) -> bool:
        """Flush and take nothing more; return whether all was written in time."""
        with self._lock:
            self._is_closed = True
        return self.flush(timeout_seconds)

    def _run(self) -> None:
        while True:
            try:
                batch = [self._queue.get(timeout=_IDLE_SECONDS)]
            except queue.Empty:
                self._rest()
                with self._lock:
                    if self._queue.empty():
                        self._thread = None
                        return
                continue
            with contextlib.suppress(queue.Empty):
                while len(batch) < _BATCH:
                    batch.append(self._queue.get_nowait())
            self._write_batch(batch)
            with self._queue.mutex:
                self._queue.let_go()
                self._totals = None
                self._written += 1
            for _ in batch:
                self._queue.task_done()
            del batch  # an idle thread holds no context

    def _rest(self) -> None:
        if self._is_closed:  # and the file with it
            return
        try:
            self._on_idle()
        except Exception as error:  # noqa: BLE001
            if not self._is_closed:  # closing tidies by itself, and may do so meanwhile
                self.fail(error, 0)

    def _write_batch(self, batch: Sequence[Any]) -> None:
        try:
            self._write(batch)
        except Exception as error:  # noqa: BLE001 - whatever happens here, answers go on
            self.fail(error, len(batch))

    def fail(self, error: Exception, count: int) -> None:
        """Count items that could not be written; log the first, the 2nd, 4th, 8th, … and what comes of it."""
        before, self.failed = self.failed, self.failed + count
        if not self._has_warned or before.bit_length() < self.failed.bit_length():
            self._has_warned = True
            # Other errors than the disk's may quote what they choked on.
            why = (
                str(error)
                if isinstance(error, (sqlite3.Error, OSError, ContextEngineError))
                else "see its type"
            )
            _LOGGER.warning(
                "journal %s does not work: %s: %s; %d traces could not be written",
                self._name, type(error).__name__, why, self.failed,
            )  # fmt: skip


def _flush_all() -> None:
    deadline = time.monotonic() + _EXIT_SECONDS
    for writer in list(_WRITERS):
        writer.flush(max(0.0, deadline - time.monotonic()))


def _forget_in_child() -> None:
    # The thread and its queue stayed with the parent, which writes what is in it.
    for writer in list(_WRITERS):
        writer._reset()  # noqa: SLF001


atexit.register(_flush_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
