"""Plain data at the door: cleaned texts, mappings copied as JSON would have them, fields of frozen values."""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any, TypeVar
from uuid import UUID

from pydantic_core import to_jsonable_python

from langchain_context_engine.errors import ConfigError

# Unicode's Default_Ignorable_Code_Point, space, controls, and Braille's empty cell.
_BLANK = re.compile(
    r"[\s\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    r"\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]*\Z"
)
T = TypeVar("T")

DEEPEST, MOST_VALUES = 50, 10_000
"""How deep values may be nested, and how many there may be, in metadata, a filter or a scope."""

UNREADABLE = "…"
"""Stands in a record's metadata where something was that cannot be read."""

_LARGEST = 2**1023


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
    r"""Return whether nothing in a text can be seen: no character, or only spaces, controls and marks."""
    return _BLANK.match(text) is not None


def copy_mapping(value: Mapping[str, Any] | None, name: str, *, cuts: bool = False) -> dict[str, Any]:
    """Return a copy that is plain JSON, so that a trace of it comes back equal; None is empty.

    Tuples and sets become lists, numpy's and pandas' values Python's own, enums what they stand for, paths
    and ids their text, other objects their type's name. Dates stay dates: filters know them.

    Args:
        value: What is copied.
        name: What an error calls it.
        cuts: It is a record's: dates become text, and `UNREADABLE` stands in the place of what nobody could
            walk through or count with (deeper than `DEEPEST`, beyond `MOST_VALUES`, a number beyond a
            float's range), so that a record with such a value is still a record; otherwise it is refused.

    Raises:
        ConfigError: The value is no mapping, or something in it is refused.
    """
    if not value and (value is None or type(value) is dict):
        return {}
    if type(value) is not dict and not isinstance(value, Mapping):
        raise ConfigError(f"{name} must be a mapping, got {type(value).__name__}")
    return dict(value) if _is_flat(value) else _Copier(name, cuts=cuts).mapping(value, 1)


def _is_flat(value: Mapping[Any, Any]) -> bool:
    """Tell whether a plain copy will do; a question makes hundreds."""
    try:
        "".join(value).encode()
        for item in value.values():
            kind = type(item)
            if kind is str:
                item.encode()
            elif kind is int or kind is float:
                if not -_LARGEST < item < _LARGEST:
                    return False
            elif item is not None and kind is not bool:
                return False
    except (TypeError, UnicodeEncodeError):
        return False
    return True


def as_data(value: Any) -> Any:
    """Return what is data by another name as that data; numpy and pandas are known without an import."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Decimal):
        return UNREADABLE if value.is_snan() else float(value)
    library = type(value).__module__.partition(".")[0]
    if library == "numpy" and hasattr(value, "tolist"):
        # Finer than Python's dates, numpy gives a count of nanoseconds.
        plain = value.astype(value.dtype.str[1:3] + "[us]") if value.dtype.kind in "mM" else value
        found = plain.tolist()
        return found if type(found).__module__ != "numpy" else float(found)
    if library == "pandas":
        if type(value).__name__ in {"NaTType", "NAType"}:
            return None
        for convert in ("to_pydatetime", "to_pytimedelta", "tolist"):
            if hasattr(value, convert):
                return getattr(value, convert)()
    return value


class _Copier:
    """Copies values that nobody else can change through the mapping they came in, within bounds."""

    def __init__(self, name: str, *, cuts: bool) -> None:
        self._name = name
        self._cuts = cuts
        self._left = MOST_VALUES

    def mapping(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        counted = self._counted(value.items())
        return {clean_text(str(self._copy(key, DEEPEST))): self._copy(item, depth) for key, item in counted}

    def _counted(self, items: Iterable[T]) -> Iterator[T]:
        for item in items:
            if self._left <= 0:
                self._unreadable(f"has more than {MOST_VALUES:,} values")
                return
            self._left -= 1
            yield item

    def _copy(self, value: Any, depth: int) -> Any:
        value = as_data(value)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return clean_text(str.__str__(value))
        if isinstance(value, (int, float)):
            return self._number(value)
        if isinstance(value, date):
            return value.isoformat().replace("+00:00", "Z") if self._cuts else value
        if isinstance(value, (Sequence, set, frozenset, Mapping)) and not isinstance(
            value, (bytes, bytearray)
        ):
            if depth >= DEEPEST:
                return self._unreadable(f"is nested deeper than {DEEPEST}")
            if isinstance(value, Mapping):
                return self.mapping(value, depth + 1)
            items = [self._copy(item, depth + 1) for item in self._counted(value)]
            # A set's order changes with the hash seed; the same record must give the same bytes.
            return sorted(items, key=repr) if isinstance(value, (set, frozenset)) else items
        return self._object(value, depth)

    def _number(self, value: float) -> Any:
        if isinstance(value, float) and math.isfinite(value):
            return float(value)
        if isinstance(value, float) and math.isnan(value):
            return None
        return int(value) if -_LARGEST < value < _LARGEST else self._unreadable("has a number too large")

    def _object(self, value: Any, depth: int) -> Any:
        """Return an object as pydantic writes it: by its fields, as ISO text; else its type's name."""
        if not self._cuts and not isinstance(value, (PurePath, UUID)):
            raise ConfigError(f"{self._name} holds a {type(value).__name__}, which is no data")
        try:
            written = to_jsonable_python(value, inf_nan_mode="null", fallback=_foreign)
        except (TypeError, ValueError, RecursionError):  # bytes that are no text, what holds itself, …
            return UNREADABLE
        return clean_text(written) if isinstance(written, str) else self._copy(written, depth)

    def _unreadable(self, why: str) -> str:
        if not self._cuts:
            raise ConfigError(f"{self._name} {why}")
        return UNREADABLE


def _foreign(value: Any) -> Any:
    """Name what has no form in JSON, unless it is data by another name: its `repr` may hold secrets."""
    data = as_data(value)
    return f"<{type(value).__module__}.{type(value).__qualname__}>" if data is value else data


def quoted(value: object) -> str:
    """Return a value as an error may quote it: at most 100 characters, whatever it is."""
    try:
        return reprlib.repr(value)[:100]
    except ValueError:  # a whole number of more digits than are ever printed
        return f"<{type(value).__name__}>"


def as_config_error(found: Sequence[Mapping[str, Any]]) -> ConfigError:
    """Return what pydantic's `ValidationError.errors()` tells as one of ours; a single one keeps its type."""
    own = found[0].get("ctx", {}).get("error")
    if len(found) == 1 and isinstance(own, ConfigError):
        return own
    return ConfigError("; ".join(map(_message, found)))


def _message(error: Mapping[str, Any]) -> str:
    if error["type"] == "value_error":  # raised by a check of ours, which says what was given
        message = str(error["msg"]).removeprefix("Value error, ")
    else:
        message = f"{error['msg']}, got {quoted(error['input'])}"
    place = ".".join(str(part) for part in error["loc"])
    return message if not place or place in message else f"{place}: {message}"


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
