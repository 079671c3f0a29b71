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

_AWAITED_SECONDS = 10
_LOCKS: weakref.WeakSet[ForkSafeLock] = weakref.WeakSet()


class ForkSafeLock:
    """A `threading.Lock` for `with` that is free in the child of a fork, but for the thread that forked.

    Args:
        forget: Called in the child: forgets what only a thread of the parent would finish.
        is_awaited: A fork waits until it is free, ten seconds at most: for what takes locks that are not
            ours, as an import does and a library that is loaded.

    Example:
        >>> lock = ForkSafeLock()
        >>> with lock:
        ...     lock.locked()
        True
    """

    __slots__ = ("__weakref__", "_forget", "_forker", "_lock", "_owner", "is_awaited")

    def __init__(self, forget: Callable[[], object] | None = None, *, is_awaited: bool = False) -> None:
        self.is_awaited = is_awaited
        self._forker: int | None = None
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

    def hold_for_fork(self) -> None:
        """Wait until no other thread holds it, and hold it while this one forks."""
        me = threading.get_ident()
        if self._owner != me and self._lock.acquire(timeout=_AWAITED_SECONDS):
            self._forker = me

    def let_go_after_fork(self) -> None:
        """Be free again in the parent, if it was this thread that forked."""
        if self._forker == threading.get_ident():
            self._forker = None
            self._lock.release()

    def renew(self) -> None:
        """Be as it should be in the child of a fork, whose only thread is the one that forked."""
        self._forker = None
        self._lock = threading.Lock()
        if self._owner == threading.get_ident():
            self._lock.acquire()
        else:
            self._owner = None
        if self._forget is not None:
            self._forget()


def _awaited() -> list[ForkSafeLock]:
    return [lock for lock in list(_LOCKS) if lock.is_awaited]


def _await_all() -> None:
    for lock in _awaited():
        lock.hold_for_fork()


def _let_all_go() -> None:
    for lock in _awaited():
        lock.let_go_after_fork()


def _renew_all() -> None:
    for lock in list(_LOCKS):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_await_all, after_in_parent=_let_all_go, after_in_child=_renew_all)
