"""Embeds each query once: a bounded memo in which concurrent equal queries wait for one call."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable
from concurrent.futures import Future
from typing import Any

from langchain_context_engine.errors import EmbeddingError
from langchain_context_engine.models.locks import ForkSafeLock
from langchain_context_engine.models.redact import safe_message

Vector = tuple[float, ...]


class QueryVectors:
    """Remembers the vectors of recent queries, per embedder; thread-safe.

    A failure reaches every caller that waited for it and is not remembered. The least recently used
    query is forgotten first.

    Args:
        max_queries: Queries to remember over all embedders.
    """

    def __init__(self, *, max_queries: int = 1000) -> None:
        self._max_queries = max_queries
        self._lock = ForkSafeLock(self._forget)
        # The embedder is kept beside its vector: its id() must not be given to another one meanwhile.
        self._futures: OrderedDict[tuple[int, str], tuple[Any, Future[Vector]]] = OrderedDict()

    def _forget(self) -> None:
        """Forget in a forked process what a thread of the parent was asked for."""
        self._futures = OrderedDict((key, kept) for key, kept in self._futures.items() if kept[1].done())

    def __len__(self) -> int:
        return len(self._futures)

    def embed(self, embeddings: Any, query: str) -> Vector:
        """Return the vector of a query by `embeddings.embed_query`, LangChain's or of Chroma's functions.

        Raises:
            EmbeddingError: The embedder failed, or its vector is empty, zero, NaN or infinite.
        """
        key = (id(embeddings), query)
        with self._lock:
            entry = self._futures.get(key)
            is_first = entry is None
            if entry is None:
                entry = self._futures[key] = (embeddings, Future())
                while len(self._futures) > self._max_queries:
                    self._futures.popitem(last=False)
            else:
                self._futures.move_to_end(key)
        future = entry[1]
        if is_first:
            self._fill(key, embeddings, query, future)
        return future.result()

    def _fill(self, key: tuple[int, str], embeddings: Any, query: str, future: Future[Vector]) -> None:
        try:
            future.set_result(check_vector(_embed(embeddings, query), "the query's embedding"))
        except BaseException as error:  # noqa: BLE001 - those who wait must be woken whatever happened
            with self._lock:
                if self._futures.get(key, (None, None))[1] is future:
                    del self._futures[key]
            future.set_exception(error)


def check_vector(vector: Iterable[float], what: str) -> Vector:
    """Return the vector as floats.

    Raises:
        EmbeddingError: It is empty, all zero, NaN or infinite, or no vector at all; `what` names it.
    """
    try:
        values = tuple(map(float, vector))
    except (TypeError, ValueError):
        msg = f"{what} is no list of numbers, got {type(vector).__name__}"
        raise EmbeddingError(msg) from None
    problem = (
        "empty"
        if not values
        else "NaN or infinite"
        if not all(map(math.isfinite, values))
        else "zero"
        if not any(values)
        else ""
    )
    if problem:
        msg = f"{what} is {problem} ({len(values)} dimensions), so nothing can be near to it"
        raise EmbeddingError(msg)
    return values


def is_chroma_function(embeddings: Any) -> bool:
    """Say whether this is one of Chroma's embedding functions: they take a list of texts, a query too.

    Example:
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> is_chroma_function(DeterministicFakeEmbedding(size=3))
        False
    """
    return hasattr(embeddings, "build_from_config") and not hasattr(embeddings, "embed_documents")


def _embed(embeddings: Any, query: str) -> Iterable[float]:
    try:
        vector: Iterable[float]
        if is_chroma_function(embeddings):
            (vector,) = embeddings.embed_query([query])
        else:
            vector = embeddings.embed_query(query)
    except EmbeddingError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever an embedder raises
        # Not `from error`: its text may hold a key, and tracebacks end in logs.
        msg = f"the query could not be embedded: {safe_message(error)}"
        raise EmbeddingError(msg) from None
    return vector
