"""One search of one collection: two legs, merged by best rank, completed so that every claim is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_context_engine.filters import HIDDEN, Filter, Not, all_of, matches, passes, to_chroma
from langchain_context_engine.request import ContextRequest
from langchain_context_engine.sources.collection import CollectionHandle
from langchain_context_engine.sources.lexical import LexicalIndex, Shelf
from langchain_context_engine.sources.postings import LexicalQuery
from langchain_context_engine.sources.query_vectors import Vector
from langchain_context_engine.sources.ranking import merge_by_rank, settled
from langchain_context_engine.sources.records import cosine_of, distance_of, relevance_of
from langchain_context_engine.types import Candidate

_FIRST_RUNG = 200
"""Hits asked for at once: ids and distances are cheap, and one depth for all small limits makes the
first n of a longer answer the shorter answer although the index is approximate."""
_NEXT_RUNG = 4
_FIELDS = ("documents", "metadatas")

ToCandidate = Callable[..., Candidate]
Record = Mapping[str, Any]


@dataclass(slots=True, kw_only=True)
class Search:
    """The state of one search.

    Attributes:
        handle: The collection.
        request: What is asked.
        vector: The query's vector.
        wanted: Scope, `deleted` and `where`.
        to_candidate: (id, record, more fields) → Candidate.
        lexical: The index of words and the collection's shelf in it, or None.
        records: What was read.
        rejected: Ids that turned out not to be admitted.
        is_strict: Metadata are read before a hit is counted.
    """

    handle: CollectionHandle
    request: ContextRequest
    vector: Vector
    wanted: Filter
    lexical: tuple[LexicalIndex, Shelf] | None = None
    records: dict[str, Record] = field(default_factory=dict)
    metadata: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    distances: dict[str, float] = field(default_factory=dict)
    rejected: set[str] = field(default_factory=set)
    is_strict: bool = False
    to_candidate: ToCandidate = Candidate

    def run(self, offset: int, needed: int) -> list[Candidate]:
        """Return the candidates of places `offset` to `needed`, best first.

        What the legs offer is read and checked again; where something is refused (it was deleted, or
        changed since it was catalogued), they are asked once more without it.
        """
        self.is_strict = self._has_filters()
        query = LexicalQuery.of(self.request.query) if self.lexical else LexicalQuery((), ())
        while True:
            dense = self._nearest(needed)
            words = self._matching(query, needed)
            order = merge_by_rank([id_ for id_, _ in dense], words)[:needed]
            refused = self._read(order)
            if not refused:
                break
            self.rejected |= refused
            self.is_strict = True
        return self.complete(order[offset:], query)

    def complete(self, ids: Sequence[str], query: LexicalQuery) -> list[Candidate]:
        """Return candidates of ids that were read, with relevance and the claims of all legs."""
        space = self.handle.space
        scores: Mapping[str, tuple[float, float]] = {}
        if self.lexical:
            index, shelf = self.lexical
            scores = index.scores(query, shelf, ids)
        found = []
        for id_ in ids:
            record = self.records[id_]
            embedding = record.get("embeddings")
            distance = self.distances.get(id_)
            if distance is None and embedding is not None:
                distance = distance_of(self.vector, embedding, space)
            relevance = 0.0 if distance is None else relevance_of(distance, space)
            claims: dict[str, float] = {}
            if self.lexical:
                by_terms, by_pairs = scores.get(id_, (0.0, 0.0))
                near = 1 - distance if space == "cosine" and distance is not None else None
                if near is None:
                    near = 0.0 if embedding is None else cosine_of(self.vector, embedding)
                claims = {"dense": near, "lexical": by_terms, "phrase": by_pairs}
            found.append(self.to_candidate(id_, record, relevance=relevance, claims=claims))
        return found

    def admits(self, id_: str, metadata: Mapping[str, Any]) -> bool:
        """Tell whether a record may be offered."""
        if id_ in self.rejected or not matches(metadata, self.wanted):
            return False
        return not self._asks_more() or passes(self.to_candidate(id_, {"metadatas": metadata}), self.request)

    def _asks_more(self) -> bool:
        request = self.request
        others = (
            request.kinds,
            request.since,
            request.until,
            request.min_confidence,
            request.conversation_id,
        )
        return any(other is not None for other in others)

    def _has_filters(self) -> bool:
        return self.wanted != all_of(Not(HIDDEN)) or self._asks_more()

    def _nearest(self, needed: int) -> list[tuple[str, float]]:
        """Return the `needed` nearest admitted hits, or all there are.

        First without a `where`, checking what comes: several times faster. Where little of it is
        admitted the store filters, and is asked deeper until it has no more.
        """
        where: dict[str, Any] | None = None
        rung = _FIRST_RUNG
        while rung <= needed:
            rung *= _NEXT_RUNG
        while True:
            hits = self.handle.nearest(self.vector, rung, where)
            self.distances.update(hits)
            is_seen = self._seen([id_ for id_, _ in hits])
            admitted = settled(hits, is_seen, needed, is_all=len(hits) < rung)
            if admitted is not None:
                return admitted
            is_rare = sum(is_seen(id_) for id_, _ in hits) * _NEXT_RUNG < len(hits)
            if where is None and is_rare and (where := to_chroma(self.wanted)):
                continue
            rung *= _NEXT_RUNG

    def _seen(self, ids: Sequence[str]) -> Callable[[str], bool]:
        """Return what tells of these ids whether they are admitted, as far as it can be told now."""
        entries = self.lexical[1].catalogue.entries if self.lexical and self.lexical[1].is_exact else None
        if entries is not None:
            return lambda id_: (
                id_ not in self.rejected
                and ((entry := entries.get(id_)) is None or self.admits(id_, entry.metadata))
            )
        if not self.is_strict:
            return lambda id_: id_ not in self.rejected
        unread = [id_ for id_ in ids if id_ not in self.metadata]
        for id_, fields in self.handle.read(unread, ("metadatas",)).items():
            self.metadata[id_] = fields.get("metadatas") or {}
        return lambda id_: id_ in self.metadata and self.admits(id_, self.metadata[id_])

    def _matching(self, query: LexicalQuery, needed: int) -> list[str]:
        if not self.lexical or not query.terms:
            return []
        index, shelf = self.lexical
        return [id_ for id_, _ in index.search(query, shelf, self.wanted, self.admits, needed)]

    def _read(self, ids: Sequence[str]) -> set[str]:
        """Read the records in one call and return the ids that are gone or not admitted after all."""
        unread = [id_ for id_ in ids if id_ not in self.records]
        needs_vectors = self.lexical is not None and (
            self.handle.space != "cosine" or any(id_ not in self.distances for id_ in unread)
        )
        found = self.handle.read(unread, (*_FIELDS, "embeddings") if needs_vectors else _FIELDS)
        self.records |= found
        if self.lexical:
            self.lexical[0].heal(self.lexical[1], unread, found)
        return {
            id_
            for id_ in unread
            if id_ not in found or not self.admits(id_, found[id_].get("metadatas") or {})
        }
