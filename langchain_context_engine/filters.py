"""What a request lets through: scope isolates, `where` and its companions filter.

The language is Chroma's `where`, made whole and read once into a small tree. Understood are several keys,
several operators of one key, one-item and empty `$and`, `$not`, `$exists`, None (the key is missing), lists
(any of; an empty one is nothing) and dates (a datetime or an ISO string; in a comparison they match epoch
numbers and ISO strings alike). `to_chroma` gives a store as much of a filter as it can check; what it
answers is checked here again, so every source filters alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from numbers import Real
from typing import Any

from langchain_context_engine.errors import ConfigError, ScopeError, UnknownNameError
from langchain_context_engine.models.clock import read_instant
from langchain_context_engine.models.freeze import quoted
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.ranking.signals import MISSING, clamp, read_number

DATE_KEY = "created_at"
"""The key whose values are always instants, however they are written."""

OPERATORS = (
    "$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$contains", "$not_contains", "$exists",
    "$not",
)  # fmt: skip
LOGICAL = ("$and", "$or", "$not")

COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": lambda a, b: a > b,
    "$gte": lambda a, b: a >= b,
    "$lt": lambda a, b: a < b,
    "$lte": lambda a, b: a <= b,
}
_LARGEST_INT = 2**53
_LONGEST_LIST = 5000
_OPPOSITES = {"$ne": "$eq", "$nin": "$in", "$not_contains": "$contains"}


@dataclass(frozen=True, slots=True)
class Condition:
    """One test of one metadata key.

    The operator is `$in` (equal to any), `$at` (the same instant as any), `$exists`, `$contains`, or a
    comparison; there is one value except for `$in` and `$at`.
    """

    key: str
    operator: str
    values: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every part must match; without parts everything does."""

    parts: tuple[Filter, ...] = ()


@dataclass(frozen=True, slots=True)
class AnyOf:
    """One part must match; without parts nothing does."""

    parts: tuple[Filter, ...] = ()


@dataclass(frozen=True, slots=True)
class Not:
    """The part must not match."""

    part: Filter


CandidateTest = Callable[[Candidate], bool]
Filter = Condition | AllOf | AnyOf | Not
Matcher = Callable[[Mapping[str, Any]], bool]
"""Tells whether a record's metadata pass a filter."""

EVERYTHING = AllOf()
NOTHING = AnyOf()
HIDDEN = Condition("deleted", "$in", (True,))
"""A soft-deleted record: `deleted` is True, not merely present."""


def all_of(*filters: Filter) -> Filter:
    """Return the intersection of filters, in its simplest form."""
    parts: list[Filter] = []
    for part in filters:
        parts.extend(part.parts if isinstance(part, AllOf) else (part,))
    if NOTHING in parts:
        return NOTHING
    return parts[0] if len(parts) == 1 else AllOf(tuple(parts))


def read_where(where: Mapping[str, Any] | None) -> Filter:
    """Return the filter that a Chroma-style `where` means; None and `{}` are no filter."""
    if where is None:
        return EVERYTHING
    if not isinstance(where, Mapping):
        raise ConfigError(f"a filter is a mapping, got {type(where).__name__}")
    return all_of(*(_read_entry(key, value) for key, value in where.items()))


def read_scope(scope: Mapping[str, Any] | None) -> Filter:
    """Return the filter that a scope means: each key present, its value equal with its type.

    0 is not False and "1" is not 1; a list means any of, an empty one nothing.
    """
    parts: list[Filter] = []
    for key, given in (scope or {}).items():
        values = tuple(given) if isinstance(given, (list, tuple, set, frozenset)) else (given,)
        for value in values:
            if not isinstance(key, str) or not _is_scalar(value):
                raise ScopeError(
                    f"scope {key!r} takes a string, a number, a boolean or a list of them, "
                    f"got {type(value).__name__}"
                )
        parts.append(Condition(key, "$in", values) if values else NOTHING)
    return all_of(*parts)


def matcher(condition: Filter) -> Matcher:
    """Return what tells whether a record's metadata pass a filter. A missing key equals nothing but None."""
    if isinstance(condition, (AllOf, AnyOf)):
        tests = [matcher(part) for part in condition.parts]
        if len(tests) == 1:
            return tests[0]
        holds = all if isinstance(condition, AllOf) else any
        return lambda metadata: holds(test(metadata) for test in tests)
    if isinstance(condition, Not):
        test = matcher(condition.part)
        return lambda metadata: not test(metadata)
    key, is_met = condition.key, _test(condition)
    return lambda metadata: (value := metadata.get(key)) is not None and is_met(value)


def check_filters(request: ContextRequest) -> None:
    """Read a request's scope and where, so that a mistake in them is told before anything is asked."""
    if request.scope:
        read_scope(request.scope)
    if request.where:
        read_where(request.where)


def in_scope(candidate: Candidate, request: ContextRequest) -> bool:
    """Tell whether a request may know of a candidate: see `scope_test`."""
    return scope_test(request)(candidate)


def scope_test(request: ContextRequest) -> CandidateTest:
    """Return what tells whether a request may know of a candidate: it matches the scope and is not deleted.

    What is not in scope leaves no trace at all.
    """
    test = matcher(all_of(Not(HIDDEN), read_scope(request.scope))) if request.scope else _IS_SHOWN
    return lambda candidate: test(candidate.metadata)


def filter_test(request: ContextRequest) -> CandidateTest:
    """Return what tells whether a candidate in scope passes the request's filters.

    These are `where`, `kinds`, `since` and `until` (an undated record fails both), `min_confidence`
    (a record that states none counts as 0.5) and `conversation_id`. What is pinned passes them all.
    """
    tests: list[CandidateTest] = []
    if request.where:
        is_wanted = matcher(read_where(request.where))
        tests.append(lambda candidate: is_wanted(candidate.metadata))
    if (kinds := request.kinds) is not None:
        tests.append(lambda candidate: candidate.kind in kinds)
    if (since := request.since) is not None:
        tests.append(lambda candidate: candidate.created_at is not None and candidate.created_at >= since)
    if (until := request.until) is not None:
        tests.append(lambda candidate: candidate.created_at is not None and candidate.created_at <= until)
    if (least := request.min_confidence) is not None:
        tests.append(lambda candidate: _confidence(candidate) >= least)
    if (wanted := request.conversation_id) is not None:
        tests.append(
            lambda c: (told := c.metadata.get("conversation_id")) is not None and str(told) == wanted
        )
    return lambda candidate: candidate.is_pinned or all(test(candidate) for test in tests)


def _confidence(candidate: Candidate) -> float:
    stated = read_number(candidate.metadata.get("confidence"))
    return MISSING if stated is None else clamp(stated)


def to_chroma(condition: Filter) -> dict[str, Any] | None:
    """Return a `where` that Chroma accepts and that admits at least what the filter admits.

    None says that Chroma can check nothing of it. Left to `matcher` are: dates, missing keys, lists
    in metadata, and the fractions that Chroma compares wrongly with whole numbers.
    """
    if isinstance(condition, AllOf):
        return _chroma_joined("$and", [where for part in condition.parts if (where := to_chroma(part))])
    if isinstance(condition, AnyOf):
        parts = [to_chroma(part) for part in condition.parts]
        return _chroma_joined("$or", [p for p in parts if p]) if parts and all(parts) else None
    is_negated = isinstance(condition, Not)
    inner = condition.part if isinstance(condition, Not) else condition
    if not isinstance(inner, Condition) or len(inner.values) > _LONGEST_LIST:
        return None
    if inner.operator == "$in":
        return _equality(inner, is_negated=is_negated)
    return None if is_negated else _comparison(inner)


def _chroma_joined(operator: str, parts: list[dict[str, Any]]) -> dict[str, Any] | None:
    return {operator: parts} if len(parts) > 1 else (parts[0] if parts else None)


def _equality(condition: Condition, *, is_negated: bool) -> dict[str, Any] | None:
    # Chroma wants the values of a list to be of one type; whole numbers match floats in it.
    groups: dict[type, list[Any]] = {}
    for value in condition.values:
        if isinstance(value, (int, float)) and (abs(value) > _LARGEST_INT or value != int(value)):
            return None
        plain = int(value) if isinstance(value, float) else value  # 2.0 and 2 are one value
        groups.setdefault(type(plain), []).append(plain)
    one, many, join = ("$ne", "$nin", "$and") if is_negated else ("$eq", "$in", "$or")
    tests = [{one: group[0]} if len(group) == 1 else {many: group} for group in groups.values()]
    return _chroma_joined(join, [{condition.key: test} for test in tests])


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


def _read_entry(key: Any, value: Any) -> Filter:
    if not isinstance(key, str):
        raise ConfigError(f"a filter's keys are strings, got {quoted(key)}")
    if key == "$not":
        return Not(read_where(value))
    if key in LOGICAL:
        if not isinstance(value, (list, tuple)):
            raise ConfigError(f"{key} takes a list of filters, got {type(value).__name__}")
        parts = tuple(read_where(part) for part in value)
        return all_of(*parts) if key == "$and" else AnyOf(parts)
    if key.startswith(("$", "#")):
        raise UnknownNameError("filter operator", key, LOGICAL)
    if not isinstance(value, Mapping):
        return _read_test(key, "$in" if isinstance(value, (list, tuple, set, frozenset)) else "$eq", value)
    if not value:
        raise ConfigError(f"the filter of {key!r} has no operator; known are {', '.join(OPERATORS)}")
    return all_of(*(_read_test(key, operator, operand) for operator, operand in value.items()))


def _read_test(key: str, operator: Any, operand: Any) -> Filter:
    if operator not in OPERATORS:
        raise UnknownNameError(f"filter operator of {key!r}", operator, OPERATORS)
    if operator == "$not":
        return Not(_read_entry(key, operand))
    if operator in _OPPOSITES:
        return Not(_read_test(key, _OPPOSITES[operator], operand))
    if operator == "$exists":
        if not isinstance(operand, bool):
            raise ConfigError(f"$exists of {key!r} takes True or False, got {quoted(operand)}")
        return Condition(key, "$exists") if operand else Not(Condition(key, "$exists"))
    if operator in COMPARE:
        return Condition(key, operator, (_bound(key, operator, operand),))
    if operator == "$in" and not isinstance(operand, (list, tuple, set, frozenset)):
        raise ConfigError(f"$in and $nin of {key!r} take a list, got {type(operand).__name__}")
    values = tuple(operand) if operator == "$in" else (operand,)
    return AnyOf(()) if not values else _equal_to_any(key, operator, values)


def _equal_to_any(key: str, operator: str, values: tuple[Any, ...]) -> Filter:
    dates = tuple(v for v in values if isinstance(v, date) or (key == DATE_KEY and read_instant(v)))
    scalars = tuple(value for value in values if value is not None and not isinstance(value, date))
    for value in scalars:
        if not _is_scalar(value):
            raise ConfigError(
                f"{operator} of {key!r} takes strings, numbers, booleans or dates, got {quoted(value)}"
            )
    if operator == "$contains":
        return Condition(key, "$contains", scalars)
    parts: list[Filter] = [Condition(key, "$in", scalars)] if scalars else []
    if dates:
        parts.append(Condition(key, "$at", tuple(read_instant(value) for value in dates)))
    if None in values:
        parts.append(Not(Condition(key, "$exists")))
    return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))


def _bound(key: str, operator: str, operand: Any) -> Any:
    is_number = _is_scalar(operand) and not isinstance(operand, (str, bool))
    if is_number and key != DATE_KEY:
        return operand
    instant = None if isinstance(operand, bool) else read_instant(operand)
    if instant is None:
        raise ConfigError(f"{operator} of {key!r} takes a number or a date, got {quoted(operand)}")
    return instant


def _test(condition: Condition) -> Callable[[Any], bool]:
    """Return the test of a value that is there."""
    operator, wanted = condition.operator, condition.values
    if operator == "$in":
        if len(wanted) == 1:
            return lambda value: _is_same(value, wanted[0])
        return lambda value: any(_is_same(value, each) for each in wanted)
    if operator == "$at":
        return lambda value: read_instant(value) in wanted
    if operator == "$contains":
        return lambda value: (
            isinstance(value, (list, tuple)) and any(_is_same(item, wanted[0]) for item in value)
        )
    if operator == "$exists":
        return lambda _: True
    bound, compare = wanted[0], COMPARE[operator]
    if isinstance(bound, datetime):
        return lambda value: (instant := read_instant(value)) is not None and compare(instant, bound)
    return lambda value: isinstance(value, Real) and not isinstance(value, bool) and compare(value, bound)


def _is_same(value: Any, wanted: Any) -> bool:
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    if isinstance(wanted, str):
        return isinstance(value, str) and value == wanted
    return isinstance(value, Real) and bool(value == wanted)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value))


_IS_SHOWN = matcher(Not(HIDDEN))
