"""The inverted index: a thin hand on tantivy, whose BM25 uses k1 1.2 and b 0.75.

Terms come ready made from `words.py`, so nothing is analysed twice or in two ways. Facets are the
record's collection and its metadata values with their type, matched exactly and never scored.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from langchain_context_engine.filtering.filters import AllOf, AnyOf, Condition, Filter, Not
from langchain_context_engine.text.words import bigrams, query_terms, terms

_HEAP_BYTES = 30_000_000
_LONGEST_FACET = 256
_PAIR_JOINT = "\x1f"
_CORRECTABLE = 4
_TWICE_CORRECTABLE = 8
_WEIGHTS = (1.0, 0.8, 0.5)
"""What a word counts at edit distance 0, 1 and 2; two letters that changed places are one edit."""
_MOST_SPELLINGS = 20
_MOST_SINGLE_TERMS = 100

SEARCHED_AT_ONCE = 400
"""Rows that one search over all collections finds."""


@dataclass(frozen=True, slots=True)
class LexicalQuery:
    """A question as it is looked up: its terms, each once, and its pairs of adjoining terms.

    With `needs_all` a row must have every term, in some spelling; else one will do.
    """

    terms: tuple[str, ...]
    pairs: tuple[str, ...]
    needs_all: bool = False

    @classmethod
    def of(cls, query: str) -> LexicalQuery:
        """Read a question."""
        return _read_query(query)


@lru_cache(maxsize=256)
def _read_query(query: str) -> LexicalQuery:
    # All sources read the same question.
    return LexicalQuery(tuple(query_terms(query)), tuple(dict.fromkeys(_joined(terms(query)))))


@dataclass(frozen=True, slots=True)
class _Held:
    """A value that rides along in a memo's key without being part of it."""

    value: Any = field(compare=False)


class Postings:
    """Rows of terms and facets, searched by BM25. One writer at a time; readers see the last commit.

    Args:
        path: A directory to keep it in; None keeps it in memory.

    Raises:
        ValueError: The directory belongs to another process or to another schema.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        import tantivy

        self._tantivy = tantivy
        builder = tantivy.SchemaBuilder()
        builder.add_integer_field("row", stored=True, indexed=True, fast=True)
        builder.add_text_field("facet", tokenizer_name="raw", index_option="basic")
        builder.add_text_field("body", tokenizer_name="ready", index_option="freq")
        builder.add_text_field("pairs", tokenizer_name="ready", index_option="freq")
        builder.add_text_field("record", stored=True, tokenizer_name="raw", index_option="basic")
        self._schema = builder.build()
        if path is not None:
            Path(path).mkdir(parents=True, exist_ok=True)
        self._index = tantivy.Index(self._schema, path=None if path is None else str(path))
        whitespace = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
        self._index.register_tokenizer("ready", whitespace)
        self._writer = self._index.writer(heap_size=_HEAP_BYTES, num_threads=1)
        self._lock = threading.Lock()
        self._searcher = self._index.searcher()
        self._is_kept = path is not None
        self._spellings = lru_cache(maxsize=2000)(self._find_spellings)
        # All sources of a question ask the same.
        self._bodies = lru_cache(maxsize=64)(self._make_body)
        self._best = lru_cache(maxsize=64)(self._find_best)
        self._paired = lru_cache(maxsize=64)(self._find_paired)

    def add(self, row: int, collection: str, text: str, metadata: Mapping[str, Any], record: str) -> None:
        """Add a row; `record` is kept beside it where the index is kept on disk."""
        title = " ".join(str(metadata[key]) for key in ("title", "path", "symbol") if metadata.get(key))
        body = terms(text)
        named = terms(title) if title else []
        document = self._tantivy.Document()
        document.add_integer("row", row)
        document.add_text("facet", _collection_facet(collection))
        for facet in _facets(metadata):
            document.add_text("facet", facet)
        document.add_text("body", " ".join([*body, *named]))
        document.add_text("pairs", " ".join([*_joined(body), *_joined(named)]))
        if self._is_kept:
            document.add_text("record", record)
        with self._lock:
            self._writer.add_document(document)

    def delete(self, row: int) -> None:
        """Delete a row, if it is there."""
        with self._lock:
            self._writer.delete_documents("row", row)

    def commit(self) -> None:
        """Make what was added and deleted visible to searches."""
        with self._lock:
            self._writer.commit()
            self._index.reload()
            self._searcher = self._index.searcher()
        self._spellings.cache_clear()
        for memo in (self._bodies, self._best, self._paired):
            memo.cache_clear()

    def rows(self) -> Iterator[tuple[int, str]]:
        """Yield (row, record) of everything that is kept."""
        searcher = self._searcher
        if searcher.num_docs:
            hits = searcher.search(self._tantivy.Query.all_query(), searcher.num_docs, count=False).hits
            for _, address in hits:
                document = searcher.doc(address)
                yield document["row"][0], (document["record"] or [""])[0]

    def search(
        self, query: LexicalQuery, collection: str, condition: Filter, limit: int
    ) -> list[tuple[int, float]]:
        """Return (row, BM25 score) of up to `limit` rows of a collection, best first.

        The filter is applied as far as facets can tell; the caller checks the rest.
        """
        body = self._body(query)
        if body is None:
            return []
        facets = [self._term("facet", _collection_facet(collection)), self._filter(condition)]
        return self._run(body, [part for part in facets if part is not None], limit)

    def search_all(self, query: LexicalQuery, condition: Filter) -> Mapping[int, float]:
        """Return row → BM25 score of the best rows of all collections; at most `SEARCHED_AT_ONCE`.

        One search for all costs what the search of one collection does.
        """
        # By its text: as values, True and 1 are equal, and as filters they are not.
        return self._best(query, repr(condition), _Held(condition), self._searcher)

    def _find_best(self, query: LexicalQuery, _: str, condition: _Held, __: Any) -> Mapping[int, float]:
        body, admitted = self._body(query), self._filter(condition.value)
        if body is None:
            return {}
        return dict(self._run(body, [] if admitted is None else [admitted], SEARCHED_AT_ONCE))

    def scores_by_terms(self, query: LexicalQuery, rows: Sequence[int]) -> dict[int, float]:
        """Return row → BM25 score of these rows; a row that matches nothing is absent."""
        return self._scores_of(rows, self._body(query)) if rows else {}

    def scores_by_pairs(self, query: LexicalQuery, rows: Sequence[int]) -> dict[int, float]:
        """Return row → BM25 score by pairs of terms of these rows; a row that has none is absent."""
        if not rows or not query.pairs:
            return {}
        of_all = self._paired(query, self._searcher)
        if of_all is not None:
            return {row: of_all[row] for row in rows if row in of_all}
        return self._scores_of(rows, self._pairs(query))

    def _find_paired(self, query: LexicalQuery, searcher: Any) -> Mapping[int, float] | None:
        """Return row → BM25 by pairs of all rows that have one, or None where those are many.

        Most pairs stand in few rows or none, so one search serves all collections.
        """
        frequencies = [searcher.doc_freq("pairs", pair) for pair in query.pairs]
        if sum(frequencies) > SEARCHED_AT_ONCE:
            return None
        return dict(self._run(self._pairs(query), [], SEARCHED_AT_ONCE)) if any(frequencies) else {}

    def _pairs(self, query: LexicalQuery) -> Any:
        return self._any(self._term("pairs", pair) for pair in query.pairs)

    def _scores_of(self, rows: Sequence[int], scored: Any) -> dict[int, float]:
        if scored is None:
            return {}
        return dict(self._run(scored, [self._any_of("row", rows)], len(rows)))

    def _run(self, scored: Any, required: Sequence[Any], limit: int) -> list[tuple[int, float]]:
        must, query = self._tantivy.Occur.Must, self._tantivy.Query
        clauses = [(must, scored), *((must, query.const_score_query(part, 0.0)) for part in required)]
        searcher = self._searcher
        hits = searcher.search(query.boolean_query(clauses), max(1, limit), count=False).hits
        rows: list[Any] = searcher.fast_field_values("row", [address for _, address in hits])
        return [(int(row), float(score)) for row, (score, _) in zip(rows, hits, strict=True)]

    def _body(self, query: LexicalQuery) -> Any:
        return self._bodies(query, self._searcher)

    def _make_body(self, query: LexicalQuery, _: Any) -> Any:
        occur = self._tantivy.Occur.Must if query.needs_all else self._tantivy.Occur.Should
        clauses = [(occur, self._spelled(term)) for term in query.terms]
        return self._tantivy.Query.boolean_query(clauses) if clauses else None

    def _spelled(self, term: str) -> Any:
        if len(term) < _CORRECTABLE or self._searcher.doc_freq("body", term):
            return self._term("body", term)
        variants = [
            self._tantivy.Query.boost_query(self._term("body", word), weight)
            for word, weight in self._spellings(term)
        ]
        return self._tantivy.Query.disjunction_max_query(variants) if variants else self._term("body", term)

    def _find_spellings(self, term: str) -> tuple[tuple[str, float], ...]:
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        furthest = 2 if len(term) >= _TWICE_CORRECTABLE else 1
        vocabulary = [word for word, _ in self._searcher.terms_with_prefix("body", term[0])]
        near = process.extract(
            term, vocabulary, scorer=OSA.distance, score_cutoff=furthest, limit=_MOST_SPELLINGS
        )
        return tuple((word, _WEIGHTS[int(distance)]) for word, distance, _ in near)

    def _filter(self, condition: Filter) -> Any:
        """Return a query that admits at least what the filter admits, or None."""
        query, occur = self._tantivy.Query, self._tantivy.Occur
        if isinstance(condition, AllOf):
            parts = [part for each in condition.parts if (part := self._filter(each)) is not None]
            return query.boolean_query([(occur.Must, part) for part in parts]) if parts else None
        if isinstance(condition, AnyOf):
            some = [self._filter(each) for each in condition.parts]
            return None if None in some else self._any(some)
        is_negated = isinstance(condition, Not)
        inner = condition.part if isinstance(condition, Not) else condition
        if not isinstance(inner, Condition) or inner.operator != "$in":
            return None
        facets = [_facet(inner.key, value) for value in inner.values]
        if any(len(facet) > _LONGEST_FACET for facet in facets):
            return None
        if not is_negated:
            return self._any_of("facet", facets)
        # What no record has excludes none: nearly always so of `deleted`.
        facets = [facet for facet in facets if self._searcher.doc_freq("facet", facet)]
        if not facets:
            return None
        found = self._any_of("facet", facets)
        return query.boolean_query([(occur.Must, query.all_query()), (occur.MustNot, found)])

    def _term(self, field: str, value: str | int) -> Any:
        return self._tantivy.Query.term_query(self._schema, field, value)

    def _any_of(self, field: str, values: Sequence[Any]) -> Any:
        # A set of terms is an automaton that walks the whole dictionary: dear for a few.
        if len(values) > _MOST_SINGLE_TERMS:
            return self._tantivy.Query.term_set_query(self._schema, field, list(values))
        return self._any(self._term(field, value) for value in values)

    def _any(self, parts: Iterable[Any]) -> Any:
        clauses = [(self._tantivy.Occur.Should, part) for part in parts]
        return self._tantivy.Query.boolean_query(clauses) if clauses else None


def _joined(words: Sequence[str]) -> list[str]:
    return [pair.replace(" ", _PAIR_JOINT) for pair in bigrams(words)]


def _collection_facet(collection: str) -> str:
    return f"\x00{collection}"


def _facets(metadata: Mapping[str, Any]) -> Iterator[str]:
    for key, value in metadata.items():
        if isinstance(value, (str, bool, int, float)):
            facet = _facet(key, value)
            if len(facet) <= _LONGEST_FACET:
                yield facet


def _facet(key: str, value: Any) -> str:
    if isinstance(value, str):
        return f"{key}\x1fs{value}"
    return f"{key}\x1fb{value}" if isinstance(value, bool) else f"{key}\x1fn{float(value)!r}"
