"""The inverted index of one collection: a thin hand on tantivy, whose BM25 uses k1 1.2 and b 0.75.

Terms come ready made from `words.py`, so nothing is analysed twice or in two ways. A row is a number; what
it stands for is kept beside, see `rows.py`.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_context_engine.filtering.filters import Filter
from langchain_context_engine.search.bags import Spellings, Words, joined
from langchain_context_engine.search.facets import Narrowing
from langchain_context_engine.text.endings import without_endings
from langchain_context_engine.text.words import closed_forms, query_terms, terms

_HEAP_BYTES = 30_000_000
_SMALL_HEAP_BYTES = 15_000_000
_FEW = 100
_COUNTED_UPTO = 20_000
"""Rows with a word up to which the dead among them are told apart; of more they change nothing."""


@dataclass(frozen=True, slots=True)
class LexicalQuery:
    """A question as it is looked up.

    Attributes:
        terms: Its terms, each once.
        pairs: Its pairs of adjoining terms.
        needs_all: A row must have every term, in some spelling; else one will do.
        closed: For each term the words that it makes with the one beside it (`closed_forms`).
    """

    terms: tuple[str, ...]
    pairs: tuple[str, ...]
    needs_all: bool = False
    closed: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of(cls, query: str) -> LexicalQuery:
        """Read a question."""
        about = without_endings(query)
        found, forms = tuple(query_terms(about)), closed_forms(query)
        closed = tuple(forms.get(term, ()) for term in found)
        return cls(found, tuple(dict.fromkeys(joined(terms(about)))), closed=closed)


@dataclass(frozen=True, slots=True)
class Posted:
    """What is indexed of a row."""

    row: int
    words: Words
    facets: Sequence[str]
    created: int | None


class Postings:
    """Rows of words and facets. Whoever writes holds the collection's lock.

    Args:
        path: A directory to keep it in; None keeps it in memory.

    Raises:
        ValueError: The directory holds another index, or a damaged one.
    """

    def __init__(self, path: Path | None) -> None:
        import tantivy

        self._tantivy = tantivy
        builder = tantivy.SchemaBuilder()
        builder.add_integer_field("row", stored=False, indexed=True, fast=True)
        builder.add_integer_field("created", stored=False, indexed=True, fast=True)
        builder.add_integer_field("length", stored=False, indexed=False, fast=True)
        builder.add_integer_field("pairs_length", stored=False, indexed=False, fast=True)
        builder.add_text_field("facet", tokenizer_name="raw", index_option="basic")
        builder.add_text_field("body", tokenizer_name="ready", index_option="freq")
        builder.add_text_field("pairs", tokenizer_name="ready", index_option="basic")
        self._schema = builder.build()
        if path is not None:
            path.mkdir(parents=True, exist_ok=True)
        self._index = tantivy.Index(self._schema, path=None if path is None else str(path))
        whitespace = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
        self._index.register_tokenizer("ready", whitespace)
        self._narrowing = Narrowing(self._schema)

    def write(self, gone: Sequence[int], posted: Iterable[Posted]) -> None:
        """Take rows out, then rows in, in one commit; a row that is put in again must be among the gone.

        Raises:
            ValueError: The disk is full, or the directory is not as it should be.
        """
        first = list(itertools.islice(posted, _FEW))
        heap = _SMALL_HEAP_BYTES if len(first) < _FEW else _HEAP_BYTES
        writer = self._index.writer(heap_size=heap, num_threads=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            for row in gone:
                writer.delete_documents("row", row)
        for each in itertools.chain(first, posted):
            writer.add_document(self._document(each))
        writer.commit()
        writer.wait_merging_threads()

    def _document(self, posted: Posted) -> Any:
        document = self._tantivy.Document()
        document.add_integer("row", posted.row)
        if posted.created is not None:
            document.add_integer("created", posted.created)
        words, pairs = posted.words.terms, posted.words.pairs
        document.add_integer("length", len(words))
        document.add_integer("pairs_length", len(pairs))
        for facet in posted.facets:
            document.add_text("facet", facet)
        document.add_text("body", " ".join(words))
        document.add_text("pairs", " ".join(pairs))
        return document

    def reader(self, *, has_dead: bool) -> Reader:
        """Return a reader of the last commit; `has_dead` says that rows were ever taken out."""
        self._index.reload()
        return Reader(self._tantivy, self._schema, self._narrowing, self._index.searcher(), has_dead=has_dead)


class Reader:
    """One commit of the postings; it stays what it is whatever is written meanwhile."""

    def __init__(
        self, tantivy: Any, schema: Any, narrowing: Narrowing, searcher: Any, *, has_dead: bool
    ) -> None:
        self._has_dead = has_dead
        self._tantivy = tantivy
        self._schema = schema
        self._narrowing = narrowing
        self._searcher = searcher

    @property
    def size(self) -> int:
        """How many rows there are."""
        return int(self._searcher.num_docs)

    def search(
        self, wanted: Sequence[Spellings], weights: dict[str, float], condition: Filter, limit: int, *,
        needs_all: bool,
    ) -> list[tuple[int, float]]:  # fmt: skip
        """Return (row, score) of up to `limit` rows, best first.

        The score is BM25 with the frequencies that `weights` tell and this index' own mean length. The
        filter is applied as far as facets can tell; the caller checks the rest.

        Args:
            wanted: The question's words, each in its spellings.
            weights: Spelling → the inverse document frequency that it is to have.
            condition: What rows must pass.
            limit: The most rows.
            needs_all: Every word must stand there.
        """
        query, occur = self._tantivy.Query, self._tantivy.Occur
        each = occur.Must if needs_all else occur.Should
        clauses = [(each, self._spelled(spellings, weights)) for spellings in wanted]
        narrowed = self._narrowing.query(condition, self._searcher)
        scored = query.boolean_query(clauses)
        if narrowed is not None:
            zero = query.const_score_query(narrowed, 0.0)
            scored = query.boolean_query([(occur.Must, scored), (occur.Must, zero)])
        return self._rows(self._searcher.search(scored, max(1, limit), count=False).hits)

    def chosen(self, condition: Filter, most: int) -> list[int] | None:
        """Return the rows that a filter may admit, or None where they are more than `most`, or all."""
        narrowed = self._narrowing.query(condition, self._searcher)
        if narrowed is None or self._count(narrowed) > most:
            return None
        hits = self._searcher.search(self._unscored(narrowed), max(1, most), count=False).hits
        return [row for row, _ in self._rows(hits)]

    def newest(self, condition: Filter, limit: int) -> list[int]:
        """Return up to `limit` dated rows that a filter may admit, newest first."""
        narrowed = self._narrowing.query(condition, self._searcher)
        dated = self._tantivy.Query.range_query(
            self._schema, "created", self._tantivy.FieldType.Integer, -(2**62), 2**62
        )
        must = self._tantivy.Occur.Must
        clauses = [(must, dated), *([] if narrowed is None else [(must, narrowed)])]
        query = self._tantivy.Query.boolean_query(clauses)
        hits = self._searcher.search(query, max(1, limit), count=False, order_by_field="created").hits
        return [int(row) for row in self._values([address for _, address in hits])]

    def frequency(self, field: str, word: str, within: Filter) -> int:
        """Return how many rows that a filter admits have a word."""
        of_all = int(self._searcher.doc_freq(field, word))
        narrowed = self._narrowing.query(within, self._searcher) if of_all else None
        if narrowed is None and not (self._has_dead and 0 < of_all < _COUNTED_UPTO):
            return of_all
        if narrowed is None:
            # The dictionary counts the dead until they are merged away.
            return self._count(self._tantivy.Query.term_query(self._schema, field, word))
        must, query = self._tantivy.Occur.Must, self._tantivy.Query
        term = query.term_query(self._schema, field, word)
        return self._count(query.boolean_query([(must, term), (must, narrowed)]))

    def sizes(self, within: Filter) -> tuple[int, int, int]:
        """Return how many rows a filter admits, and how many terms and pairs they have."""
        narrowed = self._narrowing.query(within, self._searcher)
        if narrowed is None:
            narrowed = self._tantivy.Query.all_query()
        sums = {name: {"sum": {"field": name}} for name in ("length", "pairs_length")}
        told = self._searcher.aggregate(narrowed, sums)
        return self._count(narrowed), *(int(told[name]["value"] or 0) for name in sums)  # type: ignore[return-value]

    def vocabulary(self, start: str) -> list[str]:
        """Return all words that begin so."""
        return [word for word, _ in self._searcher.terms_with_prefix("body", start)]

    def _spelled(self, spellings: Spellings, weights: dict[str, float]) -> Any:
        query = self._tantivy.Query
        size = max(1, self._searcher.num_docs)
        parts = []
        for word, weight in spellings:
            own = _idf(self._searcher.doc_freq("body", word), size)
            term = query.term_query(self._schema, "body", word)
            parts.append(query.boost_query(term, weight * weights.get(word, 0.0) / own))
        return parts[0] if len(parts) == 1 else query.disjunction_max_query(parts)

    def _unscored(self, query: Any) -> Any:
        return self._tantivy.Query.const_score_query(query, 0.0)

    def _count(self, query: Any) -> int:
        return int(self._searcher.search(self._unscored(query), 1, count=True).count or 0)

    def _rows(self, hits: Sequence[Any]) -> list[tuple[int, float]]:
        rows = self._values([address for _, address in hits])
        return [(int(row), float(score)) for row, (score, _) in zip(rows, hits, strict=True)]

    def _values(self, addresses: Sequence[Any]) -> list[Any]:
        return list(self._searcher.fast_field_values("row", list(addresses)))


def _idf(frequency: int, records: int) -> float:
    from langchain_context_engine.search.bags import idf_of

    return idf_of(frequency, max(frequency, records))
