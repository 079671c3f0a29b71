"""How a duplicate repeats what stands for it, in words that are true of the two. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping

from langchain_context_engine.models.types import Candidate, Decision, Key
from langchain_context_engine.text.similarity import Wording
from langchain_context_engine.trace.context import Context

__all__ = ["likeness"]

_ALL = 100.0
_IN_A_ROW = "all that would stand of it is said there"


def likeness(decision: Decision, context: Context, known: Mapping[Key, Candidate] | None = None) -> str:
    """Return how alike a duplicate and the one it was compared with are; "" where a rule alone told it.

    What packing found is said of the passages as they would stand, which may be extracts; what came before,
    of the whole texts, or of the metadata that `dedupe_key` names. A share is rounded down: 100 % is never
    said of texts that differ.

    Args:
        decision: On a duplicate, or on what fell anyway and repeats another.
        context: Where it was made.
        known: Its candidates by their keys, where they are at hand.
    """
    alike, details = decision.details.get("similarity"), decision.details
    if not isinstance(alike, (int, float)):
        return ""
    share = f"{math.floor(alike)} % alike"
    # What packing compares has the threshold of twins, and no rule; a decision keeps its stage in a trace.
    if decision.stage == "pack" and "duplicate_of" not in details:
        return _IN_A_ROW if alike >= _ALL else f"{share} as they would stand"
    key = context.settings.get("dedupe_key")
    if isinstance(key, str):
        if None in _compared(decision, context, known):
            # Which was compared, that key or the texts, is not to be seen.
            return ""
        if _has(key, decision, context, known):
            return f"{share} in {key}"
    return share if alike < _ALL else _how_equal(decision, context, known)


def _compared(
    decision: Decision, context: Context, known: Mapping[Key, Candidate] | None
) -> tuple[Candidate | None, Candidate | None]:
    """Return a duplicate, and what it was compared with: not what stands for it, where that beat both."""
    by_key = {one.key: one for one in context.candidates} if known is None else known
    other = decision.details.get("through") or decision.repeats
    return by_key.get(decision.key), by_key.get((other[0], other[1])) if other else None


def _has(key: str, decision: Decision, context: Context, known: Mapping[Key, Candidate] | None) -> bool:
    return any(one is not None and one.metadata.get(key) for one in _compared(decision, context, known))


def _how_equal(decision: Decision, context: Context, known: Mapping[Key, Candidate] | None) -> str:
    mine, other = _compared(decision, context, known)
    if mine is None or other is None:
        return "the same words"
    if mine.text == other.text:
        return "the same text"
    if Wording(mine.text).folded == Wording(other.text).folded:
        return "the same but for case and spaces"
    return "the same but for articles and punctuation"
