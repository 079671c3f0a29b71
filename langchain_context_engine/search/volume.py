"""The index of one collection: its records and its words, one commit at a time, on disk or in memory.

Records are written first, then their words; a number says how far those go. Who writes next finishes both.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path

from langchain_context_engine.models.disk import disk_trouble
from langchain_context_engine.models.metadata import read_list
from langchain_context_engine.search import folders
from langchain_context_engine.search.forks import leave, renew_after_fork
from langchain_context_engine.search.kept import Sequencing
from langchain_context_engine.search.postings import Postings, Reader
from langchain_context_engine.search.rows import Rows
from langchain_context_engine.search.volume_writer import Writer
from langchain_context_engine.search.writer_lock import WriterLock
from langchain_context_engine.text.words import terms

_FORMAT = 1
_PROBE = "Parsing parse_url, v1.2 and HTTPServer's 認証 naïve C++ decisions don't"
_OPENING_SECONDS = 5.0
_RECORDS, _WORDS, _LOCK = "records.db", "words", "lock"
_log = logging.getLogger(__name__)

Damage = (sqlite3.Error, ValueError, OSError)
"""What a damaged or half-deleted index raises."""


@dataclass(frozen=True, slots=True)
class Edition:
    """What readers see at one moment.

    Attributes:
        reader: The words.
        number: Rises with each commit.
        upto: The last row whose words are in it.
        sequence: Of the store's writes, the last one that is in it; −1 where none is known.
        count: How many records there are.
        is_whole: The first reading is done.
        read_to: How far an unfinished first reading has come, as the store counts.
    """

    reader: Reader
    number: int
    upto: int
    sequence: int
    count: int
    is_whole: bool
    read_to: int


@cache
def version() -> str:
    """Return what tells an index made by this code from others: its layout, and what words it finds."""
    made_of = f"{terms(_PROBE)}".encode()
    return f"{_FORMAT}-{blake2b(made_of, digest_size=6).hexdigest()}"


class Volume:
    """A collection's index, opened. Readers wait for nobody; one writes at a time, over all processes.

    Args:
        folder: Where it is, made where there is none; None keeps it in memory.
        collection: Chroma's id of the collection.

    Raises:
        OSError: The folder cannot be made or read; likewise sqlite3.Error.

    Attributes:
        notice: What was done when it was opened that people should know, once; or "".
    """

    def __init__(self, folder: Path | None, collection: str) -> None:
        self.folder = folder
        self.collection = collection
        self.notice = ""
        self._lock = threading.RLock()
        self._file = 0
        if folder is not None:
            folders.make(folder)
        self._writing = WriterLock(None if folder is None else folder / _LOCK)
        self.rows, self.postings, self.edition = self._opened()
        self._version = self.rows.version()
        renew_after_fork(self)

    def _opened(self) -> tuple[Rows, Postings, Edition]:
        if self.folder is None:
            rows = Rows(None)
            rows.put((), (), self._first_facts())
            postings = Postings(None)
            return rows, postings, _edition(rows, postings)
        try:
            return self._read()
        except Damage as error:
            is_new = not (self.folder / _RECORDS).exists()
            if not is_new and disk_trouble(error, self.folder):
                raise  # what a full disk does not let us open is as good as it was
            reason = "" if is_new else f"its index is made anew: {error}"
        with self._writing.held(wait_seconds=_OPENING_SECONDS) as is_held:
            if is_held:
                with contextlib.suppress(*Damage):
                    return self._read()  # another process has made it meanwhile
                self._begin()
                if reason:
                    self.notice = reason
                    _log.warning("%s: %s", self.folder, reason)
        return self._read()

    def _read(self) -> tuple[Rows, Postings, Edition]:
        """Open what is there.

        Raises:
            ValueError: It is of another version, or not whole.
        """
        folder = self.folder or Path()
        records = folder / _RECORDS
        if not records.is_file() or not (folder / _WORDS / "meta.json").is_file():
            raise ValueError("files are missing")
        self._file = records.stat().st_ino
        rows = Rows(records)
        try:
            facts = rows.facts()
            if (facts.get("version"), facts.get("collection")) != (version(), self.collection):
                raise ValueError("it was made by another version")  # noqa: TRY301
            postings = Postings(folder / _WORDS)
            edition = _edition(rows, postings)
            pending = rows.fetch("SELECT count(*) FROM records WHERE row > ?", edition.upto)[0][0]
            is_settled = not pending and not rows.gone()
            if is_settled and edition.reader.size != edition.count:
                raise ValueError("words and records do not belong together")  # noqa: TRY301
        except BaseException:
            rows.close()
            raise
        return rows, postings, edition

    def _begin(self) -> None:
        """Make an empty index in place of whatever is there."""
        folder = self.folder or Path()
        shutil.rmtree(folder / _WORDS, ignore_errors=True)
        for name in (_RECORDS, f"{_RECORDS}-wal", f"{_RECORDS}-shm"):
            (folder / name).unlink(missing_ok=True)
        Postings(folder / _WORDS)
        # Made beside and moved, so that what is there is never half of it.
        new = folder / f"{_RECORDS}.new"
        new.unlink(missing_ok=True)
        rows = Rows(new, is_writer=True)
        rows.put((), (), self._first_facts())
        rows.close()
        new.replace(folder / _RECORDS)

    def _first_facts(self) -> dict[str, object]:
        return {
            "version": version(), "collection": self.collection, "number": 0, "upto": 0, "sequence": -1,
            "count": 0, "is_whole": 0, "read_to": 0, "begun": -1, "sequences": "[]",
        }  # fmt: skip

    def refresh(self) -> bool:
        """Take in what another process has committed, and tell whether there was anything.

        Raises:
            sqlite3.Error: The index is damaged.
            ValueError: The same.
            OSError: The same.
        """
        with self._lock:
            if self.folder is not None and _inode(self.folder / _RECORDS) != self._file:
                self.reopen()
                return True
            seen = self.rows.version()
            if seen == self._version:
                return False
            self._version = seen
            if int(self.rows.facts().get("number", -1)) == self.edition.number:
                return False
            self.edition = _edition(self.rows, self.postings)
            return True

    def reopen(self) -> None:
        """Open it again, and make it anew where it is damaged."""
        with self._lock:
            old = self.rows
            self.rows, self.postings, self.edition = self._opened()
            self._version = self.rows.version()
            if self.folder is not None:
                leave(old)  # somebody may be reading it

    def discard(self) -> None:
        """Make an empty index in place of this one, or raise what a damaged one raises."""
        with self._lock:
            if self.folder is not None:
                with self._writing.held(wait_seconds=_OPENING_SECONDS) as is_held:
                    if is_held:
                        self._begin()
            self.reopen()

    @contextlib.contextmanager
    def writing(self, *, wait_seconds: float = 0.0) -> Iterator[Writer | None]:
        """Give what writes to it, or None while another process does.

        Args:
            wait_seconds: How long to wait for another writer.

        Raises:
            sqlite3.Error: It cannot be written; what was committed stands.
            ValueError: The same.
            OSError: The same.
        """
        with self._writing.held(wait_seconds=wait_seconds) as is_held:
            if not is_held:
                yield None
                return
            with self._rows_to_write() as rows:
                yield Writer(rows, self.postings, on_commit=self.reload)

    def finish(self) -> None:
        """Write the words that a process left unwritten when it ended, if nobody else does."""
        if self.rows.last_row() <= self.edition.upto and not self.rows.gone():
            return
        with self.writing() as writer:
            if writer is not None:
                writer.post({}, {})

    def arrange(self, keys: Sequencing, *, wait_seconds: float) -> None:
        """Have records placed by a pair of keys from now on, those that there are too."""
        if list(keys) in read_list(self.rows.facts()["sequences"]):
            return
        with self.writing(wait_seconds=wait_seconds) as writer:
            if writer is not None:
                writer.arrange(keys)

    def reload(self) -> None:
        """Take in what this process has committed."""
        with self._lock:
            self._version = self.rows.version()
            self.edition = _edition(self.rows, self.postings)

    @contextlib.contextmanager
    def _rows_to_write(self) -> Iterator[Rows]:
        if self.folder is None:
            yield self.rows
            return
        rows = Rows(self.folder / _RECORDS, is_writer=True)
        try:
            yield rows
        finally:
            rows.close()

    def remove(self) -> None:
        """Remove its files."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def size_on_disk(self) -> int:
        """Return how many bytes its files take; 0 in memory."""
        if self.folder is None:
            return 0
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())

    def renew(self) -> None:
        """Open the records anew in a forked process."""
        self._lock = threading.RLock()
        leave(self.rows)
        if self.folder is not None:
            self.rows = Rows(self.folder / _RECORDS)
            self._version = -1
        else:
            self.rows.lock = threading.RLock()


def _edition(rows: Rows, postings: Postings) -> Edition:
    # The facts first: words that are newer than they say are found again by what is pending.
    facts = rows.facts()
    return Edition(
        reader=postings.reader(has_dead=facts.get("has_dead") == "1"),
        number=int(facts["number"]),
        upto=int(facts["upto"]),
        sequence=int(facts["sequence"]),
        count=int(facts["count"]),
        is_whole=facts["is_whole"] == "1",
        read_to=int(facts["read_to"]),
    )


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return -1
