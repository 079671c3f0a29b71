"""The custom event `context_assembled`: what became of a question, for callbacks and `astream_events`."""

from __future__ import annotations

from collections import Counter
from typing import Any

from langchain_core.callbacks import adispatch_custom_event, dispatch_custom_event
from langchain_core.callbacks.base import Callbacks

from langchain_context_engine.langchain.plain import described
from langchain_context_engine.models.types import Verdict
from langchain_context_engine.trace.context import Context

EVENT = "context_assembled"


def summarise(context: Context) -> dict[str, Any]:
    """Return the figures of a context as JSON-ready data; `Context.to_dict` is the whole trace.

    Example:
        >>> summarise(Context(text="hello", tokens=1, budget=10))["tokens"]
        1
    """
    dropped = Counter(str(d.reason) for d in context.decisions if d.verdict is Verdict.DROPPED)
    return {
        "status": str(context.status),
        "tokens": context.tokens,
        "budget": context.budget,
        "is_truncated": context.is_truncated,
        "candidates": len(context.candidates),
        "passages": [described(passage) for passage in context.passages],
        "dropped": dict(sorted(dropped.items())),
        "warnings": list(context.warnings),
        "timings": dict(context.timings),
    }


def announce(context: Context, callbacks: Callbacks) -> None:
    """Send the event `context_assembled` to callbacks, as a child of their run."""
    dispatch_custom_event(EVENT, summarise(context), config={"callbacks": callbacks})


async def aannounce(context: Context, callbacks: Callbacks) -> None:
    """Send the event `context_assembled`; as `announce`."""
    await adispatch_custom_event(EVENT, summarise(context), config={"callbacks": callbacks})
