"""What a trace's settings were when it was made, where it does not name them: they came later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_context_engine.ranking.fusion import BEFORE

FIELDS: Mapping[str, Mapping[str, Any]] = {"fusion": BEFORE, "budget": {"least_worth": 0.0}}
"""Setting → its fields that came later, as they were before."""

_SETTINGS: Mapping[str, Any] = {"doubtful_below": 0.0}


def settings_as_made(described: Mapping[str, Any]) -> dict[str, Any]:
    """Return a trace's settings with those that came later as they were before."""
    return {**_SETTINGS, **described} if described else {}
