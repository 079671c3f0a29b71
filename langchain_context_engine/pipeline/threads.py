"""Threads that nothing waits for but the end of the program, and that only for a while.

A daemon thread that is in native code (Chroma, SQLite) when the interpreter goes down takes the
process with it. So at exit those that run are told, and waited for: all of them together for some seconds.
One that hangs longer than that is left behind.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["answering", "is_ending", "linger", "rest", "start"]

_GLANCE_SECONDS = 0.01
PATIENCE_SECONDS = 5.0
"""How long a program's end waits for all threads together; between two looks at `is_ending` less passes."""
_STAY_SECONDS = 60.0


class _Threads:
    """The threads of a process, and whether it ends."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.ending = threading.Event()
        self.running: weakref.WeakSet[threading.Thread] = weakref.WeakSet()
        self.is_watched = False
        self.answers = 0

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
    until = time.monotonic() + PATIENCE_SECONDS
    for thread in running:
        thread.join(max(0.0, until - time.monotonic()))
    while _threads.answers and time.monotonic() < until:
        time.sleep(_GLANCE_SECONDS)


def _forget_in_child() -> None:
    # Threads stay with the parent; a lock that one of them held would never be released here.
    global _threads  # noqa: PLW0603
    was_watched = _threads.is_watched
    _threads = _Threads()
    _threads.is_watched = was_watched


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
