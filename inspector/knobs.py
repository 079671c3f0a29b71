"""Settings of an answer: how they differ from others', as JSON, and as knobs to turn and back."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import Any

from langchain_context_engine.config import EngineConfig, as_data
from langchain_context_engine.models.budget import Budget
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.pipeline.selection import SELECTIONS
from langchain_context_engine.ranking.fusion import Fusion
from langchain_context_engine.ranking.signals import SIGNALS
from langchain_context_engine.rendering.layout import ORDERS
from langchain_context_engine.rendering.templates import TEMPLATES
from langchain_context_engine.text.truncate import TRUNCATORS
from langchain_context_engine.trace.context import Context, reading

_TOLD_ELSEWHERE = frozenset({"query", "vector", "now", "budget", "limit", "history"})


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


def _asked(request: ContextRequest, names: Iterable[str]) -> dict[str, str]:
    """Return the fields of a request that are given and not default, in words."""
    own = ContextRequest()
    values = {name: getattr(request, name) for name in names}
    return {n: _told(value) for n, value in values.items() if value is not None and value != getattr(own, n)}


def own_settings(context: Context) -> dict[str, str]:
    """Return which of the deviations are the engine's: a question that is asked again brings its own."""
    asked = {field.name for field in dataclasses.fields(ContextRequest)}
    return {name: told for name, told in deviations(context).items() if name not in asked}


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


def group_of(candidate: Candidate, settings: Mapping[str, Any]) -> str:
    """Return the group whose share a candidate takes from."""
    return candidate.kind if settings.get("group_by") == "kind" else candidate.origin


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


@functools.cache
def meanings() -> Mapping[str, str]:
    """Return what each signal and each part of relevance measures, by its name, as the package says it."""
    told = {name: (inspect.getdoc(signal) or "").partition("\n")[0] for name, signal in SIGNALS.items()}
    own = re.findall(r"^    (\w+): (.+)$", inspect.getdoc(Fusion) or "", re.MULTILINE)
    return dict(own) | {
        name: text.removeprefix("Return ") + _days(SIGNALS[name]) for name, text in told.items()
    }


def _days(signal: Any) -> str:
    curve = getattr(signal, "curve", "")
    return f" Falls by {curve.replace('_', ' ')}, {signal.days_scale:.3g} days." if curve else ""


Knobs = dict[str, Any]
"""A knob's name → its value, as the widgets and the address have it."""

WEIGHT, SHARE, PART = "w_", "share_", "part_"
UNLIMITED_K = 0
FULL = 100
AS_RECORDED, NONE = "as recorded", "none"
_PARTS: Mapping[str, float] = asdict(Fusion())
_CHOICES: Mapping[str, Any] = {
    "selection": SELECTIONS,
    "order": ORDERS,
    "truncator": TRUNCATORS,
    "template": TEMPLATES,
    "dedupe_rules": (AS_RECORDED, NONE),
    "diversity": (AS_RECORDED, NONE),
}

_SETTINGS: Mapping[str, tuple[str, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "budget": ("budget", int, int),
    "k": ("k", lambda knob: knob or None, lambda value: value or UNLIMITED_K),
    "min_score": (
        "min_score",
        lambda knob: knob or None,
        lambda value: math.floor(10_000 * (value or 0.0)) / 10_000,
    ),
    # Rounded to where fewer texts are duplicates.
    "threshold": (
        "dedupe_threshold",
        lambda knob: None if knob >= FULL else float(knob),
        lambda value: min(FULL, math.ceil(value or FULL)),
    ),
    "dedupe_rules": ("dedupe_rules", lambda _: (), lambda _: NONE),
    "diversity": ("diversity", lambda _: None, lambda _: NONE),
    **{name: (name, str, str) for name in ("selection", "order", "truncator", "template")},
}
"""Knob → the setting of a replay, how that is read off the knob, and the knob off that."""


def recorded(context: Context) -> Knobs:
    """Return the knobs as a trace has them.

    `k` 0 is as many as fit, caps of 100 % are no caps, a threshold of 100 is equal texts alone.

    Raises:
        ConfigError: The trace is damaged.
    """
    with reading(context):
        settings, request = context.settings, context.request
        budget = budget_of(settings)
        weights = settings.get("weights") or {"relevance": 1.0}
        threshold = settings.get("dedupe_threshold", 90.0)
        total = sum(weights.values()) or 1.0
        fusion, shares = settings.get("fusion") or {}, budget.get("shares") or {}
        groups = dict.fromkeys((*shares, *sorted({group_of(c, settings) for c in context.candidates})))
        return {
            **{
                f"{WEIGHT}{name}": round(weights.get(name, 0.0) / total, 2)
                for name in dict.fromkeys((*weights, *SIGNALS))
            },
            **{f"{PART}{name}": float(fusion.get(name, usual)) for name, usual in _PARTS.items()},
            **{f"{SHARE}{group}": float(shares.get(group, 0.0)) for group in groups},
            "budget": context.budget,
            "reserve": int(budget.get("reserve") or 0),
            "item_cap": round(FULL * (budget.get("item_cap") or 1.0)),
            "source_cap": round(FULL * (budget.get("source_cap") or 1.0)),
            "k": request.k if request.k is not None else UNLIMITED_K,
            "min_score": round(float(settings.get("min_score") or 0.0), 2),
            "threshold": FULL if threshold is None else round(threshold),
            "selection": str(settings.get("selection", "adaptive")),
            "order": _name(settings.get("order"), "relevance"),
            "truncator": _name(settings.get("truncator"), "extractive"),
            "template": _name(request.template or settings.get("template"), "placed"),
            **{name: AS_RECORDED for name in ("dedupe_rules", "diversity") if settings.get(name)},
        }


def choices(knob: str, value: str) -> list[str]:
    """Return what a knob that is a choice can be, what was recorded included."""
    return list(dict.fromkeys((*_CHOICES[knob], value)))


def turned_by(knobs: Knobs, settings: Mapping[str, Any]) -> Knobs:
    """Return the knobs turned to some settings of a replay, as exactly as knobs can be."""
    turned = dict(knobs)
    if weights := settings.get("weights"):
        most = max(1.0, *weights.values())
        turned |= {name: 0.0 for name in knobs if name.startswith(WEIGHT)}
        turned |= {f"{WEIGHT}{name}": round(weight / most, 4) for name, weight in weights.items()}
    budget = settings.get("budget")
    if isinstance(budget, Budget):
        turned |= {
            name: float(budget.shares.get(name[len(SHARE) :], 0.0))
            for name in knobs
            if name.startswith(SHARE)
        }
        turned |= {name: round(FULL * (getattr(budget, name) or 1.0)) for name in ("item_cap", "source_cap")}
        turned |= {"budget": budget.tokens, "reserve": budget.reserve}
    for knob, (setting, _, of_setting) in _SETTINGS.items():
        if setting in settings and knob in knobs and not isinstance(settings[setting], Budget):
            turned[knob] = of_setting(settings[setting])
    return turned


def can_turn_to(context: Context, settings: Mapping[str, Any]) -> bool:
    """Return whether the knobs can be turned to some settings of a replay, all of them."""
    before = recorded(context)
    return set(changes(context, turned_by(before, settings))) == set(settings)


def changes(context: Context, knobs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings for `replay` that differ from the recorded ones."""
    before = recorded(context)
    after = {**before, **{name: value for name, value in knobs.items() if name in before}}
    turned = {name for name in before if after[name] != before[name]}

    def above_zero(kind: str) -> dict[str, float]:
        return {name[len(kind) :]: value for name, value in after.items() if name.startswith(kind) and value}

    changed = {_SETTINGS[knob][0]: _SETTINGS[knob][1](after[knob]) for knob in _SETTINGS if knob in turned}
    if any(name.startswith(WEIGHT) for name in turned):
        changed["weights"] = above_zero(WEIGHT)
    if any(name.startswith(PART) for name in turned):
        parts = {name: after[f"{PART}{name}"] for name in _PARTS}
        changed["fusion"] = {name: value for name, value in parts.items() if value != _PARTS[name]}
    caps = turned & {"item_cap", "source_cap"}
    if caps or "reserve" in turned or any(name.startswith(SHARE) for name in turned):
        fields = {**budget_of(context.settings), "tokens": after["budget"], "shares": above_zero(SHARE)}
        fields |= {name: None if after[name] >= FULL else after[name] / FULL for name in caps}
        changed["budget"] = Budget(**(fields | {"reserve": after["reserve"]}))
    return changed


def _name(value: Any, default: str) -> str:
    """Return the name of a part of a trace, which is a name, or a mapping or an object that has one."""
    if value is None or isinstance(value, str):
        return value or default
    name = value.get("name") if isinstance(value, Mapping) else getattr(value, "name", None)
    return str(name or AS_RECORDED)
