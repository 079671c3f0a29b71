"""What the index of words can tell of a filter: metadata values as terms, dates as numbers.

A value's term says its key, its type and itself, so equality is decided exactly: of two values that a
scope tells apart, no term is the same.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from langchain_context_engine.filtering.filters import AllOf, AnyOf, Condition, Filter, Not
from langchain_context_engine.filtering.where import DATE_KEY
from langchain_context_engine.models.clock import read_instant

_LONGEST = 256
_MOST_SINGLE = 100
_EARLIEST, _LATEST = -(2**62), 2**62


def facets(metadata: Mapping[str, Any]) -> Iterator[str]:
    """Yield a term for each value that a filter may name."""
    for key, value in metadata.items():
        if isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value)):
            yield facet(key, value)


def facet(key: str, value: Any) -> str:
    """Return the term of one value."""
    if isinstance(value, str):
        kind, told = "s", value
    elif isinstance(value, bool):
        kind, told = "b", str(value)
    else:
        # 2 and 2.0 are one value; hexadecimal, since Python writes no long number in digits.
        is_whole = isinstance(value, int) or float(value).is_integer()
        kind, told = "n", hex(int(value)) if is_whole else repr(float(value))
    term = f"{key}\x1f{kind}{told}"
    if len(term) <= _LONGEST:
        return term
    return "\x1fh" + hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def microseconds(value: object) -> int | None:
    """Return the instant that a value names, as the index sorts by it, or None."""
    instant = read_instant(value)
    return None if instant is None else int(instant.timestamp() * 1e6)


class Narrowing:
    """Writes a filter as a query of tantivy.

    Args:
        schema: The index' schema, with the fields `facet` and `created`.
    """

    def __init__(self, schema: Any) -> None:
        import tantivy

        self._tantivy = tantivy
        self._schema = schema

    def query(self, condition: Filter, searcher: Any) -> Any:
        """Return a query that admits at least what the filter admits, or None where it narrows nothing.

        It is exact where `is_exact` says so.
        """
        query, occur = self._tantivy.Query, self._tantivy.Occur
        if isinstance(condition, AllOf):
            parts = [part for each in condition.parts if (part := self.query(each, searcher)) is not None]
            return query.boolean_query([(occur.Must, part) for part in parts]) if parts else None
        if isinstance(condition, AnyOf):
            some = [self.query(each, searcher) for each in condition.parts]
            if not some:
                return query.empty_query()
            return None if None in some else self._any(some)
        is_negated = isinstance(condition, Not)
        inner = condition.part if isinstance(condition, Not) else condition
        if not isinstance(inner, Condition):
            return None
        if inner.operator != "$in":
            return None if is_negated else self._dates(inner)
        terms = [facet(inner.key, value) for value in inner.values]
        if not is_negated:
            return self._any_of(terms)
        # What no record has excludes none: nearly always so of `deleted`.
        terms = [term for term in terms if searcher.doc_freq("facet", term)]
        if not terms:
            return None
        return query.boolean_query([(occur.Must, query.all_query()), (occur.MustNot, self._any_of(terms))])

    def _dates(self, condition: Condition) -> Any:
        bound = condition.values[0] if condition.values else None
        if condition.key != DATE_KEY or not isinstance(bound, datetime):
            return None
        if condition.operator not in {"$gt", "$gte", "$lt", "$lte"}:
            return None
        is_lower, at = condition.operator in {"$gt", "$gte"}, microseconds(bound) or 0
        # A microsecond wider: what is read in seconds may be rounded.
        lower, upper = (at - 1, _LATEST) if is_lower else (_EARLIEST, at + 1)
        kind = self._tantivy.FieldType.Integer
        return self._tantivy.Query.range_query(self._schema, "created", kind, lower, upper)

    def _any_of(self, terms: Sequence[str]) -> Any:
        # A set of terms is an automaton that walks the whole dictionary: dear for a few.
        if len(terms) > _MOST_SINGLE:
            return self._tantivy.Query.term_set_query(self._schema, "facet", list(terms))
        return self._any([self._tantivy.Query.term_query(self._schema, "facet", term) for term in terms])

    def _any(self, parts: Sequence[Any]) -> Any:
        return self._tantivy.Query.boolean_query([(self._tantivy.Occur.Should, part) for part in parts])


def is_exact(condition: Filter) -> bool:
    """Tell whether a filter's query admits just what the filter does."""
    if isinstance(condition, (AllOf, AnyOf)):
        return all(map(is_exact, condition.parts))
    inner = condition.part if isinstance(condition, Not) else condition
    return isinstance(inner, Condition) and inner.operator == "$in"
