"""What would it take: changes of one setting that let a dropped candidate in, each proved by a replay.

Whether a candidate gets in does not grow with the budget, `k` or a weight: with a little more of it another
text may take the place. So values are tried one after the other, from the present one outwards, and where not
every value in between was tried, a change does not call itself the smallest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from langchain_context_engine.config import Parts
from langchain_context_engine.errors import ConfigError
from langchain_context_engine.models.budget import Budget
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate, Key, Reason, Verdict
from langchain_context_engine.pipeline.rank import rank, scale_weights
from langchain_context_engine.pipeline.thresholds import Threshold
from langchain_context_engine.ranking.signals import Signal
from langchain_context_engine.trace.assemble import assemble, order
from langchain_context_engine.trace.context import Context, reading
from langchain_context_engine.trace.diff import diff
from langchain_context_engine.trace.explain import name
from langchain_context_engine.trace.replay import config_of, replay

_UNREACHABLE = frozenset({Reason.INVALID, Reason.EMPTY, Reason.FILTERED, Reason.EXCLUDED, Reason.OVER_LIMIT})
"""Dropped before ranking: no setting of rank to render brings these back."""

_WEIGHTS_TRIED = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
_LARGEST_BUDGET_FACTOR = 64
_MOST_BUDGETS = 70
_MOST_KS = 60
_FINER = 10
_NEAR, _NEARER = 100, 20
"""Budgets that are tried one by one, for a table of changes and for one sentence."""

_DIFFERS = 1e-9
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
        enters: The other passages that come in with it, in text order.
        is_smallest: Every whole number in between was tried, and none lets the candidate in.
        sentence: The same in words.
    """

    setting: str
    before: Any
    after: Any
    settings: Mapping[str, Any]
    context: Context
    leaves: tuple[Key, ...]
    enters: tuple[Key, ...]
    is_smallest: bool
    sentence: str


def what_would_it_take(context: Context, key: Key, engine: Any = None) -> tuple[Change, ...]:
    """Return single changes that admit a dropped candidate, the first found for each setting that can.

    Nothing for a candidate that is in, and for one that was dropped before ranking: only another question or
    another limit brings that back. Of a plan's trace the budget of the whole prompt is tried.

    Args:
        context: A context, or a trace read back.
        key: The candidate.
        engine: Where parts that were given as functions come from.

    Raises:
        ConfigError: The context has no such candidate, or is damaged.
    """
    with reading(context):
        search = _search(context, key, engine, _NEAR)
        return () if search is None else tuple(search.changes())


def budget_that_admits(context: Context, key: Key) -> Change | None:
    """Return the change of the budget that admits a candidate; None where none is found or provable.

    Quicker than `what_would_it_take`: fewer budgets are tried one by one.
    """
    try:
        with reading(context):
            search = _search(context, key, None, _NEARER)
            return None if search is None else next(search.budget(), None)
    except ConfigError:  # a part of the settings was a function of the caller's: nothing can be proved
        return None


def _search(context: Context, key: Key, engine: Any, near: int) -> _Search | None:
    """Return what tries settings for a candidate; None where none can let it in."""
    decision = context.final_decisions().get(key)
    if decision is None:
        raise ConfigError(f"no candidate {key!r} in this context")
    if decision.verdict is Verdict.KEPT or decision.reason in _UNREACHABLE:
        return None
    return _Search(context, key, engine, near)


class _Search:
    """Tries one setting after the other."""

    def __init__(self, context: Context, key: Key, engine: Any, near: int) -> None:
        self.context = context
        self.key = key
        self.engine = engine
        self.near = near
        self.decision = context.final_decisions()[key]
        self.config = config_of(context, engine)
        self.parts = _parts_to_try(self.config.parts())
        self.of_budget: Budget = replace(self.config.budget, tokens=context.budget)
        # The order is the same for every budget and every k.
        self.ordered = None if context.parts else order(context.candidates, context.request, self.parts)

    def changes(self) -> Iterator[Change]:
        """Try one setting after the other; of a plan's trace the budget of the whole prompt alone."""
        yield from self.budget()
        if self.ordered is None:
            return
        yield from self.k()
        none: Mapping[str, Any] = {"item_cap": None, "source_cap": None, "shares": {}}
        for field, lifted in none.items():
            if before := getattr(self.of_budget, field):
                budget = replace(self.of_budget, **{field: lifted})
                yield from self._change(f"budget.{field}", before, None, {"budget": budget})
        if self.config.diversity is not None:
            yield from self._change("diversity", "a rule", None, {"diversity": None})
        yield from self.threshold()
        yield from self.similar()
        if self.config.min_score and self.decision.reason is Reason.BELOW_THRESHOLD:
            # Rounded down: the number that is printed admits it.
            found = math.floor(1000 * self.decision.details["score"]) / 1000
            yield from self._change("min_score", self.config.min_score, found, {"min_score": found})
        yield from self.weights()

    def _has(self, context: Context) -> bool:
        return any(passage.key == self.key for passage in context.passages)

    def _admits(self, **fields: Any) -> bool:
        """Tell whether other fields of the request let the candidate in, in the order that is known."""
        if self.ordered is None:
            return self._has(replay(self.context, self.engine, **fields))
        request: ContextRequest = replace(self.context.request, **fields)
        return self._has(assemble(self.context.candidates, request, self.parts, ordered=self.ordered))

    def _change(
        self, setting: str, before: Any, after: Any, settings: Mapping[str, Any], *, is_smallest: bool = False
    ) -> Iterator[Change]:
        """Yield the change if a replay proves it."""
        again = replay(self.context, self.engine, **settings)
        if self._has(again):
            changed = diff(self.context, again)
            told = f"{setting} from {_told(before)} to {_told(after)}"
            if setting.startswith("weights."):
                # Weights replace the present ones: one alone would drop the others.
                told += f" ({' '.join(f'--weight {n}={w:g}' for n, w in settings['weights'].items())})"
            told += _leaving(changed.left, self.context)
            yield Change(
                setting=setting,
                before=before,
                after=after,
                settings=settings,
                context=again,
                leaves=changed.left,
                enters=tuple(key for key in changed.entered if key != self.key),
                is_smallest=is_smallest,
                sentence=told,
            )

    def budget(self) -> Iterator[Change]:
        """Find a budget, and a smaller one below that as long as one is found."""
        now = self.context.budget
        most = max(64, now * _LARGEST_BUDGET_FACTOR)
        if self.decision.is_duplicate or not self._admits(budget=most):
            return
        fails = now
        for tokens in islice(_budgets_tried(now, most), _MOST_BUDGETS):
            if self._admits(budget=tokens):
                break
            fails = tokens
        else:
            return
        while tokens - fails > 1:
            middle = (fails + tokens) // 2
            fails, tokens = (fails, middle) if self._admits(budget=middle) else (middle, tokens)
        first = next(
            (b for b in range(now + 1, min(tokens, now + self.near)) if self._admits(budget=b)), tokens
        )
        yield from self._change("budget", now, first, {"budget": first}, is_smallest=first <= now + self.near)

    def k(self) -> Iterator[Change]:
        """Count up."""
        k = self.context.request.k
        if k is not None:
            tried = range(k + 1, min(len(self.context.candidates), k + _MOST_KS) + 1)
            needed = next((n for n in tried if self._admits(k=n)), None)
            if needed is not None:
                yield from self._change("k", k, needed, {"k": needed}, is_smallest=True)

    def threshold(self) -> Iterator[Change]:
        """Ask more of texts that are to be one."""
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

    def similar(self) -> Iterator[Change]:
        """Lower the threshold of the source whose best is too far above the candidate."""
        found = self.decision.details
        source = str(found.get("source"))
        if source not in self.config.thresholds or not found.get("best"):
            return
        now = self.config.thresholds[source]
        share = min(now.of_best, math.floor(100 * found["score"] / found["best"]) / 100)
        after = Threshold(of_best=share, least=min(now.least, math.floor(100 * found["score"]) / 100))
        settings = {"thresholds": {**self.config.thresholds, source: after}}
        yield from self._change(f"thresholds.{source}", now.of_best, after.of_best, settings)

    def weights(self) -> Iterator[Change]:
        """Vary one weight at a time, beside the others as they are."""
        now = dict(self.config.weights or {"relevance": 1.0})
        latest = self.config.weights is None and any(
            "latest" in passage.ranked.contributions for passage in self.context.passages
        )
        if latest:
            # Any weights replace those that such a question is given: where this is enough, all are.
            alone = tuple(self._change("weights", _LATEST, "relevance alone", {"weights": now}))
            if alone:
                yield from alone
                return
        for signal in signals_that_differ(self.context, self.parts):
            before = float(now.get(signal, 0.0))
            after = self._nearest_weight(now, signal, before)
            if after is not None:
                weights = {**now, signal: after}
                settings = {"weights": weights}
                if latest:
                    yield from self._change("weights", _LATEST, _told(weights), settings)
                else:
                    yield from self._change(f"weights.{signal}", before, after, settings)

    def _nearest_weight(self, now: Mapping[str, float], signal: str, before: float) -> float | None:
        """Return the weight nearest to the present one, of those tried, that admits."""

        def admits(weight: float) -> bool:
            changed = {**now, signal: weight}
            if not any(changed.values()):
                return False
            parts = replace(self.parts, weights=scale_weights(changed, self.parts.signals.__getitem__))
            return self._has(assemble(self.context.candidates, self.context.request, parts))

        others = sorted(set(_WEIGHTS_TRIED) - {before}, key=lambda weight: (abs(weight - before), weight))
        found = next(filter(admits, others), None)
        if found is None:
            return None
        steps = (round(before + (found - before) * i / _FINER, 2) for i in range(1, _FINER))
        nearer = (weight for weight in dict.fromkeys(steps) if weight not in {before, found})
        return next(filter(admits, nearer), found)


def _budgets_tried(budget: int, most: int) -> Iterator[int]:
    """Yield the budgets that are tried above one, ascending, some six per cent apart."""
    while budget < most:
        budget = min(most, budget + budget // 16 + 1)
        yield budget


def _parts_to_try(parts: Parts) -> Parts:
    """Return parts that answer alike, for one trace tried many times: each signal is worked out once."""
    signals = {signal: _asked_once(one) for signal, one in parts.signals.items()}
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


def signals_that_differ(context: Context, parts: Parts) -> tuple[str, ...]:
    """Return the signals in which some candidates differ: a weight on another changes no order.

    Of several signals that put the candidates into one order (recency by several curves), the one that is
    weighed stands for all, else the first.
    """
    names = list(dict.fromkeys((*(parts.weights or {"relevance": 1.0}), *parts.signals)))
    weights = dict.fromkeys(names, 1 / len(names))
    ranked = rank(
        context.candidates, context.request, signals=parts.signals, weights=weights, fusion=parts.fusion
    ).items
    found: dict[tuple[Key, ...], str] = {}
    for signal in names:
        values = {item.key: item.signals[signal] for item in ranked}
        if values and max(values.values()) - min(values.values()) > _DIFFERS:
            found.setdefault(tuple(sorted(values, key=lambda key: (-values[key], key))), signal)
    return tuple(found.values())


def _told(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {share:g}" for name, share in value.items())
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _leaving(leaves: Sequence[Key], context: Context) -> str:
    """Return who would leave in the candidate's place, as the end of a sentence."""
    if not leaves:
        return ""
    others = f" and {len(leaves) - 1} more" if len(leaves) > 1 else ""
    return f"; {name(leaves[0], context)}{others} would leave"
