"""How many records a store gives and takes at once: learnt from what it refuses, in whatever words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

__all__ = ["LEAST", "QUOTA", "Portions", "fewer", "is_cloud", "is_quota"]

QUOTA = 300
"""Records that Chroma Cloud gives and takes at once."""

LEAST = 10
"""What refuses so few refuses for another reason."""

_QUOTA = re.compile(
    r"quota|exceed(?:ed|s).{0,40}limit|limit.{0,40}exceed|too many (?:results|records|ids|sql variables)"
    r"|(?:\blimit|n_results|results|records).{0,40}"
    r"(?:at most|no more than|less than|maximum|too (?:large|many|big))"
    r"|batch size.{0,60}(?:greater|larger|exceed|max)|payload too large|\b413\b",
    re.IGNORECASE,
)
_LOOKED_AT = 2000
T = TypeVar("T")


def is_quota(error: Exception) -> bool:
    """Tell whether a store says that it was asked for, or given, too much at once.

    Example:
        >>> is_quota(RuntimeError("Quota exceeded: 'Number of records'")), is_quota(RuntimeError("down"))
        (True, False)
    """
    return _QUOTA.search(str(error)[:_LOOKED_AT]) is not None


def is_cloud(collection: Any) -> bool:
    """Tell whether a collection is in Chroma Cloud, whose quota is known."""
    settings = getattr(getattr(getattr(collection, "_client", None), "_system", None), "settings", None)
    return "trychroma.com" in str(getattr(settings, "chroma_server_host", "") or "")


def fewer(asked: int, refusal: Exception) -> int:
    """Return how many to ask for after so many were refused, or raise the refusal: fewer cannot be asked."""
    if asked <= LEAST:
        raise refusal
    return QUOTA if asked > QUOTA else max(LEAST, asked // 2)


class Portions:
    """Splits what is read or written into portions that a store takes; what it refuses makes them smaller.

    Args:
        most: The largest portion to begin with.
    """

    def __init__(self, most: int) -> None:
        self.most = most

    def each(self, items: Sequence[T], call: Callable[[int, int], Any]) -> Iterator[Any]:
        """Yield what a call gives for each portion of the items, told where it begins and ends.

        Raises:
            Exception: What the call raises, if that is no quota or the portion is the least.
        """
        place = 0
        while place < len(items):
            end = min(len(items), place + self.most)
            try:
                answer = call(place, end)
            except Exception as error:  # noqa: BLE001 - clients raise errors of many libraries
                self._learn(error, end - place)
                continue
            yield answer
            place = end

    def all_of(self, items: Sequence[T], call: Callable[[int, int], Any]) -> None:
        """Do something with each portion; as `each`."""
        for _ in self.each(items, call):
            pass

    def pages(self, call: Callable[[int, int], Sequence[T]]) -> Iterator[T]:
        """Yield what a call gives page by page, told how many at most and from where, until one is empty.

        Raises:
            Exception: What the call raises, if that is no quota or the page is the least.
        """
        place = 0
        while True:
            try:
                page = call(self.most, place)
            except Exception as error:  # noqa: BLE001 - clients raise errors of many libraries
                self._learn(error, self.most)
                continue
            if not page:
                return
            yield from page
            place += len(page)

    def _learn(self, error: Exception, asked: int) -> None:
        """Take smaller portions from now on, or raise what says nothing of a quota."""
        if not is_quota(error):
            raise error
        self.most = fewer(asked, error)
