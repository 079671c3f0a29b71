"""The lexical indexes of an engine's collections: opened once, synced for each question, weighed as one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from langchain_context_engine.errors import ContextEngineError
from langchain_context_engine.filters import Filter
from langchain_context_engine.models.clock import moment_asked, moment_over
from langchain_context_engine.models.source import Progress
from langchain_context_engine.search.bm25 import LexicalQuery, Weighed, weigh
from langchain_context_engine.search.collection import CollectionHandle
from langchain_context_engine.search.collection_index import QUIET_SECONDS, CollectionIndex, folder_of
from langchain_context_engine.search.segment import DamagedIndexError

T = TypeVar("T")
WAIT_SHARE = 0.4
"""For this share of its time a question waits for records to be read before it does without their words."""

_KEPT_QUESTIONS = 64


class IndexManager:
    """See above. Thread-safe without a lock: what two threads make at once is kept once.

    Args:
        path: A folder for all indexes; None keeps each where `folder_of` says.
        quiet_seconds: See `CollectionIndex`.
    """

    def __init__(self, path: str | Path | None = None, *, quiet_seconds: float = QUIET_SECONDS) -> None:
        self._path = path
        self._quiet_seconds = quiet_seconds
        self._handles: dict[int, CollectionHandle] = {}
        self._indexes: dict[str, CollectionIndex] = {}
        self._weighed: dict[Any, Weighed] = {}

    def register(self, handle: CollectionHandle) -> None:
        """Make a collection one of those over which words are weighed."""
        self._handles.setdefault(id(handle), handle)

    def sync(self, handle: CollectionHandle) -> CollectionIndex | None:
        """Return a collection's index, it and all local ones up to date; None while it is not read.

        What cannot be read within `WAIT_SHARE` of the time to answer is done without, for this once.

        Raises:
            SourceError: The collection could not be read.
        """
        self.register(handle)
        asked = moment_asked()
        index = self._synced(handle, asked)
        for other in tuple(self._handles.values()):
            # A server that hangs is its own source's affair.
            if other is not handle and other.is_in_process:
                with suppress(ContextEngineError):
                    self._synced(other, asked)
        return index if index.is_whole else None

    def peek(self, handle: CollectionHandle) -> CollectionIndex | None:
        """Return a collection's index as it was last brought up to date; None before it was read."""
        index = self._indexes.get(handle.id)
        return index if index is not None and index.is_whole else None

    def prepare(self, handle: CollectionHandle, progress: Progress | None = None) -> CollectionIndex:
        """Read a collection now, in this thread, and write down what is known of it.

        Raises:
            SourceError: The collection could not be read, or its index not be written.
        """
        self.register(handle)
        index = self.index_of(handle)
        self.guarded(lambda: index.prepare(progress))
        return index

    def weighed(self, query: LexicalQuery, within: Filter) -> Weighed:
        """Return what a question's words weigh among the records of all collections that a filter admits."""
        indexes = {
            id(index): index for handle in tuple(self._handles.values()) if (index := self.peek(handle))
        }
        snapshots = [index.snapshot for index in indexes.values()]
        key = (query, repr(within), tuple(snapshot.stamp for snapshot in snapshots))
        known = self._weighed.get(key)
        if known is None:
            known = weigh(query, [(snapshot, snapshot.mask(within)[0]) for snapshot in snapshots])
            if len(self._weighed) >= _KEPT_QUESTIONS:
                self._weighed.clear()
            self._weighed[key] = known
        return known

    def guarded(self, ask: Callable[[], T]) -> T:
        """Return what is asked; a damaged file of an index is set aside for it, and it is asked again."""
        try:
            return ask()
        except DamagedIndexError as error:
            for each in [index for index in tuple(self._indexes.values()) if index.path == error.path]:
                each.set_aside(error)
            return ask()

    def index_of(self, handle: CollectionHandle) -> CollectionIndex:
        """Return a collection's index however far it is."""
        found = self._indexes.get(handle.id)
        if found is None:
            made = CollectionIndex(handle, folder_of(handle, self._path), self._quiet_seconds)
            found = self._indexes.setdefault(handle.id, made)
        return found

    def _synced(self, handle: CollectionHandle, asked: float) -> CollectionIndex:
        while True:
            index = self.index_of(handle)
            index.sync(asked, moment_over(WAIT_SHARE))
            if handle.id == index.collection:
                return index
            index.remove()  # recreated meanwhile under the same name
            self._indexes.pop(index.collection, None)
