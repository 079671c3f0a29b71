"""What would it take: the smallest change of one setting that lets a dropped candidate in, by replay."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from langchain_context_engine.answering.config import EngineConfig
from langchain_context_engine.answering.context import Context
from langchain_context_engine.answering.explain import final_decisions
from langchain_context_engine.answering.traces import replay
from langchain_context_engine.stages.thresholds import Threshold
from langchain_context_engine.values.errors import ConfigError
from langchain_context_engine.values.types import Key, Reason, Verdict

_UNREACHABLE = frozenset({Reason.INVALID, Reason.EMPTY, Reason.FILTERED, Reason.EXCLUDED, Reason.OVER_LIMIT})
"""Dropped before ranking: no setting of rank to render brings these back."""

_WEIGHTS_TRIED = (0.0, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
_SIGNALS_TRIED = ("relevance", "recency", "confidence", "importance", "keyword")
_LARGEST_BUDGET_FACTOR = 64
_WEIGHT_STEP = 0.01
_LATEST = "those that prefer the latest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of one setting that was seen to let the candidate in.

    Attributes:
        setting: `budget`, `k`, `dedupe_threshold`, `thresholds.<source>`, `min_score`, `weights.<signal>`, or
            `weights` where the question was given those that prefer the latest.
        before: What it is.
        after: What it would be.
        settings: The changed settings, for `replay` or `ContextEngine.with_settings`.
        context: The context that the change gives.
        sentence: The same in words.
    """

    setting: str
    before: Any
    after: Any
    settings: Mapping[str, Any]
    context: Context
    sentence: str


def what_would_it_take(context: Context, key: Key, engine: Any = None) -> tuple[Change, ...]:
    """Return the smallest single changes that admit a dropped candidate, one for each setting that can.

    Each was proved by a replay. None are returned for a candidate that is in, or that was dropped before
    ranking: only another question or another limit brings that back.

    Args:
        context: A context, or a trace read back.
        key: The candidate.
        engine: Where parts that were given as functions come from.

    Raises:
        ConfigError: The context has no such candidate.
    """
    decision = final_decisions(context).get(key)
    if decision is None:
        raise ConfigError(f"no candidate {key!r} in this context")
    if decision.verdict is Verdict.KEPT or decision.reason in _UNREACHABLE:
        return ()
    return tuple(_Search(context, key, engine).run())


class _Search:
    """Tries one setting after the other."""

    def __init__(self, context: Context, key: Key, engine: Any) -> None:
        self.context = context
        self.key = key
        self.engine = engine
        self.config = EngineConfig.read(context.settings, None if engine is None else engine.config)

    def run(self) -> Iterator[Change]:
        for attempt in (
            self._budget,
            self._k,
            self._threshold,
            self._similar,
            self._min_score,
            self._weights,
        ):
            yield from attempt()

    def _admits(self, **settings: Any) -> Context | None:
        """Return the context that some settings give if the candidate is in it."""
        again = replay(self.context, self.engine, **settings)
        return again if any(passage.key == self.key for passage in again.passages) else None

    def _change(self, setting: str, before: Any, after: Any, settings: Mapping[str, Any]) -> Iterator[Change]:
        context = self._admits(**settings)
        if context is not None:
            told = f"{setting} from {_told(before)} to {_told(after)}"
            yield Change(
                setting=setting, before=before, after=after, settings=settings, context=context, sentence=told
            )

    def _smallest(self, low: int, high: int, admits: Callable[[int], bool]) -> int | None:
        """Return the smallest number above `low`, up to `high`, found to admit: doubled, then bisected."""
        below, above = low, min(high, low + max(1, low // 8))
        while not admits(above):
            if above >= high:
                return None
            below, above = above, min(high, above * 2)
        while above - below > 1:
            middle = (below + above) // 2
            if admits(middle):
                above = middle
            else:
                below = middle
        return above

    def _budget(self) -> Iterator[Change]:
        now = self.context.budget
        needed = self._smallest(
            now, max(64, now * _LARGEST_BUDGET_FACTOR), lambda tokens: self._admits(budget=tokens) is not None
        )
        if needed is not None:
            yield from self._change("budget", now, needed, {"budget": needed})

    def _k(self) -> Iterator[Change]:
        k = self.context.request.k
        if k is not None:
            needed = self._smallest(k, len(self.context.candidates), lambda n: self._admits(k=n) is not None)
            if needed is not None:
                yield from self._change("k", k, needed, {"k": needed})

    def _threshold(self) -> Iterator[Change]:
        now = self.config.dedupe_threshold
        if now is None:
            return
        tenths = self._smallest(
            round(now * 10), 1000, lambda n: self._admits(dedupe_threshold=n / 10) is not None
        )
        if tenths is not None:
            yield from self._change("dedupe_threshold", now, tenths / 10, {"dedupe_threshold": tenths / 10})

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
        if self.config.min_score:
            found = final_decisions(self.context)[self.key].details.get("score", 0.0)
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
        for signal in dict.fromkeys((*now, *_SIGNALS_TRIED)):
            before = float(now.get(signal, 0.0))
            tried = sorted((w for w in _WEIGHTS_TRIED if w != before), key=lambda w: abs(w - before))
            for weight in tried:
                changed = {**now, signal: weight}
                if any(changed.values()) and self._admits(weights=changed) is not None:
                    after = self._closer(now, signal, before, weight)
                    settings = {"weights": {**now, signal: after}}
                    if prefers_latest:
                        told = ", ".join(f"{name} {value:g}" for name, value in settings["weights"].items())
                        yield from self._change("weights", _LATEST, told, settings)
                    else:
                        yield from self._change(f"weights.{signal}", before, after, settings)
                    break

    def _prefers_latest(self) -> bool:
        """Whether the question asks for the latest of something, and nobody weighed it otherwise."""
        passages = self.context.passages
        return self.config.weights is None and any("latest" in p.ranked.contributions for p in passages)

    def _closer(self, now: Mapping[str, float], signal: str, before: float, admitting: float) -> float:
        """Bisect from a weight that admits towards the present one."""
        fails, works = before, admitting
        while abs(works - fails) > _WEIGHT_STEP:
            middle = (fails + works) / 2
            if self._admits(weights={**now, signal: middle}) is not None:
                works = middle
            else:
                fails = middle
        rounded = round(works, 2)
        changed = {**now, signal: rounded}
        is_proved = any(changed.values()) and self._admits(weights=changed) is not None
        return rounded if is_proved else works


def _told(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
