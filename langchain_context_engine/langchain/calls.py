"""Calls of the LangChain faces: what one may ask of an engine, and what is told of the answer.

Options narrow what was bound before, and never widen it. What leaves is plain JSON, and the custom event
`context_assembled` tells callbacks and `astream_events` what became of a question.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, Protocol, runtime_checkable

from langchain_core.callbacks import adispatch_custom_event, dispatch_custom_event
from langchain_core.callbacks.base import Callbacks

from langchain_context_engine.errors import (
    AllSourcesFailedError,
    ConfigError,
    ScopeError,
    UnknownNameError,
)
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Passage, Verdict
from langchain_context_engine.trace.context import Context

REQUEST_FIELDS = tuple(field.name for field in fields(ContextRequest) if field.name != "query")
ALIASES = {"token_budget": "budget"}
NOT_ASKED = (
    "Nothing is known for this question just now: no source could be asked. "
    "Say so instead of guessing; it may work again in a moment."
)
"""What a model is told where every source failed; the same by tool, middleware and MCP."""


def text_or(context: Context, nothing: str) -> str:
    """Return a context's text; an empty one says that nothing fits, or `nothing` where nothing was found."""
    return context.text or ("Nothing fits the budget." if context.is_truncated else nothing)


@runtime_checkable
class Builder(Protocol):
    """Anything that builds contexts: a `ContextEngine`."""

    def build(self, query: str | ContextRequest, /) -> Context:
        """Build the context of a question."""
        ...

    async def abuild(self, query: str | ContextRequest, /) -> Context:
        """Build the context of a question."""
        ...


def check_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options under the names of request fields, those that are None left out.

    Args:
        options: Request fields by name; `token_budget` is another name for `budget`.
    """
    known: dict[str, Any] = {}
    for name, value in options.items():
        field = ALIASES.get(name, name)
        if field not in REQUEST_FIELDS:
            raise TypeError(str(UnknownNameError("option", name, REQUEST_FIELDS)))
        if field in known:
            raise TypeError(f"{field!r} is given twice, as {field!r} and as {name!r}")
        if value is not None:
            known[field] = value
    return known


def narrowed(bound: ContextRequest, options: Mapping[str, Any]) -> ContextRequest:
    """Return the bound request with a call's options on top.

    What isolates or filters only becomes narrower: scopes join, `where` filters must both hold, `kinds`
    and `sources` are the common ones, `since`, `until` and `min_confidence` the stricter, `excluded` all.
    Any other option replaces what was bound.
    """
    asked, joined = ContextRequest(**options), {}
    for name in options:
        held, wanted = getattr(bound, name), getattr(asked, name)
        joined[name] = wanted if held is None or name not in _RULES else _RULES[name](held, wanted)
    return replace(bound, **joined)


def asked_fields(request: ContextRequest) -> dict[str, Any]:
    """Return the fields of a request that differ from the defaults, the query included."""
    blank = ContextRequest()
    values = {field.name: getattr(request, field.name) for field in fields(request)}
    return {name: value for name, value in values.items() if value != getattr(blank, name)}


def _both_scopes(bound: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    for key in bound.keys() & asked.keys():
        allowed = _alternatives(bound[key])
        if not all(value in allowed for value in _alternatives(asked[key])):
            raise ScopeError(f"scope {key!r} was bound to another value, which a call cannot change")
    return {**bound, **asked}


def _alternatives(value: Any) -> list[tuple[type, Any]]:
    # With their types, since scopes are compared so: 0 is not False.
    return [(type(v), v) for v in (value if isinstance(value, (list, tuple, set, frozenset)) else (value,))]


_RULES: Mapping[str, Callable[[Any, Any], Any]] = {
    "scope": _both_scopes,
    "where": lambda bound, asked: {"$and": [bound, asked]} if bound and asked else bound or asked,
    "kinds": lambda bound, asked: tuple(name for name in bound if name in asked),
    "sources": lambda bound, asked: tuple(name for name in bound if name in asked),
    "since": max,
    "until": min,
    "min_confidence": max,
    "excluded": lambda bound, asked: (*bound, *asked),
}


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
    """Return the failures that a model is told of: that no source answered, or none.

    Mistakes of whoever wrote the program are always raised.
    """
    if on_failure not in {"tell", "raise"}:
        raise ConfigError(f"on_failure must be 'tell' or 'raise', got {on_failure!r}")
    return (AllSourcesFailedError,) if on_failure == "tell" else ()


def summarise(context: Context) -> dict[str, Any]:
    """Return the figures of a context as JSON-ready data; `Context.to_dict` is the whole trace."""
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
    dispatch_custom_event("context_assembled", summarise(context), config={"callbacks": callbacks})


async def aannounce(context: Context, callbacks: Callbacks) -> None:
    """Send the event `context_assembled`; as `announce`."""
    await adispatch_custom_event("context_assembled", summarise(context), config={"callbacks": callbacks})
