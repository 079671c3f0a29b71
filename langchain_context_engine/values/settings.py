"""Settings as data: what a trace tells of them, and how they are read back for a replay."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_context_engine.values.errors import ConfigError

FUNCTION = "function:"
"""Begins the name of a part that was given as an object; only an engine that has it can replay it."""


def describe(value: Any) -> Any:
    """Return a setting as JSON-ready data; a part that is no data is told by its name.

    Example:
        >>> describe(len), describe(("a", 1))
        ('function:builtins.len', ['a', 1])
    """
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, Mapping):
        return {str(key): describe(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [describe(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type) and not callable(value):
        return {field.name: describe(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return FUNCTION + part_name(value)


def part_name(part: Any) -> str:
    """Return the name of a function, or of an object's class with its settings."""
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        return repr(part)
    owner = part if hasattr(part, "__qualname__") else type(part)
    return f"{owner.__module__}.{owner.__qualname__}"


def is_function(described: Any) -> bool:
    """Return whether a described setting stands for a part that data cannot hold."""
    if isinstance(described, Mapping):
        return any(is_function(item) for item in described.values())
    if isinstance(described, list):
        return any(is_function(item) for item in described)
    return isinstance(described, str) and described.startswith(FUNCTION)


def missing_part(name: str, described: Any) -> ConfigError:
    """Return the error for a trace whose part is not at hand."""
    return ConfigError(
        f"this trace was made with {name}={described!r}, which was given as a function; "
        "pass the engine that has it: replay(trace, engine=…)"
    )


def as_config_error(found: Sequence[Mapping[str, Any]]) -> ConfigError:
    """Return what pydantic found wrong as one error of ours; a single one of ours keeps its type.

    Args:
        found: What `ValidationError.errors()` gave.
    """
    own = found[0].get("ctx", {}).get("error")
    if len(found) == 1 and isinstance(own, ConfigError):
        return own
    return ConfigError("; ".join(_told(error) for error in found))


def _told(error: Mapping[str, Any]) -> str:
    if error["type"] == "value_error":  # raised by a check of ours, which says what was given
        message = str(error["msg"]).removeprefix("Value error, ")
    else:
        message = f"{error['msg']}, got {error['input']!r:.100}"
    place = ".".join(str(part) for part in error["loc"])
    return message if not place or place in message else f"{place}: {message}"
