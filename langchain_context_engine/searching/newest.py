"""The newest records of a collection, found by their dates, since Chroma cannot sort."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from typing import Any, Protocol

from langchain_context_engine.filtering.filters import Filter
from langchain_context_engine.ranking.newest import MOST, freshness, names_version, newest_of
from langchain_context_engine.ranking.roles import is_changelog
from langchain_context_engine.searching.lexical import LexicalIndex
from langchain_context_engine.searching.postings import LexicalQuery
from langchain_context_engine.searching.shelf import Shelf
from langchain_context_engine.values.request import ContextRequest

_HOLDING, _HOLDS = 200, 0.6
"""Of so many that hold most of what a question names, those of at least this share of the best score."""


class Asking(Protocol):
    """What a search knows of its question."""

    request: ContextRequest
    wanted: Filter

    def admits(self, id_: str, metadata: Mapping[str, Any]) -> bool:
        """Tell whether a record may be offered."""
        ...


def newest_ids(index: LexicalIndex, shelf: Shelf, asking: Asking) -> list[str]:
    """Return the ids of the newest admitted records, the newest first; none where no newest is asked for.

    A collection without dates has none. Where a release is asked for and the collection holds a
    changelog, its sections are; where the question names something beside, those that hold it.
    """
    newest, admits = newest_of(asking.request.query), asking.admits
    if newest is None:
        return []
    entries = list(shelf.catalogue.entries.items())
    if newest.is_release:
        sections = [(id_, e) for id_, e in entries if is_changelog(e.metadata) and names_version(e.metadata)]
        entries = sections or entries
    elif newest.about:
        hits = index.search(LexicalQuery(newest.about, ()), shelf, asking.wanted, admits, _HOLDING)
        held = {id_ for id_, score in hits if score >= _HOLDS * hits[0][1]}
        entries = [(id_, entry) for id_, entry in entries if id_ in held]
    dated = (
        (fresh, id_)
        for id_, entry in entries
        if (fresh := freshness(entry.metadata)) is not None and admits(id_, entry.metadata)
    )
    return [id_ for _, id_ in heapq.nlargest(MOST, dated)]
