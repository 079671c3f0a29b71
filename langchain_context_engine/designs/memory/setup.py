"""What the memory engine opens and checks when it is built: embedding cache, dimensions, sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from langchain_context_engine.designs.memory.options import CacheConfig
from langchain_context_engine.embeddings import CachedEmbeddings
from langchain_context_engine.models.errors import ConfigError, EmbeddingError
from langchain_context_engine.models.redact import safe_message
from langchain_context_engine.sources.chroma import ChromaSource


def open_cache(embeddings: Any, cache: CacheConfig) -> CachedEmbeddings:
    """Return embeddings that remember what they have embedded; those that do are returned as they are.

    Raises:
        ConfigError: They cannot embed, or the cache's settings are wrong.
    """
    if isinstance(embeddings, CachedEmbeddings):
        return embeddings
    if not callable(getattr(embeddings, "embed_query", None)):
        kind = type(embeddings).__name__
        raise ConfigError(f"embeddings must have embed_query, as LangChain's Embeddings have; got {kind}")
    return CachedEmbeddings(embeddings, cache.store, max_size=cache.max_size, ttl_seconds=cache.ttl)


def check_dimensions(embeddings: CachedEmbeddings, expected: int | None) -> None:
    """Raise where vectors are not as long as expected; embeddings that do not tell embed one word.

    Raises:
        ConfigError: They have other dimensions.
        EmbeddingError: They could not be asked.
    """
    if expected is None:
        return
    actual = embeddings.dimensions
    if actual is None:
        with embedding_errors():
            actual = len(embeddings.embed_query("dimensions"))
    if actual != expected:
        raise ConfigError(
            f"expected_embedding_dimensions is {expected}, but {embeddings.model} gives {actual}; "
            "use the embeddings that the collection was filled with"
        )


def sources_of(storage: Any, embeddings: CachedEmbeddings) -> list[Any]:
    """Return the sources of a store: each collection searched by vectors alone, a source as it is."""
    stores = storage if isinstance(storage, Sequence) and not isinstance(storage, str) else [storage]
    return [
        store
        if callable(getattr(store, "fetch", None))
        else ChromaSource(store, embeddings=embeddings, hybrid=False)
        for store in stores
    ]


@contextmanager
def embedding_errors() -> Iterator[None]:
    """Turn whatever an embedder raises into an `EmbeddingError` without secrets."""
    try:
        yield
    except EmbeddingError:
        raise
    except Exception as error:  # noqa: BLE001 - embedders are anyone's and raise anything
        # Not `from error`: its text may hold a key, and tracebacks end in logs.
        raise EmbeddingError(f"the query could not be embedded: {safe_message(error)}") from None
