"""Colours, always beside words: of fates, signals and groups, legible on light and dark grounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from langchain_context_engine.models.types import Decision, Reason, Verdict
from langchain_context_engine.trace.explain import FATES as TOLD
from langchain_context_engine.trace.explain import Row

_GREEN, _AMBER, RED, GREY, _BLUE = "#009e73", "#e69f00", "#d55e00", "#7d8794", "#56b4e9"
OTHERS = "#6b6b6b"
_SERIES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", OTHERS)
"""Eight hues that are told apart without red and green (after Okabe and Ito 2008); a ninth name is grey."""

ROOM = frozenset({Reason.OVER_BUDGET, Reason.OVER_SHARE, Reason.OVER_ITEM_CAP})
"""Reasons that are a lack of room."""

FATES: Mapping[Reason, str] = {
    Reason.WHOLE: "in · whole",
    Reason.EXTRACTED: "in · parts",
    Reason.CUT: "in · cut",
    Reason.COMPACTED: "in · rewritten",
    Reason.DUPLICATE: "out · duplicate",
    Reason.OVER_BUDGET: "out · no room",
    Reason.OVER_SHARE: "out · share full",
    Reason.OVER_ITEM_CAP: "out · too long",
    Reason.OVER_K: "out · max passages",
    Reason.ENOUGH: "out · enough",
    Reason.DIVERSITY: "out · diversity",
    Reason.NOT_WORTH_READING: "out · few words",
    Reason.UNRELATED: "out · unrelated",
    Reason.BELOW_THRESHOLD: "out · low score",
    Reason.DOUBTFUL: "out · in doubt",
    Reason.OVER_LIMIT: "out · over limit",
    Reason.FILTERED: "out · filtered",
    Reason.EXCLUDED: "out · excluded",
    Reason.EMPTY: "out · no text",
    Reason.INVALID: "out · malformed",
}
"""Every final reason in two words, short enough for a table."""


def _colour_of(reason: Reason, words: str) -> str:
    if words.startswith("in"):
        return _GREEN if reason is Reason.WHOLE else _AMBER
    return RED if reason in ROOM else GREY if reason is Reason.DUPLICATE else _BLUE


FATE_COLOURS: Mapping[str, str] = {words: _colour_of(reason, words) for reason, words in FATES.items()}
"""Fate in words → colour: green is in, amber in part, vermilion had no room, grey repeats, blue a rule."""

FATE_MEANINGS: Mapping[str, str] = {words: TOLD[reason] for reason, words in FATES.items()}
"""Fate in two words → fate in more words."""


def fell_for(one: Decision | Row) -> Reason:
    """Return what a candidate is told to have fallen for: what repeats another is a duplicate."""
    return Reason.DUPLICATE if "duplicate_of" in one.details else one.reason


def fate_of(verdict: Verdict, reason: Reason) -> str:
    """Return a final decision in two words."""
    known = f"{'in' if verdict is Verdict.KEPT else 'out'} · {str(reason).replace('_', ' ')}"
    return FATES.get(reason, known)


def colours_of(names: Iterable[str]) -> dict[str, str]:
    """Return a colour for each name, the same for the same names in the same order."""
    return {name: _SERIES[min(i, len(_SERIES) - 1)] for i, name in enumerate(dict.fromkeys(names))}


def stacked(
    contributions: Mapping[str, float], colours: Mapping[str, str], *, full: float = 1.0
) -> list[tuple[str, float, str]]:
    """Return contributions as the pieces of a bar, which `full` fills: colour, share, what it is."""
    return [
        (colours.get(name, GREY), value / full, f"{name} {value:.3f}")
        for name, value in contributions.items()
        if value > 0 and full > 0
    ]
