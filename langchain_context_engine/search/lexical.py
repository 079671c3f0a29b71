"""Search by words over all collections of an engine, whose scores compare."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from langchain_context_engine.filtering.filters import EVERYTHING, Filter
from langchain_context_engine.search.found import Asked
from langchain_context_engine.search.postings import LexicalQuery
from langchain_context_engine.search.ranking import deeper, settled
from langchain_context_engine.search.shelf import Shelf
from langchain_context_engine.search.shelves import Shelves
from langchain_context_engine.search.view import Admits, StaleViewError, View
from langchain_context_engine.search.volume import Damage
from langchain_context_engine.search.weighing import Weighed, weigh

_FIRST_RUNG = 50
_KEPT_QUESTIONS = 64
_TRIES = 4


class LexicalIndex(Shelves):
    """Indexes of words over many collections, see `Shelves`. Thread-safe."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._weighed: OrderedDict[Any, Weighed] = OrderedDict()

    def search(  # noqa: PLR0917
        self, query: LexicalQuery, shelf: Shelf, condition: Filter, admits: Admits, limit: int,
        within: Filter = EVERYTHING,
    ) -> list[tuple[str, float]]:  # fmt: skip
        """Return (id, BM25 score) of up to `limit` admitted records, best first, ties by id.

        Records rank by the mean length of their own collection.

        Args:
            query: What is looked up.
            shelf: The collection's.
            condition: What records must pass, as far as the index can tell.
            admits: Decides.
            limit: The most records.
            within: What a request may see: words are counted and corrected there.
        """
        for _ in range(_TRIES):
            try:
                return self._search(query, shelf, condition, admits, limit, within)
            except StaleViewError:
                shelf.catch_up()
            except Damage as error:
                self.repair(shelf, error)
                return []
        return []

    def _search(  # noqa: PLR0917
        self, query: LexicalQuery, shelf: Shelf, condition: Filter, admits: Admits, limit: int, within: Filter
    ) -> list[tuple[str, float]]:
        weighed, rung = self.weighed(query, within), deeper(_FIRST_RUNG, limit + 1)
        while True:
            hits, is_all = shelf.view.match(
                weighed.words, weighed.idf, condition, rung, needs_all=query.needs_all
            )
            known = {record.id: record.metadata for record, _ in hits}
            found = settled(
                [(record.id, points) for record, points in hits],
                lambda id_: admits(id_, known[id_]),  # noqa: B023 - asked at once
                limit,
                is_all=is_all,
            )
            if found is not None:
                return found
            rung = deeper(rung, rung + 1)

    def weighed(self, query: LexicalQuery, within: Filter) -> Weighed:
        """Return what a question's words weigh among the records of all collections that a filter admits."""
        views = self._views()
        key = (query, repr(within), tuple(view.stamp for view in views))
        with self._lock:
            known = self._weighed.get(key)
        if known is None:
            known = weigh(query, views, within)
            with self._lock:
                self._weighed[key] = known
                while len(self._weighed) > _KEPT_QUESTIONS:
                    self._weighed.popitem(last=False)
        return known

    def _views(self) -> list[View]:
        shelves = {id(shelf): shelf for handle in tuple(self._handles) if (shelf := self.peek(handle))}
        return [shelf.view for shelf in shelves.values()]

    def scores(
        self, query: LexicalQuery, shelf: Shelf, ids: Sequence[str], within: Filter = EVERYTHING
    ) -> dict[str, tuple[float, float]]:
        """Return id → (BM25 by terms, BM25 by pairs of terms); 0 where nothing matches."""
        return self.scores_of_all(query, [Asked(shelf, ids, within)])[0]

    def scores_of_all(
        self, query: LexicalQuery, asked: Sequence[Asked]
    ) -> list[dict[str, tuple[float, float]]]:
        """Return the same for several collections."""
        told = []
        for each in asked:
            scores = dict.fromkeys(each.ids, (0.0, 0.0))
            if each.shelf is not None and each.ids:
                try:
                    records = each.shelf.view.records(each.ids)
                    weighed = self.weighed(query, each.within)
                    points = weighed.scores([record.bag for record in records.values()])
                    scores |= dict(zip(records, points, strict=True))
                except Damage as error:
                    self.repair(each.shelf, error)
            told.append(scores)
        return told
