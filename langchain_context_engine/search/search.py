"""One search of one collection: two legs, merged by best rank, completed so that every claim is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_context_engine.filtering.filters import (
    EVERYTHING,
    HIDDEN,
    CandidateTest,
    Filter,
    Matcher,
    Not,
    all_of,
    filter_test,
    matcher,
    read_scope,
    to_chroma,
)
from langchain_context_engine.models.kept import kept_property
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.search.collection import FIELDS, CollectionHandle
from langchain_context_engine.search.found import Asked
from langchain_context_engine.search.hits import HitMetadata
from langchain_context_engine.search.lexical import LexicalIndex
from langchain_context_engine.search.newest import newest_ids
from langchain_context_engine.search.postings import LexicalQuery
from langchain_context_engine.search.query_vectors import Vector
from langchain_context_engine.search.ranking import deeper, merge_by_rank, settled
from langchain_context_engine.search.reading import read_kept
from langchain_context_engine.search.records import compare, relevance_of
from langchain_context_engine.search.shelf import Shelf

_FIRST_RUNG = 200
"""Hits asked for at once; one depth for small limits makes the first n of a longer answer the shorter."""
_CHOSEN_AT_ONCE = 20_000
"""Records up to which a filter is asked of the index before their vectors are measured."""
_DEEPEST_CHECKED = 3200
"""Hits up to which checking what comes is faster than a `where`."""

ToCandidate = Callable[..., Candidate]
Record = Mapping[str, Any]
Hits = list[tuple[str, float]]


@dataclass(kw_only=True)
class Search:
    """The state of one search.

    Attributes:
        handle: The collection.
        request: What is asked.
        vector: The query's vector.
        wanted: Scope, `deleted` and `where`.
        pushed: The same without `deleted`: what a store may be asked to check.
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
    pushed: Filter
    lexical: tuple[LexicalIndex, Shelf] | None = None
    records: dict[str, Record] = field(default_factory=dict)
    distances: dict[str, float] = field(default_factory=dict)
    rejected: set[str] = field(default_factory=set)
    is_strict: bool = False
    to_candidate: ToCandidate = Candidate

    def find(self, needed: int) -> list[str]:
        """Return the ids of the `needed` best, best first.

        What the legs offer is read and checked again; where something is refused, they are asked without it.
        """
        self.is_strict = self.pushed != EVERYTHING or self.asks_more
        query = LexicalQuery.of(self.request.query) if self.lexical else LexicalQuery((), ())
        while True:
            newest = newest_ids(*self.lexical, self) if self.lexical else ()
            dense = self._nearest(needed)
            words = self._matching(query, needed)
            order = merge_by_rank([id_ for id_, _ in dense], words, newest)[:needed]
            if not (refused := self._read(order)):
                return order
            self.rejected |= refused
            self.is_strict = True

    def asks(self, ids: Sequence[str]) -> Asked:
        """Return what the index of words is asked about ids that were found."""
        return Asked(self.lexical[1] if self.lexical else None, ids, self.within)

    def candidates(self, ids: Sequence[str]) -> list[Candidate]:
        """Return candidates of ids that were read, with relevance and the claims of all legs."""
        if self.lexical is None:
            return self.complete(ids, {})
        query = LexicalQuery.of(self.request.query)
        return self.complete(ids, self.lexical[0].scores_of_all(query, [self.asks(ids)])[0])

    def complete(self, ids: Sequence[str], scores: Mapping[str, tuple[float, float]]) -> list[Candidate]:
        """Return the same, told the scores by words."""
        measured, found = self._measure(ids), []
        for id_ in ids:
            distance, cosine = measured[id_]
            claims: dict[str, float] = {}
            if self.lexical:
                by_terms, by_pairs = scores[id_]
                claims = {"dense": cosine, "lexical": by_terms, "phrase": by_pairs}
            relevance = relevance_of(distance, self.handle.space)
            found.append(self.to_candidate(id_, self.records[id_], relevance=relevance, claims=claims))
        return found

    def _measure(self, ids: Sequence[str]) -> dict[str, tuple[float, float]]:
        """Return id → (raw distance, cosine similarity); what a store has no vector of is infinitely far."""
        space = self.handle.space
        measured: dict[str, tuple[float, float]] = {}
        if self._has_vectors() and self.lexical is not None:
            unmeasured = [id_ for id_ in ids if space != "cosine" or id_ not in self.distances]
            measured = self.lexical[1].vectors.measure(self.vector, unmeasured, space)
        for id_ in ids:
            if id_ in measured:
                continue
            distance, vector = self.distances.get(id_), self.records[id_].get("embeddings")
            if distance is not None and (space == "cosine" or not self.lexical):
                measured[id_] = (distance, 1 - distance)
            elif vector is None or len(vector) != len(self.vector):
                measured[id_] = (math.inf, 0.0)
            else:
                own, cosine = compare(self.vector, vector, space)
                measured[id_] = (own if distance is None else distance, cosine)
        return measured

    def admits(self, id_: str, metadata: Mapping[str, Any]) -> bool:
        """Tell whether a record may be offered."""
        if id_ in self.rejected or not self._is_wanted(metadata):
            return False
        return not self.asks_more or self._passes(self.to_candidate(id_, {"metadatas": metadata}))

    @property
    def searched(self) -> str:
        """How it was searched, for the trace."""
        words = "words by the index" if self.lexical else "without words"
        return f"vectors {'in memory' if self._has_vectors() else 'by the store'}, {words}"

    @kept_property
    def metadata(self) -> HitMetadata:
        """What is known of hits before their records are read."""
        return HitMetadata(self.handle.metadata_of)

    @kept_property
    def within(self) -> Filter:
        """What the request may see whatever it looks for: where words are counted and corrected."""
        return all_of(Not(HIDDEN), read_scope(self.request.scope))

    @kept_property
    def _is_wanted(self) -> Matcher:
        return matcher(self.wanted)

    @kept_property
    def _passes(self) -> CandidateTest:
        return filter_test(self.request)

    @kept_property
    def asks_more(self) -> bool:
        """The request has filters beside scope and `where`."""
        asked = self.request
        others = (asked.kinds, asked.since, asked.until, asked.min_confidence, asked.conversation_id)
        return any(other is not None for other in others)

    def _nearest(self, needed: int) -> Hits:
        """Return the `needed` nearest admitted hits, or all there are.

        First without a `where`, checking what comes, which costs less than a filter that Chroma checks.
        Where few are admitted the store filters, deeper until it has no more; never `deleted`.
        """
        if self._has_vectors() and self.lexical is not None:
            return self._nearest_in_memory(self.lexical[1], needed)
        where: dict[str, Any] | None = None
        rung = deeper(_FIRST_RUNG, 2 * (needed + 1))
        while True:
            hits = self.handle.nearest(self.vector, rung, where)
            is_all = len(hits) < rung
            if is_all and where is None:
                hits = self._with_unreached(hits, None)
            seen = self._seen([id_ for id_, _ in hits], is_filtered=where is not None)
            # Of what an approximate index gives, the far half may lack some.
            found = settled(hits if is_all else hits[: rung // 2], seen, needed, is_all=is_all)
            if where is not None and is_all and found is not None and len(found) < needed:
                hits = self._with_unreached(hits, where)
                seen = self._seen([id_ for id_, _ in hits], is_filtered=True)
                found = settled(hits, seen, needed, is_all=True)
            self.distances.update(hits)
            if found is not None:
                return found
            admitted = sum(seen(id_) for id_, _ in hits)
            goal = max(rung + 1, 2 * needed * rung // max(1, admitted))
            if where is None and deeper(rung, goal) > (_DEEPEST_CHECKED if self._is_exact() else rung):
                where = to_chroma(self.pushed)
                if where is not None:
                    continue
            rung = deeper(rung, rung + 1)

    def _has_vectors(self) -> bool:
        shelf = self.lexical[1] if self.lexical else None
        if shelf is None or not (shelf.is_exact and shelf.is_current):
            return False
        return shelf.vectors.serves(self.vector, len(shelf.view))

    def _nearest_in_memory(self, shelf: Shelf, needed: int) -> Hits:
        """Return the same from the vectors in memory: all are measured, and what comes is checked."""
        view = shelf.view
        chosen = view.chosen(self.wanted, _CHOSEN_AT_ONCE)
        first = shelf.vectors.nearest(self.vector, self.handle.space, chosen)
        rung, known = 2 * needed, len(view) if chosen is None else len(chosen)
        while True:
            hits = first(rung)
            seen = self._seen([id_ for id_, _ in hits], is_filtered=False)
            found = settled(hits, seen, needed, is_all=True)
            self.distances.update(hits)
            if len(found or ()) == needed or rung >= known:
                return found or []
            rung *= 4

    def _with_unreached(self, hits: Hits, where: dict[str, Any] | None) -> Hits:
        """Return the hits with those that the index knows but cannot reach, nearest first.

        Chroma's graph falls into islands where many vectors are alike, found at no depth and by no filter.
        So where the index says that it has no more, ids are counted, and what is missing is measured here.
        """
        reached = {id_ for id_, _ in hits}
        known: Sequence[str] = ()
        if where is None and self._is_exact() and self.lexical is not None:
            view = self.lexical[1].view
            if len(view) > len(hits):
                known = [record.id for record in view.every() if self.admits(record.id, record.metadata)]
        elif where is not None or self.handle.count() > len(hits):
            known = self.handle.find(where)
        missing = [id_ for id_ in known if id_ not in reached]
        vectors = self.handle.read(missing, ("embeddings",))
        measured = [
            (id_, compare(self.vector, fields["embeddings"], self.handle.space)[0])
            for id_, fields in vectors.items()
            if len(fields.get("embeddings", ())) == len(self.vector)
        ]
        return sorted([*hits, *measured], key=lambda hit: (hit[1], hit[0]))

    def _is_exact(self) -> bool:
        return self.lexical is not None and self.lexical[1].is_exact

    def _seen(self, ids: Sequence[str], *, is_filtered: bool) -> Callable[[str], bool]:
        """Return what tells of these ids whether they are admitted, as far as it can be told now."""
        if self.lexical is not None and self._is_exact():
            found = HitMetadata(self.lexical[1].view.metadata).of(ids)
            return lambda id_: (
                id_ not in self.rejected and ((known := found(id_)) is None or self.admits(id_, known))
            )
        if not self.is_strict or (is_filtered and not self.rejected and not self.asks_more):
            return lambda id_: id_ not in self.rejected
        known_of = self.metadata.of(ids)
        return lambda id_: (known := known_of(id_)) is not None and self.admits(id_, known)

    def _matching(self, query: LexicalQuery, needed: int) -> list[str]:
        if not self.lexical or not query.terms:
            return []
        index, shelf = self.lexical
        found = index.search(query, shelf, self.wanted, self.admits, needed, self.within)
        return [id_ for id_, _ in found]

    def _read(self, ids: Sequence[str]) -> set[str]:
        """Read the records in one call and return the ids that are gone or not admitted after all."""
        unread = [id_ for id_ in ids if id_ not in self.records]
        found = self.load(unread)
        return {
            id_
            for id_ in unread
            if id_ not in found or not self.admits(id_, found[id_].get("metadatas") or {})
        }

    def load(self, ids: Sequence[str]) -> Mapping[str, Record]:
        """Read the records of ids into `records`: from memory, or with all that is needed in one call."""
        if not self.vector or self._has_vectors():
            unmeasured = []
        elif self.lexical is None or self.handle.space == "cosine":
            unmeasured = [id_ for id_ in ids if id_ not in self.distances]
        else:
            unmeasured = list(ids)
        if self.lexical is not None:
            found = read_kept(self.lexical[1], self.handle, ids, unmeasured)
        else:
            found = self.handle.read(ids, (*FIELDS, "embeddings") if unmeasured else FIELDS)
        self.records |= found
        return found
