"""What leaves for an agent's state or a checkpoint: plain JSON, whatever a record's metadata hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from pydantic import BaseModel

from langchain_context_engine.models.errors import AllSourcesFailedError, ConfigError
from langchain_context_engine.models.freeze import DEEPEST, UNREADABLE, as_data

__all__ = ["NOT_ASKED", "check_failure_option", "plain", "storable"]

NOT_ASKED = (
    "Nothing is known for this question just now: no source could be asked. "
    "Say so instead of guessing; it may work again in a moment."
)
"""What a model is told where every source failed; the same by tool, middleware and MCP."""

FAILURE = AllSourcesFailedError
"""The one failure that a model may be told of; mistakes of whoever wrote the program are always raised."""


_STORED = (bool, int, float, str, bytes, date, datetime, time, timedelta, Decimal, UUID)


def plain(value: Any) -> Any:
    """Return a value as JSON: dates as ISO text, sets and tuples as lists, models by their fields.

    Numbers that are none are null. What is no data is said by its type, since its `repr` may hold secrets.

    Example:
        >>> from datetime import date
        >>> plain({"at": date(2026, 1, 2), 3: (1, float("nan"))})
        {'at': '2026-01-02', '3': [1, None]}
    """
    return _plain(value, 0)


def _plain(value: Any, depth: int) -> Any:
    if value is None or type(value) in {str, bool, int}:
        return value
    value = as_data(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if value is None or isinstance(value, (str, int, timedelta)):
        return str(value) if isinstance(value, timedelta) else value
    return _plain_parts(value, depth + 1) if depth < DEEPEST else UNREADABLE


def _plain_parts(value: Any, depth: int) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item, depth) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, depth) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((_plain(item, depth) for item in value), key=repr)
    if isinstance(value, BaseModel):
        return {name: _plain(getattr(value, name), depth) for name in type(value).model_fields}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name), depth) for field in fields(value)}
    return f"<{type(value).__module__}.{type(value).__qualname__}>"


def storable(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata that a checkpoint takes and gives back: keys are strings, foreign values plain.

    Dates, sets and bytes stay what they are; tuples are lists, and what is no data becomes what
    `plain` makes of it.

    Example:
        >>> from datetime import date
        >>> storable({"at": date(2026, 1, 2), 3: (1, 2j)})
        {'at': datetime.date(2026, 1, 2), '3': [1, '<builtins.complex>']}
    """
    return {str(key): _storable(value) for key, value in metadata.items()}


def _storable(value: Any) -> Any:
    if value is None or type(value) in _STORED:
        return value
    if isinstance(value, Mapping):
        return storable(value)
    if type(value) in {list, tuple}:
        return [_storable(item) for item in value]  # a tuple that is nested would come back as a list
    if type(value) in {set, frozenset} and all(type(item) in _STORED for item in value):
        return value
    return plain(value)


def check_failure_option(on_failure: str) -> bool:
    """Return whether a model is told that every source failed, rather than that being raised.

    Raises:
        ConfigError: The option is neither `tell` nor `raise`.
    """
    if on_failure not in {"tell", "raise"}:
        msg = f"on_failure must be 'tell' or 'raise', got {on_failure!r}"
        raise ConfigError(msg)
    return on_failure == "tell"
