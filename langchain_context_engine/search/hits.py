"""What hits say of themselves before their records are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

_AT_ONCE = 50
"""Hits that are read in one call; an answer has fifteen or thirty as a rule."""


class HitMetadata:
    """The metadata of hits, read as they are asked about: few of the hits are needed as a rule."""

    def __init__(self, read: Callable[[Sequence[str]], Mapping[str, Mapping[str, Any]]]) -> None:
        self._read = read
        self._found: dict[str, Mapping[str, Any] | None] = {}

    def of(self, ids: Sequence[str]) -> Callable[[str], Mapping[str, Any] | None]:
        """Return what tells the metadata of these ids, best asked in their order; of what is gone, None."""
        unread = [id_ for id_ in reversed(ids) if id_ not in self._found]

        def known(id_: str) -> Mapping[str, Any] | None:
            while unread and id_ not in self._found:
                batch = [unread.pop() for _ in unread[:_AT_ONCE]]
                self._found.update(dict.fromkeys(batch))
                self._found.update(self._read(batch))
            return self._found.get(id_)

        return known
