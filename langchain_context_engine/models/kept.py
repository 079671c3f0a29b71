"""`kept_property`: worked out once for each object, without a lock.

`functools.cached_property` holds a lock for all objects of a class until Python 3.12: threads wait for each
other's, and the child of a fork for one that a thread of its parent held, for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


class kept_property(Generic[Value]):  # noqa: N801 - a decorator
    """A property whose value is worked out when it is first read, and kept in the object's `__dict__`.

    Threads that read it first at the same time may each work it out.
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
