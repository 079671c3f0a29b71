"""Assemble: the pure half of the engine. The same candidates, request and parts give the same bytes.

No store, no clock, no network: the inspector's sliders, replay and tuning call this on stored candidates.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate, Decision, Ranked, Reason, Status, Verdict
from langchain_context_engine.pipeline.dedupe import DedupeRule, dedupe
from langchain_context_engine.pipeline.ledger import settle
from langchain_context_engine.pipeline.pack import Packing, pack
from langchain_context_engine.pipeline.rank import rank
from langchain_context_engine.pipeline.render import render
from langchain_context_engine.pipeline.thresholds import Threshold, above_thresholds
from langchain_context_engine.ranking.answerability import Answerability, answerability
from langchain_context_engine.ranking.fusion import Fusion
from langchain_context_engine.ranking.signals import Signal
from langchain_context_engine.rendering.templates import Template
from langchain_context_engine.telemetry.instruments import stage_span
from langchain_context_engine.trace.context import Context

ROOM_REASONS = frozenset(
    {
        Reason.CUT,
        Reason.EXTRACTED,
        Reason.COMPACTED,
        Reason.OVER_BUDGET,
        Reason.OVER_SHARE,
        Reason.OVER_ITEM_CAP,
    }
)
"""Reasons that mean the budget made a difference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Settings, resolved: the parts that do the work from rank to render."""

    signals: Mapping[str, Signal]
    weights: Mapping[str, float] | None
    fusion: Fusion
    min_score: float | None
    thresholds: Mapping[str, Threshold]
    dedupe_threshold: float
    dedupe_rules: Sequence[DedupeRule]
    dedupe_key: str | None
    packing: Packing
    template_of: Callable[[Any], Template]
    doubtful_below: float = 0.0
    unsure_below: float = 0.0
    is_empty_when_doubtful: bool = False
    count_warning: str = ""

    def packing_for(self, request: ContextRequest) -> Packing:
        """Return the packing with the request's own budget, template, question and number of passages.

        Shares are only those of the sources (or kinds) that the request asks for.
        """
        layout, budget = self.packing.layout, self.packing.budget
        asked = request.kinds if layout.group_by == "kind" else request.sources
        shares = {group: share for group, share in budget.shares.items() if asked is None or group in asked}
        tokens = budget.tokens if request.budget is None else request.budget
        shorten = self.packing.shorten
        return replace(
            self.packing,
            shorten=None if shorten is None else shorten.asking(request.query),
            layout=replace(layout, template=self.template_of(request.template), query=request.query),
            budget=replace(budget, tokens=tokens, shares=shares),
            k=request.k,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered:
    """What rank and dedupe leave, best first."""

    items: tuple[Ranked, ...]
    decisions: tuple[Decision, ...]
    warnings: tuple[str, ...]
    timings: Mapping[str, float]


def order(candidates: Sequence[Candidate], request: ContextRequest, parts: Parts) -> Ordered:
    """Rank and dedupe: what `search` gives."""
    timings: dict[str, float] = {}
    with _timed("rank", timings):
        similar, far, warnings = above_thresholds(candidates, parts.thresholds)
        ranking = rank(similar, request, signals=parts.signals, weights=parts.weights, fusion=parts.fusion)
        kept, low = _above(ranking.items, parts.min_score)
    with _timed("dedupe", timings):
        unique, duplicates = dedupe(
            kept, threshold=parts.dedupe_threshold, rules=parts.dedupe_rules, key=parts.dedupe_key
        )
    return Ordered(
        items=unique,
        decisions=(*far, *ranking.decisions, *low, *duplicates),
        warnings=(*warnings, *ranking.warnings),
        timings=timings,
    )


def assemble(
    candidates: Sequence[Candidate], request: ContextRequest, parts: Parts, *, ordered: Ordered | None = None
) -> Context:
    """Rank, dedupe, pack and render candidates into a context.

    Args:
        candidates: From collect and expand, in the engine's order.
        request: With `now` filled in.
        parts: Resolved settings.
        ordered: What `order` gave of the same, where it was asked already.
    """
    ordered = ordered or order(candidates, request, parts)
    timings = dict(ordered.timings)
    packing = parts.packing_for(request)
    held = answerability(candidates, request.query) if parts.doubtful_below else Answerability()
    is_doubtful = held.confidence is not None and held.confidence < parts.doubtful_below
    emptied = [_doubted(item) for item in ordered.items if is_doubtful and parts.is_empty_when_doubtful]
    items = () if emptied else ordered.items
    with _timed("pack", timings):
        packed = pack(items, request.query, packing)
    with _timed("render", timings):
        rendered = render(packed.written, layout=packing.layout, count=packing.count)
    reserved = packing.budget.reserve
    over = rendered.tokens - packing.budget.tokens
    warnings = (*ordered.warnings, *packed.warnings)
    if parts.count_warning:
        warnings = (parts.count_warning, *warnings)
    if candidates and (told := held.warning(parts.doubtful_below, parts.unsure_below)):
        warnings = (*warnings, told)
    if reserved and packing.budget.tokens <= reserved:
        whole = packing.budget.tokens
        warnings = (*warnings, f"a budget of {whole} tokens leaves nothing beside the {reserved} kept free")
    if over > 0:
        warnings = (*warnings, f"the soft budget of {packing.budget.tokens} tokens is exceeded by {over}")
    return Context(
        text=rendered.text,
        tokens=rendered.tokens,
        budget=packing.budget.tokens,
        passages=rendered.passages,
        citations=rendered.citations,
        sections=rendered.sections,
        decisions=settle((*ordered.decisions, *emptied, *packed.decisions), rendered.passages),
        warnings=warnings,
        timings=timings,
        status=_status(candidates, is_doubtful=is_doubtful),
        confidence=held.confidence,
        doubt=held.described(),
        is_truncated=any(decision.reason in ROOM_REASONS for decision in packed.decisions),
        request=request,
        candidates=tuple(candidates),
    )


def _status(candidates: Sequence[Candidate], *, is_doubtful: bool) -> Status:
    if not candidates:
        return Status.EMPTY
    return Status.DOUBTFUL if is_doubtful else Status.OK


def _doubted(item: Ranked) -> Decision:
    return Decision(stage="pack", key=item.key, verdict=Verdict.DROPPED, reason=Reason.DOUBTFUL)


def _above(items: tuple[Ranked, ...], min_score: float | None) -> tuple[tuple[Ranked, ...], list[Decision]]:
    if min_score is None:
        return items, []
    low = [
        Decision(
            stage="rank",
            key=item.key,
            verdict=Verdict.DROPPED,
            reason=Reason.BELOW_THRESHOLD,
            details={"score": item.score, "threshold": min_score},
        )
        for item in items
        if item.score < min_score
    ]
    return tuple(item for item in items if item.score >= min_score), low


@contextmanager
def _timed(stage: str, timings: dict[str, float]) -> Iterator[None]:
    """Time a stage in milliseconds, under its own span."""
    start = time.perf_counter()
    with stage_span(stage):
        yield
    timings[stage] = (time.perf_counter() - start) * 1000
