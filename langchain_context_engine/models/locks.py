"""Locks that hold nobody up in the child of a fork, and a property that is kept without one."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Any, Generic, TypeVar

_LOCKS: weakref.WeakSet[ForkSafeLock] = weakref.WeakSet()


class ForkSafeLock:
    """A `threading.Lock` for `with` that is free in the child of a fork, whoever held it.

    What it guards must bear to be found as another thread left it in the middle of a step, as a cache that
    misses an entry does, or be forgotten.

    Args:
        forget: Called in the child: forgets what only a thread of the parent would finish.
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

    def renew(self) -> None:
        """Be free and forget, in the child of a fork."""
        self._lock = threading.Lock()
        if self._forget is not None:
            self._forget()


FORKING = threading.RLock()
"""A lock that a fork waits for: held by who is in what takes locks that are not ours, an import or SQLite.

The thread that holds it may fork all the same.
"""


def _renew_all() -> None:
    FORKING.release()
    for lock in list(_LOCKS):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=FORKING.acquire, after_in_parent=FORKING.release, after_in_child=_renew_all)


Value = TypeVar("Value")


class kept_property(Generic[Value]):  # noqa: N801 - a decorator
    """A property whose value is worked out when it is first read, and kept in the object's `__dict__`.

    Threads that read it first at the same time may each work it out. `functools.cached_property` holds a lock
    for all objects of a class until Python 3.12: threads wait for each other's, and the child of a fork for
    one that a thread of its parent held, for ever.
    """

    def __init__(self, work_out: Callable[[Any], Value]) -> None:
        self._work_out = work_out
        self.__doc__ = work_out.__doc__
        self.__module__ = work_out.__module__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Value:
        # Not by setattr, which a frozen dataclass refuses; from here on the object's own is found first.
        value: Value = instance.__dict__.setdefault(self._name, self._work_out(instance))
        return value
