"""The lexical index of one collection, kept in step with Chroma by what its public API tells.

`README.md` beside this file says what is seen when. In memory it is a snapshot; on disk, where a store has
a place for it, one file that is replaced as a whole by whoever holds the lock beside it.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

from langchain_context_engine.errors import ContextEngineError, SourceError
from langchain_context_engine.models.locks import ForkSafeLock
from langchain_context_engine.models.redact import refusal, safe_message
from langchain_context_engine.pipeline import executor
from langchain_context_engine.search.collection import FIELDS, CollectionHandle
from langchain_context_engine.search.index_folder import make, store_stamp
from langchain_context_engine.search.segment import (
    DamagedIndexError,
    Record,
    Segment,
    build,
    hash_of,
    merge,
    read,
    write,
)
from langchain_context_engine.search.snapshot import Snapshot

FILE = "lexical.index"
READ_AT_ONCE = 3000
"""New records that a question reads itself; more are read in the background, with a warning."""

_FIRST_AT_ONCE = 1000
"""Records that the very first question reads itself: beside a busy writer each costs many times its time."""
_COMPARED_AT_ONCE = 1000
"""Records of a store in files that a question compares itself after a write; more are in the background."""
_PROBED_UP_TO = 3000
"""Records up to which the last id is looked at: Chroma walks there, about a microsecond a record."""
_PAGE = 1000
_MOST_CHARACTERS = 2_000_000
_FEW_SEGMENTS = 8
_UNCOMMITTED = 1000
QUIET_SECONDS = 30.0
_DUTY = 20
"""A comparison of the whole is followed by a pause of so many times what it took."""
_RETRY_SECONDS = 30.0
_PATIENCE_SECONDS = 0.2
_log = logging.getLogger(__name__)

Told = Callable[[int, int], None]
"""Told how many records are read, and how many there are."""
Rows = Mapping[str, Mapping[str, Any]]


class CollectionIndex:
    """See above. Thread-safe.

    Args:
        handle: The collection.
        folder: Where its file is; None keeps it in memory.
        quiet_seconds: How long a store that tells of no writes is left alone between two comparisons.

    Attributes:
        snapshot: What it knows.
        is_whole: The collection was read to its end once.
        progress: How many records were read and how many there are, while it is being read.
        notice: What people should be told once.
        trouble: Why it cannot be read, or "".
        path: Its file, or None.
    """

    def __init__(
        self, handle: CollectionHandle, folder: Path | None, quiet_seconds: float = QUIET_SECONDS
    ) -> None:
        self.handle = handle
        self.collection = handle.id
        self.snapshot = Snapshot()
        self.is_whole = False
        self.progress: tuple[int, int] | None = None
        self.notice = self.trouble = ""
        self.path = None if folder is None else folder / FILE
        self._kept: Segment | None = None
        self._file: Any = None
        self._stamp: Any = None
        self._compared: Any = None
        self._last_id: str | None = None
        self._looked_at = float("-inf")
        self._rest_until = self._retry_at = float("-inf")
        self._work: threading.Thread | None = None
        self._quiet_seconds = quiet_seconds
        self._lock, self._swap = ForkSafeLock(), ForkSafeLock()

    # What a question asks

    def is_synced(self, asked: float) -> bool:
        """Tell whether it has looked at the store since a moment on `time.monotonic()`'s clock."""
        return self._looked_at >= asked

    def sync(self, asked: float, wait_seconds: float) -> None:
        """Take in what the store shows to have changed before a moment on `time.monotonic()`'s clock.

        Raises:
            SourceError: The collection could not be read.
        """
        with self._lock:
            if self.is_synced(asked):
                return
            work = self._work
            if work is not None and self.is_whole and self.snapshot.count <= _COMPARED_AT_ONCE:
                # Of so few it is over in a moment; without it, what was written meanwhile would not be seen.
                work.join(wait_seconds)
            began = time.monotonic()
            if not self._is_working():
                self._reload()
                self._look()
            self._looked_at = began
        work = self._work
        if work is not None and not self.is_whole:
            work.join(wait_seconds)

    def heal(self, ids: Sequence[str], records: Rows) -> None:
        """Compare what the store answered for some ids with what is known, and take in the difference."""
        if self._stamp is not None and self._stamp == self._compared:
            return
        known = self.snapshot.digests_of(ids)
        found = [to_record(id_, records[id_]) for id_ in ids if id_ in records]
        self._take(
            [record for record in found if known.get(record.id) != record.digest],
            [id_ for id_ in ids if id_ not in records and id_ in known],
        )

    def told(self, name: str, *, is_scoped: bool) -> list[str]:
        """Return what an answer should say of the index, in one sentence each; a notice once.

        Args:
            name: How people know the source.
            is_scoped: The request may not know how many records there are.
        """
        said = []
        if self.notice:
            said, self.notice = [f"source {name!r}: {self.notice}"], ""
        if self.trouble:
            said.append(
                f"the words of {name!r} cannot be read: {self.trouble}; this answer did without new ones"
            )
        elif self.progress is not None or not self.is_whole:
            done, total = self.progress or (0, 0)
            figures = "" if is_scoped or not total else f": {done:,} of {total:,}"
            without = "words that are not read yet" if self.is_whole else "them"
            said.append(f"the words of {name!r} are being read{figures}; this answer did without {without}")
        return said

    # What takes longer

    def prepare(self, told: Told | None = None) -> None:
        """Read what is not read yet, compare the rest, and write it down, in this thread.

        Raises:
            SourceError: The collection could not be read, or the index not be written.
        """
        try:
            self._read_whole(told)
        except OSError as error:
            why = refusal(error, self.path and self.path.parent)
            raise SourceError(f"the index of {self.handle.name!r} cannot be written: {why}") from None

    def set_aside(self, error: BaseException) -> None:
        """Begin anew where a file turns out to be damaged; it is kept beside for whoever wants to look."""
        _log.warning("the index of %s is made anew: %s", self.handle.name, safe_message(error))
        self.notice = f"its index was damaged and is made anew: {safe_message(error)}"
        if self.path is not None:
            with suppress(OSError):
                self.path.replace(self.path.with_suffix(".damaged"))
        with self._swap:
            self.snapshot, self._kept, self._file = Snapshot(), None, None
            self.is_whole, self._stamp, self._compared, self._last_id = False, None, None, None
            self._looked_at = float("-inf")

    def remove(self) -> None:
        """Remove what is kept of a collection that is no more."""
        if self.path is not None:
            shutil.rmtree(self.path.parent, ignore_errors=True)

    def _look(self) -> None:
        """Find out what changed as cheaply as the client allows."""
        stamp = store_stamp(self.handle)
        if self.is_whole and stamp is not None and stamp == self._stamp:
            self._compare_later(stamp)
            return
        written, gone = self._differing(self.handle.count())
        if len(written) > (READ_AT_ONCE if self.is_whole else _FIRST_AT_ONCE):
            self._start(self._read_whole)
            return
        self._take(self._read(written), gone)
        if not self.is_whole:
            self._is_read(stamp)
        self._stamp = stamp
        self._compare_later(stamp)
        if self._uncommitted() > max(_UNCOMMITTED, self.snapshot.count // 4) or (
            self._kept is None and self.snapshot.count
        ):
            self._commit_later()

    def _compare_later(self, stamp: Any) -> None:
        """Have the whole compared where a record may have been rewritten in place, but not all the time."""
        if (stamp is not None and stamp == self._compared) or time.monotonic() < self._rest_until:
            return
        if stamp is not None and self.snapshot.count <= _COMPARED_AT_ONCE:
            self._compare(None)
            self._compared = stamp
        else:
            self._start(self._compare_apart)

    def _is_read(self, stamp: Any) -> None:
        self.is_whole, self._compared = True, stamp
        if stamp is None:  # nothing tells of writes to a server and to memory, but this was read just now
            self._rest_until = time.monotonic() + self._quiet_seconds

    def _differing(self, count: int) -> tuple[list[str], list[str]]:
        """Return ids that are new and ids that are gone."""
        known = self.snapshot.count
        last = self._last_of(count) if 0 < count <= _PROBED_UP_TO else ""
        if count == known and last == self._last_id:
            return [], []
        is_known, self._last_id = self._last_id is not None, last
        if is_known and count > known > 0:
            added = self.handle.ids_from(known, count - known + 1)
            if len(added) == count - known and not self.snapshot.rows_of(added):
                return added, []
        there = self.handle.find()
        hashes = np.fromiter(map(hash_of, there), "u8", len(there))
        mine = self.snapshot.hashes()
        new = np.flatnonzero(~np.isin(hashes, mine)).tolist()
        rows = self.snapshot.chosen(None)[~np.isin(mine, hashes)]
        return [there[at] for at in new], self.snapshot.ids_of(rows.tolist())

    def _last_of(self, count: int) -> str:
        return next(iter(self.handle.ids_from(count - 1, 1)), "")

    def _read_whole(self, told: Told | None = None) -> None:
        """Read or compare everything and commit it, one process at a time."""
        while True:
            with suppress(Timeout), self._writing():
                self._reload()
                stamp = store_stamp(self.handle, is_settled=True)
                is_new = stamp is None or stamp != self._compared
                if not self.is_whole:
                    self._catch_up(told)
                elif is_new:
                    self._compare(told)
                self._is_read(stamp)
                self._stamp = stamp
                if is_new or self._uncommitted() or self._kept is None:
                    self._commit()
                self.progress = None
                return
            # Another process reads it just now.
            self._reload()
            self.progress = (self.snapshot.count, self.handle.count())
            executor.rest(_PATIENCE_SECONDS)
            _stop_at_the_end()

    def _catch_up(self, told: Told | None) -> None:
        written, gone = self._differing(self.handle.count())
        done = self.snapshot.count
        total = done + len(written)
        for page in _portions(written, _PAGE):
            self._take(self._read(page), ())
            done += len(page)
            self.progress = (done, total)
            if told is not None:
                told(done, total)
            if self._uncommitted() > max(4 * _UNCOMMITTED, self.snapshot.count // 3):
                self._commit()
        self._take((), gone)

    def _compare(self, told: Told | None) -> None:
        """Read every record and take in those that differ from what is known."""
        place, seen, total = 0, [], self.snapshot.count
        while page := self.handle.page(place, _PAGE):
            _stop_at_the_end()
            place += len(page)
            ids = list(page)
            known = self.snapshot.digests_of(ids)
            found = [to_record(id_, page[id_]) for id_ in ids]
            self._take([record for record in found if known.get(record.id) != record.digest], ())
            seen.append(np.fromiter(map(hash_of, ids), "u8", len(ids)))
            if told is not None:
                told(place, max(place, total))
        hashes = np.concatenate(seen) if seen else np.empty(0, "u8")
        rows = self.snapshot.chosen(None)[~np.isin(self.snapshot.hashes(), hashes)].tolist()
        missing = self.snapshot.ids_of(rows)
        # Pages shift where a record goes meanwhile, so what was not seen is asked for once more.
        there = self.handle.read(missing, ()) if missing else {}
        self._take((), [id_ for id_ in missing if id_ not in there])

    def _compare_apart(self) -> None:
        began, stamp = time.monotonic(), store_stamp(self.handle)
        self._compare(None)
        self._compared, now = stamp, time.monotonic()
        self._rest_until = now + max(_DUTY * (now - began), 0.0 if stamp else self._quiet_seconds)

    def _read(self, ids: Sequence[str]) -> list[Record]:
        _stop_at_the_end()
        return [to_record(id_, fields) for id_, fields in self.handle.read(ids, FIELDS).items()]

    # What it keeps

    def _take(self, records: Sequence[Record], gone: Sequence[str]) -> None:
        """Put records in the place of those of their ids, and take some out."""
        if not records and not gone:
            return
        built = [build(part) for part in _by_length(records)] or [build(())]
        with self._swap:
            snapshot = self.snapshot.with_segment(built[0], gone)
            for each in built[1:]:
                snapshot = snapshot.with_segment(each)
            self.snapshot = self._fewer(snapshot)

    def _fewer(self, snapshot: Snapshot) -> Snapshot:
        """Return the same with what is in memory in one segment, where it is in many."""
        pairs = list(zip(snapshot.segments, snapshot.alive, strict=True))
        loose = [pair for pair in pairs if pair[0] is not self._kept]
        if len(loose) <= _FEW_SEGMENTS:
            return snapshot
        one = merge([segment for segment, _ in loose], [alive for _, alive in loose])
        kept = [pair for pair in pairs if pair[0] is self._kept]
        return Snapshot(
            [*(segment for segment, _ in kept), one],
            [*(alive for _, alive in kept), np.ones(len(one), dtype=bool)],
        )

    def _uncommitted(self) -> int:
        """Return how many rows are not as they are in the file."""
        pairs = zip(self.snapshot.segments, self.snapshot.alive, strict=True)
        kept = sum(int(alive.sum()) for segment, alive in pairs if segment is self._kept)
        return self.snapshot.count + len(self._kept or ()) - 2 * kept

    def _commit(self) -> None:
        """Write everything down; the lock is held.

        Raises:
            OSError: It cannot be written.
        """
        before = self.snapshot
        if self.path is None:
            return
        whole = merge(before.segments, before.alive) if before.segments else build(())
        facts = {"collection": self.collection, "is_whole": self.is_whole, "records": len(whole)}
        make(self.path.parent)
        write(whole, self.path, {**facts, "stamp": self._stamp, "compared": self._compared})
        kept = read(self.path)
        with self._swap:
            now = zip(self.snapshot.segments, self.snapshot.alive, strict=True)
            since = [pair for pair in now if pair[0] not in before.segments]
            newer = np.concatenate([np.empty(0, "u8"), *(segment.ids[alive] for segment, alive in since)])
            lives = np.isin(kept.ids, self.snapshot.hashes()) & ~np.isin(kept.ids, newer)
            self.snapshot = Snapshot(
                [kept, *(segment for segment, _ in since)], [lives, *(alive for _, alive in since)]
            )
            self._kept, self._file = kept, _identity(self.path)

    def _commit_later(self) -> None:
        if self.path is None:
            return

        def commit() -> None:
            with suppress(Timeout), self._writing():
                if _identity(self.path) == self._file:
                    self._commit()

        self._start(commit)

    def _reload(self) -> None:
        """Take what another process has written, or what there was when this one began.

        What is not written yet of this one's is read again: nobody knows whose is newer.
        """
        if self.path is None or (found := _identity(self.path)) == self._file or found is None:
            return
        try:
            kept = read(self.path)
        except FileNotFoundError:
            return
        except (DamagedIndexError, OSError) as error:
            self.set_aside(error)
            return
        facts = kept.facts
        with self._swap:
            self.snapshot = Snapshot([kept], [np.ones(len(kept), dtype=bool)])
            self._kept, self._file, self._last_id = kept, found, None
            self.is_whole = bool(facts.get("is_whole"))
            self._stamp, self._compared = facts.get("stamp"), facts.get("compared")

    def _writing(self) -> Any:
        """Return what is entered to be the only process that writes; it raises `Timeout` where one does."""
        if self.path is None:
            return nullcontext()
        make(self.path.parent)
        return FileLock(self.path.with_suffix(".lock"), timeout=0)

    # Threads

    def _is_working(self) -> bool:
        return self._work is not None and self._work.is_alive()

    def _start(self, work: Callable[[], None]) -> None:
        """Do something in the background, one thing at a time; what goes wrong is noted."""

        def run() -> None:
            try:
                work()
                self.trouble = ""
            except ContextEngineError as error:
                self.trouble, self._retry_at = safe_message(error), time.monotonic() + _RETRY_SECONDS
            except DamagedIndexError as error:
                self.set_aside(error)
            except OSError as error:
                # It costs the next program's start, not the words.
                self.notice = f"its index is kept in memory: {refusal(error, self.path and self.path.parent)}"
                _log.warning("%s: %s", self.handle.name, self.notice)
                self.path = None
            finally:
                self.progress = None

        if not self._is_working() and time.monotonic() >= self._retry_at:
            with suppress(RuntimeError):  # no thread can be had: the next question tries again
                self._work = executor.start(run, name="lexical-index")


def to_record(id_: str, fields: Mapping[str, Any]) -> Record:
    """Return a store's record, its fields `documents` and `metadatas`, as it is indexed."""
    return Record(id_, fields.get("documents") or "", fields.get("metadatas") or {})


def _by_length(records: Sequence[Record]) -> Iterator[Sequence[Record]]:
    """Yield the records in parts whose texts are not too long together."""
    start, characters = 0, 0
    for end, record in enumerate(records):
        if characters and characters + len(record.text) > _MOST_CHARACTERS:
            yield records[start:end]
            start, characters = end, 0
        characters += len(record.text)
    if start < len(records):
        yield records[start:]


def _portions(ids: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (ids[start : start + size] for start in range(0, len(ids), size))


def _identity(path: Path | None) -> Any:
    """Return what tells a file from one that took its place, or None where there is none."""
    try:
        found = None if path is None else path.stat()
    except OSError:
        return None
    return None if found is None else (found.st_ino, found.st_mtime_ns, found.st_size)


def _stop_at_the_end() -> None:
    """Stop reading where the program ends.

    Raises:
        SourceError: It does.
    """
    if executor.is_ending():
        raise SourceError("the program ends")
