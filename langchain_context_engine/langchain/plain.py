"""Plain JSON for an agent's state or a checkpoint, and one policy where no source could be asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic_core import to_jsonable_python

from langchain_context_engine.errors import AllSourcesFailedError, ConfigError
from langchain_context_engine.models.freeze import UNREADABLE, as_data
from langchain_context_engine.models.types import Passage

__all__ = ["FAILURE", "NOT_ASKED", "check_failure_option", "described", "plain"]

NOT_ASKED = (
    "Nothing is known for this question just now: no source could be asked. "
    "Say so instead of guessing; it may work again in a moment."
)
"""What a model is told where every source failed; the same by tool, middleware and MCP."""

FAILURE = AllSourcesFailedError
"""The one failure that a model may be told of; mistakes of whoever wrote the program are always raised."""


def plain(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata as JSON: dates as ISO text, sets and tuples as lists, models by their fields.

    Numbers that are none are null. What is no data is said by its type, since its `repr` may hold secrets.

    Example:
        >>> from datetime import date
        >>> plain({"at": date(2026, 1, 2), 3: (1, float("nan"))})
        {'at': '2026-01-02', '3': [1, None]}
    """
    return {str(key): _plain(value) for key, value in metadata.items()}


def _plain(value: Any) -> Any:
    try:
        return to_jsonable_python(value, inf_nan_mode="null", fallback=_foreign)
    except (TypeError, ValueError, RecursionError):  # bytes that are no text, what holds itself, …
        return UNREADABLE


def _foreign(value: Any) -> Any:
    data = as_data(value)
    return f"<{type(value).__module__}.{type(value).__qualname__}>" if data is value else data


def described(passage: Passage) -> dict[str, Any]:
    """Return what became of a passage, JSON-ready; its text and metadata apart."""
    source, record_id = passage.key
    return {
        "source": source,
        "id": record_id,
        "citation": passage.citation,
        "score": passage.ranked.score,
        "tokens": passage.tokens,
        "is_truncated": passage.is_truncated,
    }


def check_failure_option(on_failure: str) -> tuple[type[Exception], ...]:
    """Return the failures that a model is told of, rather than their being raised.

    Raises:
        ConfigError: The option is neither `tell` nor `raise`.
    """
    if on_failure not in {"tell", "raise"}:
        msg = f"on_failure must be 'tell' or 'raise', got {on_failure!r}"
        raise ConfigError(msg)
    return (FAILURE,) if on_failure == "tell" else ()
