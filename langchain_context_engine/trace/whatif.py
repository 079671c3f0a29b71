"""What would it take: changes of one setting that let a dropped candidate in, each proved by a replay.

Whether a candidate gets in does not grow with the budget, `k` or a weight: with a little more of it another
text may take the place. So the values are tried one after the other, from the present one outwards, and
nothing is bisected; where not every value in between was tried, a change does not call itself the smallest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from langchain_context_engine.models.budget import Budget
from langchain_context_engine.models.errors import ConfigError
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Key, Reason, Verdict
from langchain_context_engine.pipeline.rank import scale_weights
from langchain_context_engine.pipeline.thresholds import Threshold
from langchain_context_engine.trace.assemble import assemble, order
from langchain_context_engine.trace.config import EngineConfig
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.damage import reading
from langchain_context_engine.trace.explain import final_decisions
from langchain_context_engine.trace.traces import diff, replay
from langchain_context_engine.trace.trying import (
    budgets_tried,
    parts_to_try,
    round_down,
    signals_that_differ,
    told_leaving,
    told_value,
)

__all__ = ["Change", "what_would_it_take"]

_UNREACHABLE = frozenset({Reason.INVALID, Reason.EMPTY, Reason.FILTERED, Reason.EXCLUDED, Reason.OVER_LIMIT})
"""Dropped before ranking: no setting of rank to render brings these back."""

_WEIGHTS_TRIED = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
_LARGEST_BUDGET_FACTOR = 64
_MOST_BUDGETS = 70
_MOST_KS = 60
_FINER = 10
_NEAR = 64
_LATEST = "those that prefer the latest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of one setting that was seen to let the candidate in.

    Attributes:
        setting: `budget`, `k`, `dedupe_threshold`, `thresholds.<source>`, `min_score`, `diversity`,
            `budget.item_cap`, `budget.source_cap`, `budget.shares`, `weights.<signal>`,
            or `weights` where the question was given those that prefer the latest.
        before: What it is.
        after: What it would be.
        settings: The changed settings, for `replay` or `ContextEngine.with_settings`.
        context: The context that the change gives.
        leaves: The passages that leave in its place, in text order.
        is_smallest: Every whole number in between was tried, and none lets the candidate in.
        sentence: The same in words.
    """

    setting: str
    before: Any
    after: Any
    settings: Mapping[str, Any]
    context: Context
    leaves: tuple[Key, ...]
    is_smallest: bool
    sentence: str


def what_would_it_take(context: Context, key: Key, engine: Any = None) -> tuple[Change, ...]:
    """Return single changes that admit a dropped candidate, the first found for each setting that can.

    Each was proved by a replay. None are returned for a candidate that is in, or that was dropped before
    ranking: only another question or another limit brings that back.

    Args:
        context: A context, or a trace read back.
        key: The candidate.
        engine: Where parts that were given as functions come from.

    Raises:
        ConfigError: The context has no such candidate, or is damaged.
    """
    decision = final_decisions(context).get(key)
    if decision is None:
        raise ConfigError(f"no candidate {key!r} in this context")
    if decision.verdict is Verdict.KEPT or decision.reason in _UNREACHABLE:
        return ()
    with reading(context):
        return tuple(_Search(context, key, engine).run())


class _Search:
    """Tries one setting after the other."""

    def __init__(self, context: Context, key: Key, engine: Any) -> None:
        self.context = context
        self.key = key
        self.engine = engine
        self.decision = final_decisions(context)[key]
        self.config = EngineConfig.read(context.settings, None if engine is None else engine.config)
        self.parts = parts_to_try(self.config.parts())
        self.budget: Budget = replace(self.config.budget, tokens=context.budget)
        # The order is the same for every budget and every k.
        self.ordered = order(context.candidates, context.request, self.parts)

    def run(self) -> Iterator[Change]:
        for attempt in (
            self._budget, self._k, self._caps, self._diversity, self._threshold, self._similar,
            self._min_score, self._weights,
        ):  # fmt: skip
            yield from attempt()

    def _has(self, context: Context) -> bool:
        return any(passage.key == self.key for passage in context.passages)

    def _built(self, **fields: Any) -> Context:
        """Return what other fields of the request give, in the order that is known."""
        request: ContextRequest = replace(self.context.request, **fields)
        return assemble(self.context.candidates, request, self.parts, ordered=self.ordered)

    def _change(
        self, setting: str, before: Any, after: Any, settings: Mapping[str, Any], *, is_smallest: bool = False
    ) -> Iterator[Change]:
        """Yield the change if a replay proves it."""
        again = replay(self.context, self.engine, **settings)
        if self._has(again):
            leaves = diff(self.context, again).left
            others = told_leaving(leaves, self.context)
            told = f"{setting} from {told_value(before)} to {told_value(after)}{others}"
            yield Change(
                setting=setting, before=before, after=after, settings=settings, context=again, leaves=leaves,
                is_smallest=is_smallest, sentence=told,
            )  # fmt: skip

    def _budget(self) -> Iterator[Change]:
        now = self.context.budget
        most = max(64, now * _LARGEST_BUDGET_FACTOR)
        if self.decision.is_duplicate or not self._has(self._built(budget=most)):
            return
        below = now
        for tokens in islice(budgets_tried(now, most), _MOST_BUDGETS):
            if self._has(self._built(budget=tokens)):
                needed, is_smallest = self._finer(now, below, tokens)
                yield from self._change("budget", now, needed, {"budget": needed}, is_smallest=is_smallest)
                return
            below = tokens

    def _finer(self, now: int, below: int, admits: int) -> tuple[int, bool]:
        """Return the first budget found to admit, and whether every one below it was tried.

        Where it is near, each is tried; else those between the last two that were, in finer steps.
        """
        is_near = admits - now <= _NEAR
        step = 1 if is_near else round_down((admits - below) / _FINER)
        first = now + 1 if is_near else (below // step + 1) * step
        tried = range(first, admits, step)
        return next((b for b in tried if self._has(self._built(budget=b))), admits), is_near

    def _k(self) -> Iterator[Change]:
        k = self.context.request.k
        if k is not None:
            tried = range(k + 1, min(len(self.context.candidates), k + _MOST_KS) + 1)
            needed = next((n for n in tried if self._has(self._built(k=n))), None)
            if needed is not None:
                yield from self._change("k", k, needed, {"k": needed}, is_smallest=True)

    def _caps(self) -> Iterator[Change]:
        """Lift one cap, or the shares."""
        for field, lifted in (
            ("item_cap", replace(self.budget, item_cap=None)),
            ("source_cap", replace(self.budget, source_cap=None)),
            ("shares", replace(self.budget, shares={})),
        ):
            if before := getattr(self.budget, field):
                yield from self._change(f"budget.{field}", before, None, {"budget": lifted})

    def _diversity(self) -> Iterator[Change]:
        if self.config.diversity is not None:
            yield from self._change("diversity", "a rule", None, {"diversity": None})

    def _threshold(self) -> Iterator[Change]:
        now, alike = self.config.dedupe_threshold, self.decision.details.get("similarity")
        if now is None or not isinstance(alike, (int, float)):
            return
        tenths = range(max(round(now * 10), math.floor(alike * 10)) + 1, 1001)
        tried = dict.fromkeys((*tenths[:3], *(n for n in tenths if n % 10 == 0)))
        for threshold in (*(n / 10 for n in tried), None):
            found = list(self._change("dedupe_threshold", now, threshold, {"dedupe_threshold": threshold}))
            if found:
                yield from found
                return

    def _similar(self) -> Iterator[Change]:
        """Lower the threshold of the source whose best is too far above the candidate."""
        found = final_decisions(self.context)[self.key].details
        source = str(found.get("source"))
        if source not in self.config.thresholds or not found.get("best"):
            return
        now: Threshold = self.config.thresholds[source]
        share = min(now.of_best, math.floor(100 * found["score"] / found["best"]) / 100)
        after = Threshold(of_best=share, least=min(now.least, math.floor(100 * found["score"]) / 100))
        settings = {"thresholds": {**self.config.thresholds, source: after}}
        yield from self._change(f"thresholds.{source}", now.of_best, after.of_best, settings)

    def _min_score(self) -> Iterator[Change]:
        if self.config.min_score and self.decision.reason is Reason.BELOW_THRESHOLD:
            # Rounded down: the number that is printed admits it.
            found = math.floor(1000 * self.decision.details["score"]) / 1000
            yield from self._change("min_score", self.config.min_score, found, {"min_score": found})

    def _weights(self) -> Iterator[Change]:
        """Vary one weight at a time, beside the others as they are."""
        now = dict(self.config.weights or {"relevance": 1.0})
        prefers_latest = self._prefers_latest()
        if prefers_latest:
            # Any weights replace those that such a question is given: where this is enough, all are.
            alone = tuple(self._change("weights", _LATEST, "relevance alone", {"weights": now}))
            if alone:
                yield from alone
                return
        for signal, values in signals_that_differ(self.context, self.parts).items():
            before = float(now.get(signal, 0.0))
            after = self._first_weight(now, signal, before, self._directions(values))
            if after is None:
                continue
            settings = {"weights": {**now, signal: after}}
            if prefers_latest:
                told = ", ".join(f"{name} {value:g}" for name, value in settings["weights"].items())
                yield from self._change("weights", _LATEST, told, settings)
            else:
                yield from self._change(f"weights.{signal}", before, after, settings)

    def _prefers_latest(self) -> bool:
        """Whether the question asks for the latest of something, and nobody weighed it otherwise."""
        passages = self.context.passages
        return self.config.weights is None and any("latest" in p.ranked.contributions for p in passages)

    def _directions(self, values: Mapping[Key, float]) -> tuple[bool, bool]:
        """Return whether less and whether more of a signal could put the candidate before a passage."""
        kept = [values[passage.key] for passage in self.context.passages if passage.key in values]
        own = values.get(self.key, 0.0)
        return not kept or own < max(kept), not kept or own > min(kept)

    def _first_weight(
        self, now: Mapping[str, float], signal: str, before: float, directions: tuple[bool, bool]
    ) -> float | None:
        """Return the weight nearest to the present one, of those tried, that admits."""
        less, more = directions

        def admits(weight: float) -> bool:
            changed = {**now, signal: weight}
            if not any(changed.values()):
                return False
            parts = replace(self.parts, weights=scale_weights(changed, self.parts.signals.__getitem__))
            return self._has(assemble(self.context.candidates, self.context.request, parts))

        helping = (w for w in _WEIGHTS_TRIED if (less and w < before) or (more and w > before))
        tried = sorted(helping, key=lambda w: abs(w - before))
        found = next((weight for weight in tried if admits(weight)), None)
        if found is None:
            return None
        steps = (round(before + (found - before) * i / _FINER, 2) for i in range(1, _FINER))
        nearer = (weight for weight in dict.fromkeys(steps) if weight not in {before, found})
        return next((weight for weight in nearer if admits(weight)), found)
