"""What became of each ranked item at its turn: why it did not get in, with the numbers of that moment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_context_engine.models.types import Reason


@dataclass(slots=True)
class Turns:
    """Why items are not in, as it was when they were tried.

    The reason is that of an item's turn in the last pass over all: then its best piece met what was left.
    What later passes over the rest find (which try ever smaller pieces) changes it only for an item that
    had none, or was in and had to go.

    Attributes:
        why: Item → reason and numbers.
    """

    why: dict[int, tuple[Reason, Mapping[str, Any]]] = field(default_factory=dict)
    _seen: set[int] = field(default_factory=set)
    _is_main: bool = True

    def begin(self, *, is_main: bool) -> None:
        """Begin a pass; a main one tries everything anew."""
        self._seen.clear()
        self._is_main = is_main

    def has_met(self, item: int) -> bool:
        """Return whether an item's turn in this pass is told already."""
        return item in self._seen or (not self._is_main and item in self.why)

    def no_room(self, item: int, reason: Reason, needed: int, left: int) -> None:
        """Tell that a piece needed more tokens than were left for it; the first of a pass counts."""
        if not self.has_met(item):
            self._seen.add(item)
            self.why[item] = (reason, {"needed": needed, "left": max(0, left)})

    def barred(self, item: int, reason: Reason) -> None:
        """Tell that a rule about numbers of passages keeps an item out."""
        self._seen.add(item)
        self.why[item] = (reason, {})

    def taken_back(self, item: int, needed: int, left: int) -> None:
        """Tell that an item was in, and that the text as written had not the room."""
        self.why[item] = (Reason.OVER_BUDGET, {"needed": needed, "left": max(0, left)})

    def of(self, item: int, cost: Callable[[], int], room: int) -> tuple[Reason, dict[str, Any]]:
        """Return an item's reason and numbers; of one that never had a turn, those of the end.

        While filling, costs are added up, which is often more than the text costs in the end: at its turn at
        least as much was left as in the end.

        Args:
            item: The item.
            cost: What it would cost.
            room: What is left in the end.
        """
        reason, told = self.why.get(item) or (Reason.OVER_BUDGET, {"needed": cost(), "left": 0})
        details = dict(told)
        if reason is Reason.OVER_BUDGET:
            details["left"] = max(0, min(max(details["left"], room), details["needed"] - 1))
        return reason, details
