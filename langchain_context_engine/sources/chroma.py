"""Chroma as a source: dense and lexical search of one collection, every answer checked."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_context_engine.errors import ConfigError, SourceError
from langchain_context_engine.filters import (
    EVERYTHING,
    HIDDEN,
    NOTHING,
    Filter,
    Not,
    all_of,
    matches,
    passes,
    read_scope,
    read_where,
    to_chroma,
)
from langchain_context_engine.request import ContextRequest
from langchain_context_engine.sources.collection import CollectionHandle
from langchain_context_engine.sources.query_vectors import Vector, check_vector
from langchain_context_engine.sources.records import relevance_of, to_candidate
from langchain_context_engine.sources.source import SharedResources
from langchain_context_engine.types import Candidate

_FIRST_RUNG = 200
"""Hits asked of the index at once: ids and distances are cheap, and one depth for all small limits makes
the first n of a longer answer the shorter answer although the index is approximate."""
_NEXT_RUNG = 4
_FULL = ("documents", "metadatas")

Admits = Callable[[str, Mapping[str, Any]], bool]


class ChromaSource:
    """A Chroma collection as a source.

    Read from metadata are `created_at`, `confidence`, `importance`, `kind` or `type`, `title`,
    `path`, `symbol` and `links`. A record whose `deleted` is True is hidden everywhere.

    Args:
        collection: A chromadb Collection of any synchronous client, or a `langchain_chroma.Chroma`,
            whose embeddings are then used.
        embeddings: LangChain Embeddings, the ones the collection was filled with. Chroma itself
            never embeds. Without them a request must bring its vector.
        name: How people know the source; the collection's name by default.
        kind: The kind of records that name none.
        sequence: The metadata keys (group, order) that say what adjoins what.
        hybrid: Search by words too, see `LexicalIndex`.

    Raises:
        ConfigError: An argument is of the wrong type.
    """

    def __init__(
        self,
        collection: Any,
        *,
        embeddings: Any = None,
        name: str | None = None,
        kind: str | None = None,
        sequence: tuple[str, str] | None = None,
        hybrid: bool = True,
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
        self.sequence = None if sequence is None else (str(sequence[0]), str(sequence[1]))
        self.hybrid = hybrid
        self._shared = shared or SharedResources()

    @property
    def collection_name(self) -> str:
        """The collection's name: the `source` of every candidate."""
        return self._handle.name

    def share(self, shared: SharedResources) -> ChromaSource:
        """Return a copy that uses what the sources of an engine share."""
        bound = copy.copy(self)
        bound._shared = shared
        return bound

    def fetch(self, request: ContextRequest) -> list[Candidate]:
        """Return up to `limit` candidates after `offset`, nearest first, ties by id.

        An empty query without a vector finds nothing and asks nobody.

        Raises:
            EmbeddingError: The query could not be embedded.
            SourceError: The collection could not be read.
        """
        scope, wanted = self._filters(request)
        if request.limit == 0 or wanted == NOTHING or request.kinds == ():
            return []
        if request.vector is None and not request.query.strip():
            return []
        vector = self._vector(request)
        limit = request.limit if request.limit is not None else self._handle.count()
        needed = request.offset + limit
        records: dict[str, dict[str, Any]] = {}
        nearest = self._nearest(vector, needed, wanted, request, records)
        page = nearest[request.offset : needed]
        space = self._handle.space
        return [
            self._candidate(id_, records[id_], relevance=relevance_of(distance, space))
            for id_, distance in page
        ]

    def get(self, ids: Sequence[str], request: ContextRequest) -> list[Candidate]:
        """Return the candidates of these ids in their order; the missing and the out of scope are left out.

        Raises:
            SourceError: The collection could not be read.
        """
        if not ids:
            return []
        scope, _ = self._filters(request)
        records = self._handle.read(ids, _FULL)
        return [
            self._candidate(id_, records[id_])
            for id_ in dict.fromkeys(ids)
            if id_ in records and matches(records[id_].get("metadatas") or {}, scope)
        ]

    def _filters(self, request: ContextRequest) -> tuple[Filter, Filter]:
        scope = all_of(Not(HIDDEN), read_scope(request.scope))
        return scope, all_of(scope, read_where(request.where))

    def _vector(self, request: ContextRequest) -> Vector:
        if request.vector is not None:
            return check_vector(request.vector, "the request's vector")
        if self.embeddings is None:
            msg = f"source {self.name!r} has no embeddings; give ChromaSource(embeddings=…) or a request with a vector"
            raise SourceError(msg)
        return self._shared.query_vectors.embed(self.embeddings, request.query)

    def _candidate(self, id_: str, fields: Mapping[str, Any], **more: Any) -> Candidate:
        return to_candidate(
            id_, fields, source=self._handle.name, kind=self.kind, sequence=self.sequence, **more
        )

    def _nearest(
        self,
        vector: Vector,
        needed: int,
        wanted: Filter,
        request: ContextRequest,
        records: dict[str, dict[str, Any]],
    ) -> list[tuple[str, float]]:
        """Return the admitted hits, at least `needed` of them where there are so many.

        First without a `where`, checking what comes: several times faster. Where too little of it is
        admitted the store filters, and is asked deeper until it has no more.
        """
        where: dict[str, Any] | None = None
        rung = max(_FIRST_RUNG, _rung(needed))
        while True:
            hits = self._handle.nearest(vector, rung, where)
            admitted = self._admitted(hits, wanted, request, records)
            is_all = len(hits) < rung
            # Equal distances may go on beyond the hits: only what is nearer than the last is settled.
            settled = len(admitted) if is_all else sum(d < hits[-1][1] for _, d in admitted)
            if is_all or settled >= needed:
                return admitted[:settled]
            if where is None and wanted != EVERYTHING:
                where = to_chroma(wanted)
            rung *= _NEXT_RUNG

    def _admitted(
        self,
        hits: Sequence[tuple[str, float]],
        wanted: Filter,
        request: ContextRequest,
        records: dict[str, dict[str, Any]],
    ) -> list[tuple[str, float]]:
        unread = [id_ for id_, _ in hits if id_ not in records]
        if unread:
            records |= self._handle.read(unread, _FULL)
        return [
            (id_, distance)
            for id_, distance in hits
            if id_ in records
            and matches(records[id_].get("metadatas") or {}, wanted)
            and passes(self._candidate(id_, records[id_]), request)
        ]


def _rung(needed: int) -> int:
    rung = _FIRST_RUNG
    while rung < needed + 1:
        rung *= _NEXT_RUNG
    return rung
