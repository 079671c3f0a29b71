"""What a search by words found, and whose scores it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_context_engine.filtering.filters import EVERYTHING, Filter
from langchain_context_engine.search.shelf import Shelf


@dataclass(frozen=True, slots=True)
class Asked:
    """Whose scores are asked for.

    Attributes:
        shelf: The collection's; None is one without words.
        ids: Of its records.
        within: What a request may see: words are counted there.
    """

    shelf: Shelf | None
    ids: Sequence[str]
    within: Filter = EVERYTHING
