"""What a workspace context is given as: sections of items, metadata, and the text for a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from langchain_context_engine.designs.workspace.request import WorkspaceRequest
from langchain_context_engine.filters import in_scope
from langchain_context_engine.models.clock import read_instant
from langchain_context_engine.models.types import Passage
from langchain_context_engine.trace.context import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextItem:
    """One block in the context.

    Attributes:
        block_id: Its id.
        block_type: Its type.
        content: What is shown of it.
        relevance: Its collector's own claim, 0–1.
        score: What it was sorted by, 0–1.
        is_truncated: It was cut.
        page_title: The title of the page it lies on, "" where that is not known.
        path: The breadcrumb: names from the top of the tree to it, titles or first lines; or what its
            metadata state under `path`.
        last_modified: When it was last changed.
    """

    block_id: str
    block_type: str
    content: str
    relevance: float
    score: float
    is_truncated: bool = False
    page_title: str = ""
    path: tuple[str, ...] = ()
    last_modified: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSection:
    """A section of the text: focus, semantic, relations, activity, history or system."""

    type: str
    title: str
    items: tuple[ContextItem, ...]
    token_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PayloadMetadata:
    """What a context was made of.

    Attributes:
        total_tokens: Tokens of `serialized`.
        focus_block_id: The focused block.
        focus_page_id: The focused page.
        timestamp: The instant that counted as now, ISO 8601.
        collectors_used: The collectors that were asked.
        blocks_included: Blocks in the text; messages and system prompts are none.
        blocks_considered: Blocks that were ranked.
        remaining_budget: Tokens that are left of the budget.
    """

    total_tokens: int
    focus_block_id: str | None
    focus_page_id: str | None
    timestamp: str
    collectors_used: tuple[str, ...]
    blocks_included: int
    blocks_considered: int
    remaining_budget: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPayload:
    """A context for a model; `str(payload)` is the text.

    Attributes:
        sections: In text order; empty where nothing fitted or was found.
        metadata: What it was made of.
        serialized: The text.
        context: The engine's own record: every candidate's fate, warnings, timings.
    """

    sections: tuple[ContextSection, ...]
    metadata: PayloadMetadata
    serialized: str
    context: Context

    def __str__(self) -> str:
        return self.serialized


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextValidationResult:
    """Whether a payload keeps what every context must, and what it does not."""

    is_valid: bool
    problems: tuple[str, ...] = ()


def payload_of(
    context: Context, request: WorkspaceRequest, titles: Mapping[str, str], store: str
) -> ContextPayload:
    """Return an engine's context as a payload.

    Args:
        context: What the engine gave.
        request: What was asked.
        titles: Section type → title.
        store: The collection's name: what is from there is a block.
    """
    types = {title: type_ for type_, title in titles.items()}
    passages = {passage.key: passage for passage in context.passages}
    sections = tuple(
        ContextSection(
            type=types.get(section.title, section.title),
            title=section.title,
            items=tuple(_item(passages[key]) for key in section.keys),
            token_count=section.tokens,
        )
        for section in context.sections
    )
    now = context.request.now
    metadata = PayloadMetadata(
        total_tokens=context.tokens,
        focus_block_id=request.focus.block_id,
        focus_page_id=request.focus.page_id,
        timestamp="" if now is None else now.isoformat(),
        collectors_used=context.request.sources or (),
        blocks_included=sum(key[0] == store for key in passages),
        blocks_considered=sum(candidate.source == store for candidate in context.candidates),
        remaining_budget=max(0, context.budget - context.tokens),
    )
    return ContextPayload(sections=sections, metadata=metadata, serialized=context.text, context=context)


def problems_of(payload: ContextPayload, count: Callable[[str], int]) -> ContextValidationResult:
    """Return whether a payload holds: its tokens, its budget, the permissions, no block twice."""
    context, told = payload.context, payload.metadata.total_tokens
    tokens = count(payload.serialized)
    keys = [passage.key for passage in context.passages]
    outside = [p for p in context.passages if not in_scope(p.ranked.candidate, context.request)]
    checks = {
        f"the text has {tokens} tokens, {told} are told": tokens != told,
        f"the text has {tokens} tokens, {context.budget} are allowed": tokens > context.budget,
        "no permissions were asked for": not context.request.scope,
        f"{len(outside)} blocks are outside the user's permissions": bool(outside),
        "a block stands in the text twice": len(keys) != len(set(keys)),
    }
    problems = tuple(problem for problem, is_so in checks.items() if is_so)
    return ContextValidationResult(is_valid=not problems, problems=problems)


def _item(passage: Passage) -> ContextItem:
    candidate = passage.ranked.candidate
    metadata: Mapping[str, Any] = candidate.metadata
    stated = metadata.get("path") or metadata.get("breadcrumb") or ()
    return ContextItem(
        block_id=candidate.id,
        block_type=candidate.kind,
        content=passage.text,
        relevance=candidate.relevance,
        score=passage.ranked.score,
        is_truncated=passage.is_truncated,
        page_title=str(metadata.get("page_title") or ""),
        path=tuple(map(str, stated)) if isinstance(stated, (list, tuple)) else (str(stated),),
        last_modified=read_instant(candidate.created_at),
    )
