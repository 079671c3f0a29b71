"""Serialization of contexts, by pydantic: what `Context.to_dict`, the journal and trace files hold."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import date, datetime
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.models.freeze import quoted
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.rendering.templates import Template
from langchain_context_engine.trace.context import Context

VERSION = 1
"""The form of the data: it grows when a reader of the one before would go wrong."""

_DATE = "$date"
"""A filter's date is `{"$date": "2026-01-01"}`: as text it would match as text."""


@functools.cache
def _adapters() -> Mapping[str, TypeAdapter[Any]]:
    hints = get_type_hints(Context)
    return {one.name: TypeAdapter(hints[one.name]) for one in fields(Context) if one.name != "trace_id"}


@functools.cache
def _reader() -> TypeAdapter[Context]:
    return TypeAdapter(Context)


def context_to_dict(context: Context) -> dict[str, Any]:
    """Return a context, its request and its candidates as JSON-ready data.

    Below the top what is at its default is left out. A passage's candidate that stands in `candidates` is
    written as its index there.

    Example:
        >>> data = context_to_dict(Context(text="hello", tokens=1, budget=10))
        >>> data["version"], data["text"]
        (1, 'hello')
        >>> context_from_dict(data).tokens
        1
    """
    data: dict[str, Any] = {"version": VERSION}
    for name, adapter in _adapters().items():
        data[name] = _dumped(adapter, getattr(context, name), exclude=_EXCLUDED.get(name))
    data["request"] = request_to_dict(context.request)
    indexes = {id(candidate): index for index, candidate in enumerate(context.candidates)}
    for passage, written in zip(context.passages, data["passages"], strict=True):
        candidate = passage.ranked.candidate
        at = indexes.get(id(candidate))
        written["ranked"]["candidate"] = _dumped(_candidates(), candidate) if at is None else at
    for part, written in zip(context.parts, data["parts"], strict=True):
        if part.context is not None:
            written["context"] = context_to_dict(part.context)
    return data


_EXCLUDED: Mapping[str, Any] = {
    "passages": {"__all__": {"ranked": {"candidate"}}},
    "parts": {"__all__": {"context"}},
    "request": {"template", "pinned", "scope", "where"},
}


@functools.cache
def _candidates() -> TypeAdapter[Candidate]:
    return TypeAdapter(Candidate)


def _dumped(adapter: TypeAdapter[Any], value: Any, *, exclude: Any = None, is_whole: bool = False) -> Any:
    return adapter.dump_python(
        value,
        mode="json",
        exclude=exclude,
        exclude_defaults=True,
        fallback=None if is_whole else _type_name,
        warnings=False,
    )


def _type_name(value: Any) -> str:
    """Name what has no form in JSON: what it says of itself may hold secrets, and differs from run to run."""
    return f"<{type(value).__module__}.{type(value).__qualname__}>"


def request_to_dict(request: ContextRequest, *, is_whole: bool = False) -> dict[str, Any]:
    """Return a request as JSON-ready data, its fields at their default left out.

    Args:
        request: What was asked.
        is_whole: Refuse what data cannot hold, a Document that is pinned for example; otherwise its type's
            name stands for it.

    Raises:
        ConfigError: `is_whole`, and something would be lost.
    """
    try:
        data: dict[str, Any] = _dumped(
            _adapters()["request"], request, exclude=_EXCLUDED["request"], is_whole=is_whole
        )
        for name in ("scope", "where"):
            if given := getattr(request, name):
                data[name] = _with_dates(given)
        if request.template is not None:
            given = request.template
            data["template"] = asdict(given) if isinstance(given, Template) else given
        if request.pinned:
            data["pinned"] = [_pinned(item, is_whole=is_whole) for item in request.pinned]
    except (PydanticSerializationError, TypeError) as error:
        raise ConfigError(f"the request holds what is no data: {type(error).__name__}") from error
    return data


def _pinned(item: Any, *, is_whole: bool) -> Any:
    if isinstance(item, (str, tuple)):
        return item if isinstance(item, str) else list(item)
    if isinstance(item, Candidate):
        return _dumped(_candidates(), item, is_whole=is_whole)
    if is_whole:
        raise TypeError
    return _type_name(item)


def _with_dates(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _with_dates(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_dates(item) for item in value]
    return {_DATE: value.isoformat()} if isinstance(value, (date, datetime)) else value


def _dates_read(value: Any) -> Any:
    if isinstance(value, list):
        return [_dates_read(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    if set(value) == {_DATE}:
        text = value[_DATE]
        return datetime.fromisoformat(text) if "T" in text else date.fromisoformat(text)
    return {name: _dates_read(item) for name, item in value.items()}


def context_from_dict(data: Mapping[str, Any]) -> Context:
    """Return the context that `context_to_dict` wrote; fields that this version does not know are left out.

    Raises:
        ConfigError: The data is not a trace, or in a newer form.
    """
    _check_version(data)
    try:
        plain = {name: value for name, value in data.items() if name in _adapters()}
        plain["candidates"] = _adapters()["candidates"].validate_python(plain.get("candidates", []))
        plain["request"] = _request(plain.get("request", {}))
        plain["decisions"] = [_decision(decision) for decision in plain.get("decisions", [])]
        plain["parts"] = [_part(part) for part in plain.get("parts", [])]
        plain["passages"] = [_passage(p, plain["candidates"]) for p in plain.get("passages", [])]
        return _reader().validate_python(plain)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in found["loc"])
        raise ConfigError(f"this is not a trace: {place or 'it'}: {found['msg']}") from None
    except ConfigError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, RecursionError) as error:
        raise ConfigError(f"this is not a trace: {type(error).__name__}: {error}") from error


def _check_version(data: object) -> None:
    if not isinstance(data, Mapping) or "version" not in data:
        raise ConfigError(
            "this is not a trace: expected what Context.to_dict() wrote, an object with a version, "
            f"got {type(data).__name__}"
        )
    version = data["version"]
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ConfigError(
            f"this is not a trace: its version must be a whole number from 1, got {quoted(version)}"
        )
    if version > VERSION:
        raise ConfigError(
            f"this trace has version {version}, newer than {VERSION}, the newest that this "
            "langchain-context-engine reads; upgrade the package to open it"
        )


def _request(data: Any) -> ContextRequest:
    filters = {name: _dates_read(data[name]) for name in ("scope", "where") if name in data}
    given = data.get("template")
    known = {one.name for one in fields(Template)}
    template = (
        Template(**{k: v for k, v in given.items() if k in known}) if isinstance(given, Mapping) else given
    )
    pinned = [
        _candidates().validate_python(item) if isinstance(item, Mapping) else item
        for item in data.get("pinned", ())
    ]
    plain: ContextRequest = _adapters()["request"].validate_python(
        {**data, **filters, "template": template, "pinned": pinned}
    )
    return plain


def _decision(data: Any) -> Any:
    return {**data, "details": {name: _as_tuple(value) for name, value in data.get("details", {}).items()}}


def _as_tuple(value: Any) -> Any:
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value


def _part(data: Any) -> Any:
    given = data.get("context")
    return data if given is None else {**data, "context": context_from_dict(given)}


def _passage(data: Any, candidates: tuple[Candidate, ...]) -> Any:
    ranked = data["ranked"]
    index = ranked["candidate"]
    if not isinstance(index, int):
        return data
    if not 0 <= index < len(candidates):
        raise ConfigError(f"this is not a trace: a passage names candidate {index} of {len(candidates)}")
    return {**data, "ranked": {**ranked, "candidate": candidates[index]}}
