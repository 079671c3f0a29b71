"""Parts with settings as data: what a trace tells of a signal, a rule or a cut, and the part made of it.

`{"part": "lookup", "values": {"gold": 1.0}}` is a `Lookup`, `{"part": "keep_start"}` the function of that
name. What is not in these tables was given by a user, and only an engine that has it can replay it.
"""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from langchain_context_engine.models.errors import ConfigError
from langchain_context_engine.models.registry import Registry
from langchain_context_engine.models.settings import describe, is_function
from langchain_context_engine.ranking.identity import AcrossKinds, SameMetadata, Versions
from langchain_context_engine.ranking.places import TreeDistance, TypeMatch, UserAffinity
from langchain_context_engine.ranking.signals import SIGNALS, ForKinds, Keyword, Lookup, Recency, Stated
from langchain_context_engine.rendering.citations import CITATION_STYLES
from langchain_context_engine.rendering.compact import Cut
from langchain_context_engine.rendering.orders import ORDERS
from langchain_context_engine.text.asking import AtLeast
from langchain_context_engine.text.tokens import TokenCounter
from langchain_context_engine.text.truncate import TRUNCATORS, Extractive

__all__ = ["PART", "as_data", "from_data", "is_part"]

PART = "part"
"""The key under which a part's name stands, beside its settings."""

CLASSES: Mapping[str, type] = MappingProxyType(
    {
        "recency": Recency,
        "stated": Stated,
        "keyword": Keyword,
        "lookup": Lookup,
        "for_kinds": ForKinds,
        "tree_distance": TreeDistance,
        "type_match": TypeMatch,
        "user_affinity": UserAffinity,
        "same_metadata": SameMetadata,
        "versions": Versions,
        "across_kinds": AcrossKinds,
        "extract": Extractive,
        "at_least": AtLeast,
        "cut": Cut,
    }
)
"""Parts that have settings, by name."""

FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        name: part
        for known in (SIGNALS, TRUNCATORS, ORDERS, CITATION_STYLES)
        for name, part in known.items()
        if not dataclasses.is_dataclass(part)
    }
)
"""Parts that have none, by the name that a setting may give them."""

_NAME_OF_CLASS = {cls: name for name, cls in CLASSES.items()}


def as_data(value: Any) -> Any:
    """Return a setting as JSON-ready data, parts that are named here told whole.

    Example:
        >>> as_data(Stated(key="importance"))
        {'part': 'stated', 'key': 'importance', 'missing': 0.5}
    """
    return describe(value, _as_part)


def _as_part(value: Any) -> Any:
    """Return a part as data, or None where it is none of those here."""
    if isinstance(value, TokenCounter):
        return value.given if isinstance(value.given, str) else None
    name = _NAME_OF_CLASS.get(type(value))
    if name is not None:
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return {PART: name, **{key: as_data(item) for key, item in fields.items() if item is not None}}
    named = next((name for name, part in FUNCTIONS.items() if part is value), None)
    return None if named is None else {PART: named}


def is_part(value: Any) -> bool:
    """Return whether a setting is data that stands for a part."""
    return isinstance(value, Mapping) and isinstance(value.get(PART), str)


def from_data(value: Any) -> Any:
    """Return a setting with the parts that stand in it as data made again; other values are as they were.

    Raises:
        UnknownNameError: There is no part of that name, or it has no such setting.
        ConfigError: A part holds a function, which data cannot.

    Example:
        >>> from_data({"part": "stated", "key": "importance"})
        Stated(key='importance', missing=0.5)
    """
    if not is_part(value):
        if isinstance(value, Mapping):
            return {key: from_data(item) for key, item in value.items()}
        return [from_data(item) for item in value] if isinstance(value, (list, tuple)) else value
    if is_function(value):
        raise ConfigError(f"part {value[PART]!r} holds a function, which cannot be read from data")
    given = {key: item for key, item in value.items() if key != PART}
    known: Registry[Any] = Registry("part", {**CLASSES, **FUNCTIONS})
    part = known[value[PART]]
    if value[PART] in FUNCTIONS and not given:
        return part
    hints = _hints(part) if value[PART] in CLASSES else {}
    fields: Registry[Any] = Registry(f"setting of {value[PART]}", hints)
    return part(**{name: _shaped(fields[name], from_data(item)) for name, item in given.items()})


@functools.cache
def _hints(cls: type) -> Mapping[str, Any]:
    return typing.get_type_hints(cls)


def _shaped(hint: Any, value: Any) -> Any:
    """Return a value of JSON in the shape that a field's type asks for: lists become tuples or sets."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in {tuple, frozenset} and isinstance(value, (list, tuple)):
        return origin(value)
    if isinstance(value, Mapping) and len(arguments) == 2:  # noqa: PLR2004 - key and value
        return {key: _shaped(arguments[1], item) for key, item in value.items()}
    return value
