"""What a LangChain call may ask of an engine: options narrow what was bound before, and never widen it."""

from __future__ import annotations

import difflib
import pickle
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from typing import Any, Protocol, runtime_checkable

from langchain_context_engine.errors import ConfigError, ScopeError
from langchain_context_engine.models.types import ContextRequest
from langchain_context_engine.trace.context import Context

REQUEST_FIELDS = tuple(field.name for field in fields(ContextRequest) if field.name != "query")
ALIASES = {"token_budget": "budget"}


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

    Raises:
        TypeError: An option is no request field, or is given under both its names.

    Example:
        >>> check_options({"token_budget": 50, "k": None})
        {'budget': 50}
    """
    known: dict[str, Any] = {}
    for name, value in options.items():
        field = ALIASES.get(name, name)
        if field not in REQUEST_FIELDS:
            nearest = difflib.get_close_matches(name, REQUEST_FIELDS, n=1, cutoff=0.5)
            hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
            msg = f"unknown option {name!r}.{hint} Known: {', '.join(REQUEST_FIELDS)}."
            raise TypeError(msg)
        if field in known:
            msg = f"{field!r} is given twice, as {field!r} and as {name!r}"
            raise TypeError(msg)
        if value is not None:
            known[field] = value
    return known


def narrowed(bound: ContextRequest, options: Mapping[str, Any]) -> ContextRequest:
    """Return the bound request with a call's options on top.

    What isolates or filters only becomes narrower: scopes join, `where` filters must both hold, `kinds`
    and `sources` are the common ones, `since`, `until` and `min_confidence` the stricter, `excluded` all.
    Any other option replaces what was bound.

    Raises:
        ScopeError: An option would move a bound scope to another value.
        ConfigError: A value is wrong.

    Example:
        >>> bound = ContextRequest(scope={"tenant": "acme"}, kinds=("memory", "code"), budget=2000)
        >>> request = narrowed(bound, {"scope": {"user": "u1"}, "kinds": ("code",), "budget": 50})
        >>> request.scope, request.kinds, request.budget
        ({'tenant': 'acme', 'user': 'u1'}, ('code',), 50)
    """
    asked = ContextRequest(**options)
    return replace(
        bound, **{name: _joined(name, getattr(bound, name), getattr(asked, name)) for name in options}
    )


def asked_fields(request: ContextRequest) -> dict[str, Any]:
    """Return the fields of a request that differ from the defaults, the query included.

    Example:
        >>> asked_fields(ContextRequest(query="why?", k=0))
        {'query': 'why?', 'k': 0}
    """
    blank = ContextRequest()
    values = {field.name: getattr(request, field.name) for field in fields(request)}
    return {name: value for name, value in values.items() if value != getattr(blank, name)}


def refuse_pickling(engine: object, what: str) -> None:
    """Raise a clear error where an engine's live clients cannot be pickled.

    Raises:
        ConfigError: The engine cannot be pickled.
    """
    try:
        pickle.dumps(engine)
    except Exception as error:  # noqa: BLE001 - clients fail to pickle in many ways
        msg = (
            f"{what} cannot be pickled: its engine holds live objects ({type(error).__name__}), "
            "such as a store's client; build the engine anew where it is needed"
        )
        raise ConfigError(msg) from None


def _joined(name: str, bound: Any, asked: Any) -> Any:
    rule = _RULES.get(name)
    return asked if rule is None or bound is None else rule(bound, asked)


def _both_scopes(bound: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    for key in bound.keys() & asked.keys():
        allowed = _alternatives(bound[key])
        if not all(value in allowed for value in _alternatives(asked[key])):
            msg = f"scope {key!r} was bound to another value, which a call cannot change"
            raise ScopeError(msg)
    return {**bound, **asked}


def _alternatives(value: Any) -> list[tuple[type, Any]]:
    # With their types, since scopes are compared so: 0 is not False.
    values: Iterable[Any] = value if isinstance(value, (list, tuple, set, frozenset)) else (value,)
    return [(type(v), v) for v in values]


def _both_filters(bound: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    given = [dict(where) for where in (bound, asked) if where]
    return {"$and": given} if len(given) > 1 else (given[0] if given else {})


def _common(bound: tuple[str, ...], asked: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in bound if name in asked)


_RULES: Mapping[str, Callable[[Any, Any], Any]] = {
    "scope": _both_scopes,
    "where": _both_filters,
    "kinds": _common,
    "sources": _common,
    "since": max,
    "until": min,
    "min_confidence": max,
    "excluded": lambda bound, asked: (*bound, *asked),
}
