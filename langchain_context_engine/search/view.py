"""One collection as questions see it at one moment: the index' last commit, and what was written since."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_context_engine.filtering.filters import EVERYTHING, Filter, matcher
from langchain_context_engine.ranking.links import NamedIn, names_of
from langchain_context_engine.search.bags import Spellings, number_of, score
from langchain_context_engine.search.kept import Record, Sequencing
from langchain_context_engine.search.recent import Recent
from langchain_context_engine.search.records import position_of
from langchain_context_engine.search.rows import Rows
from langchain_context_engine.search.since import Since
from langchain_context_engine.search.volume import Edition

Admits = Callable[[str, Mapping[str, Any]], bool]
"""(id, metadata) → whether a request may see the record."""

_MOST_NAMESAKES = 20
"""A name that more records bear tells none of them apart."""

_FEW = 500
_KEPT_SELECTIONS = 8
_stamps = itertools.count()


class StaleViewError(Exception):
    """Another process has written meanwhile what this view shows: take a new one."""


@dataclass(slots=True)
class Memo:
    """What was worked out of one edition; it goes with it."""

    frequencies: dict[tuple[str, str, str], int] = field(default_factory=dict)
    sizes: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    chosen: dict[tuple[str, int], list[str] | None] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    dates: dict[str, dict[str, Any]] = field(default_factory=dict)


class View:
    """A collection at one moment. Nothing in it changes, so threads share it.

    Args:
        rows: The records.
        edition: The words, and what is noted of both.
        since: What was written since.
        memo: What was worked out of the edition.
        recent: What was read lately, by the collection's number and row.
        number: The collection's number in it.
    """

    def __init__(  # noqa: PLR0917 - what a view is made of
        self, rows: Rows, edition: Edition, since: Since, memo: Memo, recent: Recent[Any, Record], number: int
    ) -> None:
        self.rows = rows
        self.edition = edition
        self.since = since
        self.stamp = next(_stamps)
        self.memo = memo
        self._recent = recent
        self._number = number

    def __len__(self) -> int:
        return self.edition.count + self.since.growth

    def all_ids(self) -> set[str]:
        """Return the ids of all records."""
        return {*self.rows.ids(), *self.since.present} - self.since.absent

    def records(self, ids: Sequence[str]) -> dict[str, Record]:
        """Return id → record of those that exist."""
        found = {id_: new for id_ in ids if (new := self.since.new(id_)) is not None}
        unread = [id_ for id_ in ids if not self.since.has(id_)]
        rows = self._rows_of(unread)
        records = self._by_row(list(rows.values()))
        moved = [id_ for id_, row in rows.items() if row not in records]
        if moved:  # another process has written them meanwhile
            for id_ in moved:
                self.memo.rows.pop(id_, None)
            records |= self._by_row(list(self._rows_of(moved).values()))
        return found | {record.id: record for record in records.values()}

    def metadata(self, ids: Sequence[str]) -> dict[str, Mapping[str, Any]]:
        """Return id → metadata of those that exist."""
        if len(ids) <= _FEW:
            return {id_: record.metadata for id_, record in self.records(ids).items()}
        found: dict[str, Mapping[str, Any]] = {
            id_: new.metadata for id_ in ids if (new := self.since.new(id_)) is not None
        }
        return found | self.rows.metadata([id_ for id_ in ids if not self.since.has(id_)])

    def digests(self, ids: Sequence[str]) -> dict[str, bytes]:
        """Return id → digest of those that exist."""
        found = self.rows.digests([id_ for id_ in dict.fromkeys(ids) if not self.since.has(id_)])
        return found | {id_: new.digest for id_ in ids if (new := self.since.new(id_)) is not None}

    def every(self) -> Iterator[Record]:
        """Yield all records."""
        yield from (record for record in self.rows.every() if not self.since.has(record.id))
        yield from self.since.news()

    def chosen(self, condition: Filter, most: int) -> list[str] | None:
        """Return the ids that a filter may admit, or None where they are many or it narrows nothing."""
        key = (repr(condition), most)
        if key not in self.memo.chosen:
            rows = self.edition.reader.chosen(condition, most)
            while len(self.memo.chosen) >= _KEPT_SELECTIONS:
                self.memo.chosen.pop(next(iter(self.memo.chosen)), None)
            self.memo.chosen[key] = None if rows is None else self.rows.ids_of(rows)
        ids = self.memo.chosen.get(key)
        if ids is None:
            return None
        return [*(id_ for id_ in ids if not self.since.has(id_)), *self.since.present]

    def selected(self, condition: Filter) -> Iterator[Record]:
        """Yield the records that a filter admits."""
        is_wanted = matcher(condition)
        ids = self.chosen(condition, 50_000)
        if ids is None:
            yield from (record for record in self.every() if is_wanted(record.metadata))
            return
        for start in range(0, len(ids), _FEW):
            some = self.records(ids[start : start + _FEW])
            yield from (record for record in some.values() if is_wanted(record.metadata))

    def match(
        self, wanted: Sequence[Spellings], idf: dict[str, float], condition: Filter, limit: int, *,
        needs_all: bool = False,
    ) -> tuple[list[tuple[Record, float]], bool]:  # fmt: skip
        """Return records with their rough score, best first, ties by id, and whether those are all.

        The score is BM25 with this collection's own mean length, so it ranks its records, no others'.

        Raises:
            StaleViewError: Another process has written meanwhile.
        """
        found = self.edition.reader.search(wanted, idf, condition, limit, needs_all=needs_all)
        records = self._by_row([row for row, _ in found])
        if len(records) < len(found) and any(row not in records for row, _ in found):
            raise StaleViewError
        hits = [(records[row], points) for row, points in found if not self.since.has(records[row].id)]
        hits += self._matching_since(wanted, idf, condition, needs_all=needs_all)
        hits.sort(key=lambda hit: (-hit[1], hit[0].id))
        return hits, len(found) < limit

    def _matching_since(
        self, wanted: Sequence[Spellings], idf: dict[str, float], condition: Filter, *, needs_all: bool
    ) -> list[tuple[Record, float]]:
        is_wanted = matcher(condition)
        news = [new for new in self.since.news() if is_wanted(new.metadata)]
        if not news:
            return []
        if needs_all:
            news = [new for new in news if all(map(lambda s: _has_any(new, s), wanted))]  # noqa: C417
        count, length, _ = self.sizes(EVERYTHING)
        points = score(
            [new.bag for new in news], wanted, idf, length / count if count else 1.0, of_pairs=False
        )
        return [(new, each) for new, each in zip(news, points, strict=True) if each > 0]

    def newest(
        self, limit: int, condition: Filter, admits: Admits, *, most: int | None = None
    ) -> list[Record]:
        """Return up to `limit` dated records that a filter and a request admit, newest first.

        Of those that are committed, about the `most` newest are looked at; None looks at all.
        """
        is_wanted, rung = matcher(condition), 2 * limit
        while True:
            rows = self.edition.reader.newest(condition, rung)
            records = self._by_row(rows)
            dated = [r for row in rows if (r := records.get(row)) and not self.since.has(r.id)]
            everyone = sorted(
                [(at, r) for r in (*dated, *self.since.news()) if (at := _at(r)) is not None],
                key=lambda pair: (-pair[0], pair[1].id),
            )
            found = [r for _, r in everyone if is_wanted(r.metadata) and admits(r.id, r.metadata)]
            if len(found) >= limit or len(rows) < rung or (most is not None and rung >= most):
                return found[:limit]
            rung *= 4

    def frequency(self, word: str, within: Filter, *, of_pairs: bool) -> int:
        """Return how many records that a filter admits have a term or a pair."""
        key = ("pairs" if of_pairs else "body", word, repr(within))
        known = self.memo.frequencies.get(key)
        if known is None:
            if len(self.memo.frequencies) > 100 * _FEW:
                self.memo.frequencies.clear()
            known = self.edition.reader.frequency(key[0], word, within)
            self.memo.frequencies[key] = known
        return max(
            0, known + self.since.frequency(number_of(word, is_pair=of_pairs), within, of_pairs=of_pairs)
        )

    def sizes(self, within: Filter) -> tuple[int, int, int]:
        """Return how many records a filter admits, and how many terms and pairs they have."""
        key = repr(within)
        known = self.memo.sizes.get(key)
        if known is None:
            if len(self.memo.sizes) > 100 * _FEW:
                self.memo.sizes.clear()
            known = self.memo.sizes[key] = self.edition.reader.sizes(within)
        more = self.since.sizes(within)
        return known[0] + more[0], known[1] + more[1], known[2] + more[2]

    def vocabulary(self, start: str) -> set[str]:
        """Return all words, of every scope, that begin so."""
        return {*self.edition.reader.vocabulary(start), *self.since.vocabulary(start)}

    def named_in(self, text: str, admits: Admits) -> list[str]:
        """Return the admitted ids whose title, or path and symbol, stands verbatim in the text, in order."""
        named = NamedIn.of(text)
        bearers: dict[Any, dict[str, None]] = {}
        starts = {"\x1f".join(start): start for start in named.starts()}
        borne = self.rows.borne(list(starts))
        for joined in [each for each in starts if each in borne or each in self.since.named]:
            rows = self.rows.namesakes(joined) if joined in borne else []
            old = [r for r in self._by_row(rows).values() if not self.since.has(r.id)]
            for record in sorted([*old, *self.since.named.get(joined, ())], key=lambda r: r.id):
                for name in names_of(record.metadata):
                    is_meant = name.start == starts[joined] and named.has(name)
                    if is_meant and admits(record.id, record.metadata):
                        bearers.setdefault(name, {})[record.id] = None
        telling = (ids for ids in bearers.values() if len(ids) <= _MOST_NAMESAKES)
        return list(dict.fromkeys(itertools.chain.from_iterable(telling)))

    def adjacent(self, id_: str, keys: Sequencing, admits: Admits) -> tuple[str, ...]:
        """Return the ids directly before and after a record in its group, of those that are admitted."""
        record = self.records([id_]).get(id_)
        place = position_of(record.metadata, keys) if record else None
        if place is None:
            return ()
        both = (self._next(id_, keys, place, admits, before=before) for before in (True, False))
        return tuple(other for other in both if other is not None)

    def _next(
        self, id_: str, keys: Sequencing, place: tuple[str, float], admits: Admits, *, before: bool
    ) -> str | None:
        here = (place[1], id_)
        found: list[tuple[float, str]] = [
            (there[1], new.id)
            for new in self.since.news()
            if (there := position_of(new.metadata, keys)) and there[0] == place[0]
            and ((there[1], new.id) < here) is before and new.id != id_ and admits(new.id, new.metadata)
        ]  # fmt: skip
        skipped = 0
        while True:
            some = self.rows.beside(keys, place, id_, before=before, skipped=skipped)
            records = self._by_row([row for _, _, row in some])
            seen = next(
                (
                    (order, other)
                    for order, other, row in some
                    if not self.since.has(other) and row in records and admits(other, records[row].metadata)
                ),
                None,
            )
            if seen is not None or not some:
                break
            skipped += len(some)
        everyone = [*found, *([] if seen is None else [seen])]
        if not everyone:
            return None
        return (max(everyone) if before else min(everyone))[1]

    def _rows_of(self, ids: Sequence[str]) -> dict[str, int]:
        known = self.memo.rows
        missing = [id_ for id_ in ids if id_ not in known]
        if missing:
            if len(known) > 100 * _FEW:
                known.clear()
            known.update(self.rows.rows_of(missing))
        return {id_: known[id_] for id_ in ids if id_ in known}

    def _by_row(self, rows: Sequence[int]) -> dict[int, Record]:
        kept = self._recent.get_all([(self._number, row) for row in rows])
        found = {row: record for (_, row), record in kept.items()}
        unread = [row for row in rows if row not in found]
        for row, record in self.rows.by_row(unread).items():
            self._recent.put((self._number, row), record, record.cost)
            found[row] = record
        return found


def _has_any(record: Record, spellings: Spellings) -> bool:
    return any(record.bag.has(number_of(word, is_pair=False), of_pairs=False) for word, _ in spellings)


def _at(record: Record) -> float | None:
    from langchain_context_engine.search.facets import microseconds

    return microseconds(record.metadata.get("created_at"))
