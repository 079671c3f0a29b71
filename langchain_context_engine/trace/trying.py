"""What is tried where one asks what it would take, and how a change that was found is told."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate, Key
from langchain_context_engine.pipeline.rank import rank
from langchain_context_engine.ranking.signals import Signal
from langchain_context_engine.trace.assemble import Parts
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.explain import name

__all__ = ["budgets_tried", "parts_to_try", "round_down", "signals_that_differ", "told_leaving", "told_value"]

_DIFFERS = 1e-9
_ROUND = (1, 2, 5, 10, 20, 25, 50)


def budgets_tried(budget: int, most: int) -> Iterator[int]:
    """Yield the budgets that are tried above one, ascending, some five per cent apart, as round numbers.

    Example:
        >>> from itertools import islice
        >>> list(islice(budgets_tried(2000, 9999), 4))
        [2100, 2200, 2300, 2400]
    """
    tokens = budget
    while tokens < most:
        step = round_down(tokens / 20)
        tokens = (tokens // step + 1) * step
        yield min(tokens, most)


def round_down(number: float) -> int:
    """Return the largest round number that is not above a number; 1 at least.

    Example:
        >>> round_down(0.3), round_down(47), round_down(730)
        (1, 25, 500)
    """
    scale = 1 if number < _ROUND[-1] else 10 ** math.floor(math.log10(number / 10))
    return max((one * scale for one in _ROUND if one * scale <= number), default=1)


def parts_to_try(parts: Parts) -> Parts:
    """Return parts that answer alike, for one trace tried under many weights: what stays is worked out once.

    Args:
        parts: A trace's settings, resolved.
    """
    signals = {name: _asked_once(signal) for name, signal in parts.signals.items()}
    # Whether the question is held in doubt changes no passage, unless a doubtful answer is emptied.
    below = parts.doubtful_below if parts.is_empty_when_doubtful else 0.0
    return replace(parts, signals=signals, doubtful_below=below, unsure_below=0.0)


def _asked_once(signal: Signal) -> Signal:
    given: dict[tuple[Key, ...], Sequence[float]] = {}

    def values(candidates: Sequence[Candidate], request: ContextRequest) -> Sequence[float]:
        keys = tuple(candidate.key for candidate in candidates)
        if keys not in given:
            given[keys] = signal(candidates, request)
        return given[keys]

    return values


def signals_that_differ(context: Context, parts: Parts) -> dict[str, dict[Key, float]]:
    """Return the signals in which some candidates differ, with the value of each candidate.

    A weight on another changes no order. Of several signals that put the candidates into one order
    (recency by several curves), the one that is weighed stands for all, else the first.

    Args:
        context: The trace.
        parts: Its settings, resolved.
    """
    weighed = parts.weights or {"relevance": 1.0}
    names = list(dict.fromkeys((*weighed, *parts.signals)))
    ranking = rank(
        context.candidates,
        context.request,
        signals=parts.signals,
        weights=dict.fromkeys(names, 1 / len(names)),
        fusion=parts.fusion,
    )
    found: dict[str, dict[Key, float]] = {}
    orders = set()
    for signal in names:
        values = {item.key: item.signals[signal] for item in ranking.items}
        order_of = tuple(sorted(values, key=lambda key: (-values[key], key)))
        if values and max(values.values()) - min(values.values()) > _DIFFERS and order_of not in orders:
            orders.add(order_of)
            found[signal] = values
    return found


def told_value(value: Any) -> str:
    """Return a setting's value in words."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {share:g}" for name, share in value.items())
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def told_leaving(leaves: Sequence[Key], context: Context) -> str:
    """Return who would leave in the candidate's place, as the end of a sentence."""
    if not leaves:
        return ""
    others = f" and {len(leaves) - 1} more" if len(leaves) > 1 else ""
    return f"; {name(leaves[0], context)}{others} would leave"
