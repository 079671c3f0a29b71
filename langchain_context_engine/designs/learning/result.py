"""What the learning memory gives: the text, its items, and what is logged of it."""

from __future__ import annotations

import logging
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langchain_context_engine.designs.learning.formats import METADATA_OF
from langchain_context_engine.models.errors import AllSourcesFailedError, ContextEngineError, UnknownNameError
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Passage, Status
from langchain_context_engine.trace.context import Context


class ContextAssemblyError(ContextEngineError):
    """The root of this design's own errors."""


class InvalidContextTypeError(ContextAssemblyError, UnknownNameError):
    """No source has that context type; those that there are, are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextItem:
    """One piece of context.

    Attributes:
        source: memory, code, experience, value or commit.
        content: What is shown of it.
        relevance: Similarity, 0–1.
        metadata: What its kind tells; see `METADATA_OF`.
        score: What it was sorted by, 0–1.
        is_truncated: It was cut.
    """

    source: str
    content: str
    relevance: float
    metadata: Mapping[str, Any]
    score: float
    is_truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FormattedContext:
    """A context for an agent; `str()` of it is the text.

    Attributes:
        markdown: The text; "" where nothing was found, which is no error.
        items: The best first.
        token_count: Tokens of the text.
        sources_used: Kind → items in the text.
        limit_exceeded: The soft limit was exceeded.
        is_partial: A source failed or was late.
        warnings: What was noticed.
        context: The engine's own record: every candidate's fate, timings.
    """

    markdown: str
    items: tuple[ContextItem, ...]
    token_count: int
    sources_used: Mapping[str, int]
    limit_exceeded: bool
    is_partial: bool
    warnings: tuple[str, ...]
    context: Context

    def __str__(self) -> str:
        return self.markdown


def nothing_found(request: ContextRequest, error: AllSourcesFailedError) -> Context:
    """Return the context where every source failed: empty and partial, which the document calls no error."""
    budget = request.budget or 0
    return Context(budget=budget, request=request, warnings=error.warnings, status=Status.PARTIAL)


def formatted(context: Context) -> FormattedContext:
    """Return an engine's context as this design gives it."""
    best_first = sorted(context.passages, key=lambda passage: -passage.ranked.score)
    items = tuple(_item(passage) for passage in best_first)
    return FormattedContext(
        markdown=context.text,
        items=items,
        token_count=context.tokens,
        sources_used=dict(Counter(item.source for item in items)),
        limit_exceeded=context.tokens > context.budget,
        is_partial=context.status == "partial",
        warnings=context.warnings,
        context=context,
    )


def log_context(event: str, found: FormattedContext) -> None:
    """Log one answer: how many and how long, never a text.

    Events: the given one; `context.source_failed` for each source that failed; `context.limit_exceeded`.
    They go to structlog where the application has configured it, else to the standard `logging`.
    """
    context = found.context
    _log(
        logging.INFO,
        event,
        items=len(found.items),
        sources_used=dict(found.sources_used),
        token_count=found.token_count,
        max_tokens=context.budget,
        status=str(context.status),
        milliseconds=round(sum(context.timings.values()), 1),
    )
    for warning in context.warnings:
        if warning.startswith("source ") and " failed: " in warning:
            _log(logging.WARNING, "context.source_failed", warning=warning)
    if found.limit_exceeded:
        _log(
            logging.WARNING,
            "context.limit_exceeded",
            token_count=found.token_count,
            max_tokens=context.budget,
        )


def _log(level: int, event: str, **fields: Any) -> None:
    structlog = sys.modules.get("structlog")  # whoever has configured it has imported it
    if structlog is not None and structlog.is_configured():
        structlog.get_logger(__name__).log(level, event, **fields)
        return
    told = " ".join(f"{name}={value!r}" for name, value in fields.items())
    logging.getLogger(__name__).log(level, "event=%r %s", event, told, extra=fields)


def _item(passage: Passage) -> ContextItem:
    candidate = passage.ranked.candidate
    names = METADATA_OF.get(candidate.kind, ())
    metadata = {name: candidate.metadata.get(name) for name in names}
    if candidate.kind not in {"code", "commit"}:
        metadata = {"id": candidate.metadata.get("ghap_id", candidate.id), **metadata}
    return ContextItem(
        source=candidate.kind,
        content=passage.text,
        relevance=candidate.relevance,
        metadata=metadata,
        score=passage.ranked.score,
        is_truncated=passage.is_truncated,
    )
