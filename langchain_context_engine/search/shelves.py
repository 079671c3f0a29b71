"""The shelves of an engine: each collection is opened, read and kept in step, at the right time."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain_context_engine.models.clock import moment_asked
from langchain_context_engine.models.disk import disk_trouble, refusal
from langchain_context_engine.models.errors import ContextEngineError, SourceError
from langchain_context_engine.models.redact import safe_message
from langchain_context_engine.search import background
from langchain_context_engine.search.collection import FIELDS, CollectionHandle
from langchain_context_engine.search.folders import folder_of, told_of_folder
from langchain_context_engine.search.forks import renew_after_fork
from langchain_context_engine.search.kept import Record
from langchain_context_engine.search.reading import Told, read_first, read_whole
from langchain_context_engine.search.recent import Recent
from langchain_context_engine.search.shelf import WRITTEN_AT_ONCE, Shelf
from langchain_context_engine.search.volume import Damage

MEMORY_MEGABYTES = 64
"""What the vectors of all collections of an engine may take in memory; beyond, the store's index is asked."""

PREPARED_TEXTS = 10_000
"""Texts that are prepared in the background, at some kilobytes each; others when a question meets them."""

_RECENT_BYTES = 24 * 2**20
_QUIET_SECONDS = 0.25
"""How long nobody asked before texts are prepared in the background."""
_BATCH = 1000
_RETRY_SECONDS = 30.0
_log = logging.getLogger(__name__)


class Shelves:
    """The collections of an engine, kept in step with their stores. Thread-safe.

    A collection is read whole once, and its index kept where `folder_of` says; from then on every search
    takes in what was added, changed or deleted since. For a local persistent client that is exact. For
    other clients a count is compared, what a search returns is compared with what is known of it, and the
    whole is compared in the background every `refresh_seconds`.

    Args:
        path: A folder for all indexes; None keeps each where `folder_of` says.
        refresh_seconds: See above.
        on_text: Called once with each text, up to `most_texts`, while nobody asks.
        most_texts: See above.
        memory_megabytes: What the vectors of all collections may take in memory.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        refresh_seconds: float = 30.0,
        on_text: Callable[[str], None] | None = None,
        most_texts: int = PREPARED_TEXTS,
        memory_megabytes: float = MEMORY_MEGABYTES,
    ) -> None:
        self._path = path
        self._on_text = on_text
        self._texts_left = most_texts
        self._asked_at = 0.0
        self._refresh_seconds = refresh_seconds
        self._vector_bytes = int(memory_megabytes * 2**20)
        self._recent: Recent[Any, Record] = Recent(_RECENT_BYTES)
        self._handles: list[CollectionHandle] = []
        self._shelves: dict[str, Shelf] = {}
        self._lock = threading.RLock()
        self._others_lock = threading.Lock()
        renew_after_fork(self)

    def sync(self, handle: CollectionHandle, *, wait_seconds: float | None = None) -> Shelf | None:
        """Return the collection's shelf, up to date; None while it is still being read.

        Args:
            handle: The collection.
            wait_seconds: How long to wait for a reading; None is as long as it takes.

        Raises:
            SourceError: The collection could not be read.
        """
        self.register(handle)
        self._asked_at = time.monotonic()
        for _ in range(2):
            shelf = self._shelf(handle)
            self._wait_for_reading(wait_seconds)
            if not shelf.ready.is_set():
                return None
            background.stay_at_the_end()
            asked = moment_asked()
            if not shelf.is_known_at(asked):
                self._update(handle, shelf)
            self._update_others(asked)
            if str(handle.collection.id) != shelf.collection:
                self._forget(shelf)  # recreated meanwhile under the same name
            elif shelf.ready.is_set():
                break
        if shelf.failure is not None:
            raise shelf.failure
        return shelf if shelf.ready.is_set() and shelf.is_whole else None

    def register(self, handle: CollectionHandle) -> None:
        """Make a collection part of the index, to be read with the first question to any of them.

        A word's weight depends on all collections, so no question is answered from half of them.
        """
        with self._lock:
            if handle not in self._handles:
                self._handles.append(handle)

    def read(self, handle: CollectionHandle, told: Told | None = None) -> Shelf:
        """Read a collection now, in this thread, and commit all that is known of it.

        Raises:
            SourceError: The collection could not be read, or its index not be written.
        """
        self.register(handle)
        shelf = self._shelf(handle)
        try:
            with shelf.lock:
                read_whole(shelf, handle, told)
            shelf.flush(wait_seconds=_RETRY_SECONDS)
        except Damage as error:
            msg = f"the index of {handle.name!r} cannot be written: {refusal(error, shelf.volume.folder)}"
            raise SourceError(msg) from None
        finally:
            shelf.ready.set()
        return shelf

    def _wait_for_reading(self, wait_seconds: float | None) -> None:
        """Wait until every collection was read once, for each at most so long since its reading began.

        So a server that hangs makes the first questions wait, not all of them.
        """
        unread = []
        for handle in tuple(self._handles):
            shelf = self._shelf(handle)
            if not shelf.ready.is_set():
                self._start_reading(handle, shelf)
                unread.append(shelf)
        for shelf in unread:
            left = None if wait_seconds is None else shelf.began_at + wait_seconds - time.monotonic()
            shelf.ready.wait(None if left is None else max(0.0, left))

    def peek(self, handle: CollectionHandle) -> Shelf | None:
        """Return the collection's shelf as it was last brought up to date; None before it was read."""
        shelf = self._shelves.get(str(handle.collection.id))
        return shelf if shelf is not None and shelf.ready.is_set() and shelf.is_whole else None

    def state(self, handle: CollectionHandle) -> Shelf | None:
        """Return the collection's shelf however far it is; None before anybody asked."""
        return self._shelves.get(str(handle.collection.id))

    def repair(self, shelf: Shelf, error: BaseException) -> None:
        """Have a damaged index made anew; the question does without it.

        One that only the disk keeps from being used is left as it is, and read into memory.
        """
        folder = shelf.volume.folder
        _log.warning("the index of %s is made anew: %s", shelf.collection, refusal(error, folder))
        try:
            shelf.begin_anew(no_disk=disk_trouble(error, folder))
        except Damage as again:
            shelf.trouble = refusal(again, folder)

    def _shelf(self, handle: CollectionHandle) -> Shelf:
        collection = str(handle.collection.id)
        with self._lock:
            found = self._shelves.get(collection)
            if found is None:
                found = self._shelves[collection] = self._opened(handle, collection)
            return found

    def _opened(self, handle: CollectionHandle, collection: str) -> Shelf:
        def room() -> int:
            others = (other for id_, other in tuple(self._shelves.items()) if id_ != collection)
            return self._vector_bytes - sum(other.vectors.bytes for other in others)

        folder = folder_of(handle, self._path)
        try:
            shelf = Shelf(collection, folder, self._recent, room)
        except Damage as error:  # slower to start, not wrong
            reason = f"its index cannot be kept at {folder}: {refusal(error, folder)}"
            _log.warning("%s: %s", handle.name, reason)
            shelf = Shelf(collection, None, self._recent, room)
            shelf.notice = reason
            return shelf
        shelf.notice = shelf.notice or told_of_folder(handle, folder)
        return shelf

    def _forget(self, shelf: Shelf) -> None:
        shelf.remove()
        with self._lock:
            self._shelves.pop(shelf.collection, None)

    def _start_reading(self, handle: CollectionHandle, shelf: Shelf) -> None:
        with self._lock:
            if shelf.reader is None or not shelf.reader.is_alive():
                shelf.began_at = time.monotonic()
                shelf.reader = background.start(self._read_first, handle, shelf, name="lexical-index")

    def _read_first(self, handle: CollectionHandle, shelf: Shelf) -> None:
        read_first(shelf, handle)
        self._prepare_texts(shelf, lets_pass=True)

    def prepare_texts(self, shelf: Shelf) -> None:
        """Do now what a question would otherwise do when it first meets a text of a collection."""
        if not shelf.is_prepared:
            self._prepare_texts(shelf, lets_pass=False)

    def _prepare_texts(self, shelf: Shelf, *, lets_pass: bool) -> None:
        """Prepare the texts; in the background only while nobody asks, for each would slow the other."""
        if self._on_text is None or not shelf.is_exact:
            return
        for record in shelf.view.every():
            while lets_pass and self._is_asked() and not background.is_ending():
                background.rest(_QUIET_SECONDS)
            if shelf.is_prepared or self._texts_left <= 0 or background.is_ending():
                break
            self._texts_left -= 1
            self._on_text(record.document or "")
        shelf.is_prepared = True

    def _is_asked(self) -> bool:
        return time.monotonic() - self._asked_at < _QUIET_SECONDS

    def _update(self, handle: CollectionHandle, shelf: Shelf) -> None:
        is_taken = False
        with shelf.lock:
            try:
                is_taken = shelf.take_in(handle)
            except sqlite3.Error as error:
                shelf.is_current = False
                if "locked" not in str(error):
                    self.repair(shelf, error)
                return
            except (ValueError, OSError) as error:
                self.repair(shelf, error)
        now = time.monotonic()
        if not is_taken:
            if now - shelf.failed_at > _RETRY_SECONDS:
                shelf.ready.clear()
                self._start_reading(handle, shelf)
            return
        if len(shelf.view.since) >= WRITTEN_AT_ONCE and not shelf.is_flushing:
            background.start(self._flush, shelf, name="lexical-flush")
        if not shelf.is_exact and now - shelf.refreshed_at > self._refresh_seconds:
            shelf.refreshed_at = now
            background.start(self._refresh, handle, shelf, name="lexical-refresh")

    def _flush(self, shelf: Shelf) -> None:
        try:
            shelf.flush()
            shelf.trouble = ""
        except Damage as error:
            # What was written since stays in memory, and is answered with.
            shelf.trouble = refusal(error, shelf.volume.folder)

    def _update_others(self, asked: float) -> None:
        # All sources of a question come at once, so one look at a collection serves them all.
        for other in tuple(self._handles):
            shelf = self._shelves.get(str(other.collection.id))
            if shelf is None or not shelf.is_exact or shelf.is_known_at(asked):
                continue
            with self._others_lock:
                try:
                    if not shelf.is_known_at(asked):
                        self._update(other, shelf)
                except ContextEngineError as error:
                    _log.debug("lexical index: %s", safe_message(error))

    def _refresh(self, handle: CollectionHandle, shelf: Shelf) -> None:
        ids = sorted(shelf.view.all_ids())
        try:
            for start in range(0, len(ids), _BATCH):
                if background.is_ending():
                    return
                batch = ids[start : start + _BATCH]
                shelf.heal(batch, handle.read(batch, FIELDS))
        except ContextEngineError as error:
            _log.debug("lexical index: %s", safe_message(error))

    def renew(self) -> None:
        """Make the locks anew in a forked process."""
        self._lock, self._others_lock = threading.RLock(), threading.Lock()
