"""Records by their place and their names: what stands beside a record, and what a text calls by name."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from langchain_context_engine.filters import Filter
from langchain_context_engine.ranking.links import NamedIn, names_of
from langchain_context_engine.search.segment import facet, name_facet
from langchain_context_engine.search.snapshot import Snapshot

_MOST_NAMESAKES = 20
"""A name that more records bear tells none of them apart."""


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
    rows = snapshot.having([group])
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
        found = snapshot.having([int(numbers[place])])
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
