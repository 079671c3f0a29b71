"""Values as JSON-ready data and back, led by the type hints of their dataclasses.

A value is written as an object of its fields; those at their default are left out. Where a field
may hold anything (metadata, filters, details), what JSON does not know is written as
`{"$": name, …}`: dates, tuples, sets, bytes, NaN and infinities, `Candidate`, `Message` and
`Template`. So nothing is lost, but for objects of other types: of them the type's name is kept,
since their `repr` may hold secrets and differs from run to run.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import math
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from typing import Any

from langchain_context_engine.models.errors import ConfigError
from langchain_context_engine.models.freeze import clean_text
from langchain_context_engine.models.types import Candidate, Message

__all__ = ["Codec", "Field", "codec_of", "fields_of", "read_fields", "write_fields"]

Convert = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Codec:
    """How a value is written as JSON-ready data, and read back."""

    write: Convert
    read: Convert


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a dataclass; `default` makes its default, None where it has none."""

    name: str
    codec: Codec
    default: Callable[[], Any] | None

    def is_default(self, value: object) -> bool:
        """Whether a value is the default, of the same type."""
        if self.default is None:
            return False
        default = self.default()
        return value is default or (type(value) is type(default) and value == default)


@functools.cache
def fields_of(cls: Any) -> tuple[Field, ...]:
    """Return the fields of a dataclass, in order."""
    hints = typing.get_type_hints(cls)
    return tuple(Field(f.name, codec_of(hints[f.name]), _default(f)) for f in dataclasses.fields(cls))


def _default(field: dataclasses.Field[Any]) -> Callable[[], Any] | None:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory
    if field.default is not dataclasses.MISSING:
        return lambda: field.default
    return None


def write_fields(value: Any) -> dict[str, Any]:
    """Return a dataclass's fields as JSON-ready data, those at their default left out."""
    written = {}
    cls: Any = type(value)
    for field in fields_of(cls):
        content = getattr(value, field.name)
        if not field.is_default(content):
            written[field.name] = field.codec.write(content)
    return written


def read_fields(cls: Any, data: Any) -> Any:
    """Return the dataclass that `write_fields` wrote; one that is read already is passed on.

    Raises:
        ConfigError: The data is no object, has an unknown field or a value of another type.
    """
    if isinstance(data, cls):
        return data
    _expect(data, Mapping, cls.__name__)
    fields = {field.name: field for field in fields_of(cls)}
    unknown = sorted(str(name) for name in set(data) - set(fields))
    if unknown:
        msg = f"this is not a trace: {cls.__name__} has no field {', '.join(unknown)}"
        raise ConfigError(msg)
    return cls(**{name: fields[name].codec.read(value) for name, value in data.items()})


def _expect(value: object, kind: Any, name: str) -> None:
    if isinstance(value, kind) and not (isinstance(value, bool) and name in {"int", "float"}):
        return
    msg = f"this is not a trace: expected {name}, got {value!r:.80}"
    raise ConfigError(msg)


@functools.cache
def codec_of(hint: Any) -> Codec:
    """Return how a field of that type hint is written and read."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return _optional(codec_of(next(a for a in arguments if a is not types.NoneType)))
    if origin is tuple:
        return _tuple(arguments)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping(codec_of(arguments[1]))
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return Codec(write_fields, functools.partial(read_fields, hint))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return Codec(str, hint)
    if hint is datetime:
        return Codec(datetime.isoformat, datetime.fromisoformat)
    if hint in (str, int, float, bool):
        return Codec(_write_any, functools.partial(_read_plain, hint))
    return Codec(_write_any, _read_any)


def _optional(codec: Codec) -> Codec:
    return Codec(
        lambda value: None if value is None else codec.write(value),
        lambda value: None if value is None else codec.read(value),
    )


def _tuple(arguments: tuple[Any, ...]) -> Codec:
    codecs = [codec_of(a) for a in arguments if a is not Ellipsis]
    is_open = Ellipsis in arguments

    def read(value: Any) -> tuple[Any, ...]:
        _expect(value, list, "a list")
        if is_open:
            return tuple(codecs[0].read(item) for item in value)
        return tuple(codec.read(item) for codec, item in zip(codecs, value, strict=True))

    def write(value: Any) -> list[Any]:
        if is_open:
            return [codecs[0].write(item) for item in value]
        return [codec.write(item) for codec, item in zip(codecs, value, strict=True)]

    return Codec(write, read)


def _mapping(codec: Codec) -> Codec:
    def write(value: Any) -> Any:
        if _has_plain_keys(value):
            return {clean_text(name): codec.write(item) for name, item in value.items()}
        return _write_any(value)

    def read(value: Any) -> Any:
        _expect(value, Mapping, "an object")
        if "$" in value:
            return _read_any(value)
        return {name: codec.read(item) for name, item in value.items()}

    return Codec(write, read)


def _read_plain(kind: type, value: Any) -> Any:
    read = _read_any(value)
    _expect(read, (int, float) if kind is float else kind, kind.__name__)
    return read


def _has_plain_keys(value: Mapping[Any, Any]) -> bool:
    return "$" not in value and all(type(name) is str for name in value)


@functools.cache
def _named_types() -> dict[str, type]:
    from langchain_context_engine.rendering.templates import Template

    return {"candidate": Candidate, "message": Message, "template": Template}


def _write_any(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return clean_text(str(value))
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$": "float", "value": repr(float(value))}
    if isinstance(value, list):
        return [_write_any(item) for item in value]
    if isinstance(value, Mapping) and _has_plain_keys(value):
        return {clean_text(name): _write_any(item) for name, item in value.items()}
    return _write_tagged(value)


def _write_tagged(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {"$": "mapping", "items": [[_write_any(k), _write_any(v)] for k, v in value.items()]}
    if isinstance(value, (tuple, set, frozenset)):
        name = next(n for n, kind in _COLLECTIONS.items() if isinstance(value, kind))
        items = [_write_any(item) for item in value]
        # A set's order changes with the hash seed; the same context must give the same bytes.
        return {"$": name, "items": items if name == "tuple" else sorted(items, key=repr)}
    if isinstance(value, (datetime, date)):
        if value != value:  # noqa: PLR0124 - pandas' missing date
            return None
        return {"$": "datetime" if isinstance(value, datetime) else "date", "value": value.isoformat()}
    if isinstance(value, (bytes, bytearray)):
        return {"$": "bytes", "value": base64.b64encode(value).decode()}
    if dataclasses.is_dataclass(value):
        for name, kind in _named_types().items():
            if type(value) is kind:
                return {"$": name, "value": write_fields(value)}
    if type(value).__module__ == "numpy" and value.ndim == 0:  # a numpy scalar
        return _write_any(value.item())
    return f"<{type(value).__module__}.{type(value).__qualname__}>"


_COLLECTIONS: dict[str, type] = {"tuple": tuple, "frozenset": frozenset, "set": set}

_READERS: dict[str, Convert] = {
    "mapping": lambda data: {_read_any(k): _read_any(v) for k, v in data["items"]},
    "datetime": lambda data: datetime.fromisoformat(data["value"]),
    "date": lambda data: date.fromisoformat(data["value"]),
    "float": lambda data: float(data["value"]),
    "bytes": lambda data: base64.b64decode(data["value"]),
}


def _read_any(value: Any) -> Any:
    if isinstance(value, list):
        return [_read_any(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    if "$" not in value:
        return {name: _read_any(item) for name, item in value.items()}
    name = value["$"]
    if name in _COLLECTIONS:
        return _COLLECTIONS[name](_read_any(item) for item in value["items"])
    if name in _READERS:
        return _READERS[name](value)
    return read_fields(_named_types()[name], value["value"])
