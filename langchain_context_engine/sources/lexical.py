"""Search by words: one BM25 index over all collections of an engine, kept in step with them."""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_context_engine.errors import ContextEngineError
from langchain_context_engine.filters import Filter
from langchain_context_engine.redact import safe_message
from langchain_context_engine.sources.catalogue import Admits, Catalogue, Entry
from langchain_context_engine.sources.changes import Changes, CountWatch, Watch, watch
from langchain_context_engine.sources.collection import CollectionHandle
from langchain_context_engine.sources.postings import LexicalQuery, Postings
from langchain_context_engine.sources.ranking import deeper, settled

_FIRST_RUNG = 50
_BATCH = 1000
_FIELDS = ("documents", "metadatas")
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Shelf:
    """What the index holds of one collection.

    Attributes:
        collection: Chroma's id of the collection, another one once it is recreated.
        catalogue: Its records.
        watch: What tells of changes; None until the first reading.
        is_ready: The first reading is done.
    """

    collection: str
    catalogue: Catalogue = field(default_factory=Catalogue)
    watch: Watch | None = None
    lock: threading.RLock = field(default_factory=threading.RLock)
    ready: threading.Event = field(default_factory=threading.Event)
    reader: threading.Thread | None = None
    began_at: float = 0.0
    refreshed_at: float = 0.0

    @property
    def is_exact(self) -> bool:
        """No change in the collection goes unseen, so what is catalogued can be trusted."""
        return self.watch is not None and self.watch.is_exact


class LexicalIndex:
    """A BM25 index over many collections. Thread-safe.

    A collection is read whole when it is first asked; from then on every search takes in what was
    added, changed or deleted since. For a local persistent client that is exact. For other clients
    a count is compared, what a search returns is compared with what is known of it, and the whole is
    compared in the background every `refresh_seconds`.

    Args:
        path: A directory to keep the index in; None keeps it in memory.
        refresh_seconds: See above.
    """

    def __init__(self, path: str | Path | None = None, *, refresh_seconds: float = 30.0) -> None:
        self._refresh_seconds = refresh_seconds
        self._handles: list[CollectionHandle] = []
        self._shelves: dict[str, Shelf] = {}
        self._lock = threading.Lock()
        try:
            self._postings = Postings(path)
        except ValueError as error:
            # Another process writes there: an index in memory is slower to start, not wrong.
            _log.warning("lexical index at %s not used: %s", path, safe_message(error))
            self._postings = Postings()
        newest = self._load()
        self._rows = itertools.count(newest + 1)

    def sync(self, handle: CollectionHandle, *, wait_seconds: float | None = None) -> Shelf | None:
        """Return the collection's shelf, up to date; None while it is still being read for the first time.

        Args:
            handle: The collection.
            wait_seconds: How long to wait for a first reading; None is as long as it takes.
        """
        self.register(handle)
        for _ in range(2):
            shelf = self._shelf(str(handle.collection.id))
            self._wait_for_reading(wait_seconds)
            if not shelf.ready.is_set():
                return None
            self._update(handle, shelf)
            self._update_others(handle)
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
        seen = self._catalogued(shelf.catalogue, admits)
        rung = deeper(_FIRST_RUNG, limit + 1)
        while True:
            rows = self._postings.search(query, shelf.collection, condition, rung)
            hits = self._ids_of(rows, shelf.catalogue)
            found = settled(hits, seen, limit, is_all=len(rows) < rung)
            if found is not None:
                return found
            rung = deeper(rung, rung + 1)

    def scores(self, query: LexicalQuery, shelf: Shelf, ids: Sequence[str]) -> dict[str, tuple[float, float]]:
        """Return id → (BM25 by terms, BM25 by pairs of terms); 0 where nothing matches."""
        entries = shelf.catalogue.entries
        rows = {entry.row: id_ for id_ in ids if (entry := entries.get(id_)) is not None}
        by_terms, by_pairs = self._postings.scores(query, list(rows))
        found = {id_: (by_terms.get(row, 0.0), by_pairs.get(row, 0.0)) for row, id_ in rows.items()}
        return {id_: found.get(id_, (0.0, 0.0)) for id_ in ids}

    def heal(self, shelf: Shelf, ids: Iterable[str], records: Mapping[str, Mapping[str, Any]]) -> None:
        """Compare what the store answered for these ids with what is known, and take in the difference."""
        if shelf.is_exact:
            return
        entries = shelf.catalogue.entries
        stale = {
            id_: fields
            for id_, fields in records.items()
            if (entry := entries.get(id_)) is None or entry.digest != _digest(fields)
        }
        gone = [id_ for id_ in ids if id_ not in records and id_ in entries]
        if stale or gone:
            with shelf.lock:
                self._remove(shelf, gone)
                self._put(shelf, stale)
                self._postings.commit()

    def _shelf(self, collection: str) -> Shelf:
        with self._lock:
            return self._shelves.setdefault(collection, Shelf(collection))

    def _forget(self, shelf: Shelf) -> None:
        with shelf.lock:
            self._remove(shelf, list(shelf.catalogue.entries))
            self._postings.commit()
        with self._lock:
            self._shelves.pop(shelf.collection, None)

    def _start_reading(self, handle: CollectionHandle, shelf: Shelf) -> None:
        with self._lock:
            if shelf.reader is None or not shelf.reader.is_alive():
                shelf.reader = threading.Thread(
                    target=self._read_first, args=(handle, shelf), name="lexical-index", daemon=True
                )
                shelf.began_at = time.monotonic()
                shelf.reader.start()

    def _read_first(self, handle: CollectionHandle, shelf: Shelf) -> None:
        try:
            with shelf.lock:
                self._take_in(handle, shelf)
        except (ContextEngineError, sqlite3.Error) as error:
            # The source that asks will meet the same trouble and tell it.
            _log.debug("lexical index: %s", safe_message(error))
        finally:
            shelf.ready.set()

    def _update(self, handle: CollectionHandle, shelf: Shelf) -> None:
        with shelf.lock:
            try:
                self._take_in(handle, shelf)
            except sqlite3.Error as error:
                if "locked" in str(error):
                    return  # somebody writes just now: the next question will see it
                shelf.watch = CountWatch(handle)
                self._take_in(handle, shelf)
        now = time.monotonic()
        if not shelf.is_exact and now - shelf.refreshed_at > self._refresh_seconds:
            shelf.refreshed_at = now
            threading.Thread(
                target=self._refresh, args=(handle, shelf), name="lexical-refresh", daemon=True
            ).start()

    def _update_others(self, handle: CollectionHandle) -> None:
        for other in tuple(self._handles):
            shelf = self._shelves.get(str(other.collection.id))
            if other is not handle and shelf is not None and shelf.is_exact:
                try:
                    self._update(other, shelf)
                except ContextEngineError as error:
                    _log.debug("lexical index: %s", safe_message(error))

    def _take_in(self, handle: CollectionHandle, shelf: Shelf) -> None:
        if shelf.watch is None:
            shelf.watch = watch(handle)
            shelf.refreshed_at = time.monotonic()
        changes = shelf.watch.changes(shelf.catalogue.entries)
        if changes:
            try:
                self._apply(handle, shelf, changes)
            except BaseException:
                shelf.watch = None  # what was told is lost, so the next call compares everything
                raise

    def _apply(self, handle: CollectionHandle, shelf: Shelf, changes: Changes) -> None:
        self._remove(shelf, changes.gone)
        for start in range(0, len(changes.written), _BATCH):
            ids = changes.written[start : start + _BATCH]
            records = handle.read(ids, _FIELDS)
            self._remove(shelf, [id_ for id_ in ids if id_ not in records])
            self._put(shelf, records)
        self._postings.commit()

    def _refresh(self, handle: CollectionHandle, shelf: Shelf) -> None:
        ids = list(shelf.catalogue.entries)
        try:
            for start in range(0, len(ids), _BATCH):
                batch = ids[start : start + _BATCH]
                self.heal(shelf, batch, handle.read(batch, _FIELDS))
        except ContextEngineError as error:
            _log.debug("lexical index: %s", safe_message(error))

    def _put(self, shelf: Shelf, records: Mapping[str, Mapping[str, Any]]) -> None:
        for id_, fields in records.items():
            digest = _digest(fields)
            known = shelf.catalogue.entries.get(id_)
            if known is not None and known.digest == digest:
                continue
            if known is not None:
                self._postings.delete(known.row)
            metadata, row = fields.get("metadatas") or {}, next(self._rows)
            record = json.dumps([shelf.collection, id_, digest.hex(), metadata])
            self._postings.add(row, shelf.collection, fields.get("documents") or "", metadata, record)
            shelf.catalogue.put(id_, Entry(row, digest, metadata))

    def _remove(self, shelf: Shelf, ids: Iterable[str]) -> None:
        for id_ in ids:
            entry = shelf.catalogue.remove(id_)
            if entry is not None:
                self._postings.delete(entry.row)

    def _ids_of(self, rows: Sequence[tuple[int, float]], catalogue: Catalogue) -> list[tuple[str, float]]:
        hits = ((catalogue.ids.get(row, ""), score) for row, score in rows)
        return sorted(hits, key=lambda hit: (-hit[1], hit[0]))

    def _catalogued(self, catalogue: Catalogue, admits: Admits) -> Callable[[str], bool]:
        entries = catalogue.entries
        return lambda id_: (entry := entries.get(id_)) is not None and admits(id_, entry.metadata)

    def _load(self) -> int:
        newest = 0
        for row, record in self._postings.rows():
            newest = max(newest, row)
            collection, id_, digest, metadata = json.loads(record)
            self._shelf(collection).catalogue.put(id_, Entry(row, bytes.fromhex(digest), metadata))
        return newest


def _digest(fields: Mapping[str, Any]) -> bytes:
    metadata = json.dumps(fields.get("metadatas") or {}, sort_keys=True, default=str)
    text = fields.get("documents") or ""
    return hashlib.blake2b(
        f"{len(text)}\x00{text}{metadata}".encode("utf-8", "replace"), digest_size=16
    ).digest()
