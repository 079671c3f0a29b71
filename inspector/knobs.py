"""Settings as knobs and back: plain numbers and choices to turn, and what a replay is then given."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from inspector.budget_usage import budget_of, group_of
from langchain_context_engine.models.budget import Budget
from langchain_context_engine.models.types import Verdict
from langchain_context_engine.pipeline.selection import SELECTIONS
from langchain_context_engine.ranking.fusion import Fusion
from langchain_context_engine.ranking.signals import SIGNALS
from langchain_context_engine.rendering.layout import ORDERS
from langchain_context_engine.rendering.templates import TEMPLATES
from langchain_context_engine.text.truncate import TRUNCATORS
from langchain_context_engine.trace.context import Context, reading

Knobs = dict[str, Any]
"""A knob's name → its value, as the widgets and the address have it."""

WEIGHT, SHARE, PART = "w_", "share_", "part_"
UNLIMITED_K = 0
ONLY_EQUAL = 100
FULL = 100
_DEFAULT_WEIGHTS = {"relevance": 1.0}
_PARTS: Mapping[str, float] = asdict(Fusion())


def recorded(context: Context) -> Knobs:
    """Return the knobs as a trace has them.

    `k` 0 is as many as fit, caps of 100 % are no caps, a threshold of 100 is equal texts alone.

    Raises:
        ConfigError: The trace is damaged.
    """
    with reading(context):
        return _recorded(context)


def _recorded(context: Context) -> Knobs:
    settings, request = context.settings, context.request
    budget = budget_of(settings)
    weights = settings.get("weights") or _DEFAULT_WEIGHTS
    threshold = settings.get("dedupe_threshold", 90.0)
    total = sum(weights.values()) or 1.0
    knobs: Knobs = {
        f"{WEIGHT}{name}": round(weights.get(name, 0.0) / total, 2)
        for name in dict.fromkeys((*weights, *SIGNALS))
    }
    fusion = settings.get("fusion") or {}
    knobs |= {f"{PART}{name}": float(fusion.get(name, usual)) for name, usual in _PARTS.items()}
    shares = budget.get("shares") or {}
    groups = dict.fromkeys((*shares, *sorted({group_of(c, settings) for c in context.candidates})))
    knobs |= {f"{SHARE}{group}": float(shares.get(group, 0.0)) for group in groups}
    return knobs | {
        "budget": context.budget,
        "reserve": int(budget.get("reserve") or 0),
        "item_cap": round(FULL * (budget.get("item_cap") or 1.0)),
        "source_cap": round(FULL * (budget.get("source_cap") or 1.0)),
        "k": request.k if request.k is not None else UNLIMITED_K,
        "min_score": round(float(settings.get("min_score") or 0.0), 2),
        "threshold": ONLY_EQUAL if threshold is None else round(threshold),
        "selection": str(settings.get("selection", "adaptive")),
        "order": _name(settings.get("order"), "relevance"),
        "truncator": _name(settings.get("truncator"), "extractive"),
        "template": _name(request.template or settings.get("template"), "placed"),
    }


def choices(knob: str, value: str) -> list[str]:
    """Return what a knob that is a choice can be, what was recorded included."""
    known = {"selection": SELECTIONS, "order": ORDERS, "truncator": TRUNCATORS, "template": TEMPLATES}[knob]
    return list(dict.fromkeys((*known, value)))


def largest_budget(context: Context) -> int:
    """Return where the budget's slider ends: where everything would fit, and twice the budget at least.

    Raises:
        ConfigError: The trace is damaged.
    """
    dropped = (decision for decision in context.decisions if decision.verdict is Verdict.DROPPED)
    with reading(context):
        needed = sum(int(decision.details.get("needed", 0)) for decision in dropped)
    return max(500, 2 * context.budget, -(-(context.tokens + needed) // 100) * 100)


def turned_by(knobs: Knobs, settings: Mapping[str, Any]) -> Knobs:
    """Return the knobs turned to some settings of a replay, as exactly as knobs can be."""
    turned = dict(knobs)
    weights = settings.get("weights")
    if weights:
        most = max(1.0, *weights.values())
        turned |= {name: 0.0 for name in knobs if name.startswith(WEIGHT)}
        turned |= {f"{WEIGHT}{name}": round(weight / most, 4) for name, weight in weights.items()}
    budget = settings.get("budget")
    if isinstance(budget, int):
        turned["budget"] = budget
    elif isinstance(budget, Budget):
        turned |= _turned_by_budget(knobs, budget)
    if "k" in settings:
        turned["k"] = settings["k"] or UNLIMITED_K
    if "dedupe_threshold" in settings:
        # Rounded to where fewer texts are duplicates.
        turned["threshold"] = min(ONLY_EQUAL, math.ceil(settings["dedupe_threshold"] or ONLY_EQUAL))
    if "min_score" in settings:
        turned["min_score"] = math.floor(10_000 * (settings["min_score"] or 0.0)) / 10_000
    return turned


def _turned_by_budget(knobs: Knobs, budget: Budget) -> Knobs:
    caps = {name: round(FULL * (getattr(budget, name) or 1.0)) for name in ("item_cap", "source_cap")}
    shares = {
        name: float(budget.shares.get(name.removeprefix(SHARE), 0.0))
        for name in knobs
        if name.startswith(SHARE)
    }
    return {"budget": budget.tokens, "reserve": budget.reserve, **caps, **shares}


def can_turn_to(context: Context, settings: Mapping[str, Any]) -> bool:
    """Return whether the knobs can be turned to some settings of a replay, all of them."""
    before = recorded(context)
    turned = changes(context, turned_by(before, settings))
    return set(turned) == set(settings)


def changes(context: Context, knobs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings for `replay` that differ from the recorded ones.

    Args:
        context: The trace.
        knobs: All knobs, as turned; one that is missing is as recorded.
    """
    before = recorded(context)
    after = {**before, **{name: value for name, value in knobs.items() if name in before}}
    turned = {name for name in before if after[name] != before[name]}
    changed: dict[str, Any] = {}
    if any(name.startswith(WEIGHT) for name in turned):
        changed["weights"] = {
            name.removeprefix(WEIGHT): value
            for name, value in after.items()
            if name.startswith(WEIGHT) and value > 0
        }
    if any(name.startswith(PART) for name in turned):
        parts = {name: after[f"{PART}{name}"] for name in _PARTS}
        changed["fusion"] = {name: value for name, value in parts.items() if value != _PARTS[name]}
    if any(name.startswith(SHARE) for name in turned) or turned & {"reserve", "item_cap", "source_cap"}:
        changed["budget"] = _changed_budget(context, after, turned)
    elif "budget" in turned:
        changed["budget"] = after["budget"]
    for knob, setting, read in _PLAIN:
        if knob in turned:
            changed[setting] = read(after[knob])
    return changed


_PLAIN: Sequence[tuple[str, str, Callable[[Any], Any]]] = (
    ("k", "k", lambda value: None if value == UNLIMITED_K else value),
    ("min_score", "min_score", lambda value: value or None),
    ("threshold", "dedupe_threshold", lambda value: None if value >= ONLY_EQUAL else float(value)),
    ("selection", "selection", str),
    ("order", "order", str),
    ("truncator", "truncator", str),
    ("template", "template", str),
)


def _changed_budget(context: Context, knobs: Mapping[str, Any], turned: set[str]) -> Budget:
    fields = {**budget_of(context.settings), "tokens": knobs["budget"]}
    for name in ("item_cap", "source_cap"):
        if name in turned:
            fields[name] = None if knobs[name] >= FULL else knobs[name] / FULL
    if "reserve" in turned:
        fields["reserve"] = knobs["reserve"]
    fields["shares"] = {
        name.removeprefix(SHARE): value
        for name, value in knobs.items()
        if name.startswith(SHARE) and value > 0
    }
    return Budget(**fields)


def _name(value: Any, default: str) -> str:
    """Return the name of a part of a trace, which is a name, or a mapping or an object that has one."""
    if value is None or isinstance(value, str):
        return value or default
    name = value.get("name") if isinstance(value, Mapping) else getattr(value, "name", None)
    return str(name or "as recorded")
