"""Reading one setting back from what a trace tells of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_context_engine.models.budget import Budget
from langchain_context_engine.models.errors import ConfigError, ContextEngineError
from langchain_context_engine.models.redact import safe_message
from langchain_context_engine.models.settings import is_function, missing_part
from langchain_context_engine.pipeline.select import Diversity
from langchain_context_engine.pipeline.thresholds import Threshold
from langchain_context_engine.ranking.fusion import Fusion
from langchain_context_engine.rendering.templates import Template
from langchain_context_engine.text.units import UnitValue
from langchain_context_engine.trace.named_parts import as_data

_CLASSES = {
    "budget": Budget,
    "template": Template,
    "diversity": Diversity,
    "fusion": Fusion,
    "unit_value": UnitValue,
}


def read_setting(name: str, described: Any, at_hand: Sequence[Any]) -> Any:
    """Return the setting that a trace tells as data.

    Args:
        name: The setting.
        described: Its data.
        at_hand: Settings of engines, where parts that were given as functions come from.

    Raises:
        ConfigError: It was a function, and none of them has it; or its data are none of such a setting.
    """
    try:
        return _read(name, described, at_hand)
    except ContextEngineError:
        raise
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        msg = f"the setting {name!r} cannot be read: {safe_message(error)}"
        raise ConfigError(msg) from error


def _read(name: str, described: Any, at_hand: Sequence[Any]) -> Any:
    for config in at_hand:
        if as_data(getattr(config, name, None)) == described:
            return getattr(config, name)
    if name == "templates":
        return {key: Template(**value) for key, value in described.items()}
    if name == "signals":
        own = {key: part for config in at_hand for key, part in config.signals.items()}
        described = {k: own[k] if k in own and as_data(own[k]) == d else d for k, d in described.items()}
    if is_function(described):
        raise missing_part(name, described)
    if name not in _CLASSES or not isinstance(described, Mapping):
        return described
    return _CLASSES[name](**described)


def read_thresholds(given: Any) -> Any:
    """Return thresholds by source, each given as a `Threshold`, its fields, or the share of the best."""
    if not isinstance(given, Mapping):
        return given
    return {source: _threshold(value) for source, value in given.items()}


def _threshold(value: Any) -> Threshold:
    if isinstance(value, Threshold):
        return value
    return Threshold(**value) if isinstance(value, Mapping) else Threshold(of_best=value)
