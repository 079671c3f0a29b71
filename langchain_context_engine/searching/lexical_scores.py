"""What a search by words found, and whose scores it is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from langchain_context_engine.searching.shelf import Shelf


@dataclass(frozen=True, slots=True)
class Found:
    """What a search by words found.

    Attributes:
        hits: (id, BM25 score) of admitted records, best first, ties by id.
        scores: Id → score of all that was looked at, admitted or not.
        is_all: Nothing else that passes the filter matches.
    """

    hits: list[tuple[str, float]]
    scores: Mapping[str, float]
    is_all: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """Whose scores are asked for.

    Attributes:
        shelf: The collection's; None is one without words.
        ids: Of its records.
        found: What a search with the same question found, whose scores need not be worked out again;
            the ids must pass its filter.
    """

    shelf: Shelf | None
    ids: Sequence[str]
    found: Found | None = None

    def rows(self) -> dict[int, str]:
        """Return row → id of those that are catalogued."""
        if self.shelf is None:
            return {}
        entries = self.shelf.catalogue.entries
        return {entry.row: id_ for id_ in self.ids if (entry := entries.get(id_)) is not None}

    def unknown(self, rows: Mapping[int, str]) -> list[int]:
        """Return the rows whose score by terms is not known yet."""
        if self.found is None:
            return list(rows)
        return [] if self.found.is_all else [row for row, id_ in rows.items() if id_ not in self.found.scores]
