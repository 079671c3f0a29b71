"""What the lexical index knows of a collection's records: metadata, names, and what adjoins what."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from langchain_context_engine.ranking.links import Name, NamedIn, Words, names_of
from langchain_context_engine.searching.records import position_of

Admits = Callable[[str, Mapping[str, Any]], bool]
"""(id, metadata) → whether a request may see the record."""

_SHORTEST_NAME = 4
_MOST_NAMESAKES = 20
"""A name that more records bear tells none of them apart."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One record: its row in the index, a digest of text and metadata, the metadata, its text if kept."""

    row: int
    digest: bytes
    metadata: Mapping[str, Any]
    text: str | None = None


class Catalogue:
    """The records of one collection by id. Readers need no lock: lists are replaced, not changed.

    Metadata stay in memory, some hundred bytes to two kilobytes a record.
    """

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.ids: dict[int, str] = {}
        self._names: dict[Words, dict[Name, tuple[str, ...]]] = {}
        self._groups: dict[tuple[str, str], dict[str, list[tuple[float, str]]]] = {}

    def put(self, id_: str, entry: Entry) -> None:
        """Take a record in, in place of an older one of that id."""
        self.remove(id_)
        self.entries[id_] = entry
        self.ids[entry.row] = id_
        for name in _telling_names(entry.metadata):
            namesakes = self._names.setdefault(name.start, {})
            namesakes[name] = (*namesakes.get(name, ()), id_)
        for sequence, groups in self._groups.items():
            place = position_of(entry.metadata, sequence)
            if place:
                groups[place[0]] = sorted([*groups.get(place[0], ()), (place[1], id_)])

    def remove(self, id_: str) -> Entry | None:
        """Forget a record and return what was known of it."""
        entry = self.entries.pop(id_, None)
        if entry is None:
            return None
        self.ids.pop(entry.row, None)
        for name in _telling_names(entry.metadata):
            namesakes = self._names.get(name.start, {})
            left = tuple(other for other in namesakes.pop(name, ()) if other != id_)
            if left:
                namesakes[name] = left
        for sequence, groups in self._groups.items():
            place = position_of(entry.metadata, sequence)
            if place:
                groups[place[0]] = [pair for pair in groups.get(place[0], ()) if pair[1] != id_]
        return entry

    def named_in(self, text: str) -> list[str]:
        """Return the ids whose title, or path and symbol, stands verbatim in the text, in text order."""
        if not self._names:
            return []
        named = NamedIn(text)
        found: dict[str, None] = {}
        for start in named.starts():
            for name, namesakes in tuple(self._names.get(start, {}).items()):
                if len(namesakes) <= _MOST_NAMESAKES and named.has(name):
                    found.update(dict.fromkeys(namesakes))
        return list(found)

    def adjacent(self, id_: str, sequence: tuple[str, str], admits: Admits) -> tuple[str, ...]:
        """Return the ids directly before and after a record in its group, of those that are admitted."""
        entry = self.entries.get(id_)
        place = position_of(entry.metadata, sequence) if entry else None
        if place is None:
            return ()
        row = self._grouped(sequence).get(place[0], [])
        here = bisect.bisect_left(row, (place[1], id_))
        before = next((other for _, other in reversed(row[:here]) if self._is_seen(other, admits)), None)
        after = next((other for _, other in row[here + 1 :] if self._is_seen(other, admits)), None)
        return tuple(other for other in (before, after) if other is not None)

    def _is_seen(self, id_: str, admits: Admits) -> bool:
        entry = self.entries.get(id_)
        return entry is not None and admits(id_, entry.metadata)

    def _grouped(self, sequence: tuple[str, str]) -> dict[str, list[tuple[float, str]]]:
        groups = self._groups.get(sequence)
        if groups is None:
            groups = {}
            for id_, entry in list(self.entries.items()):
                place = position_of(entry.metadata, sequence)
                if place:
                    groups.setdefault(place[0], []).append((place[1], id_))
            for row in groups.values():
                row.sort()
            self._groups[sequence] = groups
        return groups


def _telling_names(metadata: Mapping[str, Any]) -> list[Name]:
    """Return the names that tell a record apart: a single short word does not."""
    return [
        name for name in names_of(metadata) if len(name.words) > 1 or len(name.words[0]) >= _SHORTEST_NAME
    ]
