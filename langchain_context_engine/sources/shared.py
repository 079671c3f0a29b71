"""What the sources of one engine share: an index of words, embedded queries, names."""

from __future__ import annotations

import itertools
from pathlib import Path

from langchain_context_engine.models.locks import ForkSafeLock
from langchain_context_engine.search.collection import CollectionHandle
from langchain_context_engine.search.index_manager import IndexManager
from langchain_context_engine.search.query_vectors import QueryVectors


class SharedResources:
    """What the sources of one engine share, so that nothing is done or kept twice.

    Attributes:
        query_vectors: Embeds each query once for all sources with one embedder.
        lexical: The indexes of words of all hybrid sources, whose scores compare.

    Args:
        index_dir: A folder for the indexes of words; None keeps them beside the stores, see `folder_of`.
        max_queries: Embedded queries to remember.
    """

    def __init__(
        self,
        *,
        index_dir: str | Path | None = None,
        max_queries: int = 1000,
    ) -> None:
        self.query_vectors = QueryVectors(max_queries=max_queries)
        self.lexical = IndexManager(index_dir)
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
