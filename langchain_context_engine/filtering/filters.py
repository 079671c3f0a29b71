"""What a request lets through: scope isolates, `where` and its companions filter.

`to_chroma` gives a store as much of a filter as the store can check; what a store answers is always
checked here again, so every source filters alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from typing import Any

from langchain_context_engine.filtering.where import (
    COMPARE,
    EVERYTHING,
    HIDDEN,
    NOTHING,
    AllOf,
    AnyOf,
    Condition,
    Filter,
    Matcher,
    Not,
    all_of,
    matcher,
    matches,
    read_scope,
    read_where,
)
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.ranking.signals import MISSING, clamp, read_number

__all__ = [
    "EVERYTHING",
    "HIDDEN",
    "NOTHING",
    "AllOf",
    "AnyOf",
    "CandidateTest",
    "Condition",
    "Filter",
    "Matcher",
    "Not",
    "all_of",
    "check_filters",
    "filter_test",
    "in_scope",
    "matcher",
    "matches",
    "passes",
    "read_scope",
    "read_where",
    "scope_test",
    "to_chroma",
]

CandidateTest = Callable[[Candidate], bool]

_LARGEST_INT = 2**53
_LONGEST_LIST = 5000


def check_filters(request: ContextRequest) -> None:
    """Read a request's scope and where, so that a mistake in them is told before anything is asked.

    Raises:
        ConfigError: See `read_where` and `read_scope`.
    """
    read_scope(request.scope)
    read_where(request.where)


def in_scope(candidate: Candidate, request: ContextRequest) -> bool:
    """Tell whether a request may know of a candidate: it matches the scope and is not deleted.

    What is not in scope leaves no trace at all.

    Raises:
        ScopeError: See `read_scope`.
    """
    return scope_test(request)(candidate)


def scope_test(request: ContextRequest) -> CandidateTest:
    """Return `in_scope` of a request, for many candidates."""
    test = matcher(all_of(Not(HIDDEN), read_scope(request.scope)))
    return lambda candidate: test(candidate.metadata)


def passes(candidate: Candidate, request: ContextRequest) -> bool:
    """Tell whether a candidate in scope passes the request's filters.

    These are `where`, `kinds`, `since` and `until` (an undated record fails both), `min_confidence`
    (a record that states none counts as 0.5) and `conversation_id`. What is pinned passes them all.

    Raises:
        ConfigError: See `read_where`.
    """
    return filter_test(request)(candidate)


def filter_test(request: ContextRequest) -> CandidateTest:
    """Return `passes` of a request, for many candidates."""
    is_wanted = matcher(read_where(request.where))

    def test(candidate: Candidate) -> bool:
        if candidate.is_pinned:
            return True
        if request.kinds is not None and candidate.kind not in request.kinds:
            return False
        created = candidate.created_at
        if request.since is not None and (created is None or created < request.since):
            return False
        if request.until is not None and (created is None or created > request.until):
            return False
        if request.min_confidence is not None:
            stated = read_number(candidate.metadata.get("confidence"))
            if (MISSING if stated is None else clamp(stated)) < request.min_confidence:
                return False
        if request.conversation_id is not None:
            conversation = candidate.metadata.get("conversation_id")
            if conversation is None or str(conversation) != str(request.conversation_id):
                return False
        return is_wanted(candidate.metadata)

    return test


def to_chroma(condition: Filter) -> dict[str, Any] | None:
    """Return a `where` that Chroma accepts and that admits at least what the filter admits.

    None says that Chroma can check nothing of it. Left to `matches` are: dates, missing keys, lists
    in metadata, and the fractions that Chroma compares wrongly with whole numbers.
    """
    if isinstance(condition, AllOf):
        return _joined("$and", [where for part in condition.parts if (where := to_chroma(part))])
    if isinstance(condition, AnyOf):
        parts = [to_chroma(part) for part in condition.parts]
        return _joined("$or", [p for p in parts if p]) if parts and all(parts) else None
    is_negated = isinstance(condition, Not)
    inner = condition.part if isinstance(condition, Not) else condition
    if not isinstance(inner, Condition) or len(inner.values) > _LONGEST_LIST:
        return None
    if inner.operator == "$in":
        return _equality(inner, is_negated=is_negated)
    return None if is_negated else _comparison(inner)


def _joined(operator: str, parts: list[dict[str, Any]]) -> dict[str, Any] | None:
    return {operator: parts} if len(parts) > 1 else (parts[0] if parts else None)


def _equality(condition: Condition, *, is_negated: bool) -> dict[str, Any] | None:
    # Chroma wants the values of a list to be of one type; whole numbers match floats in it.
    groups: dict[type, list[Any]] = {}
    for value in condition.values:
        if isinstance(value, float):
            if not value.is_integer() or abs(value) > _LARGEST_INT:
                return None
            value = int(value)  # noqa: PLW2901 - 2.0 and 2 are one value
        if isinstance(value, int) and abs(value) > _LARGEST_INT:
            return None
        groups.setdefault(type(value), []).append(value)
    one, many, join = ("$ne", "$nin", "$and") if is_negated else ("$eq", "$in", "$or")
    tests = [{one: group[0]} if len(group) == 1 else {many: group} for group in groups.values()]
    return _joined(join, [{condition.key: test} for test in tests])


def _comparison(condition: Condition) -> dict[str, Any] | None:
    operator = condition.operator
    if operator not in COMPARE:
        return None
    bound = condition.values[0]
    if isinstance(bound, datetime) or abs(bound) > _LARGEST_INT:
        return None
    # Chroma cuts a fraction off before it compares it with whole numbers, so the bound is widened.
    whole = math.floor(bound) if operator in {"$gt", "$gte"} else math.ceil(bound)
    return {condition.key: {operator: whole if whole == bound else float(whole)}}
