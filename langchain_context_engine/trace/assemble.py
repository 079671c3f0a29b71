"""The pure half of the engine, from rank to render: the same candidates, request and parts, the same bytes.

No store, no clock, no network: the inspector's sliders, replay and tuning call this on stored candidates.
"""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import metadata

from langchain_context_engine.config import Parts
from langchain_context_engine.models.budget import Budget
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import (
    Candidate,
    Decision,
    Key,
    Passage,
    Ranked,
    Reason,
    Status,
    Verdict,
)
from langchain_context_engine.pipeline.dedupe import dedupe
from langchain_context_engine.pipeline.pack import pack
from langchain_context_engine.pipeline.rank import rank
from langchain_context_engine.pipeline.render import render
from langchain_context_engine.pipeline.thresholds import above_thresholds, related
from langchain_context_engine.ranking.answerability import Answerability, answerability
from langchain_context_engine.telemetry import stage_span
from langchain_context_engine.trace.context import Context


def settle(decisions: Sequence[Decision], passages: Sequence[Passage]) -> tuple[Decision, ...]:
    """Return the decisions with duplicates told by what became of their winner, and costs filled in.

    A duplicate of a passage in the text stays a duplicate. Where its winner itself fell, the duplicate
    fell for the same reason, and its details say whom it repeats.
    """
    cost = {passage.key: passage.tokens for passage in passages}
    ending: dict[Key, Decision] = {d.key: d for d in decisions if d.verdict is not Verdict.CHANGED}
    return tuple(_settled(decision, ending, cost) for decision in decisions)


def _settled(decision: Decision, ending: dict[Key, Decision], cost: dict[Key, int]) -> Decision:
    if decision.verdict is Verdict.KEPT:
        return replace(decision, details={**decision.details, "tokens": cost[decision.key]})
    if decision.reason is not Reason.DUPLICATE:
        return decision
    winner = decision.details["winner"]
    fate = ending[winner]
    if fate.verdict is Verdict.KEPT:
        return decision
    if fate.reason is Reason.DUPLICATE:
        # How alike they are is said of the one that it was compared with.
        details = {"through": winner, **decision.details, "winner": fate.details["winner"]}
        return replace(decision, details=details)
    details = {**decision.details, **fate.details, "duplicate_of": winner}
    details.pop("winner", None)
    return replace(decision, stage=fate.stage, reason=fate.reason, details=details)


ROOM_REASONS = frozenset(
    {Reason.CUT, Reason.EXTRACTED, Reason.COMPACTED, Reason.OVER_BUDGET, Reason.OVER_SHARE,
     Reason.OVER_ITEM_CAP}
)  # fmt: skip
"""Reasons that mean the budget made a difference."""

_NUMBER = re.compile(r"\[(\d+)\]")
_MOST_TOLD = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered:
    """What rank and dedupe leave, best first, with why others are out.

    `ranked` is every candidate: those that were ranked, best first, then those that were not; () where none
    has anything of the question.
    """

    items: tuple[Ranked, ...]
    ranked: tuple[Candidate, ...]
    decisions: tuple[Decision, ...]
    warnings: tuple[str, ...]
    timings: Mapping[str, float]


def order(candidates: Sequence[Candidate], request: ContextRequest, parts: Parts) -> Ordered:
    """Rank and dedupe: what `search` gives.

    Args:
        candidates: From collect and expand, in the engine's order.
        request: With `now` filled in.
        parts: Resolved settings.
    """
    timings: dict[str, float] = {}
    config = parts.config
    with _timed("rank", timings):
        near, unrelated, told = related(candidates, request, config.thresholds)
        similar, far, warnings = above_thresholds(near, config.thresholds)
        ranking = rank(similar, request, signals=parts.signals, weights=parts.weights, fusion=config.fusion)
        kept, low, least = ranking.items, [], config.min_score
        if least is not None:
            kept = tuple(item for item in ranking.items if item.score >= least)
            below = [item for item in ranking.items if item.score < least]
            low = [
                _dropped("rank", item, Reason.BELOW_THRESHOLD, score=item.score, threshold=least)
                for item in below
            ]
    with _timed("dedupe", timings):
        unique, duplicates = dedupe(
            kept, threshold=config.dedupe_threshold, rules=parts.dedupe_rules, key=config.dedupe_key
        )
    best = {item.key: item.candidate for item in ranking.items}
    return Ordered(
        items=unique,
        ranked=(*best.values(), *(c for c in candidates if c.key not in best)) if near else (),
        decisions=(*unrelated, *far, *ranking.decisions, *low, *duplicates),
        warnings=(*told, *warnings, *ranking.warnings),
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
    packing, config = parts.packing_for(request), parts.config
    held = answerability(ordered.ranked, request.query) if config.doubtful_below else Answerability()
    is_doubtful = held.confidence is not None and held.confidence < config.doubtful_below
    doubted = ordered.items if is_doubtful and config.when_doubtful == "empty" else ()
    emptied = [_dropped("pack", item, Reason.DOUBTFUL) for item in doubted]
    with _timed("pack", timings):
        packed = pack(() if emptied else ordered.items, request.query, packing)
    with _timed("render", timings):
        rendered = render(packed.written, layout=packing.layout, count=packing.count)
    doubt = held.warning(config.doubtful_below, config.unsure_below) if ordered.ranked else ""
    warnings = (parts.count_warning, *ordered.warnings, *packed.warnings, doubt)
    room = _told_of_room(packing.budget, rendered.tokens)
    return Context(
        text=rendered.text,
        tokens=rendered.tokens,
        budget=packing.budget.tokens,
        passages=rendered.passages,
        citations=rendered.citations,
        sections=rendered.sections,
        decisions=settle((*ordered.decisions, *emptied, *packed.decisions), rendered.passages),
        warnings=tuple(filter(None, (*warnings, *room, _skipped(rendered.passages)))),
        timings=timings,
        status=_status(candidates, ordered.decisions, is_doubtful=is_doubtful),
        confidence=held.confidence,
        doubt=held.described(),
        is_truncated=any(decision.reason in ROOM_REASONS for decision in packed.decisions),
        request=request,
        candidates=tuple(candidates),
        made_by=package_version(),
    )


@functools.cache
def package_version() -> str:
    """Return the version of this package; "0" of one that is not installed."""
    try:
        return metadata.version("langchain-context-engine")
    except metadata.PackageNotFoundError:
        return "0"


def _status(candidates: Sequence[Candidate], decisions: Sequence[Decision], *, is_doubtful: bool) -> Status:
    nothing = {Reason.UNRELATED, Reason.BELOW_THRESHOLD}
    if sum(decision.reason in nothing for decision in decisions) == len(candidates):
        return Status.EMPTY
    return Status.DOUBTFUL if is_doubtful else Status.OK


def _told_of_room(budget: Budget, tokens: int) -> Iterator[str]:
    whole, reserved = budget.tokens, budget.reserve
    if reserved and whole <= reserved:
        yield f"a budget of {whole} tokens leaves nothing beside the {reserved} kept free"
    if tokens > whole:
        yield f"the soft budget of {whole} tokens is exceeded by {tokens - whole}"


def _skipped(passages: Sequence[Passage]) -> str:
    """Say which numbers cite nothing: they stand in a text that is shown, where they could be mistaken."""
    numbers = [int(found[1]) for p in passages if (found := _NUMBER.fullmatch(p.citation))]
    skipped = [f"[{number}]" for number in sorted({*range(1, max(numbers, default=0))} - {*numbers})]
    told = ", ".join(skipped[:_MOST_TOLD]) + (" …" if skipped[_MOST_TOLD:] else "")
    return f"no passage is cited as {told}: the texts themselves write that" if skipped else ""


def _dropped(stage: str, item: Ranked, reason: Reason, **details: float) -> Decision:
    return Decision(stage=stage, key=item.key, verdict=Verdict.DROPPED, reason=reason, details=details)


@contextmanager
def _timed(stage: str, timings: dict[str, float]) -> Iterator[None]:
    """Time a stage in milliseconds, under its own span."""
    start = time.perf_counter()
    with stage_span(stage):
        yield
    timings[stage] = (time.perf_counter() - start) * 1000
