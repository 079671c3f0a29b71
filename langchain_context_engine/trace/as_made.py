"""What a trace's settings were when it was made, where it does not name them: they came later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_context_engine.ranking.editions import CHECKS
from langchain_context_engine.ranking.fusion import BEFORE

FIELDS: Mapping[str, Mapping[str, Any]] = {"fusion": BEFORE, "budget": {"least_worth": 0.0, "cut_from": 1.0}}
"""Setting → its fields that came later, as they were before."""

_SETTINGS: Mapping[str, Any] = {"doubtful_below": 0.0, "unsure_below": 0.0}


def fields_as_made(name: str, described: Mapping[str, Any]) -> dict[str, Any]:
    """Return a trace's setting with the fields that came later as they were when it was made.

    Args:
        name: The setting: `fusion`, `budget`, …
        described: What the trace says of it.
    """
    later = dict(FIELDS.get(name, {}))
    if name == "fusion" and "member" in described:
        # It came with the second edition of the rules, which had no number yet.
        later["edition"] = CHECKS
    return {**later, **described}


def settings_as_made(described: Mapping[str, Any]) -> dict[str, Any]:
    """Return a trace's settings with those that came later as they were before."""
    return {**_SETTINGS, **described} if described else {}
