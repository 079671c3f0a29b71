"""What changed in a collection since it was last read, and who can tell."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Changes:
    """Ids that are new or were written to, and ids that are gone.

    Attributes:
        written: Those that are new or were written to.
        gone: Those that are gone.
        vectors: The vectors of some that were written, as 32-bit numbers.
        sequence: Of the store's writes, the last one that is told here; −1 where none is counted.
    """

    written: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    vectors: Mapping[str, bytes] = field(default_factory=dict)
    sequence: int = -1

    def __bool__(self) -> bool:
        return bool(self.written or self.gone)


@dataclass(frozen=True, slots=True)
class Page:
    """Some of all ids, in the order of a first reading.

    Attributes:
        ids: The ids.
        read_to: Where the next page begins.
    """

    ids: tuple[str, ...]
    read_to: int


class Known(Protocol):
    """The ids that are known."""

    def __len__(self) -> int:
        """Return how many they are."""
        ...

    def all_ids(self) -> Collection[str]:
        """Return them all."""
        ...


class Watch(Protocol):
    """Tells the changes since its last call; `is_exact` says that it misses none."""

    is_exact: bool

    def changes(self, known: Known) -> Changes:
        """Return the changes, given the ids that are known."""
        ...

    def begin(self) -> int:
        """Return the number of the last write before a first reading; changes are told from there on."""
        ...

    def pages(self, read_to: int, size: int) -> Iterator[Page]:
        """Yield all ids from a place on."""
        ...

    def resume(self, sequence: int) -> None:
        """Tell changes after a write."""
        ...
