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
    found = {name: _told(value) for name, value in _asked(context.request, names).items()}
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
    asked = {name: _told(value) for name, value in _asked(context.request, _NARROWING).items()}
    if context.request.limit and not context.candidates and not context.decisions:
        asked.pop("limit", None)
    if context.request.budget == 0:
        asked["budget"] = "0 tokens, so no source was asked"
    threshold = context.settings.get("min_score")
    return asked if threshold is None else asked | {"min_score": _told(threshold)}


def _asked(request: ContextRequest, names: Iterable[str]) -> dict[str, Any]:
    """Return the fields of a request that are given and not default."""
    own = ContextRequest()
    values = {name: getattr(request, name) for name in names}
    return {
        name: value for name, value in values.items() if value is not None and value != getattr(own, name)
    }


def differing(contexts: Mapping[str, Context]) -> dict[str, dict[str, Any]]:
    """Return in what some contexts differ, question or settings: dotted name → context → its value.

    A setting that one does not have is None.

    Example:
        >>> asked = {"a": Context(request=ContextRequest(k=3)), "b": Context(request=ContextRequest(k=4))}
        >>> differing(asked)
        {'k': {'a': 3, 'b': 4}}
    """
    described = {}
    for name, context in contexts.items():
        asked = {"question": context.request.query, "tokens allowed": context.budget, "k": context.request.k}
        described[name] = {**asked, "limit": context.request.limit, **_flat(context.settings)}
    settings = dict.fromkeys(setting for values in described.values() for setting in values)
    found = {one: {name: values.get(one) for name, values in described.items()} for one in settings}
    if found.get("budget.tokens") == found["tokens allowed"]:
        # The engine's own budget is what each was allowed: said once.
        del found["budget.tokens"]
    return {one: values for one, values in found.items() if len(set(map(str, values.values()))) > 1}


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


def as_json(changed: Mapping[str, Any]) -> str:
    """Return changed settings, as `replay` takes them, as JSON that `read_settings` reads."""
    data = {name: as_data(value) for name, value in changed.items() if name != "k"}
    # That is the question's.
    data |= {"request": {"k": changed["k"]}} if "k" in changed else {}
    return json.dumps(data, indent=1, ensure_ascii=False)
