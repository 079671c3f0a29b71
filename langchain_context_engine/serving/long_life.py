"""What a process does that answers for days: memory that is free goes back to where all threads find it."""

from __future__ import annotations

import ctypes
import os
import sys

__all__ = ["share_memory", "shared_memory_environment"]

_VARIABLE = "MALLOC_ARENA_MAX"
_ARENAS = 2
_M_ARENA_MAX = -8  # as glibc's malloc.h has it


def share_memory() -> bool:
    """Let glibc give the threads of this process two pools of memory; return whether it will.

    Else each of up to eight pools a processor keeps what its threads once needed at most: after five hundred
    questions by four threads 407 MB were held, of which 315 were used; with two pools 324. Must be called
    before threads start. Who sets MALLOC_ARENA_MAX has chosen; elsewhere than on glibc nothing is changed.
    """
    if not sys.platform.startswith("linux") or os.environ.get(_VARIABLE):
        return False
    try:
        return bool(ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS))
    except (AttributeError, OSError):  # musl has no such option
        return False


def shared_memory_environment() -> dict[str, str]:
    """Return the variable that lets another process do the same, if nobody has set it.

    Example:
        >>> set(shared_memory_environment().values()) <= {"2"}
        True
    """
    return {} if os.environ.get(_VARIABLE) else {_VARIABLE: str(_ARENAS)}
