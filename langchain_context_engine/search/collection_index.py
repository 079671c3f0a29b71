"""The lexical index of one collection, kept in step with Chroma by what its public API tells.

`README.md` beside this file says what is seen when. In memory it is a snapshot; on disk, where a store has
a place for it, one file that is replaced as a whole by whoever holds the lock beside it.

A question looks whether something was written, which costs next to nothing. Whatever must be read is read in
the background: the question waits for it as long as it can afford, and else does without and says so.
"""

from __future__ import annotations

import hashlib
import itertools
import logging
import os
import shutil
import stat
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

from langchain_context_engine import executor
from langchain_context_engine.errors import ContextEngineError, SourceError
from langchain_context_engine.models.locks import ForkSafeLock
from langchain_context_engine.models.redact import refusal, safe_message
from langchain_context_engine.models.source import Progress
from langchain_context_engine.search.collection import FIELDS, CollectionHandle, files_of, settings_of
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
QUIET_SECONDS = 30.0
_COMPARED_AT_ONCE = 1000
"""Records of a store in files that are compared after a write before the next question is answered."""
_PROBED_UP_TO = 3000
"""Records up to which the last id is looked at: Chroma walks there, about a microsecond a record."""
_PAGE = 1000
_MOST_CHARACTERS = 2_000_000
_FEW_SEGMENTS = 8
_UNCOMMITTED = 1000
_DUTY = 20
"""A comparison of the whole is followed by a pause of so many times what it took."""
_PATIENCE_SECONDS = 0.2
_log = logging.getLogger(__name__)

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
        is_written: It is in files that somebody has written to since the question before.
        progress: How many records were read and how many there are, while they are being read.
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
        self.is_whole = self.is_written = False
        self.progress: tuple[int, int] | None = None
        self.notice = self.trouble = ""
        self.path = None if folder is None else folder / FILE
        self._kept: Segment | None = None
        self._file: Any = None
        self._stamp: Any = None
        self._compared: Any = None
        self._last_id: str | None = None
        self._looked_at = self._rest_until = float("-inf")
        self._reading: threading.Thread | None = None
        self._upkeep: threading.Thread | None = None
        self._quiet_seconds = quiet_seconds
        self._lock, self._turn, self._swap = ForkSafeLock(), ForkSafeLock(), ForkSafeLock()

    # What a question asks

    def sync(self, asked: float, until: float) -> None:
        """Take in what was written before a moment, as far as that can be read until another.

        Args:
            asked: On `time.monotonic()`'s clock.
            until: On the same.

        Raises:
            SourceError: The collection could not be read.
        """
        while True:
            with self._lock:
                if self._looked_at < asked and not _is_alive(self._reading):
                    self._look()
                is_current, reading = self._looked_at >= asked, self._reading
            if reading is not None:
                reading.join(max(0.0, until - time.monotonic()))
            if is_current or time.monotonic() >= until:
                return

    def _look(self) -> None:
        began = time.monotonic()
        self._reload()
        is_changed = self._is_changed()
        self.is_written = is_changed and self.is_whole and bool(self.handle.files)
        if is_changed:
            self._reading = self._start(self._update)
        else:
            self._keep_up_later()
        self._looked_at = began

    def heal(self, ids: Sequence[str], records: Rows) -> None:
        """Compare what the store answered for some ids with what is known, and take in the difference."""
        if self._stamp is not None and self._stamp == self._compared:
            return
        known = self.snapshot.digests_of(ids)
        self._take(
            _differing([to_record(id_, records[id_]) for id_ in ids if id_ in records], known),
            [id_ for id_ in ids if id_ not in records and id_ in known],
        )

    def notices(self, name: str, *, is_scoped: bool) -> list[str]:
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

    def prepare(self, progress: Progress | None = None) -> None:
        """Read what is not read yet, compare the rest, and write it down, in this thread.

        Raises:
            SourceError: The collection could not be read, or the index not be written.
        """

        def work() -> None:
            stamp = store_stamp(self.handle, is_settled=True)
            is_new = stamp is None or stamp != self._compared
            was_whole = self.is_whole
            self._catch_up(stamp, progress)
            if was_whole and is_new:
                self._compare(stamp, progress)
            # What is kept must say what the next process finds before it opens the store.
            is_behind = self._kept is None or self._kept.facts.get("compared") != self._compared
            if is_new or self._uncommitted() or is_behind:
                self._commit()

        try:
            self._alone(work)
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

    def _is_changed(self) -> bool:
        """Tell as cheaply as the client allows whether records came or went, or may have been rewritten."""
        if not self.is_whole:
            return True
        stamp = store_stamp(self.handle)
        if stamp is not None:
            return bool(stamp != self._stamp)
        count = self.handle.count()
        return count != self.snapshot.count or self._last_of(count) != self._last_id

    def _last_of(self, count: int) -> str:
        is_near = 0 < count <= _PROBED_UP_TO
        return next(iter(self.handle.rows(start=count - 1, most=1)), "") if is_near else ""

    def _update(self) -> None:
        """Take in what came and went; for the first time one process reads and the others wait for it."""
        stamp = store_stamp(self.handle)
        if self.is_whole:
            self._catch_up(stamp)
        else:
            self._alone(lambda: self._catch_up(stamp))
        if stamp is not None and stamp != self._compared and self.snapshot.count <= _COMPARED_AT_ONCE:
            self._compare(stamp)
        self._keep_up_later()

    def _catch_up(self, stamp: Any, progress: Progress | None = None) -> None:
        """Read the records that are new and forget those that are gone; at first, the file is locked."""
        with self._turn:
            written, gone = self._come_and_gone(self.handle.count())
            done = self.snapshot.count
            total = done + len(written)
            for start in range(0, len(written), _PAGE):
                self.progress = (done, total)
                _stop_at_the_end()
                page = written[start : start + _PAGE]
                found = self.handle.read(page, FIELDS)
                self._take([to_record(id_, fields) for id_, fields in found.items()], ())
                done += len(page)
                if progress is not None:
                    progress(done, total)
                if not self.is_whole and self._uncommitted() > max(4 * _UNCOMMITTED, done // 3):
                    self._commit()
            self._take((), gone)
            if not self.is_whole:
                self._is_compared(stamp, 0.0)
            self.is_whole, self._stamp, self.progress = True, stamp, None

    def _come_and_gone(self, count: int) -> tuple[list[str], list[str]]:
        """Return ids that are new and ids that are gone."""
        known, last = self.snapshot.count, self._last_of(count)
        if count == known and last == self._last_id:
            return [], []
        is_known, self._last_id = self._last_id is not None, last
        if is_known and count > known > 0:
            added = list(self.handle.rows(start=known, most=count - known + 1))
            if len(added) == count - known and not self.snapshot.rows_of(added):
                return added, []
        there = self.handle.find()
        hashes = np.fromiter(map(hash_of, there), "u8", len(there))
        new = np.flatnonzero(~np.isin(hashes, self.snapshot.hashes())).tolist()
        return [there[at] for at in new], self._unseen(hashes)

    def _unseen(self, hashes: Any) -> list[str]:
        """Return the known ids that are not among some hashes."""
        rows = self.snapshot.chosen(None)[~np.isin(self.snapshot.hashes(), hashes)]
        return self.snapshot.ids_of(rows.tolist())

    def _compare(self, stamp: Any, progress: Progress | None = None) -> None:
        """Read every record and take in those that differ from what is known; others may read in between."""
        began, place, seen, total = time.monotonic(), 0, [np.empty(0, "u8")], self.snapshot.count
        while True:
            _stop_at_the_end()
            with self._turn:
                page = self.handle.rows(None, FIELDS, start=place, most=_PAGE)
                found = [to_record(id_, fields) for id_, fields in page.items()]
                self._take(_differing(found, self.snapshot.digests_of(list(page))), ())
            if not page:
                break
            place += len(page)
            seen.append(np.fromiter(map(hash_of, page), "u8", len(page)))
            if progress is not None:
                progress(place, max(place, total))
        with self._turn:
            missing = self._unseen(np.concatenate(seen))
            # Pages shift where a record goes meanwhile, so what was not seen is asked for once more.
            there = self.handle.read(missing, ()) if missing else {}
            self._take((), [id_ for id_ in missing if id_ not in there])
        self._is_compared(stamp, time.monotonic() - began)

    def _is_compared(self, stamp: Any, took: float) -> None:
        # Nothing tells of writes to a server and to memory.
        self._compared = stamp
        self._rest_until = time.monotonic() + max(_DUTY * took, 0.0 if stamp else self._quiet_seconds)

    def _keep_up_later(self) -> None:
        if not _is_alive(self._upkeep) and (self._is_comparing() or self._is_committing()):
            self._upkeep = self._start(self._keep_up)

    def _is_comparing(self) -> bool:
        is_same = self._stamp is not None and self._stamp == self._compared
        return not is_same and time.monotonic() >= self._rest_until

    def _is_committing(self) -> bool:
        if self.path is None:
            return False
        many = self._uncommitted() > max(_UNCOMMITTED, self.snapshot.count // 4)
        return many or (self._kept is None and self.snapshot.count > 0)

    def _keep_up(self) -> None:
        """Compare the whole, since a record may have been rewritten in place, and write it down."""
        if self._is_comparing():
            self._compare(store_stamp(self.handle))
        if self._is_committing():
            with suppress(Timeout), self._writing():
                if _identity(self.path) == self._file:
                    self._commit()

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
            loose = [pair for pair in snapshot.pairs() if pair[0] is not self._kept]
            if len(loose) > _FEW_SEGMENTS:
                one = merge(loose)
                kept = [pair for pair in snapshot.pairs() if pair[0] is self._kept]
                snapshot = Snapshot([*kept, (one, np.ones(len(one), dtype=bool))])
            self.snapshot = snapshot

    def _uncommitted(self) -> int:
        """Return how many rows are not as they are in the file."""

        def counted() -> int:
            kept = sum(int(alive.sum()) for segment, alive in self.snapshot.pairs() if segment is self._kept)
            return self.snapshot.count + len(self._kept or ()) - 2 * kept

        return self.snapshot.kept("uncommitted", counted)

    def _commit(self) -> None:
        """Write everything down; the lock is held.

        Raises:
            OSError: It cannot be written.
        """
        if self.path is None:
            return
        # Told before what it is told of: what is taken in meanwhile must not count as written down.
        facts = {"is_whole": self.is_whole, "stamp": self._stamp, "compared": self._compared}
        before = self.snapshot
        whole = merge(before.pairs())
        make(self.path.parent)
        write(whole, self.path, {**facts, "collection": self.collection, "records": len(whole)})
        kept = read(self.path)
        with self._swap:
            since = [pair for pair in self.snapshot.pairs() if pair[0] not in before.segments]
            newer = np.concatenate([np.empty(0, "u8"), *(segment.ids[alive] for segment, alive in since)])
            lives = np.isin(kept.ids, self.snapshot.hashes()) & ~np.isin(kept.ids, newer)
            self._kept, self._file = kept, _identity(self.path)
            self.snapshot = Snapshot([(kept, lives), *since])

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
        with self._swap:
            self._kept, self._file, self._last_id = kept, found, None
            self.snapshot = Snapshot([(kept, np.ones(len(kept), dtype=bool))])
            self.is_whole = bool(kept.facts.get("is_whole"))
            self._stamp, self._compared = map(self._since_opened, map(kept.facts.get, ("stamp", "compared")))

    def _since_opened(self, stamp: Any) -> Any:
        """Return a stamp as it would be had this process opened the store before it was taken."""
        before, after = _OPENED.get(self.handle.files, (None, None))
        return after if stamp is not None and stamp == before else stamp

    # Processes and threads

    def _writing(self) -> Any:
        """Return what is entered to be the only process that writes; it raises `Timeout` where one does."""
        if self.path is None:
            return nullcontext()
        make(self.path.parent)
        return FileLock(self.path.with_suffix(".lock"), timeout=0)

    def _alone(self, work: Callable[[], None]) -> None:
        """Do something as the only process that writes; what another one writes until then is taken."""
        while True:
            with suppress(Timeout), self._writing():
                self._reload()
                work()
                return
            self._reload()
            self.progress = (self.snapshot.count, self.handle.count())
            executor.rest(_PATIENCE_SECONDS)
            _stop_at_the_end()

    def _start(self, work: Callable[[], None]) -> threading.Thread | None:
        """Do something in the background; what goes wrong is noted."""

        def run() -> None:
            try:
                work()
                self.trouble = ""
            except ContextEngineError as error:
                self.trouble = safe_message(error)
            except DamagedIndexError as error:
                self.set_aside(error)
            except OSError as error:
                # It costs the next program's start, not the words.
                self.notice = f"its index is kept in memory: {refusal(error, self.path and self.path.parent)}"
                _log.warning("%s: %s", self.handle.name, self.notice)
                self.path = None
            finally:
                self.progress = None

        with suppress(RuntimeError):  # no thread can be had: the next question tries again
            return executor.start(run, name="lexical-index")
        return None


def to_record(id_: str, fields: Mapping[str, Any]) -> Record:
    """Return a store's record, its fields `documents` and `metadatas`, as it is indexed."""
    return Record(id_, fields.get("documents") or "", fields.get("metadatas") or {})


def _differing(found: Sequence[Record], known: Mapping[str, int]) -> list[Record]:
    return [record for record in found if known.get(record.id) != record.digest]


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


def _identity(path: Path | None) -> Any:
    """Return what tells a file from one that took its place, or None where there is none."""
    try:
        found = None if path is None else path.stat()
    except OSError:
        return None
    return None if found is None else (found.st_ino, found.st_mtime_ns, found.st_size)


def _is_alive(thread: threading.Thread | None) -> bool:
    return thread is not None and thread.is_alive()


def _stop_at_the_end() -> None:
    """Stop reading where the program ends.

    Raises:
        SourceError: It does.
    """
    if executor.is_ending():
        raise SourceError("the program ends")


INDEX_DIR = "CONTEXT_ENGINE_INDEX_DIR"
"""The environment variable that names another folder for the indexes."""

_NAME = "context-engine-index"
_TICK_NANOSECONDS = 50_000_000
_moments = itertools.count()


def folder_of(handle: CollectionHandle, given: str | Path | None = None) -> Path | None:
    """Return the folder of a collection's index, which need not exist; None keeps it in memory.

    Args:
        handle: The collection.
        given: A folder for all indexes, in place of what the environment or the client says.
    """
    settings, collection = settings_of(handle.collection), handle.collection
    store = Path(handle.files[0]).parent if handle.files else None
    host = getattr(settings, "chroma_server_host", None)
    if store is None and not host:
        return None
    place = str(store.absolute()) if store else f"{host}:{getattr(settings, 'chroma_server_http_port', None)}"
    home = "\n".join([place, str(collection.tenant), str(collection.database)])
    digest = hashlib.blake2b(home.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
    if chosen := given or os.environ.get(INDEX_DIR):
        return Path(chosen).expanduser() / digest / str(collection.id)
    if store is not None:
        inside = store / _NAME
        if os.access(inside if inside.is_dir() else store, os.W_OK | os.X_OK):
            return inside / str(collection.id)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    return cache / "langchain-context-engine" / "indexes" / digest / str(collection.id)


def make(folder: Path) -> None:
    """Make a folder that whoever may enter the store may enter, and nobody else.

    Raises:
        OSError: It cannot be made.
    """
    if folder.is_dir():
        return
    parent = folder.parent
    mode = stat.S_IMODE(parent.parent.stat().st_mode) if parent.name == _NAME else 0o700
    parent.mkdir(parents=True, exist_ok=True, mode=mode)
    folder.mkdir(exist_ok=True)
    folder.chmod(mode)


def store_stamp(handle: CollectionHandle, *, is_settled: bool = False) -> list[int] | None:
    """Return what is the same as long as nothing is written to a store in files; None for any other store.

    It is the age and size of Chroma's files. What was written a moment ago may be written again within a tick
    of the file system's clock, so its stamp is equal to none.

    Args:
        handle: A collection of the store.
        is_settled: Wait until the moment is over.
    """
    while handle.files:
        found = _state_of(handle.files)
        age = time.time_ns() - max(found[::3], default=0)
        if not 0 <= age < _TICK_NANOSECONDS:
            return found or None
        if not is_settled:
            return [*found, next(_moments)]
        time.sleep((_TICK_NANOSECONDS - age) / 1e9)
    return None


def _state_of(files: Sequence[str]) -> list[int]:
    found: list[int] = []
    for path in files:
        with suppress(OSError):
            status = os.stat(path)  # noqa: PTH116 - of every question
            # Who sets a file's age back cannot set back when it was changed.
            found += [max(status.st_mtime_ns, status.st_ctime_ns), status.st_mtime_ns, status.st_size]
    return found


_OPENED: dict[tuple[str, ...], tuple[list[int], list[int]]] = {}
"""The files of a store → their state before and after a client of this process opened it."""


@contextmanager
def opening(folder: str) -> Iterator[None]:
    """Note that a client opens a store in a block: Chroma writes to its file then, though no record changes.

    So a program that opens a store anew for each question need not compare all records each time. What
    another process rewrites in place within the block, some hundredths of a second, is seen with its next
    write.

    Args:
        folder: Chroma's, as the client is given it.
    """
    files = files_of(folder)
    before = _state_of(files)
    yield
    _OPENED[files] = before, _state_of(files)
