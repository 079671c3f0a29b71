"""Reading a collection to its end, once for all processes: page by page, and on from where it was."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from langchain_context_engine.models.disk import disk_trouble
from langchain_context_engine.models.errors import ContextEngineError
from langchain_context_engine.models.locks import ForkSafeLock
from langchain_context_engine.models.redact import safe_message
from langchain_context_engine.search import background
from langchain_context_engine.search.changes import Page, Watch
from langchain_context_engine.search.collection import FIELDS, CollectionHandle
from langchain_context_engine.search.folders import is_local
from langchain_context_engine.search.kept import ending_soon, packed, to_records
from langchain_context_engine.search.volume import Damage
from langchain_context_engine.search.volume_writer import Change, Writer

if TYPE_CHECKING:
    from langchain_context_engine.search.shelf import Shelf

_log = logging.getLogger(__name__)
_PAGE = 1000
_MOST_CHARACTERS = 500_000
"""Characters of text whose words are in memory until they are committed: some 30 MB."""

_PATIENCE_SECONDS = 0.2

_READ_ONE_PAGE, _TAKE_ONE_IN = ForkSafeLock(), ForkSafeLock()
"""Held for a page of a collection: where five are read at once, a question would wait for a turn behind ten
threads at each step, longer than its deadline. A store elsewhere may hang, and holds up no other."""

_Found = Mapping[str, Mapping[str, Any]]
"""Id → what the store says of a record."""

Told = Callable[[int, int], None]
"""Told how many records are read, and how many there are."""


def read_whole(shelf: Shelf, handle: CollectionHandle, told: Told | None = None) -> None:
    """Read the collection to its end, from where this process or another has come, page by page.

    Args:
        shelf: What is known of the collection; its lock is held.
        handle: The collection.
        told: Told how many records are read and how many there are.

    Raises:
        SourceError: The collection could not be read.
        sqlite3.Error: Its file could not be read, or the index not written.
        ValueError: The index cannot be written.
        OSError: The same.
    """
    watch_ = shelf.watched(handle)
    while True:
        shelf.catch_up()
        with shelf.volume.writing() as writer:
            if writer is not None:
                if not shelf.volume.edition.is_whole:
                    _read_pages(shelf, handle, watch_, writer, told or _nobody)
                shelf.catch_up()
                _read_changes(shelf, handle, watch_, writer)
        shelf.catch_up()
        if shelf.is_whole and (writer is not None or shelf.take_in(handle)):
            break
        shelf.progress = (shelf.volume.edition.count, handle.count())
        (told or _nobody)(*shelf.progress)
        background.rest(_PATIENCE_SECONDS)  # another process reads it just now
        ending_soon()
    shelf.trouble = ""
    shelf.take_in(handle)


def read_first(shelf: Shelf, handle: CollectionHandle) -> None:
    """Read a collection in the background; what goes wrong is noted on its shelf.

    What the disk refuses to keep is read into memory: it costs the next program's start, not the words.
    """
    try:
        with shelf.lock:
            try:
                read_whole(shelf, handle)
            except Damage as error:
                told = disk_trouble(error, shelf.volume.folder)
                if not told or background.is_ending():
                    raise
                _log.warning("%s: the disk keeps no index: %s", handle.name, told)
                shelf.begin_anew(no_disk=told)
                read_whole(shelf, handle)
        shelf.failure = None
    except ContextEngineError as error:
        shelf.failure = error
    except Damage as error:
        if not background.is_ending():
            shelf.trouble, shelf.failed_at = safe_message(error), time.monotonic()
            _log.warning("lexical index of %s: %s", handle.name, shelf.trouble)
    finally:
        shelf.ready.set()


def _read_pages(shelf: Shelf, handle: CollectionHandle, watch_: Watch, writer: Writer, told: Told) -> None:
    facts, total = writer.facts(), handle.count()
    begun, read_to = int(facts["begun"]), int(facts["read_to"])
    if not read_to:
        begun = watch_.begin()
    done = int(facts["count"])

    turn = _READ_ONE_PAGE if is_local(handle) else nullcontext()

    def read(page: Page) -> _Found:
        with turn:
            return handle.read(page.ids, _fields(shelf))

    for page, records in _ahead(watch_.pages(read_to, _PAGE), read):
        with _TAKE_ONE_IN:
            for ids in _parts(page.ids, records):
                changes = _changes(shelf, ids, records, {}, total)
                # A reading that is broken off within a page reads all of that page again.
                is_last = ids[-1] == page.ids[-1]
                writer.commit(changes, {"begun": begun} | ({"read_to": page.read_to} if is_last else {}))
                done += len(changes)
        shelf.progress = (done, max(done, total))
        told(*shelf.progress)
    writer.commit((), {"is_whole": 1, "sequence": begun})
    watch_.resume(begun)


def _read_changes(shelf: Shelf, handle: CollectionHandle, watch_: Watch, writer: Writer) -> None:
    """Commit what was written since the last commit, however much it is."""
    watch_.resume(shelf.volume.edition.sequence)
    changes = watch_.changes(shelf.view)
    if not changes:
        return
    for start in range(0, len(changes.written), _PAGE):
        ending_soon()
        ids = changes.written[start : start + _PAGE]
        records = handle.read(ids, _fields(shelf))
        for some in _parts(ids, records):
            writer.commit(_changes(shelf, some, records, changes.vectors, len(shelf.view)), {})
        shelf.progress = (start + len(ids), len(changes.written))
    writer.commit([(id_, None, None) for id_ in changes.gone], {"sequence": changes.sequence})


def _parts(ids: Sequence[str], found: _Found) -> Iterator[Sequence[str]]:
    """Yield the ids in parts whose texts are not too long together."""
    start, characters = 0, 0
    for end, id_ in enumerate(ids):
        length = len(found.get(id_, {}).get("documents") or "")
        if characters and characters + length > _MOST_CHARACTERS:
            yield ids[start:end]
            start, characters = end, 0
        characters += length
    if start < len(ids):
        yield ids[start:]


def _ahead(pages: Iterable[Page], read: Callable[[Page], _Found]) -> Iterator[tuple[Page, _Found]]:
    """Yield each page with its records; the store reads the next one while this one is taken in."""
    waiting: tuple[Page, Future[_Found]] | None = None
    for page in pages:
        ending_soon()
        coming = page, _begun(read, page)
        if waiting is not None:
            yield waiting[0], waiting[1].result()
        waiting = coming
    if waiting is not None:
        yield waiting[0], waiting[1].result()


def _begun(read: Callable[[Page], _Found], page: Page) -> Future[_Found]:
    answer: Future[_Found] = Future()

    def run() -> None:
        try:
            answer.set_result(read(page))
        except BaseException as error:  # noqa: BLE001 - it is raised where the answer is taken
            answer.set_exception(error)

    try:
        background.start(run, name="reading-ahead")
    except RuntimeError:  # no thread can be had
        run()
    return answer


def _keeps_vectors(shelf: Shelf) -> bool:
    return shelf.is_exact and not shelf.vectors.is_too_large


def _fields(shelf: Shelf) -> Sequence[str]:
    return (*FIELDS, "embeddings") if _keeps_vectors(shelf) else FIELDS


def _changes(
    shelf: Shelf,
    ids: Sequence[str],
    found: _Found,
    vectors: Mapping[str, bytes],
    total: int,
) -> list[Change]:
    """Return what becomes of ids: the records that were found, with vectors where they are kept."""
    records, room = to_records({id_: found[id_] for id_ in ids if id_ in found}), shelf.room()
    changes: list[Change] = [(id_, None, None) for id_ in ids if id_ not in records]
    for id_, record in records.items():
        vector = vectors.get(id_)
        if vector is None and _keeps_vectors(shelf) and found[id_].get("embeddings") is not None:
            vector = packed(found[id_]["embeddings"])
            shelf.vectors.is_too_large = total * len(vector) > room
        changes.append((id_, record, vector if _keeps_vectors(shelf) else None))
    return changes


def _nobody(done: int, total: int) -> None:
    """Tell nobody how far a reading is."""


def read_kept(
    shelf: Shelf, handle: CollectionHandle, ids: Sequence[str], with_vectors: Sequence[str] = ()
) -> dict[str, dict[str, Any]]:
    """Return id → text and metadata of those that exist, from the index where it can be trusted.

    So a question need not ask the store for what the index was told a moment ago.

    Args:
        shelf: What is known of it.
        handle: The collection.
        ids: What to read.
        with_vectors: Those of them whose vector is read too.
    """
    found: dict[str, dict[str, Any]] = {}
    if shelf.is_exact and shelf.is_current:
        found = {
            id_: {"documents": record.document, "metadatas": record.metadata}
            for id_, record in shelf.view.records(ids).items()
        }
    unread = [id_ for id_ in ids if id_ not in found]
    if unread:
        records = handle.read(unread, (*FIELDS, "embeddings") if with_vectors else FIELDS)
        shelf.heal(unread, records)
        found |= records
    bare = [id_ for id_ in with_vectors if id_ in found and "embeddings" not in found[id_]]
    for id_, fields in handle.read(bare, ("embeddings",)).items():
        found[id_] |= fields
    return found


def told_of(shelf: Shelf, name: str, *, is_scoped: bool) -> list[str]:
    """Return what an answer should say of the index, in one sentence each; a notice once.

    Args:
        shelf: What is known of the collection.
        name: How people know the source.
        is_scoped: The request may not know how many records there are.
    """
    said = []
    if shelf.notice:
        said, shelf.notice = [f"source {name!r}: {shelf.notice}"], ""
    if not shelf.is_whole and shelf.trouble:
        return [*said, f"the words of {name!r} cannot be read: {shelf.trouble}; this answer did without"]
    if shelf.trouble:
        return [*said, f"the index of {name!r} cannot be written: {shelf.trouble}"]
    if not (shelf.is_whole and shelf.ready.is_set()):
        done, total = shelf.progress
        figures = "" if is_scoped or not total else f": {done:,} of {total:,}"
        said.append(f"the words of {name!r} are being read{figures}; this answer did without")
    return said
