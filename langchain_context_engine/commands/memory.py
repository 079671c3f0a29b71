"""What a command that works through a whole repository asks of the C library's memory."""

from __future__ import annotations

import ctypes
import platform

_MOST_ARENAS = -8
"""`M_ARENA_MAX` of glibc's `malloc.h`."""


def share_memory() -> None:
    """Let all threads of this process take memory from one place, where the C library is glibc.

    By default it keeps up to eight places a core, and what a thread gave back in one is not given to the
    next thread: pages that are each read in a thread of their own leave the memory of several behind. Only a
    program's own command may ask for it, never the library: it holds for the whole process.
    """
    if _is_glibc():
        ctypes.CDLL(None).mallopt(_MOST_ARENAS, 1)


def give_back() -> None:
    """Give memory that is free back to the system, where the C library is glibc: it keeps it by itself."""
    if _is_glibc():
        ctypes.CDLL(None).malloc_trim(0)


def _is_glibc() -> bool:
    return platform.libc_ver()[0] == "glibc"
