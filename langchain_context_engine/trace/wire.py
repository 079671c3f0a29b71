"""Contexts as JSON-ready data and back: what `Context.to_dict`, the journal and trace files hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_context_engine.models.errors import ConfigError
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.trace.codec import codec_of, fields_of, read_fields
from langchain_context_engine.trace.context import Context

__all__ = ["VERSION", "context_from_dict", "context_to_dict"]

VERSION = 1
"""The version that `context_to_dict` writes; it grows when an older reader would go wrong."""


def context_to_dict(context: Context) -> dict[str, Any]:
    """Return a context, its request and its candidates as JSON-ready data.

    A passage's candidate that stands in `candidates` is written as its index there.
    `context_from_dict` reads the data back, equal.

    Example:
        >>> data = context_to_dict(Context(text="hello", tokens=1, budget=10))
        >>> data["version"], data["text"]
        (1, 'hello')
        >>> context_from_dict(data).tokens
        1
    """
    data: dict[str, Any] = {"version": VERSION}
    for field in fields_of(Context):
        data[field.name] = field.codec.write(getattr(context, field.name))
    del data["trace_id"]
    _write_parts(context, data)
    indexes = {id(candidate): i for i, candidate in enumerate(context.candidates)}
    for passage, written in zip(context.passages, data["passages"], strict=True):
        index = indexes.get(id(passage.ranked.candidate))
        if index is not None:
            written["ranked"]["candidate"] = index
    return data


def context_from_dict(data: Mapping[str, Any]) -> Context:
    """Return the context that `context_to_dict` wrote.

    Raises:
        ConfigError: The data is not a trace, or was written by a newer version.
    """
    _check_version(data)
    try:
        plain = {name: value for name, value in data.items() if name != "version"}
        candidates = codec_of(tuple[Candidate, ...]).read(plain.get("candidates", []))
        plain["candidates"] = list(candidates)
        plain["parts"] = [_with_context(part) for part in plain.get("parts", [])]
        plain["passages"] = [_with_candidate(p, candidates) for p in plain.get("passages", [])]
        context: Context = read_fields(Context, plain)
    except ConfigError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, RecursionError) as error:
        msg = f"this is not a trace: {type(error).__name__}: {error}"
        raise ConfigError(msg) from error
    return context


def _check_version(data: object) -> None:
    if not isinstance(data, Mapping) or "version" not in data:
        msg = (
            "this is not a trace: expected what Context.to_dict() wrote, an object with a version, "
            f"got {type(data).__name__}"
        )
        raise ConfigError(msg)
    version = data["version"]
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        msg = f"this is not a trace: its version must be a whole number from 1, got {version!r:.80}"
        raise ConfigError(msg)
    if version > VERSION:
        msg = (
            f"this trace has version {version}, newer than {VERSION}, the newest that this "
            "langchain-context-engine reads; upgrade the package to open it"
        )
        raise ConfigError(msg)


def _write_parts(context: Context, data: dict[str, Any]) -> None:
    """Write a plan's parts, their contexts as any context; older readers know nothing of parts."""
    if not context.parts:
        del data["parts"]
    for part, written in zip(context.parts, data.get("parts", ()), strict=True):
        if part.context is not None:
            written["context"] = context_to_dict(part.context)


def _with_context(part: Any) -> Any:
    given = part.get("context")
    return part if given is None else {**part, "context": context_from_dict(given)}


def _with_candidate(passage: Any, candidates: tuple[Candidate, ...]) -> Any:
    index = passage["ranked"]["candidate"]
    if not isinstance(index, int):
        return passage
    if not 0 <= index < len(candidates):
        msg = f"this is not a trace: a passage names candidate {index} of {len(candidates)}"
        raise ConfigError(msg)
    return {**passage, "ranked": {**passage["ranked"], "candidate": candidates[index]}}
