"""Settings that were changed: written as TOML, JSON or Python, and asked again of a store of today."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from langchain_context_engine.config import as_data
from langchain_context_engine.errors import ConfigError
from langchain_context_engine.models.budget import Budget
from langchain_context_engine.models.request import ContextRequest

REQUEST = "request"
"""The table of a file that holds fields of the question."""

NONE = "null"
"""What stands for None in TOML, which has no word for it."""

_OF_THE_QUESTION = frozenset({"k"})
"""Settings of a replay that are fields of a request, and none of an engine."""


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
        name: as_data(_own_parts(value) if isinstance(value, Budget) else value)
        for name, value in changed.items()
        if name != "k"
    }
    return {**settings, **({REQUEST: {"k": changed["k"]}} if "k" in changed else {})}


def _with_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_none(item) for name, item in value.items()}
    return NONE if value is None else value


def asked_again(
    request: ContextRequest | None, changed: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings of an engine, and the fields of a request, for settings as `replay` takes them.

    The time is now, and the vector and the names of sources are those of the store that is asked: of the
    recorded request they are taken away. What is changed goes before what the request said.

    Args:
        request: What is asked again; None is a new question.
        changed: Settings as `replay` takes them.

    Example:
        >>> asked_again(ContextRequest(query="why?", budget=400), {"k": 3, "order": "stable"})
        ({'order': 'stable'}, {'k': 3, 'now': None, 'vector': None, 'sources': None, 'budget': 400})
    """
    settings = {name: value for name, value in changed.items() if name not in _OF_THE_QUESTION}
    fields = {name: value for name, value in changed.items() if name in _OF_THE_QUESTION}
    if request is None:
        return settings, fields
    fields |= {"now": None, "vector": None, "sources": None}
    if "budget" in settings:
        fields["budget"] = None
    elif request.budget is not None:
        fields["budget"] = request.budget
    if "template" in settings:
        fields["template"] = None
    return settings, fields


def scope_within(asked: Mapping[str, Any], bound: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scope to ask within where only some may be seen: what is bound goes before what is asked.

    Example:
        >>> scope_within({"tenant": "umbra", "user": "ann"}, {"tenant": "acme"})
        {'tenant': 'acme', 'user': 'ann'}
    """
    return {**asked, **bound}
