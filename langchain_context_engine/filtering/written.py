"""A scope as a person writes it in one line."""

from __future__ import annotations

import json
from typing import Any

from langchain_context_engine.models.errors import ConfigError

__all__ = ["read_scope"]


def read_scope(text: str) -> dict[str, Any]:
    """Return the scope that a line tells: key=value, by commas; numbers, true and false are read as such.

    Raises:
        ConfigError: A part of it is not key=value.

    Example:
        >>> read_scope('workspace_id=acme, team=7, code="7"')
        {'workspace_id': 'acme', 'team': 7, 'code': '7'}
    """
    scope = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, sign, value = (piece.strip() for piece in part.partition("="))
        if not sign or not key:
            raise ConfigError(f"a scope is key=value by commas, got {part!r}")
        scope[key] = _value(value)
    return scope


def _value(text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, (str, int, float)) else text
