"""The history of tries: what was turned, what it gave, and back again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inspector.tuning import Knobs, as_json
from langchain_context_engine import Context, Diff

__all__ = ["Try", "added", "try_table", "undone"]

_KEPT = 30


@dataclass(frozen=True, slots=True)
class Try:
    """One setting that was tried.

    Attributes:
        knobs: Every knob, to turn back to.
        changed: The settings for a replay.
        context: What they gave.
        difference: From what was recorded to that, worked out once.
    """

    knobs: Knobs
    changed: Mapping[str, Any]
    context: Context
    difference: Diff

    @property
    def told(self) -> str:
        """What was changed, in one line."""
        return ", ".join(f"{name}: {_short(value)}" for name, value in self.changed.items()) or "as recorded"


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{name} {weight:g}" for name, weight in value.items())
    tokens = getattr(value, "tokens", None)
    return f"{tokens} tokens, with shares or caps" if tokens is not None else str(value)


def added(tries: Sequence[Try], one: Try) -> tuple[Try, ...]:
    """Return the tries with one more, unless it is what was tried last; the oldest makes way."""
    if tries and as_json(tries[-1].changed) == as_json(one.changed):
        return tuple(tries)
    return (*tries, one)[-_KEPT:]


def undone(tries: Sequence[Try]) -> tuple[Try, ...]:
    """Return the tries without the last one; the first stays."""
    return tuple(tries[:-1]) if len(tries) > 1 else tuple(tries)


def try_table(tries: Sequence[Try]) -> list[dict[str, Any]]:
    """Return one row a try, the latest first, each compared with what was recorded."""
    table = []
    for number, one in reversed(list(enumerate(tries))):
        table.append(
            {
                "try": number,
                "changed": one.told,
                "tokens": one.context.tokens,
                "passages": len(one.context.passages),
                "entered": len(one.difference.entered),
                "left": len(one.difference.left),
                "shared": one.difference.overlap,
            }
        )
    return table
