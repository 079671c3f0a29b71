"""What would it take: changes of one setting that let a dropped candidate in, or keep one whole that was cut.

Each is proved by a replay.

Whether a candidate gets in does not grow with the budget, `k` or a weight: with a little more of it another
text may take the place. So the least of whole numbers cannot be found by halves alone: after those a number
of others are tried, and a change says how many, whether that were all, and which larger one does not. The
same number everywhere, so that who asks again hears the same; what time did not suffice for is named.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Decision, Key, Ranked, Reason
from langchain_context_engine.pipeline.rank import rank, scale_weights
from langchain_context_engine.pipeline.thresholds import Threshold
from langchain_context_engine.trace.assemble import Ordered, assemble, order
from langchain_context_engine.trace.context import Context, reading
from langchain_context_engine.trace.explain import Names
from langchain_context_engine.trace.replay import config_of, replay

_UNREACHABLE = frozenset({Reason.INVALID, Reason.EMPTY, Reason.FILTERED, Reason.EXCLUDED, Reason.OVER_LIMIT})
"""Dropped before ranking: no setting of rank to render brings these back."""

_WEIGHTS_TRIED = (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
_TRIES = 60
"""So many budgets, or values of `k`, are tried: about a second for the pool of a common question."""
_SECONDS = 5.0

_TENTHS = 1000
_DOUBLINGS = 10
"""So often the step upward from what lets a candidate in is doubled, to see whether it is out again."""
_DIFFERS = 1e-9
_LATEST = "those that prefer the latest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of one setting that was seen to let the candidate in.

    Attributes:
        setting: `budget`, `k`, `dedupe_threshold`, `dedupe_rules`, `thresholds.<source>`, `min_score`,
            `diversity`, `budget.item_cap`, `budget.source_cap`, `budget.shares`, `weights.<signal>`,
            or `weights` where the question was given those that prefer the latest.
        before: What it is.
        after: What it would be.
        settings: The changed settings, for `replay` or `ContextEngine.with_settings`.
        context: The context that the change gives.
        leaves: The passages that leave in its place, in text order.
        enters: The other passages that come in with it, in text order.
        is_smallest: Every whole number in between was tried, and none lets the candidate in.
        tried: How many numbers were tried; none of the smaller ones lets the candidate in.
        undone_at: The first larger number, by doubled steps, that does not let it in; None where none that
            was tried does so.
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
    tried: int
    sentence: str
    undone_at: int | None = None

    @property
    def least(self) -> str:
        """In words whether a smaller number does, and which larger does not; "" where none was tried."""
        told = f"no smaller one of {self.tried} tried does" if self.tried else ""
        if self.is_smallest:
            told = "no smaller one does"
        return told if self.undone_at is None else f"{told}, and {self.undone_at:,} does not either"


class Changes(list[Change]):
    """The changes that were found, and in `untried` the settings that time did not suffice for."""

    def __init__(self, found: Sequence[Change] = (), untried: Sequence[str] = ()) -> None:
        super().__init__(found)
        self.untried = tuple(untried)


class _TimeIsUpError(Exception):
    """A setting cannot be tried any more."""


def what_would_it_take(
    context: Context, key: Key, engine: Any = None, *, tries: int = _TRIES, seconds: float = _SECONDS
) -> Changes:
    """Return single changes that admit a dropped candidate, one for each setting that was found to.

    Of one that was cut, those under which it stands whole. Nothing for a candidate that does, and for one
    that was dropped before ranking: only another question or another limit brings that back. Of a plan's
    trace the budget of the whole prompt is tried.

    Args:
        context: A context, or a trace read back.
        key: The candidate.
        engine: Where parts that were given as functions come from.
        tries: So many budgets, or values of `k`, are tried for the least one.
        seconds: After so long nothing further is tried; the result's `untried` names what was not.

    Raises:
        ConfigError: The context has no such candidate, or is damaged.
    """
    with reading(context):
        search = _search(context, key, engine, tries=tries, seconds=seconds)
        if search is None:
            return Changes()
        ways = {"budget": search.budget}
        if search.ordered is not None:
            ways |= {"duplicates": search.duplicates, "k": search.k, "caps": search.lifted}
            ways |= {"thresholds": search.thresholds, "weights": search.weights}
        found: list[Change] = []
        untried: list[str] = []
        for way, tried in ways.items():
            try:
                found.extend(tried())
            except _TimeIsUpError:
                untried.append(way)
        return Changes(found, untried)


def budget_that_admits(context: Context, key: Key) -> Change | None:
    """Return the change of the budget that admits a candidate; None where none is found or provable."""
    try:
        with reading(context):
            search = _search(context, key)
            return None if search is None else next(search.budget(), None)
    except (ConfigError, _TimeIsUpError):  # a part was a function of the caller's: nothing can be proved
        return None


def _search(
    context: Context,
    key: Key,
    engine: Any = None,
    *,
    tries: int = _TRIES,
    seconds: float = _SECONDS,
) -> _Search | None:
    """Return what tries settings for a candidate, or None where none can let it in."""
    decision = context.final_decisions().get(key)
    if decision is None:
        raise ConfigError(f"no candidate {key!r} in this context")
    if decision.reason is Reason.WHOLE or decision.reason in _UNREACHABLE:
        return None
    return _Search(context, key, decision, engine, tries=tries, seconds=seconds)


class _Search:
    """Tries settings for one candidate; each method yields the changes of one setting that let it in."""

    def __init__(
        self,
        context: Context,
        key: Key,
        decision: Decision,
        engine: Any,
        *,
        tries: int,
        seconds: float,
    ) -> None:
        self.context, self.key, self.decision, self.engine = context, key, decision, engine
        self.cut = next((passage for passage in context.passages if passage.key == key), None)
        self.tries, self.began, self.seconds = tries, time.monotonic(), seconds
        self.config = config_of(context, engine)
        # Whether the question is held in doubt changes no passage, unless a doubtful answer is emptied.
        is_emptied = self.config.when_doubtful == "empty"
        undoubted = {"doubtful_below": self.config.doubtful_below if is_emptied else 0.0, "unsure_below": 0.0}
        self.parts = self.config.model_copy(update=undoubted).parts()
        # The order is the same for every budget and every k.
        self.ordered: Ordered | None = None
        if not context.parts:
            self.ordered = order(context.candidates, context.request, self.parts)

    def budget(self) -> Iterator[Change]:
        """Give what the candidate lacked at its turn, some times that, or what those ranked better lacked."""
        if self.decision.is_duplicate:
            return
        now, final = self.context.budget, self.context.final_decisions()
        better = self.ordered.items if self.ordered is not None else ()
        place = next((n for n, item in enumerate(better) if item.key == self.key), 0)
        needed = [int(final[item.key].details.get("needed", 0)) for item in better[: place + 1]]
        told = self.decision.details
        lacked = max(1, int(told.get("needed", 1)) - max(0, int(told.get("left", 0))))
        if self.cut is not None:
            # As much as it stands with is mostly more than its rest takes.
            lacked = max(1, self.cut.tokens // 8)
        # A small budget is packed in a tenth of the time of a large one.
        guesses = (now + lacked * 2**doubled for doubled in range(8))
        yield from self._least("budget", now, *guesses, now + sum(needed), max(64, now * 64))

    def k(self) -> Iterator[Change]:
        """Allow more passages."""
        k = self.context.request.k
        if k is not None:
            yield from self._least("k", k, k + 1, len(self.context.candidates))

    def lifted(self) -> Iterator[Change]:
        """Lift caps, shares and the rule of diversity."""
        whole = replace(self.config.budget, tokens=self.context.budget)
        none: Mapping[str, Any] = {"item_cap": None, "source_cap": None, "shares": {}}
        for field, nothing in none.items():
            if before := getattr(whole, field):
                budget = replace(whole, **{field: nothing})
                yield from self._change(f"budget.{field}", before, None, {"budget": budget})
        if self.config.diversity is not None:
            yield from self._change("diversity", "a rule", None, {"diversity": None})
        if self.cut is not None:
            yield from self._change("truncator", "the present one", "none", {"truncator": "none"})

    def duplicates(self) -> Iterator[Change]:
        """Ask more of texts that are to be one, just more than these have, or do without a rule."""
        now, alike = self.config.dedupe_threshold, self.decision.details.get("similarity")
        if self.decision.repeats is None or not isinstance(alike, (int, float)):
            return
        if now is not None:
            first = max(round(now * 10), math.floor(alike * 10)) + 1
            for threshold in (*(n / 10 for n in (first, first + 9) if n < _TENTHS), None):
                change = {"dedupe_threshold": threshold}
                if found := tuple(self._change("dedupe_threshold", now, threshold, change)):
                    yield from found
                    return
        if self.config.dedupe_rules:
            yield from self._change("dedupe_rules", "the present ones", "none", {"dedupe_rules": ()})

    def thresholds(self) -> Iterator[Change]:
        """Lower the least score, or the threshold of the source whose best is too far above the candidate."""
        found = self.decision.details
        if self.decision.reason is not Reason.BELOW_THRESHOLD:
            return
        # Rounded down: the number that is printed admits it.
        if self.config.min_score and "source" not in found:
            score = math.floor(1000 * found["score"]) / 1000
            yield from self._change("min_score", self.config.min_score, score, {"min_score": score})
        now = self.config.thresholds.get(str(found.get("source")))
        if now is not None and found.get("best"):
            share = min(now.of_best, math.floor(100 * found["score"] / found["best"]) / 100)
            after = Threshold(of_best=share, least=min(now.least, math.floor(100 * found["score"]) / 100))
            settings = {"thresholds": {**self.config.thresholds, found["source"]: after}}
            yield from self._change(f"thresholds.{found['source']}", now.of_best, share, settings)

    def weights(self) -> Iterator[Change]:
        """Vary one weight at a time, beside the others as they are, where that ranks the candidate better."""
        if self.decision.reason is Reason.UNRELATED or "source" in self.decision.details:
            return  # fell before it was weighed
        now = dict(self.config.weights or {"relevance": 1.0})
        latest = self.config.weights is None and any(
            "latest" in passage.ranked.contributions for passage in self.context.passages
        )
        # Any weights replace those that such a question is given: where relevance alone is enough, all are.
        if latest and (alone := tuple(self._change("weights", _LATEST, "relevance alone", {"weights": now}))):
            yield from alone
            return
        names = list(dict.fromkeys((*now, *self.parts.signals)))
        equal = dict.fromkeys(names, 1 / len(names))  # so that each has all its values
        context, parts = self.context, self.parts
        ranked = rank(
            context.candidates,
            context.request,
            signals=parts.signals,
            weights=equal,
            fusion=self.config.fusion,
        ).items
        for signal in _signals_that_differ(ranked):
            weights = next(filter(self._admits_weights, self._better(now, signal, ranked)), None)
            if weights is not None and latest:
                yield from self._change("weights", _LATEST, _formatted(weights), {"weights": weights})
            elif weights is not None:
                before, after = float(now.get(signal, 0.0)), weights[signal]
                yield from self._change(f"weights.{signal}", before, after, {"weights": weights})

    def _better(
        self, now: Mapping[str, float], signal: str, ranked: Sequence[Ranked]
    ) -> Iterator[dict[str, float]]:
        """Yield the weights with that of one signal changed that rank the candidate better, nearest first."""

        def place(weights: Mapping[str, float]) -> tuple[int, float]:
            scaled = scale_weights(weights, self.parts.signals.__getitem__)
            scores = {item.key: sum(w * item.signals[n] for n, w in scaled.items()) for item in ranked}
            mine = scores[self.key]
            return sum(score > mine for score in scores.values()), -mine

        before = float(now.get(signal, 0.0))
        others = any(weight for name, weight in now.items() if name != signal)
        if any(item.key == self.key for item in ranked):
            for weight in sorted(_WEIGHTS_TRIED, key=lambda weight: abs(weight - before)):
                weights = {**now, signal: weight}
                if (weight or others) and place(weights) < place(now):
                    yield weights

    def _admits_weights(self, weights: Mapping[str, float]) -> bool:
        if self._is_over():
            raise _TimeIsUpError
        scaled = scale_weights(weights, self.parts.signals.__getitem__)
        parts = replace(self.parts, weights=scaled)
        return self._has(assemble(self.context.candidates, self.context.request, parts))

    def _least(self, field: str, now: int, *guesses: int) -> Iterator[Change]:
        """Yield the least number above the present one that is found to admit.

        The first guess that admits is halved towards what does not; then numbers are tried one by one in
        turn from there down and from the present one up.
        """
        tried: dict[int, bool] = {}

        def admits(number: int) -> bool:
            if number not in tried:
                tried[number] = self._admits(**{field: number})
            return tried[number]

        fails, found = now, 0
        for guess in sorted({guess for guess in guesses if guess > now}):
            if admits(guess):
                found = guess
                break
            fails = guess
        if not found:
            return
        while found - fails > 1 and not self._is_over(0.5):
            middle = (fails + found) // 2
            fails, found = (fails, middle) if admits(middle) else (middle, found)
        below, above = found - 1, now + 1
        while above <= below and len(tried) < self.tries and not self._is_over(0.8):
            if admits(above):
                found = above
                break
            if admits(below):
                found = below
            below, above = below - 1, above + 1
        is_smallest, count = all(number in tried for number in range(now + 1, found)), len(tried)
        larger = (found + 2**step for step in range(_DOUBLINGS) if not self._is_over(0.8))
        undone = next((number for number in larger if not admits(number)), None)
        change = {field: found}
        yield from self._change(
            field, now, found, change, is_smallest=is_smallest, tried=count, undone_at=undone
        )

    def _admits(self, **fields: Any) -> bool:
        """Tell whether other fields of the request let the candidate in, in the order that is known."""
        if self._is_over():
            raise _TimeIsUpError
        if self.ordered is None:
            return self._has(replay(self.context, self.engine, **fields))
        request: ContextRequest = replace(self.context.request, **fields)
        return self._has(assemble(self.context.candidates, request, self.parts, ordered=self.ordered))

    def _change(
        self,
        setting: str,
        before: Any,
        after: Any,
        settings: Mapping[str, Any],
        *,
        is_smallest: bool = False,
        tried: int = 0,
        undone_at: int | None = None,
    ) -> Iterator[Change]:
        """Yield the change if a replay proves it."""
        if self._is_over():
            raise _TimeIsUpError
        again = replay(self.context, self.engine, **settings)
        if not self._has(again):
            return
        was, now = ([passage.key for passage in each.passages] for each in (self.context, again))
        leaves = tuple(key for key in was if key not in now)
        told = f"{setting} from {_formatted(before)} to {_formatted(after)}"
        if setting.startswith("weights."):
            # Weights replace the present ones: one alone would drop the others.
            told += f" ({' '.join(f'--weight {n}={w:g}' for n, w in settings['weights'].items())})"
        if leaves:
            others = f" and {len(leaves) - 1} more" if len(leaves) > 1 else ""
            told += f"; {Names(self.context).name(leaves[0])}{others} would leave"
        yield Change(
            setting=setting,
            before=before,
            after=after,
            settings=settings,
            context=again,
            leaves=leaves,
            enters=tuple(key for key in now if key not in was and key != self.key),
            is_smallest=is_smallest,
            tried=tried,
            undone_at=undone_at,
            sentence=told,
        )

    def _is_over(self, share: float = 1.0) -> bool:
        return time.monotonic() - self.began > share * self.seconds

    def _has(self, context: Context) -> bool:
        found = next((passage for passage in context.passages if passage.key == self.key), None)
        return found is not None and (self.cut is None or not found.is_truncated)


def _signals_that_differ(ranked: Sequence[Ranked]) -> tuple[str, ...]:
    """Return the signals in which some candidates differ: a weight on another changes no order.

    Of several signals that put the candidates into one order (recency by several curves), the one that is
    weighed stands for all, else the first.
    """
    found: dict[tuple[Key, ...], str] = {}
    for signal in ranked[0].contributions if ranked else ():
        values = {item.key: item.signals[signal] for item in ranked}
        if max(values.values()) - min(values.values()) > _DIFFERS:
            found.setdefault(tuple(sorted(values, key=lambda key: (-values[key], key))), signal)
    return tuple(found.values())


def _formatted(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {share:g}" for name, share in value.items())
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
