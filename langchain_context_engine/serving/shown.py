"""What a model is shown of a context: its text and what to know about it, never above its budget."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.verdicts import Status
from langchain_context_engine.ranking.answerability import is_doubt
from langchain_context_engine.text.tokens import resolve_tokenizer
from langchain_context_engine.trace.context import Context

__all__ = ["counter_of", "shown_within", "unknown_kinds"]

_TRIES = 4
_LEAST_FOR_ID = 100
"""Tokens from which on the context's id is told: below, every token is needed for the passages."""

Build = Callable[[ContextRequest], Awaitable[Context]]


async def shown_within(
    build: Build, request: ContextRequest, count: Callable[[str], int], context_id: str
) -> tuple[Context, str]:
    """Return a context and the text that a model is shown of it; together with its notes within the budget.

    Args:
        build: Builds the context of a request.
        request: What is asked; a budget of None is the builder's own.
        count: The token counter.
        context_id: By what the model may name this context later.
    """
    context = await build(request)
    limit = context.budget
    for _ in range(_TRIES):
        text = _shown(context, context_id if limit >= _LEAST_FOR_ID else "")
        over = count(text) - limit
        if over <= 0:
            return context, text
        if not context.text:
            break
        context = await build(replace(request, budget=max(0, context.budget - over)))
    return context, context.text


def _shown(context: Context, context_id: str) -> str:
    named = f"context_id: {context_id}" if context_id and context.text else ""
    return "\n\n".join(filter(None, (_note(context), context.text or "Nothing was found.", named)))


def _note(context: Context) -> str:
    """Return what a model should know before it believes the text; "" where there is nothing to say."""
    if context.status is Status.EMPTY:
        return ""
    if context.status is Status.OK:
        return "".join(f"Note: {warning}" for warning in context.warnings if is_doubt(warning))
    return "Note: " + ("; ".join(context.warnings) or f"this answer is {context.status}.")


async def unknown_kinds(build: Build, request: ContextRequest, asked: Sequence[str]) -> str:
    """Return a sentence that lists the kinds that there are, where none of those asked for was found.

    Known are the kinds of what the same question finds without the choice.

    Args:
        build: Builds the context of a request.
        request: The request as it was bound, without the model's own choice of kinds.
        asked: What the model chose.
    """
    everything = await build(request)
    known = sorted({candidate.kind for candidate in everything.candidates if candidate.kind})
    if not known or set(asked) & set(known):
        return ""
    return f"Nothing of kind {', '.join(asked)} was found; there is: {', '.join(known)}."


def counter_of(engine: Any) -> Callable[[str], int]:
    """Return the token counter of an engine, or the default one of what only builds contexts."""
    config = getattr(engine, "config", None)
    count: Callable[[str], int] = (
        resolve_tokenizer("auto") if config is None else config.parts().packing.count
    )
    return count
