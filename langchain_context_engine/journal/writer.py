"""A thread that writes behind the answers' backs: it never slows one, never fails one."""

from __future__ import annotations

import atexit
import contextlib
import logging
import queue
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from langchain_context_engine.models.locks import ForkSafeLock
from langchain_context_engine.models.redact import safe_message

__all__ = ["BackgroundWriter"]

_LOGGER = logging.getLogger("langchain_context_engine.journal")
_BATCH = 32
MOST_CHARACTERS = 2**27
"""Of what waits to be written: a thousand answers of five thousand candidates each would be gigabytes."""

_IDLE_SECONDS = 2.0
_EXIT_SECONDS = 2.0
_WRITERS: weakref.WeakSet[BackgroundWriter] = weakref.WeakSet()


class BackgroundWriter:
    """Hands items to `write` in a daemon thread, in order, several at once.

    The thread starts with the first item and ends after two idle seconds. A full queue drops the
    new item; a failing `write` loses its items: both are counted, and the 1st, 2nd, 4th, 8th, … logged.
    What waits at a fork is the parent's to write.

    Args:
        write: Takes a batch; called by one thread at a time.
        name: What warnings call it.
        capacity: Items that may wait.
    """

    def __init__(self, write: Callable[[Sequence[Any]], None], *, name: str, capacity: int = 1024) -> None:
        self._write = write
        self._name = name
        self._capacity = capacity
        self.dropped = 0
        self.failed = 0
        self._is_closed = False
        self._begin()
        self._lock = ForkSafeLock(self._begin)
        _WRITERS.add(self)

    def _begin(self) -> None:
        self._queue: queue.Queue[tuple[Any, int]] = queue.Queue(self._capacity)
        self._weight = 0
        self._thread: threading.Thread | None = None

    def put(self, item: object, weight: int = 0) -> None:
        """Take an item, or drop it where too much waits or this is closed; never wait, never raise.

        Args:
            item: What is to be written.
            weight: How many characters it has, about.
        """
        try:
            with self._lock:
                if self._is_closed or self._weight > MOST_CHARACTERS:
                    raise queue.Full  # noqa: TRY301
                self._queue.put_nowait((item, weight))
                self._weight += weight
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="context-journal", daemon=True)
                    self._thread.start()
        except queue.Full:
            self.dropped += 1
            if self.dropped.bit_count() == 1:  # so that a log is not flooded
                why = "is closed" if self._is_closed else "cannot keep up"
                _LOGGER.warning("journal %s %s: %d traces dropped", self._name, why, self.dropped)
        except RuntimeError as error:  # no thread can start, for example while the program ends
            self._thread = None
            self.fail(error, 0)

    def flush(self, timeout_seconds: float = 5.0) -> bool:
        """Wait until everything taken so far is written; return whether it was in time."""
        done = self._queue.all_tasks_done
        with done:
            return done.wait_for(lambda: not self._queue.unfinished_tasks, timeout_seconds)

    def close(self, timeout_seconds: float = 5.0) -> bool:
        """Flush and take nothing more; return whether all was written in time."""
        self._is_closed = True
        return self.flush(timeout_seconds)

    def fail(self, error: Exception, count: int) -> None:
        """Count items that could not be written; log the 1st, the 2nd, 4th, 8th, … and what comes of it."""
        before, self.failed = self.failed, self.failed + count
        if not before or before.bit_length() < self.failed.bit_length():
            _LOGGER.warning(
                "journal %s does not work: %s; %d traces could not be written",
                self._name, safe_message(error), self.failed,
            )  # fmt: skip

    def _run(self) -> None:
        while True:
            try:
                batch = [self._queue.get(timeout=_IDLE_SECONDS)]
            except queue.Empty:
                with self._lock:
                    if self._queue.empty():
                        self._thread = None
                        return
                continue
            with contextlib.suppress(queue.Empty):
                while len(batch) < _BATCH:
                    batch.append(self._queue.get_nowait())
            try:
                self._write([item for item, _ in batch])
            except Exception as error:  # noqa: BLE001 - whatever happens here, answers go on
                self.fail(error, len(batch))
            with self._lock:
                self._weight -= sum(weight for _, weight in batch)
            for _ in batch:
                self._queue.task_done()
            del batch  # an idle thread holds no context


@atexit.register
def _flush_all() -> None:
    deadline = time.monotonic() + _EXIT_SECONDS
    for writer in list(_WRITERS):
        writer.flush(max(0.0, deadline - time.monotonic()))
