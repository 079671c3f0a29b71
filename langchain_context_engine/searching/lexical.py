"""Search by words: one BM25 index over all collections of an engine, kept in step with them."""

from __future__ import annotations

import itertools
import json
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from langchain_context_engine.filtering.filters import Filter
from langchain_context_engine.searching import background
from langchain_context_engine.searching.catalogue import Admits, Catalogue, Entry
from langchain_context_engine.searching.changes import CountWatch
from langchain_context_engine.searching.collection import FIELDS, CollectionHandle
from langchain_context_engine.searching.lexical_scores import Asked, Found
from langchain_context_engine.searching.postings import SEARCHED_AT_ONCE, LexicalQuery, Postings
from langchain_context_engine.searching.ranking import deeper, settled
from langchain_context_engine.searching.shelf import Shelf
from langchain_context_engine.text.analysis import MOST_TEXTS
from langchain_context_engine.values.clock import moment_asked
from langchain_context_engine.values.errors import ContextEngineError
from langchain_context_engine.values.redact import safe_message

_FIRST_RUNG = 50
_QUIET_SECONDS = 0.25
"""How long nobody asked before texts are prepared in the background."""
_BATCH = 1000
_log = logging.getLogger(__name__)


class LexicalIndex:
    """A BM25 index over many collections. Thread-safe.

    A collection is read whole when it is first asked; from then on every search takes in what was
    added, changed or deleted since. For a local persistent client that is exact. For other clients
    a count is compared, what a search returns is compared with what is known of it, and the whole is
    compared in the background every `refresh_seconds`.

    Args:
        path: A directory to keep the index in; None keeps it in memory.
        refresh_seconds: See above.
        on_text: Called once with each text that stays in memory, up to `most_texts`.
        most_texts: See above.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        refresh_seconds: float = 30.0,
        on_text: Callable[[str], None] | None = None,
        most_texts: int = MOST_TEXTS,
    ) -> None:
        self._on_text = on_text
        self._texts_left = most_texts
        self._asked_at = 0.0
        self._refresh_seconds = refresh_seconds
        self._handles: list[CollectionHandle] = []
        self._shelves: dict[str, Shelf] = {}
        self._lock = threading.Lock()
        self._others_lock = threading.Lock()
        try:
            self._postings = Postings(path)
        except ValueError as error:
            # Another process writes there: an index in memory is slower to start, not wrong.
            _log.warning("lexical index at %s not used: %s", path, safe_message(error))
            self._postings = Postings()
        self._rows = itertools.count(max((row for row, _ in self._postings.rows()), default=0) + 1)
        self._load()

    def sync(self, handle: CollectionHandle, *, wait_seconds: float | None = None) -> Shelf | None:
        """Return the collection's shelf, up to date; None while it is still being read for the first time.

        Args:
            handle: The collection.
            wait_seconds: How long to wait for a first reading; None is as long as it takes.
        """
        self.register(handle)
        self._asked_at = time.monotonic()
        for _ in range(2):
            shelf = self._shelf(str(handle.collection.id))
            self._wait_for_reading(wait_seconds)
            if not shelf.ready.is_set():
                return None
            asked = moment_asked()
            if not shelf.is_known_at(asked):
                self._update(handle, shelf)
            self._update_others(asked)
            if str(handle.collection.id) == shelf.collection:
                return shelf
            self._forget(shelf)  # recreated meanwhile under the same name
        return None

    def register(self, handle: CollectionHandle) -> None:
        """Make a collection part of the index, to be read with the first question to any of them.

        A word's weight depends on all collections, so no question is answered from half of them.
        """
        with self._lock:
            if handle not in self._handles:
                self._handles.append(handle)

    def _wait_for_reading(self, wait_seconds: float | None) -> None:
        """Wait until every collection was read once, for each at most so long since its reading began.

        So a server that hangs makes the first questions wait, not all of them.
        """
        unread = []
        for handle in tuple(self._handles):
            shelf = self._shelf(str(handle.collection.id))
            if not shelf.ready.is_set():
                self._start_reading(handle, shelf)
                unread.append(shelf)
        for shelf in unread:
            left = None if wait_seconds is None else shelf.began_at + wait_seconds - time.monotonic()
            shelf.ready.wait(None if left is None else max(0.0, left))

    def peek(self, handle: CollectionHandle) -> Shelf | None:
        """Return the collection's shelf as it was last brought up to date; None before it was read."""
        shelf = self._shelves.get(str(handle.collection.id))
        return shelf if shelf is not None and shelf.ready.is_set() else None

    def search(
        self, query: LexicalQuery, shelf: Shelf, condition: Filter, admits: Admits, limit: int
    ) -> list[tuple[str, float]]:
        """Return (id, BM25 score) of up to `limit` admitted records, best first, ties by id."""
        return self.find(query, shelf, condition, admits, limit).hits

    def find(self, query: LexicalQuery, shelf: Shelf, condition: Filter, admits: Admits, limit: int) -> Found:
        """Return the same with all that was looked at on the way."""
        seen = self._catalogued(shelf.catalogue, admits)
        of_all, ids = self._postings.search_all(query, condition), shelf.catalogue.ids
        # A record may go meanwhile.
        both = of_all.keys() & ids.keys()
        own = [(id_, of_all[row]) for row in both if (id_ := ids.get(row)) is not None]
        is_all = len(of_all) < SEARCHED_AT_ONCE
        # Beside the last of all, of as good a score, others may stand that were left out.
        last = 0.0 if is_all else min(of_all.values())
        sure = own if is_all else [hit for hit in own if hit[1] > last]
        found = settled(sorted(sure, key=_by_score), seen, limit, is_all=True)
        if is_all or len(found or ()) == limit:
            return Found(found or [], dict(own), is_all)
        rung = deeper(_FIRST_RUNG, limit + 1)
        while True:
            rows = self._postings.search(query, shelf.collection, condition, rung)
            hits = self._ids_of(rows, shelf.catalogue)
            is_all = len(rows) < rung
            found = settled(hits, seen, limit, is_all=is_all)
            if found is not None:
                return Found(found, dict(hits), is_all)
            rung = deeper(rung, rung + 1)

    def scores(self, query: LexicalQuery, shelf: Shelf, ids: Sequence[str]) -> dict[str, tuple[float, float]]:
        """Return id → (BM25 by terms, BM25 by pairs of terms); 0 where nothing matches."""
        return self.scores_of_all(query, [Asked(shelf, ids)])[0]

    def scores_of_all(
        self, query: LexicalQuery, asked: Sequence[Asked]
    ) -> list[dict[str, tuple[float, float]]]:
        """Return the same for several collections, whose rows are looked up together."""
        rows = [each.rows() for each in asked]
        unknown = [row for each, own in zip(asked, rows, strict=True) for row in each.unknown(own)]
        by_terms = self._postings.scores_by_terms(query, unknown)
        by_pairs = self._postings.scores_by_pairs(query, [row for own in rows for row in own])
        told = []
        for each, own in zip(asked, rows, strict=True):
            known = each.found.scores if each.found else {}
            scores = dict.fromkeys(each.ids, (0.0, 0.0))
            for row, id_ in own.items():
                score = known.get(id_)
                scores[id_] = (by_terms.get(row, 0.0) if score is None else score, by_pairs.get(row, 0.0))
            told.append(scores)
        return told

    def _shelf(self, collection: str) -> Shelf:
        with self._lock:
            return self._shelves.setdefault(collection, Shelf(collection, self._postings, self._rows))

    def _forget(self, shelf: Shelf) -> None:
        shelf.clear()
        with self._lock:
            self._shelves.pop(shelf.collection, None)

    def _start_reading(self, handle: CollectionHandle, shelf: Shelf) -> None:
        with self._lock:
            if shelf.reader is None or not shelf.reader.is_alive():
                shelf.began_at = time.monotonic()
                shelf.reader = background.start(self._read_first, handle, shelf, name="lexical-index")

    def _read_first(self, handle: CollectionHandle, shelf: Shelf) -> None:
        try:
            with shelf.lock:
                shelf.take_in(handle)
        except (ContextEngineError, sqlite3.Error) as error:
            # The source that asks will meet the same trouble and tell it.
            _log.debug("lexical index: %s", safe_message(error))
        finally:
            shelf.ready.set()
        self._prepare_texts(shelf, lets_pass=True)

    def prepare_texts(self, shelf: Shelf) -> None:
        """Do now what a question would otherwise do when it first meets a text of a collection."""
        if not shelf.is_prepared:
            self._prepare_texts(shelf, lets_pass=False)

    def _prepare_texts(self, shelf: Shelf, *, lets_pass: bool) -> None:
        """Prepare the texts; in the background only while nobody asks, for each would slow the other."""
        if self._on_text is None:
            return
        for entry in tuple(shelf.catalogue.entries.values()):
            while lets_pass and self._is_asked() and not background.is_ending():
                background.rest(_QUIET_SECONDS)
            if shelf.is_prepared or self._texts_left <= 0 or background.is_ending():
                break
            if entry.text is not None:
                self._texts_left -= 1
                self._on_text(entry.text)
        shelf.is_prepared = True

    def _is_asked(self) -> bool:
        return time.monotonic() - self._asked_at < _QUIET_SECONDS

    def _update(self, handle: CollectionHandle, shelf: Shelf) -> None:
        with shelf.lock:
            try:
                shelf.take_in(handle)
            except sqlite3.Error as error:
                if "locked" in str(error):
                    shelf.is_current = False  # somebody writes just now: the next question will see it
                    return
                shelf.watch = CountWatch(handle)
                shelf.take_in(handle)
        now = time.monotonic()
        if not shelf.is_exact and now - shelf.refreshed_at > self._refresh_seconds:
            shelf.refreshed_at = now
            background.start(self._refresh, handle, shelf, name="lexical-refresh")

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
        ids = list(shelf.catalogue.entries)
        try:
            for start in range(0, len(ids), _BATCH):
                if background.is_ending():
                    return
                batch = ids[start : start + _BATCH]
                shelf.heal(batch, handle.read(batch, FIELDS))
        except ContextEngineError as error:
            _log.debug("lexical index: %s", safe_message(error))

    def _ids_of(self, rows: Sequence[tuple[int, float]], catalogue: Catalogue) -> list[tuple[str, float]]:
        hits = ((catalogue.ids.get(row, ""), score) for row, score in rows)
        return sorted(hits, key=_by_score)

    def _catalogued(self, catalogue: Catalogue, admits: Admits) -> Callable[[str], bool]:
        entries = catalogue.entries
        return lambda id_: (entry := entries.get(id_)) is not None and admits(id_, entry.metadata)

    def _load(self) -> None:
        for row, record in self._postings.rows():
            collection, id_, digest, metadata = json.loads(record)
            self._shelf(collection).catalogue.put(id_, Entry(row, bytes.fromhex(digest), metadata))


def _by_score(hit: tuple[str, float]) -> tuple[float, str]:
    return -hit[1], hit[0]
