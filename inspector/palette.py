"""Colours, always beside words: of fates, signals and groups, legible on light and dark grounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal
from urllib.parse import quote

from langchain_context_engine.values.types import Reason, Verdict

__all__ = ["FATES", "FATE_COLOURS", "LEFT_OVER", "badge_colour", "colours_of", "fate_of", "stacked_bar"]

GREEN, AMBER, RED, GREY, VIOLET = "#2f9e6e", "#d08a1c", "#d6455d", "#7b8494", "#8b6fd6"

LEFT_OVER = "#9aa3b2"
"""What is free: budget left over, places without a value."""

_SERIES = (
    "#4c7be0",
    "#e8853d",
    "#2fa084",
    "#b06fd1",
    "#d9596f",
    "#8c9a2b",
    "#3aa5c9",
    "#c98a4b",
    "#6f7fd8",
    "#5aa85a",
)

FATES: Mapping[Reason, str] = {
    Reason.WHOLE: "in · whole",
    Reason.EXTRACTED: "in · sentences",
    Reason.CUT: "in · cut",
    Reason.COMPACTED: "in · rewritten",
    Reason.DUPLICATE: "out · duplicate",
    Reason.OVER_BUDGET: "out · no room",
    Reason.OVER_SHARE: "out · share full",
    Reason.OVER_ITEM_CAP: "out · too long",
    Reason.OVER_K: "out · k reached",
    Reason.ENOUGH: "out · enough",
    Reason.DIVERSITY: "out · diversity",
    Reason.NOT_WORTH_READING: "out · says little",
    Reason.BELOW_THRESHOLD: "out · low score",
    Reason.OVER_LIMIT: "out · over limit",
    Reason.FILTERED: "out · filtered",
    Reason.EXCLUDED: "out · excluded",
    Reason.EMPTY: "out · no text",
    Reason.INVALID: "out · malformed",
}
"""Every final reason in two words, short enough for a table."""

BUDGET_LINE = "budget line"
"""The fate that a table shows on the row where the budget cut."""

_COLOUR_OF: Mapping[Reason, str] = {
    Reason.WHOLE: GREEN,
    Reason.EXTRACTED: AMBER,
    Reason.CUT: AMBER,
    Reason.COMPACTED: AMBER,
    Reason.DUPLICATE: GREY,
    Reason.OVER_BUDGET: RED,
    Reason.OVER_SHARE: RED,
    Reason.OVER_ITEM_CAP: RED,
}

FATE_COLOURS: Mapping[str, str] = {
    **{words: _COLOUR_OF.get(reason, VIOLET) for reason, words in FATES.items()},
    BUDGET_LINE: RED,
}
"""Fate in words → colour: green is in, amber in part, red had no room, grey repeats, violet a rule."""


Badge = Literal["green", "orange", "red", "gray", "violet"]

_BADGES: Mapping[str, Badge] = {
    GREEN: "green",
    AMBER: "orange",
    RED: "red",
    GREY: "gray",
    VIOLET: "violet",
}


def fate_of(verdict: Verdict, reason: Reason) -> str:
    """Return a final decision in two words.

    Example:
        >>> fate_of(Verdict.DROPPED, Reason.OVER_BUDGET)
        'out · no room'
    """
    return FATES.get(reason, f"{'in' if verdict is Verdict.KEPT else 'out'} · {reason}")


def badge_colour(fate: str) -> Badge:
    """Return the name of a fate's colour, as badges have it."""
    return _BADGES[FATE_COLOURS.get(fate, VIOLET)]


def colours_of(names: Iterable[str]) -> dict[str, str]:
    """Return a colour for each name, the same for the same names in the same order.

    Example:
        >>> colours_of(["relevance", "recency"])["relevance"]
        '#4c7be0'
    """
    return {name: _SERIES[i % len(_SERIES)] for i, name in enumerate(dict.fromkeys(names))}


def stacked_bar(contributions: Mapping[str, float], colours: Mapping[str, str], *, full: float = 1.0) -> str:
    """Return one row's stacked contributions as a picture for a table cell: a data address, never fetched.

    It is drawn from numbers and our own colours alone, so no text of a record can reach it.

    Args:
        contributions: Signal → weight × value.
        colours: Signal → colour.
        full: The score that fills the whole width.
    """
    width, height, x, parts = 120, 27, 0.0, []
    for name, value in contributions.items():
        length = max(0.0, value) / full * width if full > 0 else 0.0
        if length > 0:
            fill = colours.get(name, LEFT_OVER)
            parts.append(f'<rect x="{x:.1f}" y="5" width="{length:.1f}" height="17" fill="{fill}"/>')
        x += length
    frame = f'<rect x="0" y="5" width="{width}" height="17" rx="2" fill="{LEFT_OVER}" fill-opacity=".18"/>'
    bars = "".join(parts)
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">{frame}{bars}</svg>'
    return f"data:image/svg+xml,{quote(svg)}"
