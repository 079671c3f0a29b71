"""Serialization of contexts, by pydantic: what `Context.to_dict`, the journal and trace files hold."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import date, datetime
from typing import Any

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


_PLAIN: Mapping[str, Any] = {"mode": "json", "exclude_defaults": True, "warnings": False}
_LEFT_OUT: Mapping[str, Any] = {
    "trace_id": True,
    "passages": {"__all__": {"ranked": {"candidate"}}},
    "parts": {"__all__": {"context"}},
    "request": True,
}


@functools.cache
def _adapter(kind: type) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


@functools.cache
def _blank() -> str:
    whole = _adapter(Context).dump_python(Context(), mode="json", exclude={"trace_id", "request"})
    return json.dumps({"version": VERSION, **whole})


def context_to_dict(context: Context) -> dict[str, Any]:
    """Return a context, its request and its candidates as JSON-ready data.

    Below the top what is at its default is left out. A passage's candidate that stands in `candidates` is
    written as its index there.
    """
    written = _adapter(Context).dump_python(context, exclude=_LEFT_OUT, fallback=_type_name, **_PLAIN)
    data: dict[str, Any] = {**json.loads(_blank()), **written, "request": request_to_dict(context.request)}
    indexes = {id(candidate): index for index, candidate in enumerate(context.candidates)}
    for passage, told in zip(context.passages, data["passages"], strict=True):
        candidate = passage.ranked.candidate
        at = indexes.get(id(candidate))
        told["ranked"]["candidate"] = _candidate(candidate) if at is None else at
    for part, told in zip(context.parts, data["parts"], strict=True):
        if part.context is not None:
            told["context"] = context_to_dict(part.context)
    return data


def _candidate(candidate: Candidate, *, is_whole: bool = False) -> Any:
    fallback = None if is_whole else _type_name
    return _adapter(Candidate).dump_python(candidate, fallback=fallback, **_PLAIN)


def _type_name(value: Any) -> str:
    """Name what has no form in JSON: what it says of itself may hold secrets, and differs from run to run."""
    return f"<{type(value).__module__}.{type(value).__qualname__}>"


def request_to_dict(request: ContextRequest, *, is_whole: bool = False) -> dict[str, Any]:
    """Return a request as JSON-ready data, its fields at their default left out.

    Args:
        request: What was asked.
        is_whole: Refuse what data cannot hold, a Document that is pinned for example; otherwise its type's
            name stands for it.
    """
    fallback = None if is_whole else _type_name
    elsewhere = {"template", "pinned", "scope", "where"}
    try:
        data: dict[str, Any] = _adapter(ContextRequest).dump_python(
            request, exclude=elsewhere, fallback=fallback, **_PLAIN
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
        return _candidate(item, is_whole=is_whole)
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
    """Return the context that `context_to_dict` wrote; fields that are not known are left out."""
    version = data.get("version") if isinstance(data, Mapping) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ConfigError(
            f"this is not a trace, which is what Context.to_dict() returns: its version is {quoted(version)}"
        )
    if version > VERSION:
        raise ConfigError(
            f"this trace has version {version}, newer than {VERSION}, the newest that this "
            "langchain-context-engine reads; upgrade the package to open it"
        )
    try:
        return _adapter(Context).validate_python(_read(data))  # type: ignore[no-any-return]
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in found["loc"])
        raise ConfigError(f"this is not a trace: {place or 'it'}: {found['msg']}") from None
    except ConfigError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, RecursionError) as error:
        raise ConfigError(f"this is not a trace: {type(error).__name__}: {error}") from error


def _read(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a trace's fields with what pydantic cannot know in its place."""
    read = {name: value for name, value in data.items() if name in Context.__slots__ and name != "trace_id"}
    candidates = _adapter(tuple[Candidate, ...]).validate_python(data.get("candidates", ()))
    passages = [_passage(passage, candidates) for passage in data.get("passages", ())]
    parts = [
        {**part, "context": context_from_dict(part["context"])} if part.get("context") else part
        for part in data.get("parts", ())
    ]
    decisions = [
        {**decision, "details": {name: _as_tuple(value) for name, value in decision["details"].items()}}
        if "details" in decision
        else decision
        for decision in data.get("decisions", ())
    ]
    return {**read, "candidates": candidates, "passages": passages, "parts": parts, "decisions": decisions,
            "request": _request(data.get("request", {}))}  # fmt: skip


def _request(data: Any) -> ContextRequest:
    filters = {name: _dates_read(data[name]) for name in ("scope", "where") if name in data}
    template = data.get("template")
    if isinstance(template, Mapping):
        known = {one.name for one in fields(Template)}
        template = Template(**{name: value for name, value in template.items() if name in known})
    pinned = [
        _adapter(Candidate).validate_python(item) if isinstance(item, Mapping) else item
        for item in data.get("pinned", ())
    ]
    read = {**data, **filters, "template": template, "pinned": pinned}
    return _adapter(ContextRequest).validate_python(read)  # type: ignore[no-any-return]


def _as_tuple(value: Any) -> Any:
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value


def _passage(data: Any, candidates: tuple[Candidate, ...]) -> Any:
    ranked = data["ranked"]
    index = ranked["candidate"]
    if not isinstance(index, int):
        return data
    if not 0 <= index < len(candidates):
        raise ConfigError(f"this is not a trace: a passage names candidate {index} of {len(candidates)}")
    return {**data, "ranked": {**ranked, "candidate": candidates[index]}}
