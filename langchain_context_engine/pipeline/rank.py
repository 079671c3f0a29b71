"""Rank: signals × weights, best first."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.models.freeze import quoted
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate, Decision, Ranked, Reason, Verdict
from langchain_context_engine.ranking.fusion import Fused, Fusion, fuse
from langchain_context_engine.ranking.recency import in_time_order, newest_of
from langchain_context_engine.ranking.signals import Signal, clamp, read_number, reranked

RERANK_WEIGHT = 1.0
"""Weight of what a reranker said, where one was asked, beside a relevance of weight 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Ranked candidates, best first, with what was noticed."""

    items: tuple[Ranked, ...]
    decisions: tuple[Decision, ...] = ()
    warnings: tuple[str, ...] = ()


def rank(
    candidates: Sequence[Candidate],
    request: ContextRequest,
    *,
    signals: Mapping[str, Signal],
    weights: Mapping[str, float] | None = None,
    fusion: Fusion | None = None,
) -> Ranking:
    """Return the candidates weighed and sorted, best first.

    Candidates come in the engine's order (the source's place, then the source's own order), and equal
    scores keep it.

    Args:
        candidates: From collect and expand.
        request: The question; `now` counts as now.
        signals: Signals by name; every weighed name must be here.
        weights: Name → weight, summing to 1. None: relevance alone, and recency beside it
            where the question asks for the latest of something.
        fusion: How search legs are fused into relevance.
    """
    fusion = fusion or Fusion()
    fused = fuse(candidates, fusion, request.query)
    relevance = [f.relevance for f in fused]
    warnings: list[str] = []
    if weights is None:
        weights, raw = _default_signals(candidates, request, relevance)
    else:
        raw = {
            name: relevance
            if name == "relevance"
            else _checked(name, signals[name], candidates, request, warnings)
            for name in weights
        }
    items = [
        Ranked(
            candidate=candidate,
            signals={**fused[i].parts, **{name: values[i] for name, values in raw.items()}},
            contributions={name: weight * raw[name][i] for name, weight in weights.items()},
        )
        for i, candidate in enumerate(candidates)
    ]
    items.sort(key=lambda item: -item.score)
    warnings += _doubts(candidates, weights)
    return Ranking(items=tuple(items), decisions=_boosts(candidates, fused, raw), warnings=tuple(warnings))


def _default_signals(
    candidates: Sequence[Candidate], request: ContextRequest, relevance: Sequence[float]
) -> tuple[dict[str, float], dict[str, Sequence[float]]]:
    weights: dict[str, float] = {"relevance": 1.0}
    raw: dict[str, Sequence[float]] = {"relevance": relevance}
    if any("rerank" in candidate.claims for candidate in candidates):
        weights["rerank"], raw["rerank"] = RERANK_WEIGHT, reranked(candidates, request)
    newest = newest_of(request.query)
    if newest is not None and any(values := in_time_order(candidates, newest)):
        weights["latest"], raw["latest"] = newest.weight, values
    total = math.fsum(weights.values())
    return {name: own / total for name, own in weights.items()}, raw


def _checked(
    name: str,
    signal: Signal,
    candidates: Sequence[Candidate],
    request: ContextRequest,
    warnings: list[str],
) -> list[float]:
    """Return a signal's values, each a number in 0–1; what is not is clamped or 0, with one warning."""
    given = signal(candidates, request)
    try:
        values = list(given)
    except TypeError:
        warnings.append(
            f"signal {name!r} gave {type(given).__name__}, expected one number for each candidate;"
            " it counts as 0"
        )
        return [0.0] * len(candidates)
    if len(values) != len(candidates):
        warnings.append(
            f"signal {name!r} gave {len(values)} values for {len(candidates)} candidates; it counts as 0"
        )
        return [0.0] * len(candidates)
    if all(isinstance(v, (int, float)) and 0 <= v <= 1 for v in values):
        return [float(v) for v in values]
    warnings.append(f"signal {name!r} gave values outside 0–1; they were clamped")
    return [clamp(number) if (number := read_number(v)) is not None else 0.0 for v in values]


def _doubts(candidates: Sequence[Candidate], weights: Mapping[str, float]) -> list[str]:
    """Return warnings about dates and confidences that could not be taken as they are."""
    warnings = []
    undated = sum(c.created_at is None for c in candidates)
    if undated and any(weight and name.startswith("recency") for name, weight in weights.items()):
        warnings.append(
            f"{undated} of {len(candidates)} candidates have no readable date; their recency is 0.5"
        )
    # Code has no date of its own; one that is given says when, to a person at least.
    unread = sum(c.created_at is None and bool(c.metadata.get("created_at")) for c in candidates)
    if unread and "latest" in weights:
        warnings.append(
            f"{unread} of {len(candidates)} candidates have no readable date; they have no place in time"
        )
    stated = (read_number(c.metadata.get("confidence")) for c in candidates)
    outside = sum(value is not None and not 0 <= value <= 1 for value in stated)
    if outside:
        warnings.append(
            f"{outside} of {len(candidates)} candidates state a confidence outside 0–1; it was clamped"
        )
    return warnings


def _boosts(
    candidates: Sequence[Candidate], fused: Sequence[Fused], raw: Mapping[str, Sequence[float]]
) -> tuple[Decision, ...]:
    newest = raw.get("latest")
    decisions = []

    def note(candidate: Candidate, reason: Reason, **details: object) -> None:
        decisions.append(
            Decision(stage="rank", key=candidate.key, verdict=Verdict.CHANGED, reason=reason, details=details)
        )

    for i, (candidate, parts) in enumerate(zip(candidates, fused, strict=True)):
        for part, lender in parts.lenders.items():
            reason = Reason.NEIGHBOUR if part == "neighbour" else Reason.LINKED
            note(candidate, reason, other=lender, relevance=parts.parts[part])
        if newest and newest[i]:
            note(candidate, Reason.LATEST, value=newest[i])
    return tuple(decisions)


def scale_weights(weights: Mapping[str, float], known: Callable[[str], object]) -> dict[str, float]:
    """Return the weights scaled to sum to 1.

    Args:
        weights: Name → weight.
        known: Called with each name; raises for an unknown one.

    Raises:
        ConfigError: A weight is negative, not finite or not a number, or all are 0.

    Example:
        >>> scale_weights({"relevance": 3, "recency": 1}, str)
        {'relevance': 0.75, 'recency': 0.25}
    """
    for name, weight in weights.items():
        known(name)
        is_number = isinstance(weight, (int, float)) and not isinstance(weight, bool)
        # A whole number may be too large for a float, and too long to be written.
        if not is_number or not 0 <= weight <= sys.float_info.max:
            raise ConfigError(f"weights: {name!r} must be a finite number of 0 or more, got {quoted(weight)}")
    largest = max(weights.values(), default=0)
    if not largest:
        raise ConfigError("weights: at least one must be above 0")
    # By the largest first: the sum of very large ones would be infinite, of very small ones inexact.
    parts = {name: weight / largest for name, weight in weights.items()}
    total = math.fsum(parts.values())
    return {name: part / total for name, part in parts.items()}
