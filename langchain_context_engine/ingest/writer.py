"""Writing records into a collection: only what is new or changed, in batches that the store accepts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from langchain_context_engine.embeddings.vectors import check_vectors
from langchain_context_engine.errors import ConfigError
from langchain_context_engine.ingest.record import Record, is_same
from langchain_context_engine.ingest.report import CollectionReport
from langchain_context_engine.search.collection import QUOTA, Portions, is_cloud

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection
    from langchain_core.embeddings import Embeddings

_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]")
_IP_ADDRESS = re.compile(r"\d{1,3}(\.\d{1,3}){3}")
# Chroma's costs a batch are such that four times as many records take three quarters of the time.
_BATCH_SIZE = 1024
_PAGE = 2000
_MODEL, _DIMENSION = "embedding_model", "embedding_dimension"

READING = "commit_reading"
"""The metadata key that says which version of this package read a commit."""

BOOKKEEPING = frozenset({"file_hash", "file_records", "file_left_out", READING})
"""Metadata keys that say which state of a file a record is from; a change in them alone is no update."""


def check_collection_name(name: str) -> str:
    """Return a name that Chroma accepts; another is refused, never mapped, so that no two names collide."""
    is_valid = isinstance(name, str) and _NAME.fullmatch(name) and ".." not in name
    if is_valid and not _IP_ADDRESS.fullmatch(name):
        return name
    raise ConfigError(
        f"collection name {name!r} is not valid: 3-512 characters from [a-zA-Z0-9._-], a letter or digit "
        "at both ends, no two dots in a row, no IP address"
    )


class CollectionWriter:
    """Puts records into one collection, which it creates (cosine space) where there is none.

    Each full batch is embedded and committed at once, so a run that is killed loses one batch at
    most and the next one goes on where it stood. What the collection holds already, by id, text and
    metadata, is neither embedded nor written.

    Args:
        client: Any Chroma client.
        name: The collection.
        embeddings: What embeds new texts; the collection remembers its model and dimension.
        remembers: More for the collection to remember: what it mirrors.

    Attributes:
        counts: What was added, updated, deleted, and known to stand (unchanged).

    Raises:
        ConfigError: The name is not valid, or the collection was made with another model.
    """

    def __init__(
        self,
        client: ClientAPI,
        name: str,
        embeddings: Embeddings,
        *,
        remembers: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = check_collection_name(name)
        if not callable(getattr(embeddings, "embed_documents", None)):
            raise ConfigError(f"embeddings must be LangChain Embeddings, got {type(embeddings).__name__}")
        self.counts: Counter[str] = Counter()
        self._embeddings = embeddings
        named = (getattr(embeddings, attribute, None) for attribute in ("model", "model_name"))
        self._model = next((n for n in named if isinstance(n, str) and n), type(embeddings).__name__)
        self._collection = _open(client, name)
        self._batch_size = min(_BATCH_SIZE, client.get_max_batch_size())
        self._portions = Portions(QUOTA if is_cloud(self._collection) else self._batch_size)
        self._waiting: dict[str, Record] = {}
        self._gone: dict[str, None] = {}
        stored = self._stored
        if stored.get(_MODEL, self._model) != self._model:
            raise ConfigError(
                f"collection {name!r} was made with the embedding model {stored[_MODEL]!r}, not "
                f"{self._model!r}; use that one, another name or prefix, or delete the collection first"
            )
        self._dimension = stored.get(_DIMENSION)
        if not self._dimension:
            vectors = self._collection.get(limit=1, include=["embeddings"])["embeddings"]
            self._dimension = len(vectors[0]) if vectors is not None and len(vectors) else None
        # At once, so that a run that is killed is known for what it was.
        self._remember(remembers or {})

    def put(self, records: Iterable[Record]) -> None:
        """Take records; of two with one id the later stands. Full batches are written."""
        for record in records:
            if record.text.strip():
                self._waiting[record.id] = record
                if len(self._waiting) >= self._batch_size:
                    self.flush()

    def delete(self, ids: Iterable[str]) -> None:
        """Take ids to delete; they go after what waits is written, so nothing is ever missing between."""
        self._gone.update(dict.fromkeys(ids))

    def flush(self) -> None:
        """Write what waits, then delete what is gone; raises ConfigError, EmbeddingError over vectors."""
        if self._waiting:
            self._write(list(self._waiting.values()))
            self._waiting.clear()
        gone = list(self._gone)
        self._portions.all_of(gone, lambda a, b: self._collection.delete(ids=gone[a:b]))
        self.counts["deleted"] += len(gone)
        self._gone.clear()

    def stored_metadata(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield (id, metadata) of every record, page by page."""
        return _metadata(self._collection, self._portions)

    @property
    def report(self) -> CollectionReport:
        """The counts so far."""
        return CollectionReport(**self.counts)

    def _write(self, records: Sequence[Record]) -> None:
        texts, known = self._known(records)
        new = [r for r in records if texts.get(r.id) != r.text]
        same_text = [r for r in records if texts.get(r.id) == r.text]
        moved = [r for r in same_text if not is_same(known[r.id], r.metadata)]
        if new:
            vectors = self._embed([r.embedded_text for r in new])
            self._portions.all_of(
                new,
                lambda a, b: self._collection.upsert(
                    ids=[r.id for r in new[a:b]],
                    documents=[r.text for r in new[a:b]],
                    metadatas=[_replacing(r.metadata, known.get(r.id, {})) or None for r in new[a:b]],  # type: ignore[misc]
                    embeddings=vectors[a:b],  # type: ignore[arg-type]
                ),
            )
        self._portions.all_of(
            moved,
            lambda a, b: self._collection.update(
                ids=[r.id for r in moved[a:b]],
                metadatas=[_replacing(r.metadata, known[r.id]) for r in moved[a:b]],
            ),
        )
        really_moved = sum(not is_same(_told(known[r.id]), _told(r.metadata)) for r in moved)
        replaced = sum(r.id in known for r in new)
        self.counts.update(
            added=len(new) - replaced,
            updated=replaced + really_moved,
            unchanged=len(same_text) - really_moved,
        )

    def _known(self, records: Sequence[Record]) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
        """Return id → text, and id → metadata, of those of the records that are stored."""
        texts: dict[str, str] = {}
        known: dict[str, dict[str, Any]] = {}
        ids = [r.id for r in records]
        for found in self._portions.each(
            ids, lambda a, b: self._collection.get(ids=ids[a:b], include=["documents", "metadatas"])
        ):
            texts.update(zip(found["ids"], found["documents"] or [], strict=True))
            known |= {i: dict(m or {}) for i, m in zip(found["ids"], found["metadatas"] or [], strict=True)}
        return texts, known

    def _embed(self, texts: list[str]) -> list[list[float]]:
        vectors = check_vectors(
            self._embeddings.embed_documents(texts), count=len(texts), model=self._model, dimensions=None
        )
        dimension = len(vectors[0])
        if self._dimension is None:
            self._dimension = dimension
            self._remember({_DIMENSION: dimension})
        if dimension != self._dimension:
            raise ConfigError(
                f"collection {self.name!r} holds vectors of {self._dimension} dimensions, but {self._model} "
                f"gives {dimension}; use the embeddings it was made with, another name, or delete it first"
            )
        return vectors

    def _remember(self, fields: Mapping[str, Any]) -> None:
        """Let the collection remember something of itself; what it remembers already is not written."""
        wanted = {_MODEL: self._model, **fields}
        if any(self._stored.get(key) != value for key, value in wanted.items()):
            # Chroma refuses to be told the space again, even the same one.
            kept = {key: value for key, value in self._stored.items() if not key.startswith("hnsw:")}
            self._collection.modify(metadata={**kept, **wanted})

    @property
    def _stored(self) -> dict[str, Any]:
        return dict(self._collection.metadata or {})


def _open(client: ClientAPI, name: str) -> Collection:
    from chromadb.errors import NotFoundError

    try:
        return client.get_collection(name, embedding_function=None)
    except NotFoundError:
        return client.create_collection(
            name, embedding_function=None, configuration={"hnsw": {"space": "cosine"}}, get_or_create=True
        )


def _metadata(collection: Collection, portions: Portions) -> Iterator[tuple[str, Mapping[str, Any]]]:
    def page(most: int, place: int) -> list[tuple[str, Mapping[str, Any]]]:
        found = collection.get(include=["metadatas"], limit=most, offset=place)
        metadatas = found["metadatas"] or [{}] * len(found["ids"])
        return list(zip(found["ids"], (m or {} for m in metadatas), strict=True))

    return portions.pages(page)


def _replacing(metadata: Mapping[str, Any], old: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata that leaves nothing of the old: Chroma merges, and None deletes a key."""
    return {**dict.fromkeys(old.keys() - metadata.keys()), **metadata}


def _told(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in metadata.items() if key not in BOOKKEEPING}


def delete_collection(client: Any, name: str) -> None:
    """Delete a collection of a Chroma client, so that nothing of it comes back.

    Chroma (seen in 1.5.9) leaves behind the lists that stand in the metadata of a collection's records,
    and gives them to the next records that take the same rows, in any collection: those of one tenant had
    another's files and links. With a record that is deleted itself its lists go, so those that have any
    are deleted first.

    Raises:
        chromadb.errors.NotFoundError: There is none of this name.
    """
    collection = client.get_collection(name, embedding_function=None)
    portions = Portions(min(_PAGE, client.get_max_batch_size()))
    stored = list(_metadata(collection, portions))
    with_lists = [id_ for id_, metadata in stored if list in map(type, metadata.values())]
    portions.all_of(with_lists, lambda a, b: collection.delete(ids=with_lists[a:b]))
    client.delete_collection(name)
