"""One search of one collection by the store itself: Chroma Cloud and distributed Chroma index words too.

Each request asks for both legs, `Knn` over the vectors and `Knn` over the sparse index, as two searches,
since only a search of one leg tells that leg's score. A second request asks each leg about what only the
other found. Nothing is read ahead and nothing is kept here.

It is written to chromadb's own classes and documentation and was not tried against the service: the tests ask
a server on this machine that reads each request with chromadb's classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from langchain_context_engine.errors import ConfigError, EmbeddingError, SourceError
from langchain_context_engine.filters import AllOf, all_of, to_chroma
from langchain_context_engine.models.locks import kept_property
from langchain_context_engine.models.redact import safe_message
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.search.collection import FIELDS, QUOTA, CollectionHandle, NoSearchError
from langchain_context_engine.search.hybrid_search import Search, asked_more, merge_by_rank
from langchain_context_engine.search.records import steady, without_sparse

if TYPE_CHECKING:
    from chromadb.base_types import SparseVector

_VECTORS = "#embedding"
_SPARE = 10
"""Hits beyond what is needed, for those that are not admitted."""
_DEEPEST = 3000
"""Hits of a leg that are looked at before an answer does with what was found."""
_MOST_PREDICATES = 7
"""Comparisons in a filter; Chroma Cloud takes 8, of which the ids of the second request are one."""


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
    schema = collection.get_model().serialized_schema or {} if hasattr(collection, "get_model") else {}
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
    is_local = handle.is_in_process
    found = None if is_local else sparse_index_of(handle.collection)
    if search == "store" and found is None:
        why = (
            "local Chroma has no search of its own"
            if is_local
            else "its schema has no sparse index that embeds"
        )
        raise ConfigError(f'search="store" cannot be had of collection {handle.name!r}: {why}; {TWO_WAYS}')
    return found


@dataclass(slots=True)
class _Leg:
    """What one leg found so far.

    Attributes:
        key: What is searched: the vectors, or the key of the sparse index.
        query: The vector.
        hits: Id → distance, smaller being nearer.
        is_all: It has no more.
        depth: How many were asked for.
    """

    key: str
    query: Any
    hits: dict[str, float] = field(default_factory=dict)
    is_all: bool = False
    depth: int = 0

    def take(self, rows: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
        """Note the hits among the rows of an answer and yield the rows of those."""
        for row in rows:
            score = row.get("score")
            if not isinstance(score, (int, float)) or not math.isfinite(score):
                continue
            if self.key != _VECTORS and score >= 1:
                # A sparse score is 1 − the dot product: no word in common, nor has anything after it.
                self.is_all = True
                continue
            self.hits.setdefault(str(row["id"]), steady(float(score)))
            yield row


@dataclass(kw_only=True)
class StoreSearch(Search):
    """The state of one search that the store makes.

    A candidate's claims are `dense`, a cosine similarity, and `lexical`, the BM25 score as the store counts
    it, over the whole collection and not the scope; there is none for phrases. Not known, since they would
    have to be read ahead, are the neighbours of a passage, names in other texts and which record is newest.

    Attributes:
        sparse: The index of words; None searches by vectors alone.
        source: The source's name, for warnings.
        warnings: What the answer must say.
    """

    sparse: SparseIndex | None = None
    source: str = ""
    warnings: list[str] = field(default_factory=list)

    @property
    def searched(self) -> str:
        """How it was searched, for the trace."""
        return f"by the store's own search, {'words too' if self._legs[1:] else 'without words'}"

    @property
    def has_claims(self) -> bool:
        """Whether it searches by words too."""
        return self.sparse is not None

    def find(self, needed: int) -> list[str]:
        """Return the ids of the `needed` best, best first; every one was checked here again."""
        while asking := [leg for leg in self._legs if self._is_open(leg, needed)]:
            self._ask(asking, needed)
        found = [self._seen(leg)[:needed] for leg in self._legs]
        for leg, best in zip(self._legs, found, strict=True):
            if len(best) < needed and not leg.is_all and not self.warnings:
                self.warnings.append(
                    f"{self.source!r} has filters that its store cannot check: they were asked of its best "
                    f"{leg.depth:,} records, further ones may pass too"
                )
        return merge_by_rank(*([id_ for _, id_ in best] for best in found))[:needed]

    def load(self, ids: Sequence[str]) -> None:
        """Read the records of ids into `records`."""
        self.records |= self.handle.read(ids, FIELDS)

    def candidates(self, ids: Sequence[str]) -> list[Candidate]:
        """Return candidates of ids that were read, with relevance and the claims of both legs."""
        unmeasured = [[id_ for id_ in ids if id_ not in leg.hits] for leg in self._legs]
        for start in range(0, max(map(len, unmeasured)), QUOTA):
            parts = [rest[start : start + QUOTA] for rest in unmeasured]
            asking = [(leg, part) for leg, part in zip(self._legs, parts, strict=True) if part]
            told = self._rows(
                lambda _, asking=asking: [  # type: ignore[misc]
                    _search(leg, self._where(part), len(part), 0, with_record=False) for leg, part in asking
                ],
                len(asking),
            )
            for (leg, _), rows in zip(asking, told, strict=True):
                list(leg.take(rows))
        self.distances = self._legs[0].hits
        # The vectors of what the store's index did not reach, or whose distance tells no cosine.
        needs_all = self.sparse is not None and self.handle.space != "cosine"
        rest = [id_ for id_ in ids if needs_all or id_ not in self.distances]
        for id_, fields in self.handle.read(rest, ("embeddings",)).items():
            self.records[id_] = {**self.records[id_], **fields}
        return super().candidates(ids)

    @kept_property
    def _legs(self) -> list[_Leg]:
        """The vectors, and the words where the question has some."""
        legs, asked = [_Leg(_VECTORS, list(self.vector))], self.request.query
        if self.sparse is not None and asked.strip() and (words := self.sparse.vector(asked)) is not None:
            legs.append(_Leg(self.sparse.key, words))
        return legs

    def _is_open(self, leg: _Leg, needed: int) -> bool:
        if leg.is_all or leg.depth >= max(_DEEPEST, needed):
            return False
        # Hits that score like the last one may go on beyond it.
        seen, last = self._seen(leg), max(leg.hits.values(), default=math.inf)
        return len(seen) < needed or seen[needed - 1][0] == last

    def _seen(self, leg: _Leg) -> list[tuple[float, str]]:
        """Return the hits of a leg that may be offered, best first."""
        hits = sorted((distance, id_) for id_, distance in leg.hits.items())
        return [hit for hit in hits if self.admits(hit[1], self.records[hit[1]].get("metadatas") or {})]

    def _ask(self, legs: Sequence[_Leg], needed: int) -> None:
        """Ask the legs for their next hits, all in one request."""
        asked = [0] * len(legs)

        def searches(most: int) -> list[Any]:
            where = self._where()
            asked[:] = [min(most, max(needed + _SPARE, 3 * leg.depth)) for leg in legs]
            return [
                _search(leg, where, size, leg.depth, with_record=True)
                for leg, size in zip(legs, asked, strict=True)
            ]

        for leg, rows, size in zip(legs, self._rows(searches, len(legs)), asked, strict=True):
            leg.depth += size
            leg.is_all |= len(rows) < size
            for row in leg.take(rows):
                record = {
                    "documents": row.get("document"),
                    "metadatas": without_sparse(row.get("metadata")),
                }
                self.records.setdefault(str(row["id"]), record)

    def _points(self, ids: Sequence[str]) -> dict[str, float]:
        words = self._legs[1].hits if self._legs[1:] else {}
        return {id_: 1 - words.get(id_, 1.0) for id_ in ids}

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

    def _rows(self, make: Callable[[int], list[Any]], expected: int) -> list[list[Mapping[str, Any]]]:
        try:
            answer = self.handle.search(make)
        except NoSearchError as error:
            raise NoSearchError(f"{error}; {TWO_WAYS}") from None
        try:
            rows = list(answer.rows())
        except (AttributeError, KeyError, TypeError):
            rows = []
        if len(rows) != expected:
            msg = f"collection {self.handle.name!r} answered {len(rows)} of {expected} searches"
            raise SourceError(msg)
        return rows


def _search(leg: _Leg, where: Any, most: int, offset: int, *, with_record: bool) -> Any:
    """Return what a leg asks the store."""
    from chromadb.execution.expression import K, Knn, Search

    knn = Knn(query=leg.query, key=leg.key, limit=offset + most)
    fields = [K.DOCUMENT, K.METADATA, K.SCORE] if with_record else [K.SCORE]
    return Search(where=where, rank=knn).limit(most, offset=offset).select(*fields)


def _comparisons(where: Mapping[str, Any]) -> int:
    parts = [each for key in ("$and", "$or") for each in where.get(key, ())]
    return sum(map(_comparisons, parts)) if parts else 1
