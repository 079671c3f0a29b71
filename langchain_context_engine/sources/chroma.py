"""Chroma as a source: dense and lexical search of one collection, every answer checked."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Self

from langchain_context_engine.embeddings.vectors import check_vector
from langchain_context_engine.errors import ConfigError, SourceError
from langchain_context_engine.filters import (
    HIDDEN,
    NOTHING,
    Filter,
    Not,
    all_of,
    matcher,
    read_scope,
    read_where,
    to_chroma,
)
from langchain_context_engine.models.metadata import checked_fields, renamed
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.source import Progress, source_repr
from langchain_context_engine.models.types import Candidate, Offer
from langchain_context_engine.search.collection import CollectionHandle
from langchain_context_engine.search.collection_index import CollectionIndex
from langchain_context_engine.search.hybrid_search import Search
from langchain_context_engine.search.index_manager import IndexManager
from langchain_context_engine.search.records import to_candidate
from langchain_context_engine.search.snapshot import ids_named_in
from langchain_context_engine.search.store_search import StoreSearch, choose_search
from langchain_context_engine.sources.shared import SharedResources, Vector
from langchain_context_engine.text.words import query_terms, terms
from langchain_context_engine.trace.labels import HASH

DEFAULT_LIMIT = 20
"""Candidates of a source that is asked outside an engine, without a limit."""

_LINES = re.compile(r":\d[\d,-]*$")
_FILE = re.compile(r"[^/\s]\.\w{1,10}$")
_MOST_HOLDING = 5

_COLD_FROM = 5_000
"""Records from which on opening a collection may take longer than a question's deadline."""


class CollectionSource:
    """What all sources over a Chroma collection do: their index is shared, a damaged one is made anew.

    Attributes:
        name: How people know it.
        kind: The kind of records that name none.
        fields: What is read → the metadata key that it is stored under.
        collection_name: The collection's name: the `source` of every candidate. Of two collections of one
            name (in two databases) the engine calls the second `name#2`, so that their ids do not mix.
    """

    __repr__ = source_repr

    def __init__(
        self,
        collection: Any,
        name: str | None,
        kind: str | None,
        fields: Mapping[str, str] | None,
        shared: SharedResources | None = None,
    ) -> None:
        self._handle = CollectionHandle(collection)
        self._shared = shared or SharedResources()
        self._keeps_index = True
        self.name = name or self._handle.name
        self.kind = kind or ""
        self.fields = checked_fields(fields)
        self.collection_name = self._handle.name

    def share(self, shared: SharedResources) -> Self:
        """Return a copy that uses what the sources of an engine share."""
        bound = copy.copy(self)
        vars(bound).update(_shared=shared, collection_name=shared.name_of(self._handle))
        if self._keeps_index:
            shared.lexical.register(self._handle)
        return bound

    def prepare(self, *, progress: Progress | None = None) -> None:
        """Read the collection now, rather than with the first question; what was read before stays read.

        Args:
            progress: Told how many records are read and how many there are.

        Raises:
            SourceError: The collection could not be read, or its index not be written.
        """
        if self._keeps_index:
            self._shared.lexical.prepare(self._handle, progress)

    def fetch(self, request: ContextRequest) -> Offer:
        """Return up to `limit` candidates after `offset`, best first.

        Raises:
            EmbeddingError: The query could not be embedded.
            SourceError: The collection could not be read.
        """
        return self._shared.lexical.guarded(lambda: self._fetched(request))

    def get(self, ids: Sequence[str], request: ContextRequest) -> list[Candidate]:
        """Return the candidates of these ids in their order; the missing and the out of scope are left out.

        Raises:
            SourceError: The collection could not be read.
        """
        return self._shared.lexical.guarded(lambda: self._got(ids, request))

    def _fetched(self, request: ContextRequest) -> Offer:
        raise NotImplementedError

    def _got(self, ids: Sequence[str], request: ContextRequest) -> list[Candidate]:
        scope = read_scope(request.scope)
        if not ids or scope == NOTHING:
            return []
        wanted = list(dict.fromkeys(ids))
        search = self._search(request, scope, scope, is_asked=_is_asked(request))
        search.load(wanted)
        is_known = matcher(search.within)
        records = {id_: search.records[id_] for id_ in wanted if id_ in search.records}
        kept = [id_ for id_, record in records.items() if is_known(record.get("metadatas") or {})]
        if search.vector:
            return search.candidates(kept)
        return [search.to_candidate(id_, records[id_]) for id_ in kept]

    def _search(
        self, request: ContextRequest, scope: Filter, pushed: Filter, *, is_asked: bool = True
    ) -> Search:
        raise NotImplementedError

    def _lexical(self) -> tuple[IndexManager, CollectionIndex] | None:
        if not self._keeps_index:
            return None
        index = self._shared.lexical.sync(self._handle)
        return None if index is None else (self._shared.lexical, index)

    def _notices(self, request: ContextRequest) -> list[str]:
        """Return what the answer must say of words that it did without, or of an index in trouble."""
        if not self._keeps_index:
            return []
        # Figures are of all tenants' records.
        index = self._shared.lexical.index_of(self._handle)
        return index.notices(self.name, is_scoped=bool(request.scope))

    def _candidate(self, id_: str, record: Mapping[str, Any], **measures: Any) -> Candidate:
        if self.fields:
            record = {**record, "metadatas": renamed(record.get("metadatas") or {}, self.fields)}
        return to_candidate(id_, record, source=self.collection_name, kind=self.kind, **measures)


class ChromaSource(CollectionSource):
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
        hybrid: Search by words too, see `IndexManager`.
        search: Who searches by words. "own" is this package, with an index on this machine; "store" is the
            collection's sparse index (Chroma Cloud, distributed Chroma), with nothing read ahead, see
            `StoreSearch`; "auto" is the store where it has one, else this package.

    Raises:
        ConfigError: An argument is of the wrong type, or the store cannot search by itself.
    """

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
        super().__init__(collection, name, kind, fields, shared)
        if embeddings is not None and not callable(getattr(embeddings, "embed_query", None)):
            given = type(embeddings).__name__
            raise ConfigError(f"embeddings must have embed_query, as LangChain's have; got {given}")
        if sequence is not None and (isinstance(sequence, str) or len(sequence) != 2):  # noqa: PLR2004
            raise ConfigError(f"sequence names two metadata keys, (group, order); got {sequence!r}")
        self.embeddings = embeddings
        self.sequence = None if sequence is None else (str(sequence[0]), str(sequence[1]))
        self.hybrid = hybrid
        self._sparse = choose_search(self._handle, search) if hybrid or search != "auto" else None
        self._keeps_index = hybrid and self._sparse is None
        self._is_cold = True

    def _fetched(self, request: ContextRequest) -> Offer:
        scope = read_scope(request.scope)
        pushed = all_of(scope, read_where(request.where))
        limit = DEFAULT_LIMIT if request.limit is None else request.limit
        if limit == 0 or pushed == NOTHING or request.kinds == () or not _is_asked(request):
            return Offer()
        search = self._search(request, scope, pushed)
        search.rejected |= {
            item if isinstance(item, str) else item[1]
            for item in request.excluded
            if isinstance(item, str) or item[0] == self.collection_name
        }
        found = search.candidates(search.find(request.offset + limit)[request.offset :])
        self._is_cold = False
        return Offer(
            found,
            warnings=search.warnings if isinstance(search, StoreSearch) else self._notices(request),
            searched=search.searched,
            trouble=search.trouble,
        )

    @property
    def is_cold(self) -> bool:
        """A large local collection that this process has not asked yet."""
        if self._is_cold and self._handle.files:
            with suppress(SourceError):
                self._is_cold = self._handle.count() > _COLD_FROM
            return self._is_cold
        return False

    def link_named(self, text: str, request: ContextRequest) -> list[str]:
        """Return the ids, in scope, whose title, or path and symbol, stands verbatim in a text.

        Empty for a source that is not hybrid, and until its records have been read.
        """
        index = self._shared.lexical.peek(self._handle) if self._keeps_index else None
        if index is None:
            return []
        within = self._scope(request)
        return self._shared.lexical.guarded(lambda: ids_named_in(text, index.snapshot, within))

    def look_up(self, named: str, request: ContextRequest) -> list[Candidate]:
        """Return records in scope with this id, path, title or symbol, else some that are called so in part.

        First those of a path's end or an id's beginning, then those that hold this very text, then those
        that only hold all of its words.

        Raises:
            SourceError: The collection could not be read.
        """
        path = _LINES.sub("", named.partition(" ")[0])
        called = {"$or": [{"path": path}, {"title": named}, {"symbol": named}, {"sha": named}]}
        scope = to_chroma(self._scope(request))
        where = called if scope is None else {"$and": [scope, called]}
        unasked = replace(request, query="", vector=None)
        found = self.get([named, *self._handle.find(where)], unasked)
        if found or not named.strip():
            return found
        if found := self.get(self._partly_called(named, path), unasked):
            return found
        found = self.get(self._handle.holding(named, scope, _MOST_HOLDING), unasked)
        asked = frozenset(query_terms(named))
        if found or not asked or self.embeddings is None:
            return found
        near = self.fetch(ContextRequest(query=named, scope=request.scope, limit=DEFAULT_LIMIT))
        return [each for each in near if asked.issubset(terms(_said(each)))][:_MOST_HOLDING]

    def _partly_called(self, named: str, path: str) -> list[str]:
        """Return the ids that begin with a hash, or whose path ends with one; none before they are read."""
        index = self._shared.lexical.peek(self._handle) if self._keeps_index else None
        is_hash = HASH.fullmatch(named) is not None
        if index is None or not (is_hash or _FILE.search(path)):
            return []
        rows = index.snapshot.chosen(None).tolist()
        ids = index.snapshot.ids_of(rows)
        if is_hash:
            return [id_ for id_ in ids if id_.startswith(named)]
        names = index.snapshot.names_of(rows)
        return [id_ for id_, own in zip(ids, names, strict=True) if own.get("path", "").endswith(f"/{path}")]

    def _scope(self, request: ContextRequest) -> Filter:
        return all_of(Not(HIDDEN), read_scope(request.scope))

    def _search(
        self, request: ContextRequest, scope: Filter, pushed: Filter, *, is_asked: bool = True
    ) -> Search:
        asked: dict[str, Any] = {
            "handle": self._handle,
            "request": request,
            "vector": self._vector(request) if is_asked else (),
            "scope": scope,
            "pushed": pushed,
            "to_candidate": partial(self._candidate, sequence=self.sequence),
            "default_kind": self.kind,
        }
        if self._sparse is None:
            return Search(lexical=self._lexical(), sequence=self.sequence, is_first=self._is_cold, **asked)
        sparse = self._sparse if self.hybrid else None
        return StoreSearch(sparse=sparse, source=self.name, **asked)

    def _vector(self, request: ContextRequest) -> Vector:
        if request.vector is not None:
            return check_vector(request.vector, "the request's vector")
        if self.embeddings is None:
            raise SourceError(
                f"source {self.name!r} has no embeddings; pass embeddings=…, what the collection was filled "
                "with (LangChain's, or Chroma's own embedding function), or a request with a vector"
            )
        return self._shared.query_vectors.embed(self.embeddings, request.query)


def _said(candidate: Candidate) -> str:
    return f"{candidate.metadata.get('title') or ''}\n{candidate.text}"


def _is_asked(request: ContextRequest) -> bool:
    return request.vector is not None or bool(request.query.strip())
