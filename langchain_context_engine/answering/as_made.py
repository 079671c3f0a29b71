"""A trace's settings read back, those that it does not name yet as they were when it was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_context_engine.ranking.fusion import BEFORE, Fusion
from langchain_context_engine.stages.select import Diversity
from langchain_context_engine.text.units import UnitValue
from langchain_context_engine.values.budget import Budget
from langchain_context_engine.values.settings import describe, is_function, missing_part
from langchain_context_engine.writing.templates import Template

_DATA = {
    "budget": Budget,
    "template": Template,
    "diversity": Diversity,
    "fusion": Fusion,
    "unit_value": UnitValue,
}
_SETTINGS: Mapping[str, Any] = {"doubtful_below": 0.0}
_FIELDS: Mapping[str, Mapping[str, Any]] = {"fusion": BEFORE}


def settings_as_made(described: Mapping[str, Any]) -> dict[str, Any]:
    """Return a trace's settings with those that came later as they were before."""
    return {**_SETTINGS, **described} if described else {}


def read_setting(name: str, described: Any, at_hand: Sequence[Any]) -> Any:
    """Return the setting that was described.

    Args:
        name: The setting.
        described: What `describe` gave of it.
        at_hand: Configurations that may have the very part.

    Raises:
        ConfigError: It was a function, and is not at hand.
    """
    for config in at_hand:
        if describe(getattr(config, name, None)) == described:
            return getattr(config, name)
    if name == "templates":
        return {key: Template(**value) for key, value in described.items()}
    if is_function(described):
        raise missing_part(name, described)
    if name not in _DATA or not isinstance(described, Mapping):
        return described
    return _DATA[name](**{**_FIELDS.get(name, {}), **described})
