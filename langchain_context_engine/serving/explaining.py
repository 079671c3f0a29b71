"""Why an answer over HTTP is as it is: its recorded trace, told to who may see what it was made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from langchain_context_engine.models.errors import ConfigError
from langchain_context_engine.serving.replies import as_json, error

if TYPE_CHECKING:
    from starlette.responses import Response

__all__ = ["why"]


def why(journal: Any, trace_id: str, scope: Mapping[str, Any], item: str | None = None) -> Response:
    """Return why a trace's candidates are in its text or not, as a response.

    A trace that there is not, one of another scope and an item that it has not are told alike.

    Args:
        journal: Has the trace; None is 501.
        trace_id: Its id, as `POST /build` gave it.
        scope: The caller's: the trace must have been asked within exactly this.
        item: One candidate, by any of its names; None is all.
    """
    if journal is None:
        return error(501, "not_kept", "this server keeps no traces")
    told = _explained(journal, trace_id, scope, item)
    if told is None:
        return error(404, "not_found", "there is no such trace or item")
    return as_json({"data": told})


def _explained(
    journal: Any, trace_id: str, scope: Mapping[str, Any], item: str | None
) -> dict[str, Any] | None:
    try:
        context = journal.trace(trace_id)
        if dict(context.request.scope) != dict(scope):
            return None
        explanation = context.explain(item)
    except ConfigError:
        return None
    return {
        "traceId": trace_id,
        "question": context.request.query,
        "status": str(context.status),
        "tokens": context.tokens,
        "budget": context.budget,
        "explanation": explanation,
        "warnings": list(context.warnings),
    }
