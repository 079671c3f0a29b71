"""One search of one collection: the nearest by Chroma's index, the words by ours, merged by best rank.

Both legs find ids; then the records are read from Chroma and checked again. What they show to have changed is
taken into the index at once, and every candidate is given the claims of both legs.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from langchain_context_engine import executor
from langchain_context_engine.errors import SourceError
from langchain_context_engine.filters import (
    HIDDEN,
    AnyOf,
    CandidateTest,
    Condition,
    Filter,
    Matcher,
    Not,
    all_of,
    filter_test,
    matcher,
    to_chroma,
)
from langchain_context_engine.models.clock import moment_over
from langchain_context_engine.models.locks import kept_property
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.ranking.intent import is_changelog
from langchain_context_engine.ranking.recency import MOST, freshness, names_version, newest_of
from langchain_context_engine.search.bm25 import LexicalQuery, Weighed
from langchain_context_engine.search.collection import FIELDS, CollectionHandle
from langchain_context_engine.search.collection_index import CollectionIndex
from langchain_context_engine.search.index_manager import IndexManager
from langchain_context_engine.search.records import compare, relevance_of
from langchain_context_engine.search.snapshot import Mask, Snapshot, neighbours_of

_FIRST_DEPTH = 100
"""Hits asked for at once, as far as Chroma's graph looks anyway (`ef_search`); twice that costs a third more.

One depth for small limits makes the first n of a longer answer the shorter."""
_NAMED_UP_TO = 5000
"""Records up to which Chroma is told which ones may be found; of more it is asked deeper."""
_NEAREST_SHARE = 0.7
"""For this share of its time a question waits for vectors beside a writer; the texts must still be read."""
_MEASURED_UP_TO = 20_000
"""Records out of the reach of Chroma's graph that are measured one by one."""
_MOST_AHEAD = 3200
_HOLDING, _HOLDS = 200, 0.6
"""Of so many that hold most of what a question names, those of at least this share of the best score."""
_OF_ONE_DATE = 10 * MOST
"""So many newest are told apart by their place in a file: the sections of one have its date."""
_LOOKED_AT = 20_000
"""Among so many of the newest records the sections of a changelog are looked for."""

_NO_INDEX, _NO_WORDS = Snapshot(), Weighed((), {}, 1.0)

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
        scope: The request's scope.
        pushed: Scope and `where`, without `deleted`: what a store may be asked to check.
        to_candidate: (id, record, more fields) → Candidate.
        default_kind: The kind of records that name none.
        sequence: The metadata keys (group, order) that say what adjoins what.
        lexical: The indexes of an engine and the collection's own, or None.
        is_offered: A further test of what may be offered; None lets all through.
        is_first: This process has not asked the collection yet, so it may take its time.
        trouble: Why this is not all that there is, or "".
        records: What was read.
        distances: Id → raw distance, as far as the store told it.
        rejected: Ids that are not admitted.
    """

    handle: CollectionHandle
    request: ContextRequest
    vector: Sequence[float]
    scope: Filter
    pushed: Filter
    to_candidate: ToCandidate = Candidate
    default_kind: str = ""
    sequence: tuple[str, str] | None = None
    lexical: tuple[IndexManager, CollectionIndex] | None = None
    is_offered: CandidateTest | None = None
    is_first: bool = False
    trouble: str = ""
    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    distances: dict[str, float] = field(default_factory=dict)
    rejected: set[str] = field(default_factory=set)
    _scored: tuple[int, Any] = (-1, None)
    _masked: tuple[int, Mask] = (-1, None)

    def find(self, needed: int) -> list[str]:
        """Return the ids of the `needed` best, best first.

        Where something that was read is refused, the legs are asked without it, and more is read ahead.
        """
        ahead = needed
        while True:
            nearest = [id_ for id_, _ in self._nearest(ahead)]
            order = merge_by_rank(nearest, self._by_words(ahead), self._latest())
            ids = [id_ for id_ in order[:ahead] if id_ not in self.records]
            self.load(ids)
            refused = {
                id_
                for id_ in ids
                if id_ not in self.records or not self.admits(id_, self.records[id_].get("metadatas") or {})
            }
            if refused.isdisjoint(order[:needed]):
                return order[:needed]
            self.rejected |= refused
            self._masked = (-1, None)
            ahead = min(2 * ahead, max(needed, _MOST_AHEAD))

    def candidates(self, ids: Sequence[str]) -> list[Candidate]:
        """Return candidates of ids that were read, with relevance and the claims of all legs."""
        points, neighbours = self._points(ids), self._neighbours(ids)
        space, has_claims = self.handle.space, self.has_claims
        query = np.asarray(self.vector, dtype=np.float64)
        found = []
        for id_ in ids:
            distance, cosine = self._measure(id_, query, space)
            found.append(
                self.to_candidate(
                    id_,
                    self.records[id_],
                    relevance=relevance_of(distance, space),
                    claims={"dense": cosine, "lexical": points[id_]} if has_claims else {},
                    neighbours=neighbours.get(id_, ()),
                )
            )
        return found

    def load(self, ids: Sequence[str]) -> None:
        """Read the records of ids into `records`, with the vectors of those whose distance is not known."""
        if not ids:
            return
        needs_all = self.lexical is not None and self.handle.space != "cosine"
        measured = set() if needs_all or not self.vector else self.distances.keys() & set(ids)
        # Who could not be asked for the nearest in time is asked for no vectors either.
        is_known = not self.vector or len(measured) == len(ids) or bool(self.trouble)
        found = self.handle.read(ids, FIELDS if is_known else (*FIELDS, "embeddings"))
        if self.lexical is not None:
            self.lexical[1].heal(ids, found)
        for id_ in measured & found.keys():
            found[id_].pop("embeddings", None)  # what the store told is the distance
        self.records |= found

    @property
    def searched(self) -> str:
        """How it was searched, for the trace."""
        return f"vectors by the store, {'words by the index' if self.lexical else 'without words'}"

    @property
    def has_claims(self) -> bool:
        """Whether it searches by words too, so that its claims compare with those of other sources."""
        return self.lexical is not None

    @kept_property
    def within(self) -> Filter:
        """What the request may see whatever it looks for: where words are weighed and corrected."""
        return all_of(Not(HIDDEN), self.scope)

    @kept_property
    def _checkable(self) -> dict[str, Any] | None:
        """The request's filters as far as the store can check them."""
        return to_chroma(all_of(self.pushed, *asked_more(self.request, self.default_kind)))

    @kept_property
    def _is_wanted(self) -> Matcher:
        return matcher(all_of(Not(HIDDEN), self.pushed))

    @kept_property
    def _tests(self) -> list[CandidateTest]:
        """The tests of the request's own fields, where it has some of them, and of the source."""
        asked = self.request
        others = (asked.kinds, asked.since, asked.until, asked.min_confidence, asked.conversation_id)
        own = None if all(other is None for other in others) else filter_test(asked)
        return [test for test in (own, self.is_offered) if test is not None]

    def admits(self, id_: str, metadata: Mapping[str, Any]) -> bool:
        """Tell whether a record may be offered."""
        if id_ in self.rejected or not self._is_wanted(metadata):
            return False
        if not self._tests:
            return True
        candidate = self.to_candidate(id_, {"metadatas": metadata})
        return all(test(candidate) for test in self._tests)

    @property
    def snapshot(self) -> Snapshot:
        """The collection's index as it is now; an empty one without."""
        return _NO_INDEX if self.lexical is None else self.lexical[1].snapshot

    def weighed(self, query: LexicalQuery) -> Weighed:
        """Return what words weigh among the records that the request may see."""
        return _NO_WORDS if self.lexical is None else self.lexical[0].weighed(query, self.within)

    def _mask(self, snapshot: Snapshot) -> Mask:
        """Return which rows of an index may be offered, or None for all of them."""
        stamp, mask = self._masked
        if stamp != snapshot.stamp:
            mask = snapshot.mask(
                all_of(Not(HIDDEN), self.pushed, *asked_more(self.request, self.default_kind))
            )[0]
            if rows := list(snapshot.rows_of(list(self.rejected)).values()):
                mask = np.ones(snapshot.size, dtype=bool) if mask is None else mask.copy()
                mask[rows] = False
            self._masked = (snapshot.stamp, mask)
        return mask

    def _scores(self, snapshot: Snapshot) -> Any:
        """Return the BM25 score of each row of an index."""
        stamp, scores = self._scored
        if stamp != snapshot.stamp:
            scores = self.weighed(LexicalQuery.of(self.request.query)).scores(snapshot)
            self._scored = (snapshot.stamp, scores)
        return scores

    def _nearest(self, needed: int) -> Hits:
        """Return the `needed` nearest hits that may be offered, or all there are."""
        depth = deeper(_FIRST_DEPTH, 2 * (needed + 1))
        while True:
            hits, is_all = self._reached(depth)
            self.distances.update(hits)
            if self.rejected:  # Chroma may know a vector of a record that is gone
                hits = [hit for hit in hits if hit[0] not in self.rejected]
            # Of what an approximate index gives, the far half may lack some.
            found = settled(
                hits if is_all else hits[: max(needed + 1, len(hits) // 2)], needed, is_all=is_all
            )
            if found is not None:
                return found
            depth *= 4

    def _reached(self, depth: int) -> tuple[Hits, bool]:
        """Return hits at a depth, nearest first, and whether those are all."""
        if self.lexical is None:
            return self._reached_by_filter(depth)
        if self.trouble:
            return [], True
        try:
            return self._reached_beside(*self.lexical, depth)
        except TimeoutError:
            self.trouble = (
                "its files changed and its vectors could not be asked in time; this answer is of words only"
            )
            return [], True

    def _reached_beside(self, _: IndexManager, index: CollectionIndex, depth: int) -> tuple[Hits, bool]:
        """Return the same with an index, which tells who may be offered."""
        snapshot = index.snapshot
        mask = self._mask(snapshot)
        if mask is None:
            hits = self._ask_nearest(index, depth)
            return self._completed(hits, min(depth, snapshot.count), snapshot, None), len(hits) < depth
        chosen = snapshot.chosen(mask)
        if not len(chosen):
            return [], True
        if len(chosen) <= _NAMED_UP_TO:
            ids = snapshot.ids_of(chosen)
            # Where another process wrote, Chroma refuses to be told of ids that it knows no vector of yet.
            with suppress(SourceError):
                hits = self._ask_nearest(index, min(depth, len(ids)), ids=ids)
                return self._completed(hits, min(depth, len(ids)), snapshot, mask), len(ids) <= depth
        deep = min(snapshot.count, 2 + depth * snapshot.count // len(chosen))
        hits = self._ask_nearest(index, deep)
        rows = snapshot.rows_of([id_ for id_, _ in hits])
        kept = [(id_, distance) for id_, distance in hits if id_ not in rows or mask[rows[id_]]]
        return kept, len(hits) < deep or deep == snapshot.count

    def _ask_nearest(self, index: CollectionIndex, n: int, **among: Any) -> Hits:
        """Return what Chroma tells of the nearest.

        Raises:
            TimeoutError: It is being written, and does not tell while there is time left for the texts.
        """
        if self.is_first or not index.is_written:
            return self.handle.nearest(self.vector, n, **among)
        until = moment_over(_NEAREST_SHARE)
        return executor.within(until, lambda: self.handle.nearest(self.vector, n, **among), self.handle)

    def _completed(self, hits: Hits, expected: int, snapshot: Snapshot, mask: Mask) -> Hits:
        """Return the hits with those that Chroma's index cannot reach.

        Its graph falls into islands where many vectors are alike, found at no depth and by no filter.
        """
        if len(hits) >= expected:
            return hits
        rows = snapshot.chosen(mask)
        return hits if len(rows) > _MEASURED_UP_TO else self._measured(hits, snapshot.ids_of(rows))

    def _reached_by_filter(self, depth: int) -> tuple[Hits, bool]:
        """Return the same without an index: by what the store can check of the filters."""
        hits = self.handle.nearest(self.vector, depth, where=self._checkable)
        is_all = len(hits) < depth
        if is_all and (self._checkable is not None or self.handle.count() > len(hits)):
            hits = self._measured(hits, self.handle.find(self._checkable))
        return hits, is_all

    def _measured(self, hits: Hits, known: Sequence[str]) -> Hits:
        reached = {id_ for id_, _ in hits}
        vectors = self.handle.read([id_ for id_ in known if id_ not in reached], ("embeddings",))
        query = np.asarray(self.vector, dtype=np.float64)
        more = [
            (id_, compare(query, fields["embeddings"], self.handle.space)[0])
            for id_, fields in vectors.items()
            if len(fields.get("embeddings", ())) == len(query)
        ]
        return sorted([*hits, *more], key=lambda hit: (hit[1], hit[0]))

    def _by_words(self, needed: int) -> list[str]:
        """Return the ids of the `needed` records that score best by words."""
        snapshot = self.snapshot
        return snapshot.ids_of(snapshot.best(self._scores(snapshot), self._mask(snapshot), needed)[0])

    def _latest(self) -> list[str]:
        """Return the ids of the newest records where the question asks for them, since Chroma cannot sort.

        Where a release is asked for and the collection holds a changelog, its sections are; where the
        question names something beside, those that hold it.
        """
        newest, snapshot = newest_of(self.request.query), self.snapshot
        if newest is None:
            return []
        mask = self._mask(snapshot)
        instants = snapshot.instants("created_at")
        rows = snapshot.chosen(mask)
        rows = rows[~np.isnan(instants[rows])]
        if newest.about and not newest.is_release:
            scores = self.weighed(LexicalQuery(newest.about)).scores(snapshot)
            best, points = snapshot.best(scores, mask, _HOLDING)
            holding = best[points >= _HOLDS * points[0]] if len(best) else best
            rows = np.intersect1d(rows, holding)
        rows = rows[np.argsort(-instants[rows], kind="stable")]
        if newest.is_release:
            looked_at = rows[:_LOOKED_AT].tolist()
            names = zip(looked_at, snapshot.names_of(looked_at), strict=True)
            sections = [row for row, name in names if is_changelog(name)]
            read = self.handle.metadata_of(snapshot.ids_of(sections[:_OF_ONE_DATE]))
            found = {id_: metadata for id_, metadata in read.items() if names_version(metadata)}
            if found:
                return _freshest(found)
        return _freshest(self.handle.metadata_of(snapshot.ids_of(rows[:_OF_ONE_DATE])))

    def _points(self, ids: Sequence[str]) -> dict[str, float]:
        """Return id → BM25 score of records that were read; 0 where no word of the question stands."""
        snapshot = self.snapshot
        rows, scores = snapshot.rows_of(ids), self._scores(snapshot)
        return dict.fromkeys(ids, 0.0) | dict(zip(rows, scores[list(rows.values())].tolist(), strict=True))

    def _neighbours(self, ids: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        if self.sequence is None:
            return {}
        records = {id_: self.records[id_].get("metadatas") or {} for id_ in ids}
        return neighbours_of(records, self.snapshot, self.within, self.sequence)

    def _measure(self, id_: str, query: Any, space: str) -> tuple[float, float]:
        """Return (raw distance, cosine similarity); what a store has no vector of is infinitely far."""
        distance, vector = self.distances.get(id_), self.records[id_].get("embeddings")
        if vector is not None and len(vector) == len(query):
            own, cosine = compare(query, vector, space)
            return (own if distance is None else distance), cosine
        return (math.inf, 0.0) if distance is None else (distance, 1 - distance)


def _freshest(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    dated = ((fresh, id_) for id_, metadata in found.items() if (fresh := freshness(metadata)) is not None)
    return [id_ for _, id_ in heapq.nlargest(MOST, dated)]


def asked_more(request: ContextRequest, default_kind: str = "") -> list[Filter]:
    """Return filters that an index can check and that admit at least what a request's own fields do.

    Dates and confidence are not among them: records write them as numbers or as text.
    """
    found: list[Filter] = []
    if request.kinds is not None and default_kind not in request.kinds:
        kinds = tuple(request.kinds)
        found.append(AnyOf((Condition("kind", "$in", kinds), Condition("type", "$in", kinds))))
    if request.conversation_id is not None:
        found.append(Condition("conversation_id", "$in", _written_as(str(request.conversation_id))))
    return found


def _written_as(text: str) -> tuple[Any, ...]:
    """Return the values that are written like a text."""
    values: list[Any] = [text]
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        if str(value) == text and math.isfinite(value):
            values.append(value)
    return (*values, *(value for value in (True, False) if str(value) == text))


def deeper(depth: int, goal: int) -> int:
    """Return the first of `depth`, 2·`depth`, 4·`depth`, … that reaches a goal.

    Example:
        >>> deeper(100, 90), deeper(100, 202)
        (100, 400)
    """
    while depth < goal:
        depth *= 2
    return depth


def settled(hits: Hits, needed: int, *, is_all: bool) -> Hits | None:
    """Return the first `needed` hits, or None where the hits are too few to tell.

    Hits that measure like the last one may go on beyond it, so only those before it are settled.
    """
    if is_all:
        return hits[:needed]
    if len(hits) <= needed or hits[needed - 1][1] == hits[-1][1]:
        return None
    return hits[:needed]


def merge_by_rank(*rankings: Sequence[str]) -> list[str]:
    """Return the ids of several rankings by their best rank; among equals, an earlier ranking's first.

    The first n of the merge of longer rankings are the merge of shorter ones.

    Example:
        >>> merge_by_rank(["a", "b", "c"], ["c", "d"])
        ['a', 'c', 'b', 'd']
    """
    in_turn = itertools.chain.from_iterable(itertools.zip_longest(*rankings))
    return [id_ for id_ in dict.fromkeys(in_turn) if id_ is not None]
