"""What a forked process must make anew: locks that another thread held, files that two would share.

gunicorn and multiprocessing fork a process with all that was opened before; the threads do not come along.
"""

from __future__ import annotations

import os
import weakref
from typing import Any, Protocol


class Renewable(Protocol):
    """Holds locks or open files."""

    def renew(self) -> None:
        """Make them anew; called in the child, where nothing else runs yet."""
        ...


_living: weakref.WeakSet[Any] = weakref.WeakSet()
_left: list[Any] = []


def renew_after_fork(thing: Renewable) -> None:
    """Have `renew` called in every process that is forked from this one."""
    _living.add(thing)


def leave(thing: Any) -> None:
    """Keep what belongs to the parent from being closed here: closing it would free the parent's locks."""
    _left.append(thing)


def _renew() -> None:
    for thing in tuple(_living):
        thing.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
