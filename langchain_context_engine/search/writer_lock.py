"""A lock over processes: one writes an index at a time. It is free again when its process is gone."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from langchain_context_engine.search.forks import renew_after_fork

_STEP_SECONDS = 0.01


class WriterLock:
    """Whoever holds it may write a collection's index.

    Args:
        path: The file that stands for it; None is an index that only this process has.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._own = threading.Lock()
        self._file: int | None = None
        renew_after_fork(self)

    @contextlib.contextmanager
    def held(self, *, wait_seconds: float = 0.0) -> Iterator[bool]:
        """Try to hold it for the block, and give whether it is held.

        Raises:
            OSError: Its file cannot be opened.
        """
        until = time.monotonic() + wait_seconds
        if not self._own.acquire(timeout=max(0.0, wait_seconds)):
            yield False
            return
        try:
            if self._path is None:
                yield True
                return
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                is_held = _try(self._file)
                while not is_held and time.monotonic() < until:
                    time.sleep(_STEP_SECONDS)
                    is_held = _try(self._file)
                try:
                    yield is_held
                finally:
                    if is_held and self._file is not None:
                        _free(self._file)
            finally:
                if self._file is not None:
                    os.close(self._file)
                self._file = None
        finally:
            self._own.release()

    def renew(self) -> None:
        """Let go in a forked process of what the parent holds."""
        self._own = threading.Lock()
        if self._file is not None:
            os.close(self._file)
            self._file = None


if sys.platform == "win32":
    import msvcrt

    def _try(file: int) -> bool:
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _free(file: int) -> None:
        os.lseek(file, 0, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _free(file: int) -> None:
        # Said, not left to closing: a process forked meanwhile has the file open too.
        fcntl.flock(file, fcntl.LOCK_UN)
