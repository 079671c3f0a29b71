"""Collect: ask every source at once, and let only sound, wanted candidates of the right scope in, each once.

What comes after looks at texts, in time that is linear in their length, and a replay has no clock: so the
deadline of assembling is a number of characters. The same candidates are cut at the same places, anywhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_context_engine.errors import AllSourcesFailedError, SourceError
from langchain_context_engine.executor import (
    Answer,
    LateError,
    answer_of,
    begin,
    busy,
    is_plain,
    linger,
    overdue,
    passing_on,
    run,
    walked,
    warnings_of,
)
from langchain_context_engine.filters import filter_test, scope_test
from langchain_context_engine.models.freeze import is_blank, with_fields
from langchain_context_engine.models.redact import safe_message
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.source import Source, SupportsAsync
from langchain_context_engine.models.types import Candidate, Decision, Key, Offer, Reason, Verdict
from langchain_context_engine.ranking.signals import clamp

MOST_TEXT = 1_000_000
"""So many characters of one candidate's text are looked at: what it may cost is bounded."""

MOST_TOGETHER = 2_000_000
"""So many characters of all candidates of a question are looked at, unless its budget can hold more."""

LEAST_TEXT = 400
"""So many characters of each are looked at, of ten thousand as of one: 5,000 cost no more than a few."""

LEAST_OF_MANY = 50
"""So many of each where there are more than ten thousand, so that all have twice `MOST_TOGETHER` at most."""

_CHARACTERS_PER_TOKEN = 8
_LARGEST = 2.0**1023
_PLAIN = {str, int, float, bool, type(None)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """Sound candidates in the engine's order (source, then the source's own order), and what fell.

    `took` says how many milliseconds each source that was asked was waited for, `searched` how those that
    tell it were searched.
    """

    candidates: tuple[Candidate, ...] = ()
    decisions: tuple[Decision, ...] = ()
    warnings: tuple[str, ...] = ()
    has_failures: bool = False
    took: Mapping[str, float] = field(default_factory=dict)
    searched: Mapping[str, str] = field(default_factory=dict)

    def with_more(self, decisions: Sequence[Decision], warnings: Sequence[str], **changed: Any) -> Collected:
        """Return the same with more decisions and warnings after its own, and some fields changed."""
        decisions, warnings = (*self.decisions, *decisions), (*self.warnings, *warnings)
        return replace(self, decisions=decisions, warnings=warnings, **changed)


def collect(sources: Sequence[Any], request: ContextRequest, deadline: float) -> Collected:
    """Ask all sources at once, in threads that nothing waits for beyond the deadline.

    A source that hangs is not asked again until its late call has ended.

    Args:
        sources: Asked in parallel; the order only breaks ties.
        request: With `limit` and `now` filled in.
        deadline: On `time.monotonic()`'s clock, in seconds.

    Raises:
        AllSourcesFailedError: Every source failed.
    """
    calls = [_blocking(source, request.apart()) for source in sources]
    return _settle(sources, *run(calls, sources, deadline), request)


async def acollect(sources: Sequence[Any], request: ContextRequest, deadline: float) -> Collected:
    """Do the same from a running event loop: a source's `afetch` is awaited, `fetch` runs in a thread."""
    asked = time.monotonic()
    async with passing_on():
        calls = (_timed(_afetch(source, request.apart(), asked, deadline)) for source in sources)
        given = await asyncio.gather(*calls)
    return _settle(sources, [answer for answer, _ in given], [waited for _, waited in given], request)


async def _timed(answer: Awaitable[Answer]) -> tuple[Answer, float]:
    start = time.monotonic()
    return await answer, time.monotonic() - start


def _blocking(source: Any, request: ContextRequest) -> Callable[[], Any]:
    if isinstance(source, Source):
        return lambda: source.fetch(request)
    return lambda: asyncio.run(source.afetch(request))


async def _afetch(source: Any, request: ContextRequest, asked: float, deadline: float) -> Answer:
    if hangs := busy(source):
        return hangs
    begun: list[Callable[[], bool]] = []
    task = asyncio.ensure_future(_answered(source, request, (asked, deadline), begun))
    try:
        # Unlike `wait_for`, which would wait for a source that takes no notice of being cancelled.
        await asyncio.wait({task}, timeout=max(0.0, deadline - time.monotonic()))
    finally:
        is_late = task.cancel()  # does nothing to one that is done
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
    if is_late:
        loop = asyncio.get_running_loop()
        begun.append(lambda: not (task.done() or loop.is_closed()))
        overdue(source, lambda: any(is_running() for is_running in begun))
        return LateError()
    if task.cancelled():
        return SourceError("it was cancelled")
    return task.exception() or task.result()


async def _answered(
    source: Any, request: ContextRequest, asked: tuple[float, float], begun: list[Callable[[], bool]]
) -> Answer:
    """Return what a source answers, walked through; a sequence of its own is walked in a thread."""
    if not isinstance(source, SupportsAsync):
        return await _in_thread(lambda: source.fetch(request), asked, begun)
    answer = await source.afetch(request)
    return answer if is_plain(answer) else await _in_thread(lambda: walked(answer), asked, begun)


async def _in_thread(
    call: Callable[[], Any], asked: tuple[float, float], begun: list[Callable[[], bool]]
) -> Any:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(answer: Answer) -> None:
        if not future.done():
            future.set_result(answer)

    def give(answer: Answer) -> None:
        # After the deadline nobody waits any more, and the loop may be gone.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, answer)

    begun.append(begin(call, give, asked))
    answer = await future
    if isinstance(answer, Exception):
        raise answer
    return answer


def _settle(
    sources: Sequence[Any], answers: Sequence[Answer], waited: Sequence[float], request: ContextRequest
) -> Collected:
    """Turn what the sources gave, and how many seconds each took, into sound candidates and warnings."""
    failed: list[str] = []
    told: list[str] = []
    searched: dict[str, str] = {}
    offers: list[tuple[str, Sequence[Any]]] = []
    for source, answer in zip(sources, answers, strict=True):
        problem, items = read_answer(answer)
        if problem:
            failed.append(f"source {source.name!r} failed: {problem}")
        if items is not None:
            offers.append((source.name, items))
            told.extend(warnings_of(answer))
        if isinstance(answer, Offer) and answer.searched:
            searched[source.name] = answer.searched
    took = {source.name: 1000 * seconds for source, seconds in zip(sources, waited, strict=True)}
    if sources and not offers:
        linger()
        raise AllSourcesFailedError(failed, took)
    admitted = bounded(admit(offers, request), request)
    warnings = (*failed, *told, *admitted.warnings)
    return replace(admitted, warnings=warnings, has_failures=bool(failed), took=took, searched=searched)


def read_answer(answer: Answer) -> tuple[str, Sequence[Any] | None]:
    """Return what went wrong with an answer, "" where nothing did, and its items, None where it has none."""
    if isinstance(answer, LateError):
        return "no answer within the deadline (timeout_seconds)", None
    if isinstance(answer, Exception):
        return safe_message(answer), None
    if isinstance(answer, Offer):
        return answer.trouble, answer
    if answer is None or isinstance(answer, (str, bytes)) or not isinstance(answer, Sequence):
        return f"it answered {type(answer).__name__}, expected a sequence of candidates", None
    return "", answer


def admit(
    offers: Sequence[tuple[str, Sequence[Any]]], request: ContextRequest, *, stage: str = "collect"
) -> Collected:
    """Check what sources offer and merge what is offered twice.

    Out of scope leaves no trace. Malformed, empty, excluded, filtered candidates and those beyond
    `limit` are dropped with a decision; relevance outside 0–1 is clamped with one warning. The same key
    offered twice is one candidate: the better relevance, then the longer text, at the first one's place.

    Args:
        offers: (source name, what it gave), in the engine's order.
        request: Its scope, filters, exclusions and limit are enforced here, whatever a source did.
        stage: The stage that the decisions name.
    """
    entry = _Entry(request, stage)
    for name, offer in offers:
        entry.take(name, offer)
    return entry.result()


class _Entry:
    """One run of admit: who is in, and what fell."""

    def __init__(self, request: ContextRequest, stage: str) -> None:
        self.request, self.stage = request, stage
        self.in_scope, self.passes = scope_test(request), filter_test(request)
        self.found: dict[Key, Candidate] = {}
        self.dropped: dict[Key, Decision] = {}
        self.changed: list[Decision] = []
        self.warnings: list[str] = []
        self.clamped = 0

    def take(self, name: str, offer: Sequence[Any]) -> None:
        """Take what a source offers."""
        own: set[Key] = set()
        fell: Counter[Reason] = Counter()
        for item in offer:
            if not _holds(_is_named, item):
                fell[Reason.INVALID] += 1
            elif _holds(self.in_scope, item):
                candidate: Candidate = item if item.source else replace(item, source=name)
                key = candidate.key
                reason = self._unfit(candidate, is_over=key not in self.found and self._is_over(len(own)))
                if reason is None:
                    own.add(key)
                    self._enter(candidate, name)
                else:
                    fell[reason] += 1
                    self.dropped.setdefault(key, self._decision(key, Verdict.DROPPED, reason))
        if malformed := fell[Reason.INVALID]:
            told = f"source {name!r} offered {malformed} malformed candidates; they were dropped"
            self.warnings.append(told)
        if (empty := fell[Reason.EMPTY]) and not own:
            told = f"source {name!r} offered {empty} records, and none of them has a text to read"
            self.warnings.append(told)

    def result(self) -> Collected:
        """Return who is in, in order, and what fell."""
        if self.clamped:
            told = f"{self.clamped} candidates claimed a relevance outside 0–1; it was clamped"
            self.warnings.append(told)
        final = [decision for key, decision in self.dropped.items() if key not in self.found]
        return Collected(
            candidates=tuple(self.found.values()),
            decisions=(*self.changed, *final),
            warnings=tuple(self.warnings),
        )

    def _is_over(self, many: int) -> bool:
        return self.request.limit is not None and many >= self.request.limit

    def _unfit(self, candidate: Candidate, *, is_over: bool) -> Reason | None:
        if not _holds(_is_sound, candidate):
            return Reason.INVALID
        if is_blank(candidate.text):
            return Reason.EMPTY
        excluded = self.request.excluded
        if excluded and (candidate.id in excluded or candidate.key in excluded):
            return Reason.EXCLUDED
        # What is pinned must come in: only the scope and exclusions keep it out.
        if not candidate.is_pinned and not _holds(self.passes, candidate):
            return Reason.FILTERED
        return Reason.OVER_LIMIT if is_over else None

    def _enter(self, candidate: Candidate, name: str) -> None:
        """Let one in, its relevance in 0–1, not longer than is looked at, its provenance named."""
        key, text, given = candidate.key, candidate.text, candidate.relevance
        relevance = clamp(given)
        if len(text) > MOST_TEXT:
            self._change(key, Reason.SHORTENED, characters=len(text), most=MOST_TEXT)
        if relevance != given:
            self.clamped += 1
            self._change(key, Reason.CLAMPED, given=given)
        if relevance != given or len(text) > MOST_TEXT or not candidate.provenance:
            provenance = candidate.provenance or (name,)
            candidate = with_fields(
                candidate, relevance=relevance, provenance=provenance, text=text[:MOST_TEXT]
            )
        if key in self.found:
            self._change(key, Reason.MERGED, source=name)
            candidate = _merged(self.found[key], candidate)
        self.found[key] = candidate

    def _change(self, key: Key, reason: Reason, **details: Any) -> None:
        self.changed.append(self._decision(key, Verdict.CHANGED, reason, **details))

    def _decision(self, key: Key, verdict: Verdict, reason: Reason, **details: Any) -> Decision:
        return Decision(stage=self.stage, key=key, verdict=verdict, reason=reason, details=details)


def _holds(test: Callable[[Any], bool], item: Any) -> bool:
    """Tell whether a test holds of an item; what raises when it is looked at costs only itself, and fails."""
    said = answer_of(test, item)
    return bool(said) and not isinstance(said, Exception)


def _is_named(item: object) -> bool:
    """Tell whether an item is a candidate that decisions can speak of."""
    return (
        isinstance(item, Candidate)
        and all(isinstance(part, str) for part in (item.id, item.source, item.kind))
        and bool(item.id)
    )


def _is_sound(item: Candidate) -> bool:
    if not isinstance(item.text, str) or not _is_place(item.position):
        return False
    if not all(map(is_number, (item.relevance, *item.claims.values()))):
        return False
    if not _PLAIN.issuperset(map(type, item.metadata.values())):
        for value in item.metadata.values():
            _try(value)
    return all(isinstance(id_, str) for id_ in (*item.neighbours, *item.provenance))


def _try(value: Any) -> None:
    """Raise what a value raises that cannot bear what any stage may do: print it, or ask for it."""
    if type(value) in _PLAIN or (type(value) is list and _PLAIN.issuperset(map(type, value))):
        return
    bool(value)
    str(value)
    if isinstance(value, Hashable) and not isinstance(value, tuple):
        hash(value)


def _is_place(position: Any) -> bool:
    if position is None:
        return True
    return isinstance(position, tuple) and isinstance(position[0], str) and is_number(position[1])


def is_number(value: Any) -> bool:
    """Tell whether a value is a finite number within a float's range."""
    if type(value) is float:
        return math.isfinite(value)
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -_LARGEST < value < _LARGEST


def _merged(first: Candidate, second: Candidate) -> Candidate:
    better = max(first, second, key=lambda c: (c.relevance, len(c.text)))
    legs = {**first.claims, **second.claims}
    claims = {leg: max(c.claims[leg] for c in (first, second) if leg in c.claims) for leg in legs}
    provenance = tuple(dict.fromkeys((*first.provenance, *second.provenance)))
    return replace(
        better, claims=claims, provenance=provenance, is_pinned=first.is_pinned or second.is_pinned
    )


def bounded(found: Collected, request: ContextRequest, *, stage: str = "collect") -> Collected:
    """Return what was found with its longest texts shortened where all together are too long.

    All texts that are too long are shortened to one length, the shorter ones stay whole: so neither the order
    of the sources nor which of them was late changes more than that length.

    Args:
        found: Sound candidates.
        request: Its budget may ask for more than `MOST_TOGETHER`.
        stage: The stage that the decisions name.
    """
    sizes = [len(candidate.text) for candidate in found.candidates]
    most = max(MOST_TOGETHER, _CHARACTERS_PER_TOKEN * (request.budget or 0))
    if sum(sizes) <= most:
        return found
    least = max(LEAST_OF_MANY, min(LEAST_TEXT, 2 * MOST_TOGETHER // len(sizes)))
    level = max(least, _level(sizes, most))
    longer = [candidate for candidate in found.candidates if len(candidate.text) > level]
    if not longer:
        return found
    decisions = [
        Decision(
            stage=stage,
            key=candidate.key,
            verdict=Verdict.CHANGED,
            reason=Reason.SHORTENED,
            details={"characters": len(candidate.text), "most": level},
        )
        for candidate in longer
    ]
    told = (
        f"the candidates have {sum(sizes):,} characters together, of which"
        f" {sum(min(size, level) for size in sizes):,} are looked at:"
        f" {len(longer)} of them were shortened to {level:,} each; a smaller limit leaves more of them whole"
    )
    cut = (c if len(c.text) <= level else with_fields(c, text=c.text[:level]) for c in found.candidates)
    return found.with_more(decisions, [told], candidates=tuple(cut))


def _level(sizes: Sequence[int], most: int) -> int:
    """Return the length to which the longest are shortened, so that all together have at most `most`."""
    left = most
    for number, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - number)
        if size > share:
            return share
        left -= size
    return max(sizes, default=0)
