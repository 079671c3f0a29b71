"""Damaged traces: what is told where one reads as a trace and still makes no sense."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from langchain_context_engine.models.errors import ConfigError, ContextEngineError
from langchain_context_engine.models.redact import safe_message
from langchain_context_engine.trace.context import Context

__all__ = ["reading"]


@contextmanager
def reading(context: Context) -> Iterator[None]:
    """Turn whatever a trace makes go wrong into one error.

    Raises:
        ConfigError: The trace is damaged, or a part of one's own failed on it.
    """
    try:
        yield
    except ContextEngineError:
        raise
    except Exception as error:
        msg = (
            f"the trace of {context.request.query[:60]!r} cannot be read: {safe_message(error)}; "
            "it is damaged, or a part of yours failed on it"
        )
        raise ConfigError(msg) from error
