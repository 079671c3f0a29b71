"""One collection as the engine knows it: its index, what was written since, its vectors; kept in step."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from langchain_context_engine.models.errors import ContextEngineError
from langchain_context_engine.search.changes import Changes, Watch
from langchain_context_engine.search.collection import FIELDS, CollectionHandle
from langchain_context_engine.search.file_watch import FileWatch
from langchain_context_engine.search.forks import renew_after_fork
from langchain_context_engine.search.kept import (
    Record,
    Sequencing,
    digest_of,
    packed,
    to_records,
    unpacked,
)
from langchain_context_engine.search.recent import Recent
from langchain_context_engine.search.since import Changed, Since
from langchain_context_engine.search.vectors import Vectors
from langchain_context_engine.search.view import Memo, View
from langchain_context_engine.search.volume import Volume
from langchain_context_engine.search.watches import watch

WRITTEN_AT_ONCE = 250
"""Records written to since the last commit, from which on they are committed."""

READ_AT_ONCE = 3000
"""Records written to since the last look, above which they are read in the background, with a warning."""

IN_MEMORY = "its index is kept in memory"
_numbers = itertools.count()


class Shelf:
    """One collection. One thread at a time keeps it in step, under `lock`; readers take its `view`.

    Args:
        collection: Chroma's id of it, another one once it is recreated.
        folder: Where its index is; None keeps it in memory.
        recent: What was read lately of all collections.
        room: Tells how many bytes its vectors may take now.

    Attributes:
        vectors: Their vectors.
        watch: What tells of changes; None until the first look.
        is_current: The last look for changes went well.
        looked_at: When it began.
        ready: The collection was read, or could not be.
        progress: How many records were read, and how many there are, while it is being read.
        notice: What was done when the index was opened that people should know, or "".
        trouble: Why its index cannot be written or read, or "".
        failure: What the store said when it could not be read, or None.
        failed_at: When reading it failed last.
        is_prepared: Its texts are prepared for questions, as many as may be.
    """

    def __init__(
        self, collection: str, folder: Path | None, recent: Recent[Any, Record], room: Callable[[], int]
    ) -> None:
        self.collection = collection
        self.volume = Volume(folder, collection)
        self.vectors = Vectors(0)
        self.watch: Watch | None = None
        self.is_current = True
        self.looked_at = -1.0
        self.ready = threading.Event()
        self.progress = (0, 0)
        self.notice = self.volume.notice
        self.trouble = ""
        self.failure: ContextEngineError | None = None
        self.failed_at = float("-inf")
        self.is_prepared = False
        self.reader: threading.Thread | None = None
        self.began_at = 0.0
        self.refreshed_at = 0.0
        self.lock = threading.RLock()
        self._recent = recent
        self.room = room
        self._number = next(_numbers)
        self._flushing = threading.Lock()
        self._vectors_of = -1
        self.view = self._viewed(Since(), Memo())
        renew_after_fork(self)

    def _viewed(self, since: Since, memo: Memo) -> View:
        volume = self.volume
        return View(volume.rows, volume.edition, since, memo, self._recent, self._number)

    @property
    def is_exact(self) -> bool:
        """No change in the collection goes unseen, so what is kept of it can be trusted."""
        return self.watch is not None and self.watch.is_exact

    @property
    def is_flushing(self) -> bool:
        """Somebody commits just now what was written."""
        return self._flushing.locked()

    @property
    def is_whole(self) -> bool:
        """The collection was read to its end once, in this process or another."""
        return self.view.edition.is_whole

    @property
    def has_news(self) -> bool:
        """There is something that an answer should say of the index."""
        return bool(self.notice or self.trouble)

    def is_known_at(self, moment: float) -> bool:
        """Return whether all is taken in that was written before a moment on `time.monotonic()`'s clock."""
        return self.is_exact and self.is_current and self.looked_at >= moment

    def watched(self, handle: CollectionHandle) -> Watch:
        """Return what tells of the collection's changes, from the index' last commit on."""
        if self.watch is None:
            found = watch(handle)
            edition = self.view.edition
            if isinstance(found, FileWatch) and found.is_behind(edition.sequence):
                self.begin_anew()  # the index is of a later copy of the store
                edition = self.view.edition
            if edition.is_whole:
                found.resume(edition.sequence)
            self.watch = found
            # What was rewritten in place before this process began is looked for at once.
            self.refreshed_at = time.monotonic() if self.volume.folder is None else float("-inf")
        return self.watch

    def begin_anew(self, *, no_disk: str = "") -> None:
        """Make the index anew; in memory, and what is on disk is left as it is, where the disk refuses."""
        with self.lock:
            if no_disk:
                self.volume, self.notice = Volume(None, self.collection), f"{IN_MEMORY}: {no_disk}"
            else:
                self.volume.discard()
            self.watch = None
            self.vectors = Vectors(0)
            self._number = next(_numbers)  # rows are counted anew
            self.view = self._viewed(Since(), Memo())
            self.ready.clear()

    def take_in(self, handle: CollectionHandle) -> bool:
        """Take in what changed since the last call; False where that is so much that it must be read apart.

        Raises:
            SourceError: The collection could not be read.
            sqlite3.Error: Its file could not be read.
        """
        began = time.monotonic()
        watch_ = self.watched(handle)
        self.catch_up()
        if not self.is_whole:
            return False
        changes = watch_.changes(self.view)
        if len(changes.written) > READ_AT_ONCE:
            watch_.resume(self.view.edition.sequence)
            return False
        self._load_vectors()
        if changes:
            try:
                self._apply(handle, changes)
            except BaseException:
                self.watch = None  # what was told is lost, so the next call looks at everything again
                self.view = self._viewed(Since(), Memo())
                raise
        self.is_current = True
        self.looked_at = began
        return True

    def catch_up(self) -> None:
        """Take in what another process has committed."""
        volume, view = self.volume, self.view
        with self.lock:
            volume.refresh()
            if volume.edition is not view.edition or volume.rows is not view.rows:
                self._renewed()

    def _renewed(self) -> None:
        """Show the last commit, without what it has of what was written since."""
        since, edition = self.view.since, self.volume.edition
        if self.volume.rows is not self.view.rows:
            self._number = next(_numbers)  # opened anew, and made anew perhaps
        if self.is_exact:
            done = [id_ for id_, each in since.changed.items() if each.sequence <= edition.sequence]
        else:
            digests = self.volume.rows.digests(list(since.changed))
            done = [
                id_ for id_, each in since.changed.items()
                if (each.new.digest if each.new else None) == digests.get(id_)
            ]  # fmt: skip
        left = since.without(done)
        if len(left):
            left = left.upon(self.volume.rows.posted(list(left.changed), edition.upto))
        self.view = self._viewed(left, Memo())

    def _apply(self, handle: CollectionHandle, changes: Changes) -> None:
        keeps = self.is_exact and not self.vectors.is_too_large
        vectors = dict(changes.vectors)
        if keeps:
            self.vectors.most_bytes = self.room()
        unknown = [id_ for id_ in changes.written if id_ not in vectors] if keeps else []
        wanted = [*dict.fromkeys([*changes.written, *(self.vectors.missing if keeps else ())])]
        records = handle.read(wanted, FIELDS)
        lacking = [id_ for id_ in dict.fromkeys([*unknown, *self.vectors.missing]) if id_ in records]
        for id_, fields in (handle.read(lacking, ("embeddings",)) if keeps else {}).items():
            if fields.get("embeddings") is not None:
                vectors[id_] = packed(fields["embeddings"])
        gone = [*changes.gone, *(id_ for id_ in wanted if id_ not in records)]
        if keeps:
            self.vectors.remove(gone)
            self.vectors.put({id_: unpacked(vectors.get(id_)) for id_ in records})
        self._take(records, gone, vectors if keeps else {}, changes.sequence)

    def _take(
        self, records: Mapping[str, Mapping[str, Any]], gone: Sequence[str], vectors: Mapping[str, bytes],
        sequence: int,
    ) -> None:  # fmt: skip
        upto = self.volume.edition.upto
        olds = self.volume.rows.posted([*records, *gone], upto)
        changed = {
            id_: Changed(olds.get(id_), record, vectors.get(id_), sequence)
            for id_, record in to_records(records).items()
        }
        for id_ in gone:
            if id_ in olds or self.view.since.has(id_):
                changed[id_] = Changed(olds.get(id_), None, None, sequence)
        if changed:
            self.view = self._viewed(self.view.since.with_(changed), self.view.memo)

    def heal(self, ids: Iterable[str], records: Mapping[str, Mapping[str, Any]]) -> None:
        """Compare what the store answered for these ids with what is known, and take in the difference."""
        if self.is_exact:
            return
        known = self.view.digests([*ids, *records])
        stale = {id_: fields for id_, fields in records.items() if known.get(id_) != digest_of(fields)}
        gone = [id_ for id_ in ids if id_ not in records and id_ in known]
        if stale or gone:
            with self.lock:
                self._take(stale, gone, {}, -1)

    def flush(self, *, wait_seconds: float = 0.0) -> None:
        """Commit what was written since the last commit, if no other process is writing.

        Raises:
            sqlite3.Error: The index cannot be written.
            ValueError: The same.
            OSError: The same.
        """
        with self._flushing:
            since = self.view.since
            sequence = max([-1, *(each.sequence for each in since.changed.values())])
            if not len(since):
                self.volume.finish()
                return
            with self.volume.writing(wait_seconds=wait_seconds) as writer:
                if writer is not None:
                    facts = {"sequence": max(sequence, self.volume.edition.sequence)}
                    writer.commit([(id_, c.new, c.vector) for id_, c in since.changed.items()], facts)
            with self.lock:
                self._renewed()

    def _load_vectors(self) -> None:
        """Take the vectors in that the index keeps, once, where there is room."""
        if not self.is_exact or self._vectors_of == self._number or self.vectors.is_too_large:
            return
        self._vectors_of = self._number
        rows, self.vectors.most_bytes = self.volume.rows, self.room()
        size, count = rows.vector_bytes(), len(self.view)
        if (count * size > self.vectors.most_bytes) if size else (count > READ_AT_ONCE):
            self.vectors.is_too_large = True
            return
        kept = ((id_, unpacked(each)) for id_, each in rows.vectors() if not self.view.since.has(id_))
        while some := dict(itertools.islice(kept, READ_AT_ONCE)):
            self.vectors.put(some)

    def arrange(self, keys: Sequencing) -> None:
        """Have the records placed by a pair of metadata keys."""
        self.volume.arrange(keys, wait_seconds=0.0)

    def remove(self) -> None:
        """Remove the index of a collection that is no more."""
        self.volume.remove()

    def renew(self) -> None:
        """Make the locks anew in a forked process; what reads in the background did not come along."""
        self.lock, self._flushing = threading.RLock(), threading.Lock()
        is_ready, self.ready, self.reader = self.ready.is_set(), threading.Event(), None
        if is_ready:
            self.ready.set()
        self.looked_at = -1.0
