"""Bounding: what all candidates together may cost is bounded by their sizes, since a replay has no clock.

Everything after collecting looks at texts, in time that is linear in their length. So the deadline of
assembling is a number of characters: the same candidates are cut at the same places, on any machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from langchain_context_engine.models.freeze import with_fields
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate, Decision, Reason, Verdict
from langchain_context_engine.pipeline.admit import Collected

__all__ = ["LEAST_TEXT", "MOST_TOGETHER", "bounded"]

MOST_TOGETHER = 2_000_000
"""So many characters of all candidates of a question are looked at, unless its budget can hold more."""

LEAST_TEXT = 400
"""So many characters of each are looked at, of ten thousand as of one: 5,000 cost no more than a few."""

LEAST_OF_MANY = 50
"""So many of each where there are more than ten thousand, so that all have `MOST_OF_MANY` at most."""

MOST_OF_MANY = 2 * MOST_TOGETHER
"""Characters that thousands of short pieces may have together."""

_CHARACTERS_PER_TOKEN = 8


def bounded(found: Collected, request: ContextRequest, *, stage: str = "collect") -> Collected:
    """Return what was found with its longest texts shortened where all together are too long.

    All texts that are too long are shortened to one length, the shorter ones stay whole: so neither the order
    of the sources nor which of them was late changes more than that length.

    Args:
        found: Sound candidates.
        request: Its budget may ask for more than `MOST_TOGETHER`.
        stage: The stage that the decisions name.
    """
    sizes = [len(candidate.text) for candidate in found.candidates]
    together = sum(sizes)
    most = max(MOST_TOGETHER, _CHARACTERS_PER_TOKEN * (request.budget or 0))
    if together <= most:
        return found
    least = max(LEAST_OF_MANY, min(LEAST_TEXT, MOST_OF_MANY // len(sizes)))
    level = max(least, _level(sizes, most))
    longer = [candidate for candidate in found.candidates if len(candidate.text) > level]
    if not longer:
        return found
    told = (
        f"the candidates have {together:,} characters together, of which"
        f" {sum(min(size, level) for size in sizes):,} are looked at:"
        f" {len(longer)} of them were shortened to {level:,} each; a smaller limit leaves more of them whole"
    )
    return replace(
        found,
        candidates=tuple(_shortened(candidate, level) for candidate in found.candidates),
        decisions=(*found.decisions, *(_decision(candidate, stage, level) for candidate in longer)),
        warnings=(*found.warnings, told),
    )


def _level(sizes: Sequence[int], most: int) -> int:
    """Return the length to which the longest are shortened, so that all together have at most `most`."""
    left = most
    for number, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - number)
        if size > share:
            return share
        left -= size
    return max(sizes, default=0)


def _shortened(candidate: Candidate, level: int) -> Candidate:
    return with_fields(candidate, text=candidate.text[:level]) if len(candidate.text) > level else candidate


def _decision(candidate: Candidate, stage: str, level: int) -> Decision:
    details = {"characters": len(candidate.text), "most": level}
    return Decision(
        stage=stage, key=candidate.key, verdict=Verdict.CHANGED, reason=Reason.SHORTENED, details=details
    )
