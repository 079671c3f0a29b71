"""Reading a collection to its end, once for all processes: page by page, and on from where it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from langchain_context_engine.searching import background
from langchain_context_engine.searching.changes import Watch
from langchain_context_engine.searching.collection import FIELDS, CollectionHandle
from langchain_context_engine.searching.kept import ending_soon, packed, to_record
from langchain_context_engine.searching.volume_writer import Change, Writer

if TYPE_CHECKING:
    from langchain_context_engine.searching.shelf import Shelf

_PAGE = 2000
_PATIENCE_SECONDS = 0.2

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


def _read_pages(shelf: Shelf, handle: CollectionHandle, watch_: Watch, writer: Writer, told: Told) -> None:
    facts, total = writer.facts(), handle.count()
    begun, read_to = int(facts["begun"]), int(facts["read_to"])
    if not read_to:
        begun = watch_.begin()
    done = int(facts["count"])
    for page in watch_.pages(read_to, _PAGE):
        ending_soon()
        changes = _read_records(shelf, handle, page.ids, {}, total)
        writer.commit(changes, {"read_to": page.read_to, "begun": begun})
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
        writer.commit(_read_records(shelf, handle, ids, changes.vectors, len(shelf.view)), {})
        shelf.progress = (start + len(ids), len(changes.written))
    writer.commit([(id_, None, None) for id_ in changes.gone], {"sequence": changes.sequence})


def _read_records(
    shelf: Shelf, handle: CollectionHandle, ids: Sequence[str], vectors: Mapping[str, bytes], total: int
) -> list[Change]:
    keeps = shelf.is_exact and not shelf.vectors.is_too_large
    records = handle.read(ids, (*FIELDS, "embeddings") if keeps else FIELDS)
    found: list[Change] = [(id_, None, None) for id_ in ids if id_ not in records]
    for number, (id_, fields) in enumerate(records.items()):
        if number % 100 == 0:
            ending_soon()
        vector = vectors.get(id_)
        if vector is None and keeps and fields.get("embeddings") is not None:
            vector = packed(fields["embeddings"])
            if total * len(vector) > shelf.room():
                keeps, shelf.vectors.is_too_large = False, True
        found.append((id_, to_record(id_, fields), vector if keeps else None))
    return found


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
