"""The newest records of a collection, found by their dates, since Chroma cannot sort."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from langchain_context_engine.filtering.filters import Filter
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.ranking.newest import MOST, Newest, freshness, names_version, newest_of
from langchain_context_engine.ranking.roles import is_changelog
from langchain_context_engine.search.kept import Record
from langchain_context_engine.search.lexical import LexicalIndex
from langchain_context_engine.search.postings import LexicalQuery
from langchain_context_engine.search.shelf import Shelf
from langchain_context_engine.search.volume import Damage

_HOLDING, _HOLDS = 200, 0.6
"""Of so many that hold most of what a question names, those of at least this share of the best score."""

_OF_ONE_DATE = 10 * MOST
"""So many newest are told apart by their place in a file: the sections of one have its date."""

_LOOKED_AT = 20_000
"""Among so many of the newest records the sections of a changelog are looked for."""


class Asking(Protocol):
    """What a search knows of its question."""

    request: ContextRequest
    wanted: Filter

    @property
    def within(self) -> Filter:
        """What the request may see whatever it looks for."""
        ...

    def admits(self, id_: str, metadata: Mapping[str, Any]) -> bool:
        """Tell whether a record may be offered."""
        ...


def newest_ids(index: LexicalIndex, shelf: Shelf, asking: Asking) -> list[str]:
    """Return the ids of the newest admitted records, the newest first; none where no newest is asked for.

    A collection without dates has none. Where a release is asked for and the collection holds a
    changelog, its sections are; where the question names something beside, those that hold it.
    """
    newest = newest_of(asking.request.query)
    if newest is None:
        return []
    try:
        found = _asked_for(index, shelf, asking, newest)
    except Damage as error:
        index.repair(shelf, error)
        return []
    dated = ((fresh, record.id) for record in found if (fresh := freshness(record.metadata)) is not None)
    return [id_ for _, id_ in heapq.nlargest(MOST, dated)]


def _asked_for(index: LexicalIndex, shelf: Shelf, asking: Asking, newest: Newest) -> Iterable[Record]:
    """Return admitted records, among them the newest of what is asked for."""
    view, wanted, admits = shelf.view, asking.wanted, asking.admits
    if newest.about and not newest.is_release:
        query = LexicalQuery(newest.about, ())
        hits = index.search(query, shelf, wanted, admits, _HOLDING, asking.within)
        held = [id_ for id_, score in hits if score >= _HOLDS * hits[0][1]]
        return shelf.view.records(held).values()

    def is_section(id_: str, metadata: Mapping[str, Any]) -> bool:
        return is_changelog(metadata) and names_version(metadata) and admits(id_, metadata)

    sections = view.newest(_OF_ONE_DATE, wanted, is_section, most=_LOOKED_AT) if newest.is_release else []
    return sections or view.newest(_OF_ONE_DATE, wanted, admits)
