"""Locks that a fork leaves behind: a child begins with free ones, whoever of its parent held them.

A child has none of its parent's other threads: what one of them holds at the moment of the fork is never
released there, and what one of them was to do is never done. What such a lock guards must bear to be found as
another thread left it in the middle of a step, as a cache that misses an entry does, or be forgotten.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from types import TracebackType

__all__ = ["ForkSafeLock"]

_LOCKS: weakref.WeakSet[ForkSafeLock] = weakref.WeakSet()


class ForkSafeLock:
    """A `threading.Lock` for `with` that is free in the child of a fork, but for the thread that forked.

    Args:
        forget: Called in the child: forgets what only a thread of the parent would finish.

    Example:
        >>> lock = ForkSafeLock()
        >>> with lock:
        ...     lock.locked()
        True
    """

    __slots__ = ("__weakref__", "_forget", "_lock", "_owner")

    def __init__(self, forget: Callable[[], object] | None = None) -> None:
        self._lock = threading.Lock()
        self._owner: int | None = None
        self._forget = forget
        _LOCKS.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()
        self._owner = threading.get_ident()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._owner = None
        self._lock.release()

    def locked(self) -> bool:
        """Return whether somebody holds it."""
        return self._lock.locked()

    def renew(self) -> None:
        """Be as it should be in the child of a fork, whose only thread is the one that forked."""
        self._lock = threading.Lock()
        if self._owner == threading.get_ident():
            self._lock.acquire()
        else:
            self._owner = None
        if self._forget is not None:
            self._forget()


def _renew_all() -> None:
    for lock in list(_LOCKS):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
