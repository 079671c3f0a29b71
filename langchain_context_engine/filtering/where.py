"""The filter language: Chroma's `where`, made whole, read once into a small tree and asked of metadata.

Understood are several keys, several operators of one key, one-item and empty `$and`, `$not`,
`$exists`, None (the key is missing), lists (any of; an empty one is nothing) and dates (a datetime or
an ISO string; in a comparison they match epoch numbers and ISO strings alike).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from numbers import Real
from typing import Any

from langchain_context_engine.models.clock import read_instant
from langchain_context_engine.models.errors import ConfigError, ScopeError, UnknownNameError
from langchain_context_engine.models.freeze import quoted

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
_OPPOSITES = {"$ne": "$eq", "$nin": "$in", "$not_contains": "$contains"}


@dataclass(frozen=True, slots=True)
class Condition:
    """One test of one key.

    Attributes:
        key: The metadata key.
        operator: `$in` (equal to any), `$at` (the same instant as any), `$exists`, `$contains`,
            or a comparison.
        values: What is compared with; one value except for `$in` and `$at`.
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
    """Return the filter that a Chroma-style `where` means; None and `{}` are no filter.

    Raises:
        ConfigError: An operator is unknown, or a value cannot be compared so.

    Example:
        >>> matches({"n": 2, "created_at": 1714550400}, read_where({"n": {"$gt": 1, "$lt": 3}}))
        True
        >>> matches({"created_at": 1714550400}, read_where({"created_at": {"$gte": "2024-06-01"}}))
        False
    """
    if where is None:
        return EVERYTHING
    if not isinstance(where, Mapping):
        msg = f"a filter is a mapping, got {type(where).__name__}"
        raise ConfigError(msg)
    return all_of(*(_read_entry(key, value) for key, value in where.items()))


def read_scope(scope: Mapping[str, Any] | None) -> Filter:
    """Return the filter that a scope means: each key present, its value equal with its type.

    0 is not False and "1" is not 1; a list means any of, an empty one nothing.

    Raises:
        ScopeError: A value is None, a mapping or anything else than strings, numbers, booleans.
    """
    parts = []
    for key, given in (scope or {}).items():
        values = tuple(given) if isinstance(given, (list, tuple, set, frozenset)) else (given,)
        values = tuple(_plain(value) for value in values)
        for value in values:
            if not isinstance(key, str) or not _is_scalar(value):
                msg = (
                    f"scope {key!r} takes a string, a number, a boolean or a list of them, "
                    f"got {type(value).__name__}"
                )
                raise ScopeError(msg)
        parts.append(Condition(key, "$in", values) if values else NOTHING)
    return all_of(*parts)


def matches(metadata: Mapping[str, Any], condition: Filter) -> bool:
    """Tell whether a record's metadata pass a filter. A missing key equals nothing but None."""
    return matcher(condition)(metadata)


def matcher(condition: Filter) -> Matcher:
    """Return the same test of a filter, for many records: the filter is walked through once."""
    if isinstance(condition, (AllOf, AnyOf)):
        tests = [matcher(part) for part in condition.parts]
        return tests[0] if len(tests) == 1 else _joined(tests, is_all=isinstance(condition, AllOf))
    if isinstance(condition, Not):
        test = matcher(condition.part)
        return lambda metadata: not test(metadata)
    key, holds = condition.key, _test(condition)
    return lambda metadata: (value := metadata.get(key)) is not None and holds(value)


def _joined(tests: Sequence[Matcher], *, is_all: bool) -> Matcher:
    def test(metadata: Mapping[str, Any]) -> bool:
        for each in tests:
            if each(metadata) is not is_all:
                return not is_all
        return is_all

    return test


def _read_entry(key: Any, value: Any) -> Filter:
    if not isinstance(key, str):
        msg = f"a filter's keys are strings, got {quoted(key)}"
        raise ConfigError(msg)
    if key == "$not":
        return Not(read_where(value))
    if key in LOGICAL:
        if not isinstance(value, (list, tuple)):
            msg = f"{key} takes a list of filters, got {type(value).__name__}"
            raise ConfigError(msg)
        parts = tuple(read_where(part) for part in value)
        return all_of(*parts) if key == "$and" else AnyOf(parts)
    if key.startswith(("$", "#")):
        raise UnknownNameError("filter operator", key, LOGICAL)
    if not isinstance(value, Mapping):
        return _read_test(key, "$in" if isinstance(value, (list, tuple, set, frozenset)) else "$eq", value)
    if not value:
        msg = f"the filter of {key!r} has no operator; known are {', '.join(OPERATORS)}"
        raise ConfigError(msg)
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
            msg = f"$exists of {key!r} takes True or False, got {quoted(operand)}"
            raise ConfigError(msg)
        return Condition(key, "$exists") if operand else Not(Condition(key, "$exists"))
    operand = _plain(operand)
    if operator in COMPARE:
        return Condition(key, operator, (_bound(key, operator, operand),))
    if operator == "$in" and not isinstance(operand, (list, tuple, set, frozenset)):
        msg = f"$in and $nin of {key!r} take a list, got {type(operand).__name__}"
        raise ConfigError(msg)
    values = tuple(_plain(value) for value in operand) if operator == "$in" else (operand,)
    return AnyOf(()) if not values else _equal_to_any(key, operator, values)


def _equal_to_any(key: str, operator: str, values: tuple[Any, ...]) -> Filter:
    dates = tuple(v for v in values if isinstance(v, date) or (key == DATE_KEY and read_instant(v)))
    scalars = tuple(value for value in values if value is not None and not isinstance(value, date))
    for value in scalars:
        if not _is_scalar(value):
            msg = f"{operator} of {key!r} takes strings, numbers, booleans or dates, got {quoted(value)}"
            raise ConfigError(msg)
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
        msg = f"{operator} of {key!r} takes a number or a date, got {quoted(operand)}"
        raise ConfigError(msg)
    return instant


def _test(condition: Condition) -> Callable[[Any], bool]:
    """Return the test of a value that is there."""
    operator, wanted = condition.operator, condition.values
    if operator == "$in":
        if len(wanted) == 1:
            return lambda value: _is_same(value, wanted[0])
        return lambda value: any(_is_same(value, each) for each in wanted)
    if operator == "$at":
        return lambda value: read_instant(_plain(value)) in wanted
    if operator == "$contains":
        return lambda value: (
            isinstance(value, (list, tuple)) and any(_is_same(item, wanted[0]) for item in value)
        )
    if operator == "$exists":
        return lambda _: True
    bound, compare = wanted[0], COMPARE[operator]
    if isinstance(bound, datetime):
        return lambda value: (instant := read_instant(_plain(value))) is not None and compare(instant, bound)
    return lambda value: isinstance(value, Real) and not isinstance(value, bool) and compare(value, bound)


def _is_same(value: Any, wanted: Any) -> bool:
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    if isinstance(wanted, str):
        return isinstance(value, str) and value == wanted
    return isinstance(value, Real) and bool(value == wanted)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value))


def _plain(value: Any) -> Any:
    """Return a numpy scalar or a string enum as Python's own type, anything else as it is."""
    if isinstance(value, str):
        return str.__str__(value)
    return value.item() if hasattr(value, "item") and not hasattr(value, "__len__") else value
