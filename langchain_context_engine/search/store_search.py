"""One search of one collection by the store itself: Chroma Cloud and distributed Chroma index words too.

Each request asks for both legs, `Knn` over the vectors and `Knn` over the sparse index, as two searches,
since only a search of one leg tells that leg's score. A second request asks each leg about what only the
other found. Nothing is read ahead and nothing is kept here.

It is written to chromadb's own classes and documentation and was not tried against the service: the tests ask
a server on this machine that reads each request with chromadb's classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_context_engine.filtering.filters import AllOf, AnyOf, Condition, Filter, all_of, to_chroma
from langchain_context_engine.models.errors import SourceError
from langchain_context_engine.models.kept import kept_property
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.search.collection import FIELDS, NoSearchError
from langchain_context_engine.search.quotas import QUOTA
from langchain_context_engine.search.ranking import merge_by_rank, settled
from langchain_context_engine.search.records import compare, relevance_of, steady, without_sparse
from langchain_context_engine.search.search import Record, Search
from langchain_context_engine.search.sparse import TWO_WAYS, SparseIndex

_VECTORS = "#embedding"
_SPARE = 10
"""Hits beyond what is needed, for those that are not admitted."""
_DEEPEST = 3000
"""Hits of a leg that are looked at before an answer does with what was found."""
_MOST_PREDICATES = 7
"""Comparisons in a filter; Chroma Cloud takes 8, of which the ids of the second request are one."""


@dataclass(slots=True)
class _Leg:
    """What one leg found so far.

    Attributes:
        key: What is searched: the vectors, or the key of the sparse index.
        query: The vector.
        hits: Id → distance, smaller being nearer.
        is_all: It has no more.
        depth: How many were asked for.
        asked: How many the last request asked for.
    """

    key: str
    query: Any
    hits: dict[str, float] = field(default_factory=dict)
    is_all: bool = False
    depth: int = 0
    asked: int = 0

    def best_first(self) -> list[tuple[str, float]]:
        return sorted(self.hits.items(), key=lambda hit: (hit[1], hit[0]))

    def take(self, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Note the hits among the rows of an answer and return the rows of those."""
        kept = []
        for row in rows:
            score = row.get("score")
            if not isinstance(score, (int, float)) or not math.isfinite(score):
                continue
            if self.key != _VECTORS and score >= 1:
                # A sparse score is 1 − the dot product: no word in common, nor has anything after it.
                self.is_all = True
                continue
            self.hits.setdefault(str(row["id"]), steady(float(score)))
            kept.append(row)
        return kept


@dataclass(kw_only=True)
class StoreSearch(Search):
    """The state of one search that the store makes.

    A candidate's claims are `dense`, a cosine similarity, and `lexical`, the BM25 score as the store counts
    it, over the whole collection and not the scope; there is none for phrases. Not known, since they would
    have to be read ahead, are the neighbours of a passage, names in other texts and which record is newest.

    Attributes:
        sparse: The index of words; None searches by vectors alone.
        default_kind: The kind of records that name none.
        source: The source's name, for warnings.
        warnings: What the answer must say.
    """

    sparse: SparseIndex | None = None
    default_kind: str = ""
    source: str = ""
    points: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    @property
    def searched(self) -> str:
        """How it was searched, for the trace."""
        return f"by the store's own search, {'without words' if self._words is None else 'words too'}"

    def find(self, needed: int) -> list[str]:
        """Return the ids of the `needed` best, best first; every one was checked here again."""
        legs = [_Leg(_VECTORS, list(self.vector))]
        if self._words is not None and self.sparse is not None:
            legs.append(_Leg(self.sparse.key, self._words))
        while asking := [leg for leg in legs if self._is_open(leg, needed)]:
            self._ask(asking, needed)
        found = []
        for leg in legs:
            best = settled(leg.best_first(), self._sees, needed, is_all=True) or []
            found.append([id_ for id_, _ in best])
            self._told(leg, needed, len(best))
            self._note(leg)
        return merge_by_rank(*found)[:needed]

    def load(self, ids: Sequence[str]) -> Mapping[str, Record]:
        """Read the records of ids into `records`."""
        found = self.handle.read(ids, FIELDS)
        self.records |= found
        return found

    def candidates(self, ids: Sequence[str]) -> list[Candidate]:
        """Return candidates of ids that were read, with relevance and the claims of both legs."""
        self._measure_rest(ids)
        found = []
        for id_ in ids:
            distance, cosine = self._distance(id_)
            claims = {"dense": cosine, "lexical": self.points.get(id_, 0.0)} if self.sparse else {}
            relevance = relevance_of(distance, self.handle.space)
            found.append(self.to_candidate(id_, self.records[id_], relevance=relevance, claims=claims))
        return found

    @kept_property
    def _words(self) -> Any:
        asked = self.request.query
        return self.sparse.vector(asked) if self.sparse is not None and asked.strip() else None

    def _is_open(self, leg: _Leg, needed: int) -> bool:
        if leg.is_all or leg.depth >= max(_DEEPEST, needed):
            return False
        # Hits that score like the last one may go on beyond it.
        return settled(leg.best_first(), self._sees, needed, is_all=False) is None

    def _sees(self, id_: str) -> bool:
        return self.admits(id_, self.records[id_].get("metadatas") or {})

    def _ask(self, legs: Sequence[_Leg], needed: int) -> None:
        """Ask the legs for their next hits, all in one request."""
        from chromadb.execution.expression import K, Knn, Search

        def searches(most: int) -> list[Any]:
            asked, where = [], self._where()
            for leg in legs:
                leg.asked = min(most, max(needed + _SPARE, 3 * leg.depth))
                knn = Knn(query=leg.query, key=leg.key, limit=leg.depth + leg.asked)
                search = Search(where=where, rank=knn).limit(leg.asked, offset=leg.depth)
                asked.append(search.select(K.DOCUMENT, K.METADATA, K.SCORE))
            return asked

        for leg, rows in zip(legs, self._rows(searches), strict=True):
            leg.depth += leg.asked
            leg.is_all |= len(rows) < leg.asked
            for row in leg.take(rows):
                metadata = without_sparse(row.get("metadata"))
                self.records.setdefault(
                    str(row["id"]), {"documents": row.get("document"), "metadatas": metadata}
                )

    def _measure_rest(self, ids: Sequence[str]) -> None:
        """Ask each leg about the ids that only the other one found, and read the vectors that are needed."""
        from chromadb.execution.expression import K, Knn, Search

        legs = [(_Leg(_VECTORS, list(self.vector)), [id_ for id_ in ids if id_ not in self.distances])]
        if self._words is not None and self.sparse is not None:
            rest = [id_ for id_ in ids if id_ not in self.points]
            legs.append((_Leg(self.sparse.key, self._words), rest))
        start, size = 0, 0
        while asking := [(leg, rest) for leg, rest in legs if len(rest) > start]:

            def searches(most: int, start: int = start, asking: Any = asking) -> list[Any]:
                nonlocal size
                size, parts = most, [(leg, rest[start : start + most]) for leg, rest in asking]
                return [
                    Search(where=self._where(part), rank=Knn(query=leg.query, key=leg.key, limit=len(part)))
                    .limit(len(part))
                    .select(K.SCORE)
                    for leg, part in parts
                ]

            for (leg, _), rows in zip(asking, self._rows(searches), strict=True):
                leg.take(rows)
            start += size
        for leg, _ in legs:
            self._note(leg)
        self._read_vectors(ids)

    def _note(self, leg: _Leg) -> None:
        if leg.key == _VECTORS:
            self.distances = {**leg.hits, **self.distances}
        else:
            self.points = {**{id_: 1 - value for id_, value in leg.hits.items()}, **self.points}

    def _read_vectors(self, ids: Sequence[str]) -> None:
        """Read the vectors of what the store's index did not reach, or whose distance tells no cosine."""
        needs_all = self.sparse is not None and self.handle.space != "cosine"
        unmeasured = [id_ for id_ in ids if needs_all or id_ not in self.distances]
        for id_, fields in self.handle.read(unmeasured, ("embeddings",)).items():
            self.records[id_] = {**self.records[id_], **fields}

    def _distance(self, id_: str) -> tuple[float, float]:
        """Return (raw distance, cosine similarity); what the store has no vector of is infinitely far."""
        distance, vector = self.distances.get(id_), self.records[id_].get("embeddings")
        if vector is not None and len(vector) == len(self.vector):
            own, cosine = compare(self.vector, vector, self.handle.space)
            return (own if distance is None else distance), cosine
        return (math.inf, 0.0) if distance is None else (distance, 1 - distance)

    def _where(self, ids: Sequence[str] = ()) -> dict[str, Any] | None:
        """Return the filter as far as the store can check it, whole parts of it, the scope's first."""
        more = () if ids else asked_more(self.request, self.default_kind)
        whole = all_of(self.pushed, *more)
        told, room = [], _MOST_PREDICATES if self.handle.most <= QUOTA else math.inf
        if ids:
            told.append({"#id": {"$in": list(ids)}})
        for part in whole.parts if isinstance(whole, AllOf) else (whole,):
            where = to_chroma(part)
            if where is not None and (room := room - _comparisons(where)) >= 0:
                told.append(where)
        return {"$and": told} if len(told) > 1 else (told[0] if told else None)

    def _rows(self, make: Callable[[int], list[Any]]) -> list[list[Mapping[str, Any]]]:
        asked: list[Any] = []

        def noted(most: int) -> list[Any]:
            asked[:] = make(most)
            return list(asked)

        try:
            answer = self.handle.search(noted)
        except NoSearchError as error:
            raise NoSearchError(f"{error}; {TWO_WAYS}") from None
        try:
            rows = list(answer.rows())
        except (AttributeError, KeyError, TypeError):
            rows = []
        if len(rows) != len(asked):
            msg = f"collection {self.handle.name!r} answered {len(rows)} of {len(asked)} searches"
            raise SourceError(msg)
        return rows

    def _told(self, leg: _Leg, needed: int, found: int) -> None:
        if found < needed and not leg.is_all and not self.warnings:
            self.warnings.append(
                f"{self.source!r} has filters that its store cannot check: they were asked of its best "
                f"{leg.depth:,} records, further ones may pass too"
            )


def asked_more(request: ContextRequest, default_kind: str = "") -> list[Filter]:
    """Return filters that a store can check and that admit at least what a request's own fields do.

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


def _comparisons(where: Mapping[str, Any]) -> int:
    parts = [each for key in ("$and", "$or") for each in where.get(key, ())]
    return sum(map(_comparisons, parts)) if parts else 1
