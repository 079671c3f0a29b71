"""Locks that hold nobody up in the child of a fork, which has none of the threads that would release them."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from types import TracebackType

_LOCKS: weakref.WeakSet[ForkSafeLock] = weakref.WeakSet()


class ForkSafeLock:
    """A `threading.Lock` for `with` that is free in the child of a fork, whoever held it.

    What it guards must bear to be found as another thread left it in the middle of a step, as a cache that
    misses an entry does, or be forgotten.

    Args:
        forget: Called in the child: forgets what only a thread of the parent would finish.

    Example:
        >>> lock = ForkSafeLock()
        >>> with lock:
        ...     lock.locked()
        True
    """

    __slots__ = ("__weakref__", "_forget", "_lock")

    def __init__(self, forget: Callable[[], object] | None = None) -> None:
        self._lock = threading.Lock()
        self._forget = forget
        _LOCKS.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._lock.locked():  # not in the child of a thread that forked while it held it
            self._lock.release()

    def locked(self) -> bool:
        """Return whether somebody holds it."""
        return self._lock.locked()

    def renew(self) -> None:
        """Be free and forget, in the child of a fork."""
        self._lock = threading.Lock()
        if self._forget is not None:
            self._forget()


def awaited_lock() -> threading.RLock:
    """Return a lock that a fork waits for: it guards what takes locks that are not ours, as an import does.

    The thread that holds it may fork all the same.
    """
    lock = threading.RLock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
    return lock


def _renew_all() -> None:
    for lock in list(_LOCKS):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
