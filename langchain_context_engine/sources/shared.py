"""What the sources of one engine share: an index of words, embedded queries, names."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from langchain_context_engine.embeddings.vectors import check_vector
from langchain_context_engine.errors import EmbeddingError
from langchain_context_engine.models.redact import safe_message
from langchain_context_engine.search.collection import CollectionHandle
from langchain_context_engine.search.index_manager import IndexManager

Vector = tuple[float, ...]


class QueryVectors:
    """Embeds each query once, per embedder: concurrent equal queries wait for one call. Thread-safe.

    A failure reaches every caller that waited for it and is not remembered. The oldest query is forgotten
    first.

    Args:
        max_queries: Queries to remember over all embedders.
    """

    def __init__(self, *, max_queries: int = 1000) -> None:
        self._max_queries = max_queries
        # The embedder is kept beside its vector: its id() must not be given to another one meanwhile.
        self._futures: dict[tuple[int, int, str], tuple[Any, Future[Vector]]] = {}

    def __len__(self) -> int:
        return len(self._futures)

    def embed(self, embeddings: Any, query: str) -> Vector:
        """Return the vector of a query by `embeddings.embed_query`, LangChain's or of Chroma's functions."""
        # By process: the threads that a forked child would wait for stayed with the parent.
        key, mine = (os.getpid(), id(embeddings), query), Future[Vector]()
        _, future = self._futures.setdefault(key, (embeddings, mine))
        if future is mine:
            for oldest in list(self._futures)[: -self._max_queries]:
                self._futures.pop(oldest, None)
            try:
                mine.set_result(check_vector(_embed(embeddings, query), "the query's embedding"))
            except EmbeddingError as error:
                mine.set_exception(error)
            except Exception as error:  # noqa: BLE001 - whatever an embedder raises
                # Not the error itself: its text may hold a key, and tracebacks end in logs.
                mine.set_exception(EmbeddingError(f"the query could not be embedded: {safe_message(error)}"))
            finally:
                if not mine.done():  # interrupted: those who wait must be woken
                    mine.set_exception(EmbeddingError("the query was not embedded: that was interrupted"))
                if mine.exception() is not None:
                    self._futures.pop(key, None)
        return future.result()


class SharedResources:
    """What the sources of one engine share, so that nothing is done or kept twice.

    `query_vectors` embeds each query once for all sources with one embedder; `lexical` are the indexes of
    words of all hybrid sources, whose scores compare.

    Args:
        index_dir: A folder for the indexes of words; None keeps them beside the stores, see `folder_of`.
    """

    def __init__(self, *, index_dir: str | Path | None = None) -> None:
        self.query_vectors = QueryVectors()
        self.lexical = IndexManager(index_dir)
        self._named: dict[str, str] = {}

    def name_of(self, handle: CollectionHandle) -> str:
        """Return what tells a collection from all others of the engine: its name, or `name#2` and so on.

        Only collections of different databases or servers can have one name.
        """
        own = str(handle.collection.id)
        names = itertools.chain([handle.name], (f"{handle.name}#{n}" for n in itertools.count(2)))
        return next(name for name in names if self._named.setdefault(name, own) == own)


def _embed(embeddings: Any, query: str) -> Iterable[float]:
    if hasattr(embeddings, "build_from_config") and not hasattr(embeddings, "embed_documents"):
        (vector,) = embeddings.embed_query([query])  # one of Chroma's functions, which take lists
    else:
        vector = embeddings.embed_query(query)
    found: Iterable[float] = vector
    return found
