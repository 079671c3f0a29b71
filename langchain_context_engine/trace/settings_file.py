"""Settings in a file: read for an engine, and changed settings written as TOML, JSON or Python."""

from __future__ import annotations

import dataclasses
import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_context_engine.models.budget import Budget
from langchain_context_engine.models.errors import ConfigError
from langchain_context_engine.models.settings import describe
from langchain_context_engine.trace.config import EngineConfig

__all__ = ["SettingsFile", "as_json", "as_python", "as_toml", "read_settings"]

REQUEST = "request"
"""The table of a file that holds fields of the question."""

NONE = "null"
"""What stands for None in TOML, which has no word for it."""

_REQUEST_FIELDS = frozenset({"k", "template", "budget", "depth", "kinds", "sources", "min_confidence"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsFile:
    """What a file says.

    Attributes:
        settings: Settings of `EngineConfig`, read and checked.
        request: Fields of a question: pass them to `build`.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    request: Mapping[str, Any] = field(default_factory=dict)


def read_settings(path: str | os.PathLike[str]) -> SettingsFile:
    """Return the settings in a TOML or JSON file.

    Every name of `EngineConfig` may stand in it; `budget` as tokens or a table. Fields of the question stand
    in the table `request`. "null" is None.

    Args:
        path: A file whose name ends in `.toml` or `.json`.

    Raises:
        ConfigError: The file cannot be read, or a name or a value in it is wrong.
    """
    file = Path(path)
    data = _without_none(_parsed(file))
    request = data.pop(REQUEST, {})
    if not isinstance(request, dict) or set(request) - _REQUEST_FIELDS:
        known = ", ".join(sorted(_REQUEST_FIELDS))
        raise ConfigError(f"{file}: the table {REQUEST!r} may hold {known}; got {request!r:.200}")
    try:
        config = EngineConfig.read(data)
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from error
    return SettingsFile(settings={name: getattr(config, name) for name in data}, request=request)


def _parsed(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8")
        data = json.loads(text) if file.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise ConfigError(f"the settings {file} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        kind = file.suffix.removeprefix(".").upper() or "TOML"
        raise ConfigError(f"{file} is not {kind}: {error}") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{file} holds no settings: one is NAME = VALUE")
    return data


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_none(item) for name, item in value.items()}
    return None if value == NONE else value


def as_toml(changed: Mapping[str, Any]) -> str:
    """Return changed settings as TOML that `read_settings` reads.

    Args:
        changed: Settings as `replay` takes them; `k` is the question's.

    Raises:
        ConfigError: A part was given as a function, or the extra `inspector` is not installed.
    """
    try:
        import tomli_w
    except ImportError as error:
        raise ConfigError("writing TOML needs: pip install 'langchain-context-engine[inspector]'") from error
    return tomli_w.dumps(_with_none(_as_file(changed)))


def as_json(changed: Mapping[str, Any]) -> str:
    """Return changed settings as JSON that `read_settings` reads.

    Example:
        >>> print(as_json({"budget": 900, "k": None}))
        {
          "budget": 900,
          "request": {
            "k": null
          }
        }
    """
    return json.dumps(_as_file(changed), indent=2, ensure_ascii=False, sort_keys=True)


def as_python(changed: Mapping[str, Any]) -> str:
    """Return changed settings as the Python that makes an engine with them, with its imports.

    Example:
        >>> print(as_python({"budget": Budget(tokens=900, reserve=50), "k": 3}))
        from langchain_context_engine import Budget
        <BLANKLINE>
        engine = engine.with_settings(
            budget=Budget(tokens=900, reserve=50),
        )
        context = engine.build(question, k=3)
    """
    settings = {name: value for name, value in changed.items() if name != "k"}
    if not changed:
        return "# nothing is changed"
    lines = ["from langchain_context_engine import Budget", ""] if _has_budget(settings) else []
    if settings:
        told = [f"    {name}={_python(value)}," for name, value in settings.items()]
        lines += ["engine = engine.with_settings(", *told, ")"]
    if "k" in changed:
        lines.append(f"context = engine.build(question, k={changed['k']!r})")
    return "\n".join(lines)


def _has_budget(settings: Mapping[str, Any]) -> bool:
    return any(isinstance(value, Budget) for value in settings.values())


def _python(value: Any) -> str:
    if not isinstance(value, Budget):
        return repr(dict(value) if isinstance(value, Mapping) else value)
    return f"Budget({', '.join(f'{name}={part!r}' for name, part in _own_parts(value).items())})"


def _own_parts(budget: Budget) -> dict[str, Any]:
    """Return the parts of a budget that are not default, its tokens always."""
    usual = Budget()
    parts = {one.name: getattr(budget, one.name) for one in dataclasses.fields(budget)}
    return {
        name: dict(part) if isinstance(part, Mapping) else part
        for name, part in parts.items()
        if name == "tokens" or part != getattr(usual, name)
    }


def _as_file(changed: Mapping[str, Any]) -> dict[str, Any]:
    settings = {
        name: describe(_own_parts(value) if isinstance(value, Budget) else value)
        for name, value in changed.items()
        if name != "k"
    }
    return {**settings, **({REQUEST: {"k": changed["k"]}} if "k" in changed else {})}


def _with_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_none(item) for name, item in value.items()}
    return NONE if value is None else value
