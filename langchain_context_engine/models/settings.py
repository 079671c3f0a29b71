"""Settings as data: what a trace tells of them, and how they are read back for a replay."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_context_engine.models.errors import ConfigError
from langchain_context_engine.models.freeze import quoted

FUNCTION = "function:"
"""Begins the name of a part that was given as an object; only an engine that has it can replay it."""


def describe(value: Any, as_part: Callable[[Any], Any] | None = None) -> Any:
    """Return a setting as JSON-ready data; a part that is no data is told by its name.

    Args:
        value: The setting.
        as_part: Gives the data of a part that it knows, None of any other; by default it knows none.

    Example:
        >>> describe(len), describe(("a", 1))
        ('function:builtins.len', ['a', 1])
    """
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, Mapping):
        return {str(key): describe(item, as_part) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [describe(item, as_part) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((describe(item, as_part) for item in value), key=repr)
    if dataclasses.is_dataclass(value) and not isinstance(value, type) and not callable(value):
        fields = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
        return {name: describe(item, as_part) for name, item in fields}
    told = None if as_part is None else as_part(value)
    return FUNCTION + part_name(value) if told is None else told


def part_name(part: Any) -> str:
    """Return the name of a function, or of an object's class with its settings; without addresses.

    Example:
        >>> part_name(len)
        'builtins.len'
    """
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        shown = ((field.name, getattr(part, field.name)) for field in dataclasses.fields(part) if field.repr)
        told = ", ".join(f"{name}={describe(value)!r}" for name, value in shown)
        return f"{type(part).__qualname__}({told})"
    owner = part if hasattr(part, "__qualname__") else type(part)
    return f"{owner.__module__}.{owner.__qualname__}"


def is_function(described: Any) -> bool:
    """Return whether a described setting stands for a part that data cannot hold."""
    if isinstance(described, Mapping):
        return any(is_function(item) for item in described.values())
    if isinstance(described, list):
        return any(is_function(item) for item in described)
    return isinstance(described, str) and described.startswith(FUNCTION)


def functions_in(described: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the settings that were given as functions: what a replay needs the engine for.

    Example:
        >>> functions_in({"budget": 10, "tokenizer": "function:mine.count"})
        ('tokenizer',)
    """
    return tuple(name for name, value in described.items() if is_function(value))


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
        message = f"{error['msg']}, got {quoted(error['input'])}"
    place = ".".join(str(part) for part in error["loc"])
    return message if not place or place in message else f"{place}: {message}"
