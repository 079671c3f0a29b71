"""Chroma as a source: dense and lexical search of one collection, every answer checked."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_context_engine.filtering.filters import (
    HIDDEN,
    NOTHING,
    Filter,
    Not,
    all_of,
    matcher,
    read_scope,
    read_where,
)
from langchain_context_engine.models.errors import ConfigError, SourceError
from langchain_context_engine.models.metadata import checked_fields, renamed
from langchain_context_engine.models.offer import Offer
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.search.collection import CollectionHandle
from langchain_context_engine.search.folders import is_local
from langchain_context_engine.search.lexical import LexicalIndex
from langchain_context_engine.search.query_vectors import Vector, check_vector
from langchain_context_engine.search.reading import Told, told_of
from langchain_context_engine.search.records import to_candidate
from langchain_context_engine.search.search import Search
from langchain_context_engine.search.shelf import Shelf
from langchain_context_engine.search.sparse import choose_search
from langchain_context_engine.search.store_search import StoreSearch
from langchain_context_engine.search.together import Together
from langchain_context_engine.sources.shown import shown_source
from langchain_context_engine.sources.source import SharedResources

DEFAULT_LIMIT = 20
"""Candidates of a source that is asked outside an engine, without a limit."""

_FIRST_READING_SECONDS = 1.0
"""How long a question waits for the first reading of a large collection before it does without words."""


_COLD_FROM = 5_000
"""Records from which on opening a collection may take longer than a question's deadline."""


class ChromaSource:
    """A Chroma collection as a source.

    Read from metadata are `created_at`, `confidence`, `importance`, `kind` or `type`, `title`,
    `path`, `symbol` and `links`. A record whose `deleted` is True is hidden everywhere.

    Args:
        collection: A chromadb Collection of any synchronous client, or a `langchain_chroma.Chroma`,
            whose embeddings are then used.
        embeddings: LangChain Embeddings, or an embedding function of Chroma's: what the collection was
            filled with. Chroma itself never embeds. Without them a request must bring its vector.
        name: How people know the source; the collection's name by default.
        kind: The kind of records that name none.
        fields: What is read → the metadata key that it is stored under: `{"created_at": "timestamp"}`.
        sequence: The metadata keys (group, order) that say what adjoins what.
        hybrid: Search by words too, see `LexicalIndex`.
        search: Who searches by words. "own" is this package, with an index on this machine; "store" is the
            collection's sparse index (Chroma Cloud, distributed Chroma), with nothing read ahead, see
            `StoreSearch`; "auto" is the store where it has one, else this package.

    Raises:
        ConfigError: An argument is of the wrong type, or the store cannot search by itself.
    """

    __repr__ = shown_source

    def __init__(
        self,
        collection: Any,
        *,
        embeddings: Any = None,
        name: str | None = None,
        kind: str | None = None,
        fields: Mapping[str, str] | None = None,
        sequence: tuple[str, str] | None = None,
        hybrid: bool = True,
        search: str = "auto",
        shared: SharedResources | None = None,
    ) -> None:
        if embeddings is None:
            embeddings = getattr(collection, "embeddings", None)
        self._handle = CollectionHandle(getattr(collection, "_collection", collection))
        if embeddings is not None and not callable(getattr(embeddings, "embed_query", None)):
            msg = f"embeddings must have embed_query, as LangChain's have; got {type(embeddings).__name__}"
            raise ConfigError(msg)
        if sequence is not None and (isinstance(sequence, str) or len(sequence) != 2):  # noqa: PLR2004
            msg = f"sequence names two metadata keys, (group, order); got {sequence!r}"
            raise ConfigError(msg)
        self.embeddings = embeddings
        self.name = name or self._handle.name
        self.kind = kind or ""
        self.fields = checked_fields(fields)
        self.sequence = None if sequence is None else (str(sequence[0]), str(sequence[1]))
        self.hybrid = hybrid
        self._sparse = choose_search(self._handle, search) if hybrid or search != "auto" else None
        self._keeps_index = hybrid and self._sparse is None
        self._shared = shared or SharedResources()
        self._answered: dict[str, bool] = {}
        self.collection_name: str = self._handle.name
        """The collection's name: the `source` of every candidate. Of two collections of one name (in two
        databases) the engine calls the second `name#2`, so that their ids do not mix."""

    def share(self, shared: SharedResources) -> ChromaSource:
        """Return a copy that uses what the sources of an engine share."""
        bound = copy.copy(self)
        bound._shared = shared  # noqa: SLF001 - a copy of this very class
        bound.collection_name = shared.name_of(self._handle)
        if self._keeps_index:
            shared.lexical.register(self._handle)
        return bound

    def fetch(self, request: ContextRequest) -> Offer:
        """Return up to `limit` candidates after `offset`, by their best rank in either leg, best first.

        An empty query without a vector finds nothing and asks nobody.

        Raises:
            EmbeddingError: The query could not be embedded.
            SourceError: The collection could not be read.
        """
        begun = self.begin(request)
        if begun is None:
            return Offer()
        found = begun[0].candidates(begun[1])
        return Offer(found, warnings=self._warnings(request, begun[0]), searched=begun[0].searched)

    def begin(self, request: ContextRequest) -> tuple[Search, list[str]] | None:
        """Return a search and the ids that `fetch` will return, or None where there is nothing to find."""
        pushed = all_of(read_scope(request.scope), read_where(request.where))
        limit = DEFAULT_LIMIT if request.limit is None else request.limit
        if limit == 0 or pushed == NOTHING or request.kinds == ():
            return None
        if request.vector is None and not request.query.strip():
            return None
        search = self._search(request, self._vector(request), pushed)
        search.rejected |= {
            item if isinstance(item, str) else item[1]
            for item in request.excluded
            if isinstance(item, str) or item[0] == self.collection_name
        }
        found = search.find(request.offset + limit)[request.offset :]
        # Here and not in `fetch`, which is not called where several are asked together.
        self._answered["is"] = True
        return search, found

    def _warnings(self, request: ContextRequest, search: Search) -> list[str]:
        """Return what the answer must say of words that it did without, or of an index in trouble."""
        if isinstance(search, StoreSearch):
            return search.warnings
        if not self._keeps_index:
            return []
        shelf = self._shared.lexical.state(self._handle)
        if shelf is None or not (search.lexical is None or shelf.has_news):
            return []
        # Figures are of all tenants' records.
        return told_of(shelf, self.name, is_scoped=bool(request.scope))

    @property
    def is_cold(self) -> bool:
        """A large local collection that this process has not asked yet."""
        if self._answered or not is_local(self._handle):
            return False
        try:
            is_large = self._handle.count() > _COLD_FROM
        except SourceError:
            is_large = False
        if not is_large:
            self._answered["is"] = True
        return is_large

    def get(self, ids: Sequence[str], request: ContextRequest) -> list[Candidate]:
        """Return the candidates of these ids in their order; the missing and the out of scope are left out.

        Raises:
            SourceError: The collection could not be read.
        """
        scope = self._scope(request)
        if not ids or scope == NOTHING:
            return []
        has_query = request.vector is not None or bool(request.query.strip())
        search = self._search(request, self._vector(request) if has_query else (), read_scope(request.scope))
        search.load(ids)
        is_known = matcher(scope)
        kept = [
            id_
            for id_ in dict.fromkeys(ids)
            if (record := search.records.get(id_)) is not None and is_known(record.get("metadatas") or {})
        ]
        if not has_query:
            return [search.to_candidate(id_, search.records[id_]) for id_ in kept]
        return search.candidates(kept)

    def link_named(self, text: str, request: ContextRequest) -> list[str]:
        """Return the ids, in scope, whose title, or path and symbol, stands verbatim in a text.

        Empty for a source that is not hybrid, and until its records have been read.
        """
        shelf = self._shared.lexical.peek(self._handle) if self._keeps_index else None
        if shelf is None:
            return []
        is_known = matcher(self._scope(request))
        return shelf.view.named_in(text, lambda _, metadata: is_known(metadata))

    def company(self, request: ContextRequest) -> Together | None:
        """Return what asks those sources together that share an index and answer from memory.

        None where a store or an embedder may have to be waited for. Threads that wait for nothing only
        take turns, which costs more than it gives.
        """
        if request.vector is None and not getattr(self.embeddings, "is_in_process", False):
            return None
        shelf = self._shared.lexical.peek(self._handle) if self._keeps_index else None
        if shelf is None or not (shelf.is_exact and shelf.is_current) or shelf.has_news:
            return None
        if not shelf.vectors.has_all(len(shelf.view)):
            return None
        return Together(self._shared.lexical)

    def prepare(self, *, with_texts: bool = True, progress: Told | None = None) -> None:
        """Read the collection now, rather than with the first question; what was read before stays read.

        Args:
            progress: Told how many records are read and how many there are.
            with_texts: Also work out now what a question would work out of a text that it meets for the
                first time; False leaves that to the background, while nobody asks.

        Raises:
            SourceError: The collection could not be read, or its index not be written.
        """
        if not self._keeps_index:
            return
        shelf = self._shared.lexical.read(self._handle, progress)
        if with_texts:
            self._shared.lexical.prepare_texts(shelf)

    def _scope(self, request: ContextRequest) -> Filter:
        return all_of(Not(HIDDEN), read_scope(request.scope))

    def _lexical(self) -> tuple[LexicalIndex, Shelf] | None:
        if not self._keeps_index:
            return None
        index = self._shared.lexical
        shelf = index.sync(self._handle, wait_seconds=_FIRST_READING_SECONDS)
        if shelf is not None and self.sequence is not None:
            shelf.arrange(self.sequence)
        return None if shelf is None else (index, shelf)

    def _search(self, request: ContextRequest, vector: Vector, pushed: Filter) -> Search:
        is_known, lexical = matcher(self._scope(request)), self._lexical()

        def adjacent(id_: str) -> tuple[str, ...]:
            if lexical is None or self.sequence is None:
                return ()
            return lexical[1].view.adjacent(id_, self.sequence, lambda _, found: is_known(found))

        def candidate(id_: str, record: Mapping[str, Any], **measures: Any) -> Candidate:
            return to_candidate(
                id_,
                {**record, "metadatas": renamed(record.get("metadatas") or {}, self.fields)},
                source=self.collection_name,
                kind=self.kind,
                sequence=self.sequence,
                neighbours=adjacent(id_) if measures else (),
                **measures,
            )

        asked: dict[str, Any] = {
            "handle": self._handle,
            "request": request,
            "vector": vector,
            "wanted": all_of(Not(HIDDEN), pushed),
            "pushed": pushed,
            "to_candidate": candidate,
        }
        if self._sparse is None:
            return Search(lexical=lexical, **asked)
        sparse = self._sparse if self.hybrid else None
        return StoreSearch(sparse=sparse, default_kind=self.kind, source=self.name, **asked)

    def _vector(self, request: ContextRequest) -> Vector:
        if request.vector is not None:
            return check_vector(request.vector, "the request's vector")
        if self.embeddings is None:
            msg = (
                f"source {self.name!r} has no embeddings; pass embeddings=…, what the collection was filled "
                "with (LangChain's, or Chroma's own embedding function), or a request with a vector"
            )
            raise SourceError(msg)
        return self._shared.query_vectors.embed(self.embeddings, request.query)
