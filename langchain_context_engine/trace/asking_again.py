"""A recorded question asked again, with other settings, against a store of today. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_context_engine.models.request import ContextRequest

__all__ = ["asked_again", "scope_within"]

_OF_THE_QUESTION = frozenset({"k"})
"""Settings of a replay that are fields of a request, and none of an engine."""


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
