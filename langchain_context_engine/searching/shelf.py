"""What the lexical index holds of one collection, kept in step with it: catalogue, texts and vectors."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_context_engine.searching import background
from langchain_context_engine.searching.catalogue import Catalogue, Entry
from langchain_context_engine.searching.changes import Changes, Watch, watch
from langchain_context_engine.searching.collection import FIELDS, CollectionHandle
from langchain_context_engine.searching.postings import Postings
from langchain_context_engine.searching.vectors import Vectors
from langchain_context_engine.values.errors import SourceError

MOST_VECTOR_BYTES = 32 * 2**20
"""What the vectors of one collection may take in memory; of more, the store's own index is faster."""

MOST_CHARACTERS = 128 * 2**20
"""What its texts may take; those beyond are read from the store."""

_BATCH = 1000


@dataclass(slots=True)
class Shelf:
    """One collection as the index knows it. One thread at a time writes, under `lock`.

    Texts and vectors are kept only where the watch misses no change.

    Attributes:
        collection: Chroma's id of the collection, another one once it is recreated.
        postings: Where its words are indexed.
        rows: Gives each record its row there.
        catalogue: Its records.
        vectors: Their vectors.
        watch: What tells of changes; None until the first reading.
        is_current: The last look for changes went well.
        looked_at: When it began.
        ready: The first reading is done.
        is_prepared: Its texts are prepared for questions, as many as may be.
    """

    collection: str
    postings: Postings
    rows: Iterator[int]
    catalogue: Catalogue = field(default_factory=Catalogue)
    vectors: Vectors = field(default_factory=lambda: Vectors(MOST_VECTOR_BYTES))
    watch: Watch | None = None
    is_current: bool = True
    looked_at: float = -1.0
    lock: threading.RLock = field(default_factory=threading.RLock)
    ready: threading.Event = field(default_factory=threading.Event)
    is_prepared: bool = False
    reader: threading.Thread | None = None
    began_at: float = 0.0
    refreshed_at: float = 0.0
    _characters_left: int = MOST_CHARACTERS

    @property
    def is_exact(self) -> bool:
        """No change in the collection goes unseen, so what is catalogued can be trusted."""
        return self.watch is not None and self.watch.is_exact

    def take_in(self, handle: CollectionHandle) -> None:
        """Take in what changed in the collection since the last call.

        Raises:
            SourceError: The collection could not be read.
            sqlite3.Error: Its file could not be read.
        """
        began = time.monotonic()
        if self.watch is None:
            self.watch = watch(handle)
            self.refreshed_at = time.monotonic()
        changes = self.watch.changes(self.catalogue.entries)
        if changes:
            try:
                self._apply(handle, changes)
            except BaseException:
                self.watch = None  # what was told is lost, so the next call compares everything
                raise
        self.is_current = True
        self.looked_at = began

    def is_known_at(self, moment: float) -> bool:
        """Return whether all is taken in that was written before a moment on `time.monotonic()`'s clock."""
        return self.is_exact and self.is_current and self.looked_at >= moment

    def heal(self, ids: Iterable[str], records: Mapping[str, Mapping[str, Any]]) -> None:
        """Compare what the store answered for these ids with what is known, and take in the difference."""
        if self.is_exact:
            return
        entries = self.catalogue.entries
        stale = {
            id_: fields
            for id_, fields in records.items()
            if (entry := entries.get(id_)) is None or entry.digest != _digest(fields)
        }
        gone = [id_ for id_ in ids if id_ not in records and id_ in entries]
        if stale or gone:
            with self.lock:
                self._remove(gone)
                self._put(stale)
                self.postings.commit()

    def clear(self) -> None:
        """Forget all records."""
        with self.lock:
            self._remove(list(self.catalogue.entries))
            self.postings.commit()

    def read(
        self, handle: CollectionHandle, ids: Sequence[str], with_vectors: Sequence[str] = ()
    ) -> dict[str, dict[str, Any]]:
        """Return id → text and metadata of those that exist, from memory where they are kept there.

        So a question need not ask the store for what the index was told a moment ago.

        Args:
            handle: The collection.
            ids: What to read.
            with_vectors: Those of them whose vector is read too.
        """
        found = self._kept(ids)
        unread = [id_ for id_ in ids if id_ not in found]
        if unread:
            records = handle.read(unread, (*FIELDS, "embeddings") if with_vectors else FIELDS)
            self.heal(unread, records)
            found |= records
        bare = [id_ for id_ in with_vectors if id_ in found and "embeddings" not in found[id_]]
        for id_, fields in handle.read(bare, ("embeddings",)).items():
            found[id_] |= fields
        return found

    def _kept(self, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        if not (self.is_exact and self.is_current):
            return {}
        entries = self.catalogue.entries
        return {
            id_: {"documents": entry.text, "metadatas": entry.metadata}
            for id_ in ids
            if (entry := entries.get(id_)) is not None and entry.text is not None
        }

    def _apply(self, handle: CollectionHandle, changes: Changes) -> None:
        self._remove(changes.gone)
        for start in range(0, len(changes.written), _BATCH):
            if background.is_ending():
                raise SourceError("the program ends")
            self._read_in(handle, changes.written[start : start + _BATCH])
        self.postings.commit()

    def _read_in(self, handle: CollectionHandle, ids: Sequence[str]) -> None:
        keeps_vectors = self.is_exact and not self.vectors.is_too_large
        wanted = [*ids, *self.vectors.missing.difference(ids)] if keeps_vectors else ids
        records = handle.read(wanted, (*FIELDS, "embeddings") if keeps_vectors else FIELDS)
        self._remove([id_ for id_ in wanted if id_ not in records])
        if keeps_vectors:
            self.vectors.put({id_: fields.get("embeddings") for id_, fields in records.items()})
        self._put(records)

    def _put(self, records: Mapping[str, Mapping[str, Any]]) -> None:
        for id_, fields in records.items():
            digest = _digest(fields)
            known = self.catalogue.entries.get(id_)
            metadata, text = fields.get("metadatas") or {}, fields.get("documents") or ""
            if known is not None and known.digest == digest:
                row = known.row
            else:
                if known is not None:
                    self.postings.delete(known.row)
                row = next(self.rows)
                record = json.dumps([self.collection, id_, digest.hex(), metadata])
                self.postings.add(row, self.collection, text, metadata, record)
            self._catalogue(id_, Entry(row, digest, metadata), text)

    def _catalogue(self, id_: str, entry: Entry, text: str) -> None:
        known = self.catalogue.entries.get(id_)
        self._characters_left += len(known.text or "") if known is not None else 0
        is_kept = self.is_exact and len(text) <= self._characters_left
        if is_kept:
            self._characters_left -= len(text)
        self.catalogue.put(id_, Entry(entry.row, entry.digest, entry.metadata, text) if is_kept else entry)

    def _remove(self, ids: Sequence[str]) -> None:
        self.vectors.remove(ids)
        for id_ in ids:
            entry = self.catalogue.remove(id_)
            if entry is not None:
                self._characters_left += len(entry.text or "")
                self.postings.delete(entry.row)


def _digest(fields: Mapping[str, Any]) -> bytes:
    metadata = json.dumps(fields.get("metadatas") or {}, sort_keys=True, default=str)
    text = fields.get("documents") or ""
    return hashlib.blake2b(
        f"{len(text)}\x00{text}{metadata}".encode("utf-8", "replace"), digest_size=16
    ).digest()
