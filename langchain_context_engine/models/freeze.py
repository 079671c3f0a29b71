"""What the constructors of the values share: cleaning texts, copying mappings, setting frozen fields."""

from __future__ import annotations

import re
import reprlib
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any, TypeVar
from uuid import UUID

from langchain_context_engine.models.columns import from_column
from langchain_context_engine.models.errors import ConfigError

_BLANK = re.compile(r"[\s\x00-\x1f\u00ad\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]*\Z")
T = TypeVar("T")

DEEPEST, MOST_VALUES = 50, 10_000
"""How deep values may be nested, and how many there may be, in metadata, a filter or a scope."""

UNREADABLE = "…"
"""Stands in a record's metadata where something was that cannot be read."""

_LARGEST = 2**1023
_PLAIN = {float, bool, type(None)}
_WALKED = {str, int, list, tuple, set}


def clean_text(text: str) -> str:
    """Return the text with lone surrogates replaced by U+FFFD, so that it encodes as UTF-8."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def is_blank(text: str) -> bool:
    r"""Return whether nothing in a text can be seen: no character, or only spaces, controls and marks.

    Example:
        >>> is_blank(" \u200b\n"), is_blank("0")
        (True, False)
    """
    return _BLANK.match(text) is not None


def copy_mapping(value: Mapping[str, Any] | None, name: str, *, cuts: bool = False) -> dict[str, Any]:
    """Return a copy with clean strings, lists and mappings within it copied too; None is empty.

    What is data by another name becomes that: numpy's scalars and arrays, enums, paths, UUIDs, decimals.

    Args:
        value: What is copied.
        name: What an error calls it.
        cuts: Put `UNREADABLE` in the place of what nobody could walk through, print or count with (values
            deeper than `DEEPEST`, beyond `MOST_VALUES`, whole numbers beyond a float's range, objects that
            raise when they are printed), so that a record with such a value is still a record; otherwise
            they are refused.

    Raises:
        ConfigError: The value is no mapping, or something in it is refused.
    """
    if value is None:
        return {}
    if type(value) is not dict and not isinstance(value, Mapping):
        msg = f"{name} must be a mapping, got {type(value).__name__}"
        raise ConfigError(msg)
    if _is_flat(value):
        return dict(value)
    return _Copier(name, cuts=cuts).mapping(value, 1)


def _is_flat(value: Mapping[Any, Any]) -> bool:
    """Tell whether a plain copy will do; a question makes hundreds."""
    for k, v in value.items():
        if not (type(k) is str and k.isascii()):
            return False
        kind = type(v)
        if kind is str:
            if not v.isascii() and clean_text(v) is not v:
                return False
        elif kind is int:
            if not -_LARGEST < v < _LARGEST:
                return False
        elif kind not in _PLAIN:
            return False
    return True


def as_data(value: Any) -> Any:
    """Return what is data by another name as that data."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (PurePath, UUID)):
        return str(value)
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, deque):
        return list(value)
    return bytes(value) if isinstance(value, bytearray) else from_column(value)


class _Copier:
    """Copies values that nobody else can change through the mapping they came in, within bounds."""

    def __init__(self, name: str, *, cuts: bool) -> None:
        self._name = name
        self._cuts = cuts
        self._left = MOST_VALUES

    def mapping(self, value: Mapping[Any, Any], depth: int) -> dict[Any, Any]:
        copied = {}
        for k, v in value.items():
            if self._left <= 0:
                self._unreadable(f"has more than {MOST_VALUES:,} values")
                break
            copied[clean_text(k) if isinstance(k, str) else self._foreign(k)] = self._copy(v, depth)
        return copied

    def _copy(self, value: Any, depth: int) -> Any:
        self._left -= 1
        if type(value) is str:
            return clean_text(value)
        if type(value) in _PLAIN:
            return value
        value = self._foreign(value)
        if isinstance(value, str):
            return clean_text(str.__str__(value))
        if isinstance(value, int):
            return (
                value if -_LARGEST < value < _LARGEST else self._unreadable("has a number that is too large")
            )
        # Only plain sequences: a named tuple or a class of the caller's own stays what it is.
        kind = type(value)
        if kind not in {list, tuple, set} and not isinstance(value, Mapping):
            return value
        if depth >= DEEPEST:
            return self._unreadable(f"is nested deeper than {DEEPEST}")
        if isinstance(value, Mapping):
            return self.mapping(value, depth + 1)
        return kind(self._items(value, depth + 1))

    def _items(self, items: Iterable[Any], depth: int) -> Iterator[Any]:
        for item in items:
            if self._left <= 0:
                self._unreadable(f"has more than {MOST_VALUES:,} values")
                return
            yield self._copy(item, depth)

    def _foreign(self, value: Any) -> Any:
        """Return a value as data, an object as it is if it may be printed and compared, as stages do."""
        try:
            value = as_data(value)
            if type(value) in _WALKED or isinstance(value, Mapping):
                return value
            bool(value)
            str(value)
            if isinstance(value, Hashable):
                hash(value)
        except Exception:  # noqa: BLE001 - whatever it raises, it would raise in a stage
            return self._unreadable(f"holds a {type(value).__name__} that cannot be printed or compared")
        return value

    def _unreadable(self, why: str) -> str:
        if not self._cuts:
            msg = f"{self._name} {why}"
            raise ConfigError(msg)
        return UNREADABLE


def quoted(value: object) -> str:
    """Return a value as an error may quote it: at most 100 characters, whatever it is.

    Example:
        >>> quoted("soon"), quoted([[[[[[[[1]]]]]]]])
        ("'soon'", '[[[[[[...]]]]]]')
    """
    try:
        return reprlib.repr(value)[:100]
    except Exception:  # noqa: BLE001 - what cannot describe itself must not replace the error that quotes it
        return f"<{type(value).__name__}>"


def as_names(value: Sequence[str] | str | None) -> tuple[str, ...] | None:
    """Return names as a tuple; one string is one name, None stays None."""
    if value is None:
        return None
    return (value,) if isinstance(value, str) else tuple(value)


def checked_names(values: Iterable[Any], name: str) -> tuple[str, ...]:
    """Return names as a tuple.

    Raises:
        ConfigError: They are no list of strings.
    """
    if type(values) in {tuple, list} and all(isinstance(value, str) for value in values):
        return tuple(values)
    msg = f"{name} must be a list of strings, got {type(values).__name__}"
    raise ConfigError(msg)


def set_fields(instance: object, **values: object) -> None:
    """Set fields of a frozen dataclass; only its own `__post_init__` may call this."""
    for name, value in values.items():
        object.__setattr__(instance, name, value)


def with_fields(instance: T, **values: object) -> T:
    """Return a copy of a frozen dataclass with some fields set, unlike `replace` without checking them.

    Only for values that `__post_init__` would leave as they are.
    """
    copied = object.__new__(type(instance))
    for name in instance.__dataclass_fields__:  # type: ignore[attr-defined]
        object.__setattr__(copied, name, values[name] if name in values else getattr(instance, name))
    return copied


def longest_run(text: str, character: str) -> int:
    """Return the length of the longest run of one character in a text.

    Example:
        >>> longest_run("a ``` b ````", "`")
        4
    """
    longest = current = 0
    for c in text:
        current = current + 1 if c == character else 0
        longest = max(longest, current)
    return longest
