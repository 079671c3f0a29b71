"""What the sources of one engine share: an index of words, embedded queries, names."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

from langchain_context_engine.models.locks import ForkSafeLock
from langchain_context_engine.search.collection import CollectionHandle
from langchain_context_engine.search.lexical import LexicalIndex
from langchain_context_engine.search.query_vectors import QueryVectors
from langchain_context_engine.search.shelves import MEMORY_MEGABYTES


class SharedResources:
    """What the sources of one engine share, so that nothing is done or kept twice.

    Attributes:
        query_vectors: Embeds each query once for all sources with one embedder.

    Args:
        index_dir: A folder for the indexes of words; None keeps them beside the stores, see `folder_of`.
        max_queries: Embedded queries to remember.
        on_text: Called once with each text that is read, while nobody asks.
        memory_megabytes: What the vectors of all collections may take in memory.
    """

    def __init__(
        self,
        *,
        index_dir: str | Path | None = None,
        max_queries: int = 1000,
        on_text: Callable[[str], None] | None = None,
        memory_megabytes: float = MEMORY_MEGABYTES,
    ) -> None:
        self.query_vectors = QueryVectors(max_queries=max_queries)
        self._index_dir = index_dir
        self._memory_megabytes = memory_megabytes
        self._on_text = on_text
        self._lexical: LexicalIndex | None = None
        self._lock = ForkSafeLock()
        self._named: dict[str, str] = {}

    def name_of(self, handle: CollectionHandle) -> str:
        """Return what tells a collection from all others of the engine: its name, or `name#2` and so on.

        Only collections of different databases or servers can have one name.
        """
        own = str(handle.collection.id)
        names = itertools.chain([handle.name], (f"{handle.name}#{n}" for n in itertools.count(2)))
        with self._lock:
            return next(name for name in names if self._named.setdefault(name, own) == own)

    @property
    def lexical(self) -> LexicalIndex:
        """The one index of words over all hybrid sources, so that BM25 scores compare."""
        with self._lock:
            if self._lexical is None:
                self._lexical = LexicalIndex(
                    self._index_dir, on_text=self._on_text, memory_megabytes=self._memory_megabytes
                )
            return self._lexical
