"""What the memory engine finds: memories, how alike they are, and what they lead to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from langchain_context_engine.models.types import Candidate, Key, Ranked, Reason, Verdict
from langchain_context_engine.ranking.links import links_of
from langchain_context_engine.ranking.signals import MISSING, clamp, read_number
from langchain_context_engine.trace.context import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A stored memory.

    Attributes:
        id: Its id.
        content: Its text.
        type: What it is: fact, decision, …; "" where it states none.
        confidence: 0–1; 0.5 where it states none.
        created_at: When, aware, or None.
        metadata: Everything that is stored with it.
    """

    id: str
    content: str
    type: str = ""
    confidence: float = MISSING
    created_at: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, candidate: Candidate) -> Memory:
        """Return a candidate as a memory."""
        stated = read_number(candidate.metadata.get("confidence"))
        return cls(
            id=candidate.id,
            content=candidate.text,
            type=candidate.kind,
            confidence=MISSING if stated is None else clamp(stated),
            created_at=candidate.created_at,
            metadata=candidate.metadata,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Relationship:
    """A link from one memory to another, by their ids."""

    source_id: str
    target_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedMemory:
    """A memory that another leads to, by how many links at least."""

    memory: Memory
    relationship: Relationship
    depth: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """A memory that was found.

    Attributes:
        memory: The memory.
        score: Its similarity to the question, 0–1.
        rank: Its place among the results, from 1; None before ranking.
        rank_score: What it was sorted by, 0–1.
        relationships: Memories that it leads to and that were not found themselves, nearest first; each
            stands with the one result that it is nearest to.
        skipped_links: Ids that it links to and that were not read: there is nothing in this workspace, a
            filter excludes it, or a bound was reached.
    """

    memory: Memory
    score: float
    rank: int | None = None
    rank_score: float | None = None
    relationships: tuple[RelatedMemory, ...] = ()
    skipped_links: tuple[str, ...] = ()


def results_of(ranked: Iterable[Ranked], context: Context) -> tuple[SearchResult, ...]:
    """Return ranked memories as results, each with the memories that only it leads to.

    Args:
        ranked: Best first.
        context: The record of how they were found.
    """
    known = {candidate.key: candidate for candidate in context.candidates}
    steps = _steps(context)
    related: dict[Key, list[RelatedMemory]] = {}
    for key, (by, depth) in steps.items():
        if key in known:
            related.setdefault(_root(key, steps), []).append(
                RelatedMemory(
                    memory=Memory.of(known[key]),
                    relationship=Relationship(source_id=by[1], target_id=key[1]),
                    depth=depth,
                )
            )
    follows = context.request.depth > 0
    return tuple(
        SearchResult(
            memory=Memory.of(item.candidate),
            score=item.candidate.relevance,
            rank=place,
            rank_score=item.score,
            relationships=tuple(sorted(related.get(item.key, ()), key=lambda r: r.depth)),
            skipped_links=_skipped(item.candidate, known) if follows else (),
        )
        for place, item in enumerate(ranked, start=1)
    )


def is_direct(item: Ranked, context: Context) -> bool:
    """Return whether a memory was found itself, rather than through a link."""
    return item.key not in _steps(context)


def _steps(context: Context) -> dict[Key, tuple[Key, int]]:
    """Return, for each memory that came through a link, the one that links to it and the depth."""
    return {
        d.key: (tuple(d.details["by"]), int(d.details["depth"]))
        for d in context.decisions
        if d.verdict is Verdict.CHANGED
        and d.reason is Reason.EXPANDED
        and d.details.get("through") == Reason.EXPANDED
    }


def _root(key: Key, steps: Mapping[Key, tuple[Key, int]]) -> Key:
    while key in steps:
        key = steps[key][0]
    return key


def _skipped(candidate: Candidate, known: Mapping[Key, Candidate]) -> tuple[str, ...]:
    return tuple(link for link in links_of(candidate) if (candidate.source, link) not in known)
