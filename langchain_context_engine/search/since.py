"""What was written to a collection since the index' last commit: few records, looked at one by one.

So a write is answered with at once, and no question waits for a commit or for another process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from langchain_context_engine.filtering.filters import Filter, matcher
from langchain_context_engine.search.bags import Bag
from langchain_context_engine.search.kept import Record, name_starts


@dataclass(frozen=True, slots=True)
class Changed:
    """A record that was written to.

    Attributes:
        old: As the last commit has it, or None.
        new: As it is now, or None where it is gone.
        vector: Its vector as it is now, where vectors are kept.
        sequence: The store's number of the write, or of a later one.
    """

    old: Record | None
    new: Record | None
    vector: bytes | None
    sequence: int


class Since:
    """The records that were written to, by id. It never changes; `with_` makes another one."""

    def __init__(self, changed: Mapping[str, Changed] | None = None) -> None:
        self.changed = dict(changed or {})
        self.present = [id_ for id_, each in self.changed.items() if each.new is not None]
        self.absent = {id_ for id_, each in self.changed.items() if each.new is None}
        self.growth = sum((each.new is not None) - (each.old is not None) for each in self.changed.values())
        self.named: dict[str, list[Record]] = {}
        for new in self.news():
            for start in name_starts(new.metadata):
                self.named.setdefault(start, []).append(new)
        self._deltas: dict[str, tuple[list[Bag], list[Bag]]] = {}
        self._counted: dict[tuple[str, bool], tuple[Any, Any]] = {}

    def __len__(self) -> int:
        return len(self.changed)

    def has(self, id_: str) -> bool:
        """Tell whether a record was written to, so that the commit does not count."""
        return id_ in self.changed

    def new(self, id_: str) -> Record | None:
        """Return a record that was written to, as it is now."""
        found = self.changed.get(id_)
        return found.new if found else None

    def news(self) -> Iterable[Record]:
        """Return all that were written to and are there."""
        return [each.new for each in self.changed.values() if each.new is not None]

    def upon(self, olds: Mapping[str, Record]) -> Since:
        """Return the same upon another commit, told what that has of these records."""
        return Since(
            {id_: Changed(olds.get(id_), c.new, c.vector, c.sequence) for id_, c in self.changed.items()}
        )

    def with_(self, changed: Mapping[str, Changed]) -> Since:
        """Return the same with more changes; the latest counts, the first says what was before."""
        joined = dict(self.changed)
        for id_, each in changed.items():
            before = joined.get(id_)
            if before is not None:
                vector = before.vector if each.vector is None and each.new is not None else each.vector
                joined[id_] = Changed(before.old, each.new, vector, each.sequence)
            else:
                joined[id_] = each
        return Since(joined)

    def without(self, ids: Iterable[str]) -> Since:
        """Return the same without what a commit has now."""
        gone = set(ids)
        return Since({id_: each for id_, each in self.changed.items() if id_ not in gone})

    def sizes(self, within: Filter) -> tuple[int, int, int]:
        """Return by how many records, terms and pairs those that a filter admits have grown."""
        if not self.changed:
            return 0, 0, 0
        olds, news = self._delta(within)
        terms, pairs = (
            sum(bag.lengths[i] for bag in news) - sum(bag.lengths[i] for bag in olds) for i in (0, 1)
        )
        return len(news) - len(olds), terms, pairs

    def frequency(self, number: int, within: Filter, *, of_pairs: bool) -> int:
        """Return by how many the records with a term have grown, of those that a filter admits."""
        if not self.changed:
            return 0
        import numpy as np

        key = (repr(within), of_pairs)
        if key not in self._counted:
            both = []
            for bags in self._delta(within):
                numbers = [np.unique(bag.numbers(of_pairs=of_pairs)) for bag in bags]
                both.append(np.concatenate(numbers) if numbers else np.zeros(0, np.uint32))
            self._counted[key] = (both[0], both[1])
        olds, news = self._counted[key]
        return int(np.count_nonzero(news == number)) - int(np.count_nonzero(olds == number))

    def vocabulary(self, start: str) -> set[str]:
        """Return the words that begin so."""
        return {
            word for new in self.news() if new.words for word in new.words.terms if word.startswith(start)
        }

    def _delta(self, within: Filter) -> tuple[list[Bag], list[Bag]]:
        key = repr(within)
        if key not in self._deltas:
            is_within = matcher(within)
            olds = [each.old for each in self.changed.values()]
            news = [each.new for each in self.changed.values()]
            self._deltas[key] = (
                [old.bag for old in olds if old is not None and is_within(old.metadata)],
                [new.bag for new in news if new is not None and is_within(new.metadata)],
            )
        return self._deltas[key]
