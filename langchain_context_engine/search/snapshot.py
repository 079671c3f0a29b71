"""A collection's index at one moment: its segments, and which of their rows live.

Nothing in a snapshot changes, so threads share it. A filter is a mask over its rows: None admits them all.
What a mask cannot tell for sure it admits, and the caller checks what the store says of the record.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from langchain_context_engine.filters import COMPARE, AllOf, AnyOf, Condition, Filter, Not
from langchain_context_engine.ranking.links import NamedIn, names_of
from langchain_context_engine.search.segment import DATED, Segment, facet, hash_of, name_facet

T = TypeVar("T")
Mask = Any
"""A boolean of each row, or None for all of them."""

_KEPT, _LARGEST = 256, 2**53
_MOST_NAMESAKES = 20
"""A name that more records bear tells none of them apart."""
_stamps = itertools.count()


class Snapshot:
    """See above.

    Args:
        pairs: Segments, and for each whether each of its rows lives; their rows follow each other.

    Attributes:
        stamp: Tells it from every other snapshot of this process.
        count: How many records there are.
    """

    def __init__(self, pairs: Sequence[tuple[Segment, Any]] = ()) -> None:
        self.segments = tuple(segment for segment, _ in pairs)
        self._alive = tuple(alive for _, alive in pairs)
        self.stamp = next(_stamps)
        self.size = sum(map(len, self.segments))
        self.count = int(sum(int(alive.sum()) for alive in self._alive))
        bases = itertools.accumulate(map(len, self.segments), initial=0)
        self._placed = list(zip(bases, self.segments, strict=False))
        self._living: Mask = None if self.count == self.size else np.concatenate(self._alive)
        self._kept: dict[Any, Any] = {}

    def pairs(self) -> list[tuple[Segment, Any]]:
        """Return what it is made of."""
        return list(zip(self.segments, self._alive, strict=True))

    def kept(self, key: Any, work_out: Callable[[], T]) -> T:
        """Return what was worked out of this snapshot under a key, or work it out now."""
        if key not in self._kept:
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            self._kept[key] = work_out()
        return self._kept[key]  # type: ignore[no-any-return]

    def with_segment(self, new: Segment, gone: Iterable[str] = ()) -> Snapshot:
        """Return a snapshot in which the records of a segment take the place of those of their ids."""
        hashes = np.concatenate([new.ids, np.fromiter(map(hash_of, gone), "u8")])
        left = [(segment, alive & ~np.isin(segment.ids, hashes)) for segment, alive in self.pairs()]
        return Snapshot([pair for pair in [*left, (new, np.ones(len(new), dtype=bool))] if pair[1].any()])

    def hashes(self) -> Any:
        """Return the hashes of all ids."""
        return self.ids if self._living is None else self.ids[self._living]

    def rows_of(self, ids: Sequence[str]) -> dict[str, int]:
        """Return id → row of those that are here."""
        wanted, found = np.fromiter(map(hash_of, ids), "u8", len(ids)), {}
        for (base, segment), alive in zip(self._placed, self._alive, strict=True):
            if not len(segment):
                continue
            places = np.minimum(segment.ids.searchsorted(wanted), len(segment) - 1)
            for at in np.flatnonzero((segment.ids[places] == wanted) & alive[places]).tolist():
                found[ids[at]] = base + int(places[at])
        return found

    def ids_of(self, rows: Iterable[int]) -> list[str]:
        """Return the ids of rows, in their order."""
        return self._told(rows, Segment.ids_at)

    def names_of(self, rows: Iterable[int]) -> list[dict[str, str]]:
        """Return the title, path and symbol of rows, in their order."""
        return self._told(rows, Segment.names_at)

    def digests_of(self, ids: Sequence[str]) -> dict[str, int]:
        """Return id → digest of those that are here."""
        rows = self.rows_of(ids)
        digests = self._told(rows.values(), lambda segment, some: segment.digests[some].tolist())
        return dict(zip(rows, digests, strict=True))

    def best(self, scores: Any, mask: Mask, limit: int) -> tuple[Any, Any]:
        """Return up to `limit` rows of a mask that score above 0, best first, and their scores.

        Ties stand in an order that is the same everywhere: by the hash of their id.
        """
        rows = np.flatnonzero(scores > 0 if mask is None else (scores > 0) & mask)
        if 0 < limit < len(rows):
            least = np.partition(scores[rows], len(rows) - limit)[len(rows) - limit]
            rows = rows[scores[rows] >= least]
        order = np.lexsort((self.ids[rows], -scores[rows]))[:limit]
        return rows[order], scores[rows][order]

    @property
    def ids(self) -> Any:
        """The hash of each row's id."""
        return self.kept("ids", lambda: self._joined([segment.ids for segment in self.segments], "u8"))

    @property
    def lengths(self) -> Any:
        """How many terms each row has."""
        return self.kept("lengths", lambda: self._joined([s.lengths for s in self.segments], "u4"))

    def frequency(self, term: str, mask: Mask) -> int:
        """Return how many living rows of a mask have a term."""
        if mask is None and self._living is None:
            number = hash_of(term)
            return sum(segment.frequency(number) for segment in self.segments)
        rows, _ = self.postings(term)
        return len(rows) if mask is None else int(mask[rows].sum())

    def postings(self, term: str | int) -> tuple[Any, Any]:
        """Return the living rows that have a term or a facet, and how often."""
        number = hash_of(term) if isinstance(term, str) else term
        found = [(base, *segment.postings(number)) for base, segment in self._placed]
        rows = self._joined([base + rows.astype("i8") for base, rows, _ in found], "i8")
        often = self._joined([often for _, _, often in found], "u2")
        if self._living is None:
            return rows, often
        lives = self._living[rows]
        return rows[lives], often[lives]

    def column(self, key: str) -> Any:
        """Return the number that each row has under a key, NaN for none."""

        def filled() -> Any:
            column = np.full(self.size, np.nan)
            for base, segment in self._placed:
                rows, values = segment.column(key)
                column[rows.astype("i8") + base] = values
            return column

        return self.kept(("column", key), filled)

    def instants(self, key: str) -> Any:
        """Return the instant that each row's value of a key names, in epoch seconds, NaN for none."""
        return self.column(DATED + key)

    def vocabulary(self, initial: str) -> set[str]:
        """Return the words, of every scope, that begin with a letter."""
        return set().union(*(segment.vocabulary(initial) for segment in self.segments))

    def rows_with(self, facets: Iterable[int]) -> Any:
        """Return the living rows that have one of some facets."""
        return self._joined([self.postings(each)[0] for each in dict.fromkeys(facets)], "i8")

    def is_had(self, facets: Any) -> Any:
        """Return of each of some facets whether a row has it, dead ones included."""
        told = [segment.is_had(facets) for segment in self.segments]
        return np.logical_or.reduce(told) if told else np.zeros(len(facets), dtype=bool)

    def chosen(self, mask: Mask) -> Any:
        """Return the living rows of a mask."""
        if mask is None:
            return np.arange(self.size) if self._living is None else np.flatnonzero(self._living)
        rows = np.flatnonzero(mask)
        return rows if self._living is None else rows[self._living[rows]]

    def extent(self, mask: Mask) -> tuple[int, int]:
        """Return how many living rows a mask has, and how many terms those have together."""

        def counted() -> tuple[int, int]:
            rows = self.chosen(mask)
            return len(rows), int(self.lengths[rows].sum())

        return self.kept("extent", counted) if mask is None else counted()

    def mask(self, condition: Filter) -> tuple[Mask, bool]:
        """Return what admits at least the rows that a filter admits, and whether it admits just those."""
        return self.kept(("mask", repr(condition)), lambda: self._mask(condition))

    def _mask(self, condition: Filter) -> tuple[Mask, bool]:
        if isinstance(condition, (AllOf, AnyOf)):
            parts = [self.mask(part) for part in condition.parts]
            masks = [mask for mask, _ in parts if mask is not None]
            is_exact = all(exact for _, exact in parts)
            if isinstance(condition, AllOf):
                return (np.logical_and.reduce(masks) if masks else None), is_exact
            if len(masks) < len(parts):
                return None, is_exact
            return (np.logical_or.reduce(masks) if masks else np.zeros(self.size, dtype=bool)), is_exact
        if isinstance(condition, Not):
            mask, is_exact = self.mask(condition.part)
            if not is_exact or mask is None:
                return None, False
            return (~mask if mask.any() else None), True
        return self._tested(condition)

    def _tested(self, condition: Condition) -> tuple[Mask, bool]:
        key, values = condition.key, condition.values
        if condition.operator == "$in":
            mask = np.zeros(self.size, dtype=bool)
            mask[self.rows_with([facet(key, value) for value in values])] = True
            return mask, True
        compare = COMPARE.get(condition.operator)
        if compare is None:
            return None, False
        bound = values[0]
        with np.errstate(invalid="ignore"):
            if not isinstance(bound, datetime):
                # A larger whole number has no exact place in a column; a text may be read as a number there.
                return (compare(self.column(key), bound) if abs(bound) <= _LARGEST else None), False
            # Wider by what a fraction of a second may be off; what names no instant here may name one there.
            slack = 1e-3 if condition.operator in {"$lt", "$lte"} else -1e-3
            instants = self.instants(key)
            return compare(instants, bound.timestamp() + slack) | (
                np.isnan(instants) & (key != "created_at")
            ), False

    def _told(self, rows: Iterable[int], ask: Callable[[Segment, Any], Sequence[T]]) -> list[T]:
        """Return what the segments tell of rows, in their order."""
        wanted = rows if isinstance(rows, np.ndarray) else np.fromiter(rows, "i8")
        if len(self.segments) == 1:
            return list(ask(self.segments[0], wanted))
        found: list[Any] = [None] * len(wanted)
        for base, segment in self._placed:
            mine = np.flatnonzero((wanted >= base) & (wanted < base + len(segment)))
            for place, told in zip(mine.tolist(), ask(segment, wanted[mine] - base), strict=True):
                found[place] = told
        return found

    @staticmethod
    def _joined(parts: Sequence[Any], kind: str) -> Any:
        if len(parts) == 1:
            return parts[0]
        return np.concatenate(parts) if parts else np.empty(0, kind)


def neighbours_of(
    records: Mapping[str, Mapping[str, Any]], snapshot: Snapshot, within: Filter, keys: tuple[str, str]
) -> dict[str, tuple[str, ...]]:
    """Return id → the ids directly before and after a record in its group, of those within a filter.

    Args:
        records: Id → metadata.
        snapshot: The collection's.
        within: What may be seen; it is decided by the index alone, so it is a scope.
        keys: The metadata keys (group, order) that say what adjoins what.
    """
    rows, orders = snapshot.rows_of(list(records)), snapshot.column(keys[1])
    beside: dict[str, list[int]] = {}
    for id_, row in rows.items():
        group = records[id_].get(keys[0])
        if isinstance(group, (str, bool, int, float)) and not np.isnan(orders[row]):
            number = facet(keys[0], group)
            members = snapshot.kept(
                ("group", number, keys, repr(within)),
                lambda: _in_order(snapshot, number, within, orders),  # noqa: B023
            )
            place = int(np.flatnonzero(members == row)[0]) if row in members else 0
            beside[id_] = [
                *members[max(0, place - 1) : place].tolist(),
                *members[place + 1 : place + 2].tolist(),
            ]
    ids = iter(snapshot.ids_of(itertools.chain.from_iterable(beside.values())))
    return {id_: tuple(itertools.islice(ids, len(found))) for id_, found in beside.items()}


def _in_order(snapshot: Snapshot, group: int, within: Filter, orders: Any) -> Any:
    mask = snapshot.mask(within)[0]
    rows = snapshot.rows_with([group])
    rows = rows[~np.isnan(orders[rows])]
    rows = rows if mask is None else rows[mask[rows]]
    return rows[np.lexsort((snapshot.ids[rows], orders[rows]))]


def ids_named_in(text: str, snapshot: Snapshot, within: Filter) -> list[str]:
    """Return the ids, within a filter, whose title, or path and symbol, stands verbatim in a text, in order.

    Args:
        text: The text.
        snapshot: The collection's.
        within: What may be seen; it is decided by the index alone, so it is a scope.
    """
    named, (mask, _) = NamedIn.of(text), snapshot.mask(within)
    starts, numbers = _starts_in(text)
    bearers: dict[Any, list[int]] = {}
    for place in np.flatnonzero(snapshot.is_had(numbers)).tolist():
        found = snapshot.rows_with([int(numbers[place])])
        rows = (found if mask is None else found[mask[found]]).tolist()
        for row, told in zip(rows, snapshot.names_of(rows), strict=True):
            for name in names_of(told):
                if name.start == starts[place] and named.has(name):
                    bearers.setdefault(name, []).append(row)
    telling = [
        sorted(snapshot.ids_of(set(rows))) for rows in bearers.values() if len(rows) <= _MOST_NAMESAKES
    ]
    return list(dict.fromkeys(itertools.chain.from_iterable(telling)))


@lru_cache(maxsize=64)
def _starts_in(text: str) -> tuple[tuple[tuple[str, ...], ...], Any]:
    """Return how a name in a text may begin, and the facets of that; every collection is asked for them."""
    starts = tuple(NamedIn.of(text).starts())
    return starts, np.fromiter(map(name_facet, starts), "u8", len(starts))
