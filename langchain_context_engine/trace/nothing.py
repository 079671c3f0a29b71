"""Contexts of questions that nobody was asked, and of those that nobody could answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_context_engine.models.errors import AllSourcesFailedError
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.verdicts import Status
from langchain_context_engine.trace.context import Context

__all__ = ["all_failed", "finds_nothing", "nothing_asked"]


def finds_nothing(request: ContextRequest) -> bool:
    """Return whether a request asks for nothing, so that nobody need be asked."""
    return request.k == 0 or request.limit == 0 or request.kinds == () or request.sources == ()


def nothing_asked(request: ContextRequest) -> Context:
    """Return the context of a request that asks for nothing."""
    return Context(
        budget=request.budget or 0, request=request, status=Status.EMPTY, is_truncated=request.budget == 0
    )


def all_failed(
    request: ContextRequest, error: AllSourcesFailedError, milliseconds: float, settings: Mapping[str, Any]
) -> Context:
    """Return what the journal keeps of a question that every source failed to answer."""
    return Context(
        budget=request.budget or 0,
        request=request,
        status=Status.FAILED,
        warnings=error.warnings,
        timings={"collect": milliseconds},
        source_timings=error.took,
        settings=settings,
    )
