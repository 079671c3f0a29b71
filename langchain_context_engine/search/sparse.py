"""A collection's sparse index: whether the store itself can search it by words, and what it is asked then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_context_engine.models.errors import ConfigError, EmbeddingError
from langchain_context_engine.models.redact import safe_message
from langchain_context_engine.search.collection import CollectionHandle, is_in_process

if TYPE_CHECKING:
    from chromadb.base_types import SparseVector

SEARCHES = ("auto", "store", "own")
"""Who searches: whoever can do it best, the store by its own search, or this package by its index."""

TWO_WAYS = (
    'either leave it to search="own", which keeps an index of words on this machine, or keep the collection '
    "in Chroma Cloud or distributed Chroma, with a sparse index in its schema"
)


@dataclass(frozen=True, slots=True)
class SparseIndex:
    """The index that a collection's schema has for words.

    Attributes:
        key: The metadata key that holds the sparse vectors.
        function: Chroma's embedding function of it, which runs in this process for BM25.
    """

    key: str
    function: Any

    def vector(self, text: str) -> SparseVector | None:
        """Return the sparse vector of a question; None where it has no word that counts.

        Raises:
            EmbeddingError: The embedding function failed.
        """
        try:
            (found,) = self.function.embed_query(input=[text])
        except Exception as error:  # noqa: BLE001 - anyone's function, over anyone's service
            msg = f"the question's words could not be embedded for {self.key!r}: {safe_message(error)}"
            raise EmbeddingError(msg) from None
        return found if len(found.indices) else None


def sparse_index_of(collection: Any) -> SparseIndex | None:
    """Return a collection's sparse index, or None without one that embeds; Chroma allows one a collection.

    Chroma warns where it cannot make the index' embedding function, and says why.
    """
    # As it came: reading the whole schema makes the embedding function of the vectors too, which takes a
    # second, warns where that cannot be made, and is of no use here.
    schema = getattr(getattr(collection, "_model", None), "serialized_schema", None) or {}
    for key, types in sorted((schema.get("keys") or {}).items()):
        sparse = ((types or {}).get("sparse_vector") or {}).get("sparse_vector_index") or {}
        if not sparse.get("enabled"):
            continue
        from chromadb.api.types import Schema

        read = Schema.deserialize_from_json({"defaults": {}, "keys": {key: types}}).keys[key].sparse_vector
        index = read and read.sparse_vector_index
        if index and index.config.embedding_function is not None:
            return SparseIndex(key, index.config.embedding_function)
    return None


def choose_search(handle: CollectionHandle, search: str) -> SparseIndex | None:
    """Return the sparse index by which the store is to search a collection; None leaves it to our own index.

    Raises:
        ConfigError: `search` is none of `SEARCHES`, or is "store" where the store cannot do it.
    """
    if search not in SEARCHES:
        raise ConfigError(f"search must be one of {', '.join(SEARCHES)}, got {search!r}")
    if search == "own":
        return None
    is_local = is_in_process(handle.collection)
    found = None if is_local else sparse_index_of(handle.collection)
    if search == "store" and found is None:
        why = (
            "local Chroma has no search of its own"
            if is_local
            else "its schema has no sparse index that embeds"
        )
        raise ConfigError(f'search="store" cannot be had of collection {handle.name!r}: {why}; {TWO_WAYS}')
    return found
