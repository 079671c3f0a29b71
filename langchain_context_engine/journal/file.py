"""The journal's open file: one connection that writes, one that reads, each behind its lock."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

from langchain_context_engine.journal.schema import open_reader, open_writer
from langchain_context_engine.models.errors import ConfigError

__all__ = ["JournalFile"]

LARGEST_SIDE_FILE = 8_000_000
"""Bytes that may wait in `-wal`; beyond them the writer waits for whoever reads."""

_LONGEST_HOLD_SECONDS = 1.0
_FILES: weakref.WeakSet[JournalFile] = weakref.WeakSet()
_FORKING = threading.Lock()
_HELD: list[threading.Lock] = []


class _Connection:
    """A connection that is opened when needed."""

    def __init__(self, path: Path, connect: Callable[[], sqlite3.Connection]) -> None:
        self.lock = threading.Lock()
        self._path = path
        self._connect = connect
        self._open: sqlite3.Connection | None = None
        self._inode = 0

    def get(self) -> sqlite3.Connection:
        if self._open is None:
            self._open = self._connect()
            self._inode = self._path.stat().st_ino
        return self._open

    def is_left_behind(self) -> bool:
        """Tell whether it is open on a file that is not there any more."""
        if self._open is None:
            return False
        try:
            return self._path.stat().st_ino != self._inode
        except OSError:
            return True

    def empty_side_file(self) -> None:
        """Leave nothing in `-wal`: beside a file that replaced this one, it would be read as its own."""
        if self._open is not None:
            with contextlib.suppress(sqlite3.Error):  # another process reads or writes
                self._open.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None


class JournalFile:
    """Opens a journal, and lends its connections to one thread at a time.

    Args:
        path: The file.
        read_only: Make nothing and write nothing.
        must_exist: Make nothing.

    Raises:
        ConfigError: The file cannot be opened that way.
    """

    def __init__(self, path: Path, *, read_only: bool = False, must_exist: bool = False) -> None:
        self.path = path
        self.is_read_only = read_only
        self.is_closed = False
        self._must_exist = must_exist
        self._left_behind: list[_Connection] = []
        self._renewing = threading.Lock()
        self._writer, self._reader = self._new_connections()
        (self._reader if read_only else self._writer).get()
        _FILES.add(self)

    def _new_connections(self) -> tuple[_Connection, _Connection]:
        return (
            _Connection(self.path, lambda: open_writer(self.path, must_exist=self._must_exist)),
            _Connection(self.path, lambda: open_reader(self.path)),
        )

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Lend the writing connection within one transaction.

        Raises:
            ConfigError: The journal is closed or read only.
            sqlite3.Error: The disk is full, another process kept the file for seconds, …
        """
        if self.is_read_only:
            msg = f"journal {self.path} was opened to be read only"
            raise ConfigError(msg)
        with self._lent(self._writer) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def alone(self) -> Iterator[sqlite3.Connection]:
        """Lend the writing connection without a transaction."""
        with self._lent(self._writer) as connection:
            yield connection

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lend the reading connection.

        Raises:
            ConfigError: The journal is closed, or its file is gone.
        """
        with self._lent(self._reader) as connection:
            yield connection

    @contextlib.contextmanager
    def _lent(self, connection: _Connection) -> Iterator[sqlite3.Connection]:
        if connection.is_left_behind():
            self._let_go()
        with connection.lock:
            if self.is_closed:
                msg = f"journal {self.path} is closed"
                raise ConfigError(msg)
            yield connection.get()

    def tidy(self) -> None:
        """Move what stands in the side file `-wal` into the file itself, so that a copy of it is whole.

        Raises:
            sqlite3.Error: The disk is full, …
        """
        with self.alone() as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def is_untidy(self) -> bool:
        """Tell whether the side file has grown beyond what it should: a reader kept it from being moved."""
        try:
            return self.path.with_name(f"{self.path.name}-wal").stat().st_size > LARGEST_SIDE_FILE
        except OSError:
            return False

    def close(self) -> None:
        """Close both connections, after which the file is whole; closing again does nothing."""
        self.is_closed = True
        self._let_go()

    def _let_go(self) -> None:
        # The one that writes is closed last: only it may move the side file into the file it belongs to.
        with self._renewing, self._reader.lock, self._writer.lock:
            self._reader.close()
            self._writer.empty_side_file()
            self._writer.close()

    def close_for_fork(self) -> list[threading.Lock]:
        """Keep threads out and close both connections, as SQLite asks; return the locks that are held."""
        locks = (self._renewing, self._reader.lock, self._writer.lock)
        held = [lock for lock in locks if lock.acquire(timeout=_LONGEST_HOLD_SECONDS)]
        if len(held) == len(locks):
            self._reader.close()
            self._writer.close()
        return held

    def forget(self) -> None:
        """Leave to the parent what could not be closed in time, with its locks."""
        self._left_behind += [self._writer, self._reader]  # closing them here would touch the parent's
        self._writer, self._reader = self._new_connections()
        self._renewing = threading.Lock()


def _hold_all() -> None:
    # A child would wait for ever for locks of a thread that was inside SQLite, and share with its
    # parent the map of a side file that the parent may cut.
    _FORKING.acquire()
    for file in list(_FILES):
        _HELD.extend(file.close_for_fork())


def _let_on_all() -> None:
    while _HELD:
        _HELD.pop().release()
    _FORKING.release()


def _forget_in_child() -> None:
    _HELD.clear()
    _FORKING.release()
    for file in list(_FILES):
        file.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold_all, after_in_parent=_let_on_all, after_in_child=_forget_in_child)
