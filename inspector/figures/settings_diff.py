"""How a question and its settings differ from the defaults, from another answer's, and what narrowed them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import fields
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
    own = ContextRequest()
    asked = {
        field.name: getattr(context.request, field.name)
        for field in fields(ContextRequest)
        if field.name not in _TOLD_ELSEWHERE
        and getattr(context.request, field.name) != getattr(own, field.name)
    }
    found = {name: _told(value) for name, value in asked.items()}
    usual = _defaults()
    for name, value in context.settings.items():
        before = usual.get(name)
        if name == "budget" and isinstance(value, Mapping) and isinstance(before, Mapping):
            changed = {part: v for part, v in value.items() if part != "tokens" and v != before.get(part)}
            found |= {part: _told(v) for part, v in changed.items()}
        elif name not in {"budget", "limit"} and value != before:
            found.setdefault(name, _told(value))
    return found


def narrowing(context: Context) -> dict[str, str]:
    """Return what kept records from being candidates, or candidates from the text: name → value in words.

    A source's limit narrowed nothing where nothing was offered, and a budget only where it is 0.

    Example:
        >>> narrowing(Context(request=ContextRequest(scope={"user": "ann"}), settings={"min_score": 0.5}))
        {'scope': 'user ann', 'min_score': '0.5'}
    """
    own = ContextRequest()
    asked = {
        name: _told(value)
        for name in _NARROWING
        if (value := getattr(context.request, name)) is not None and value != getattr(own, name)
    }
    if context.request.limit and not context.candidates and not context.decisions:
        asked.pop("limit", None)
    if context.request.budget == 0:
        asked["budget"] = "0 tokens, so no source was asked"
    thresholds = {name: context.settings.get(name) for name in ("min_score",)}
    return asked | {name: _told(value) for name, value in thresholds.items() if value is not None}


def differing(contexts: Mapping[str, Context]) -> dict[str, dict[str, Any]]:
    """Return in what some contexts differ, question or settings: dotted name → context → its value.

    A setting that one does not have is None.

    Example:
        >>> asked = {"a": Context(request=ContextRequest(k=3)), "b": Context(request=ContextRequest(k=4))}
        >>> differing(asked)
        {'k': {'a': 3, 'b': 4}}
    """
    described = {name: _described(context) for name, context in contexts.items()}
    settings = dict.fromkeys(setting for values in described.values() for setting in values)
    found = {one: {name: values.get(one) for name, values in described.items()} for one in settings}
    if found.get("budget.tokens") == found["tokens allowed"]:
        # The engine's own budget is what each was allowed: said once.
        del found["budget.tokens"]
    return {one: values for one, values in found.items() if len(set(map(str, values.values()))) > 1}


def _described(context: Context) -> dict[str, Any]:
    request = context.request
    asked = {
        "question": request.query,
        "tokens allowed": context.budget,
        "k": request.k,
        "limit": request.limit,
    }
    return {**asked, **_flat(context.settings)}


def _flat(settings: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Return settings within settings by dotted names."""
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        flat |= _flat(value, f"{above}{name}.") if isinstance(value, Mapping) else {f"{above}{name}": value}
    return flat


@functools.cache
def _defaults() -> Mapping[str, Any]:
    return EngineConfig(tokenizer="estimate").described() | {"tokenizer": "auto"}


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
