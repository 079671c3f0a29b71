"""The history of tries: what was turned, what it gave, and back again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inspector import wording
from inspector.figures.knobs import Knobs
from inspector.figures.settings import as_json
from langchain_context_engine import Context
from langchain_context_engine.trace.diff import Diff

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
        number: Its own, for as long as the session lasts; 0 is what was recorded.
    """

    knobs: Knobs
    changed: Mapping[str, Any]
    context: Context
    difference: Diff
    number: int = 0

    @property
    def told(self) -> str:
        """What was changed, in one line."""
        return ", ".join(f"{name}: {_short(value)}" for name, value in self.changed.items()) or "as recorded"


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{name} {weight:g}" for name, weight in value.items())
    tokens = getattr(value, "tokens", None)
    if tokens is not None:
        return f"{wording.number(tokens)} tokens, with shares or caps"
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return wording.number(value) if is_count else str(value)


def added(tries: Sequence[Try], one: Try) -> tuple[Try, ...]:
    """Return the tries with one more, unless it is what was tried last.

    It gets the next number. The oldest makes way; the recorded one, the first, stays.
    """
    if tries and as_json(tries[-1].changed) == as_json(one.changed):
        return tuple(tries)
    if not tries:
        return (one,)
    later = [*tries[1:], replace(one, number=max(t.number for t in tries) + 1)]
    return (tries[0], *later[-(_KEPT - 1) :])


def undone(tries: Sequence[Try]) -> tuple[Try, ...]:
    """Return the tries without the last one; the first stays."""
    return tuple(tries[:-1]) if len(tries) > 1 else tuple(tries)


def try_table(tries: Sequence[Try]) -> list[dict[str, Any]]:
    """Return one row a try, the latest first, each compared with what was recorded."""
    return [
        {
            "try": "recorded" if not one.number else str(one.number),
            "changed": one.told,
            "tokens": wording.number(one.context.tokens),
            "passages": str(len(one.context.passages)),
            "entered": str(len(one.difference.entered)),
            "left": str(len(one.difference.left)),
            "shared": wording.share(one.difference.overlap),
        }
        for one in reversed(tries)
    ]
