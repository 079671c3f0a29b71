"""Settings of an answer: how they differ from the defaults and from another's, and how they are written."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Iterable, Mapping
from typing import Any

from langchain_context_engine.config import EngineConfig, as_data
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.trace.context import Context

_TOLD_ELSEWHERE = frozenset({"query", "vector", "now", "budget", "limit", "history"})
_NARROWING = (
    "scope", "where", "kinds", "sources", "since", "until", "min_confidence", "conversation_id", "excluded",
    "limit", "offset", "k",
)  # fmt: skip


def deviations(context: Context) -> dict[str, str]:
    """Return what a question and its settings have that is not default: name → value in words.

    The question's own fields come first, then the engine's settings; a budget's shares, reserve and caps are
    told one by one.

    Example:
        >>> deviations(Context(request=ContextRequest(query="why?", k=3)))
        {'k': '3'}
    """
    names = [field.name for field in dataclasses.fields(ContextRequest) if field.name not in _TOLD_ELSEWHERE]
    found, usual = _asked(context.request, names), _defaults()
    settings = {name: value for name, value in context.settings.items() if name not in {"budget", "limit"}}
    for own, default in ((budget_of(context.settings), budget_of(usual)), (settings, usual)):
        for name, value in own.items():
            if name != "tokens" and value != default.get(name):
                found.setdefault(name, _told(value))
    return found


def narrowing(context: Context) -> dict[str, str]:
    """Return what kept records from being candidates, or candidates from the text: name → value in words.

    A source's limit narrowed nothing where nothing was offered, and a budget only where it is 0.
    """
    asked, threshold = _asked(context.request, _NARROWING), context.settings.get("min_score")
    if context.request.limit and not context.candidates and not context.decisions:
        asked.pop("limit", None)
    if context.request.budget == 0:
        asked["budget"] = "0 tokens, so no source was asked"
    return asked if threshold is None else asked | {"min_score": _told(threshold)}


def _asked(request: ContextRequest, names: Iterable[str]) -> dict[str, str]:
    """Return the fields of a request that are given and not default, in words."""
    own = ContextRequest()
    values = {name: getattr(request, name) for name in names}
    return {n: _told(value) for n, value in values.items() if value is not None and value != getattr(own, n)}


def differing(first: Context, other: Context) -> dict[str, tuple[Any, Any]]:
    """Return in what two contexts differ: dotted name of a setting → its value or None in each."""
    was, now = (
        {
            "question": one.request.query,
            "tokens allowed": one.budget,
            "k": one.request.k,
            "limit": one.request.limit,
        }
        | _flat(one.settings)
        for one in (first, other)
    )
    # What the engine has is told by what each was allowed.
    names = [name for name in dict.fromkeys((*was, *now)) if name != "budget.tokens"]
    found = {name: (was.get(name), now.get(name)) for name in names}
    return {name: values for name, values in found.items() if str(values[0]) != str(values[1])}


def _flat(settings: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Return settings within settings by dotted names."""
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        flat |= _flat(value, f"{above}{name}.") if isinstance(value, Mapping) else {f"{above}{name}": value}
    return flat


@functools.cache
def _defaults() -> Mapping[str, Any]:
    return EngineConfig(tokenizer="estimate").described() | {"tokenizer": "auto"}


def budget_of(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the budget's settings of a trace, none where it has none."""
    budget = settings.get("budget")
    return budget if isinstance(budget, Mapping) else {}


def _told(value: Any) -> str:
    if hasattr(value, "strftime"):
        return f"{value:%d %b %Y %H:%M %Z}"
    described = as_data(value)
    if isinstance(described, Mapping):
        return ", ".join(f"{name} {_told(item)}" for name, item in described.items()) or "none"
    if isinstance(described, list):
        return ", ".join(map(_told, described)) or "nothing"
    if isinstance(described, float):
        return f"{described:g}"
    if isinstance(described, int) and not isinstance(described, bool):
        return f"{described:,}"
    return str(described)


def as_json(changed: Mapping[str, Any]) -> str:
    """Return changed settings, as `replay` takes them, as JSON that `read_settings` reads."""
    data = {name: as_data(value) for name, value in changed.items() if name != "k"}
    # That is the question's.
    data |= {"request": {"k": changed["k"]}} if "k" in changed else {}
    return json.dumps(data, indent=1, ensure_ascii=False)
