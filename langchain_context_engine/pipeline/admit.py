"""Admit: let only sound, wanted candidates of the right scope in, each once."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_context_engine.filters import CandidateTest, filter_test, scope_test
from langchain_context_engine.models.freeze import is_blank, with_fields
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate, Decision, Key, Reason, Verdict
from langchain_context_engine.ranking.signals import clamp

MOST_TEXT = 1_000_000
"""So many characters of one candidate's text are looked at: what it may cost is bounded."""

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
    found: dict[Key, Candidate] = {}
    dropped: dict[Key, Decision] = {}
    changed: list[Decision] = []
    warnings: list[str] = []
    in_scope, passes = scope_test(request), filter_test(request)
    for name, offer in offers:
        own: set[Key] = set()
        empty = 0
        sound, malformed = _sound(name, offer, in_scope)
        for candidate, fault in sound:
            key = candidate.key
            reason = fault or _unfit(candidate, request, passes)
            if not reason and key not in found and request.limit is not None and len(own) >= request.limit:
                reason = Reason.OVER_LIMIT
            empty += reason is Reason.EMPTY
            if reason:
                dropped.setdefault(key, _decision(stage, key, Verdict.DROPPED, reason))
                continue
            own.add(key)
            offered = _bounded(candidate, name, stage, changed)
            if key in found:
                changed.append(_decision(stage, key, Verdict.CHANGED, Reason.MERGED, source=name))
                offered = _merged(found[key], offered)
            found[key] = offered
        malformed += sum(fault is Reason.INVALID for _, fault in sound)
        if malformed:
            warnings.append(f"source {name!r} offered {malformed} malformed candidates; they were dropped")
        if empty and not own:
            warnings.append(f"source {name!r} offered {empty} records, and none of them has a text to read")
    clamped = sum(decision.reason is Reason.CLAMPED for decision in changed)
    if clamped:
        warnings.append(f"{clamped} candidates claimed a relevance outside 0–1; it was clamped")
    final = [decision for key, decision in dropped.items() if key not in found]
    return Collected(candidates=tuple(found.values()), decisions=(*changed, *final), warnings=tuple(warnings))


def _sound(
    name: str, offer: Sequence[Any], in_scope: CandidateTest
) -> tuple[list[tuple[Candidate, Reason | None]], int]:
    """Return the in-scope candidates of an offer, each with its fault, and how many cannot be named."""
    named: list[tuple[Candidate, Reason | None]] = []
    nameless = 0
    for item in offer:
        if not holds(_is_named, item):
            nameless += 1
        elif holds(in_scope, item):
            candidate = item if item.source else replace(item, source=name)
            named.append((candidate, None if holds(_is_sound, item) else Reason.INVALID))
    return named, nameless


def holds(test: Callable[[Any], bool], item: Any) -> bool:
    """Tell whether a test holds of an item; what raises when it is looked at costs only itself, and fails."""
    try:
        return test(item)
    except Exception:  # noqa: BLE001
        return False


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
    numbers: tuple[Any, ...] = (item.relevance, *item.claims.values())
    if not all(map(is_number, numbers)):
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
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return -_LARGEST < value < _LARGEST


def _unfit(candidate: Candidate, request: ContextRequest, passes: CandidateTest) -> Reason | None:
    if is_blank(candidate.text):
        return Reason.EMPTY
    excluded = request.excluded
    if excluded and (candidate.id in excluded or candidate.key in excluded):
        return Reason.EXCLUDED
    # What is pinned must come in: only the scope and exclusions keep it out.
    return None if candidate.is_pinned or holds(passes, candidate) else Reason.FILTERED


def _bounded(candidate: Candidate, name: str, stage: str, changed: list[Decision]) -> Candidate:
    """Return the candidate clamped, and not longer than is looked at, and note what was changed."""
    offered = _clamped(candidate, name)
    if len(offered.text) > MOST_TEXT:
        sizes = {"characters": len(offered.text), "most": MOST_TEXT}
        changed.append(_decision(stage, candidate.key, Verdict.CHANGED, Reason.SHORTENED, **sizes))
        offered = with_fields(offered, text=offered.text[:MOST_TEXT])
    if offered.relevance != candidate.relevance:
        given = candidate.relevance
        changed.append(_decision(stage, candidate.key, Verdict.CHANGED, Reason.CLAMPED, given=given))
    return offered


def _clamped(candidate: Candidate, name: str) -> Candidate:
    """Return the candidate with its relevance in 0–1 and its provenance named."""
    relevance = clamp(candidate.relevance)
    if relevance == candidate.relevance and candidate.provenance:
        return candidate
    return with_fields(candidate, relevance=relevance, provenance=candidate.provenance or (name,))


def _merged(first: Candidate, second: Candidate) -> Candidate:
    better = max(first, second, key=lambda c: (c.relevance, len(c.text)))
    legs = {**first.claims, **second.claims}
    claims = {leg: max(c.claims[leg] for c in (first, second) if leg in c.claims) for leg in legs}
    provenance = tuple(dict.fromkeys((*first.provenance, *second.provenance)))
    return replace(
        better, claims=claims, provenance=provenance, is_pinned=first.is_pinned or second.is_pinned
    )


def _decision(stage: str, key: Key, verdict: Verdict, reason: Reason, **details: Any) -> Decision:
    return Decision(stage=stage, key=key, verdict=verdict, reason=reason, details=details)
