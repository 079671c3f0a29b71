"""Threads that read in the background, and end before the interpreter does.

A daemon thread that is in native code (tantivy, SQLite) when the interpreter goes down can take the
process with it. So at exit those that run are told, and waited for a little.
"""

from __future__ import annotations

import atexit
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

_PATIENCE_SECONDS = 5.0
"""How long the end of a program waits for each thread; between two looks at `is_ending` less passes."""
_STAY_SECONDS = 60.0

_ending = threading.Event()
_running: weakref.WeakSet[threading.Thread] = weakref.WeakSet()


def start(target: Callable[..., None], *args: Any, name: str) -> threading.Thread:
    """Start a thread that nothing waits for but the end of the program."""
    thread = threading.Thread(target=target, args=args, name=name, daemon=True)
    _running.add(thread)
    thread.start()
    return thread


def rest(seconds: float) -> None:
    """Sleep, but not beyond the end of the program."""
    _ending.wait(seconds)


def is_ending() -> bool:
    """Tell whether the program ends; who works in steps asks before each."""
    return _ending.is_set()


def stay_at_the_end() -> None:
    """Keep a daemon thread from going on where the program ends: it would meet the end in native code."""
    if _ending.is_set() and threading.current_thread().daemon:
        time.sleep(_STAY_SECONDS)


@atexit.register
def _end() -> None:
    _ending.set()
    for thread in tuple(_running):
        thread.join(_PATIENCE_SECONDS)
