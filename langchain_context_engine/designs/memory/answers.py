"""How the memory engine is asked and what it answers: contexts, previews, figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_context_engine.designs.memory.options import SearchOptions
from langchain_context_engine.designs.memory.results import SearchResult, is_direct, results_of
from langchain_context_engine.journal.values import TraceRow
from langchain_context_engine.models.types import Ranked, Status
from langchain_context_engine.trace.assemble import Parts, order
from langchain_context_engine.trace.context import Context


@dataclass(frozen=True, slots=True)
class Call:
    """A call as it came in: its name, the question or its vector, the workspace, the options."""

    name: str
    question: str | Sequence[float]
    workspace_id: Any
    options: Any
    more: Mapping[str, Any]

    @property
    def is_search(self) -> bool:
        """Whether memories are wanted rather than a context."""
        return self.name.startswith("search")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextResult:
    """A context; `str(result)` is its text.

    Attributes:
        context: The text.
        token_count: Its tokens, never above the budget.
        memories: What stands in it, best first.
        truncated: The budget made a difference: something was cut or left out for room.
        template: The name of the template used.
        warnings: What a person should know.
        error: Why it is empty, where `build_or_empty` had to give up; else None.
        trace: The whole record: why each memory is in or out.
    """

    context: str = ""
    token_count: int = 0
    memories: tuple[SearchResult, ...] = ()
    truncated: bool = False
    template: str = ""
    warnings: tuple[str, ...] = ()
    error: Exception | None = None
    trace: Context = field(default_factory=Context, repr=False)

    def __str__(self) -> str:
        return self.context


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPreview(ContextResult):
    """The same context as `build_context` gives, with more figures.

    Attributes:
        memory_ids: Ids of what stands in it, best first; `collection/id` where two collections have that id.
        ranking_scores: Id, or `collection/id`, → what it was sorted by, of every memory considered.
        budget_used: Tokens in percent of the budget, 0–100.
    """

    memory_ids: tuple[str, ...] = ()
    ranking_scores: Mapping[str, float] = field(default_factory=dict)
    budget_used: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAnalytics:
    """What was asked in one workspace, by the journal.

    Attributes:
        searches: How many searches and contexts.
        without_results: How many found nothing.
        partial: How many had to do without a failing source.
        mean_milliseconds: Mean duration.
        mean_memories: Mean number of memories in the text.
        mean_tokens: Mean tokens.
        top_queries: (question, how often), the most frequent first.
    """

    searches: int = 0
    without_results: int = 0
    partial: int = 0
    mean_milliseconds: float = 0.0
    mean_memories: float = 0.0
    mean_tokens: float = 0.0
    top_queries: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(cls, rows: Sequence[TraceRow], *, top: int) -> SearchAnalytics:
        """Return the figures of some traces."""
        n = len(rows)
        if not n:
            return cls()
        return cls(
            searches=n,
            without_results=sum(row.candidates == 0 for row in rows),
            partial=sum(row.status == Status.PARTIAL for row in rows),
            mean_milliseconds=sum(row.milliseconds for row in rows) / n,
            mean_memories=sum(row.kept for row in rows) / n,
            mean_tokens=sum(row.tokens for row in rows) / n,
            top_queries=tuple(Counter(row.query for row in rows if row.query).most_common(top)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the engine gave for a call, in the shapes that the calls return.

    Attributes:
        options: What was asked for.
        context: The engine's whole record.
        parts: The settings that ranked it.
    """

    options: SearchOptions
    context: Context
    parts: Parts

    def ranked(self) -> tuple[Ranked, ...]:
        """Return what rank and dedupe left, best first."""
        return order(self.context.candidates, self.context.request, self.parts).items

    def results(self) -> tuple[SearchResult, ...]:
        """Return the memories that were found themselves, best first, at most `limit`."""
        direct = [item for item in self.ranked() if is_direct(item, self.context)]
        return results_of(direct[: self.options.limit], self.context)

    def result(self) -> ContextResult:
        """Return the context."""
        return ContextResult(**self._fields(self.ranked()))

    def preview(self) -> ContextPreview:
        """Return the context with more figures."""
        ranked, context = self.ranked(), self.context
        fields = self._fields(ranked)
        ids = Counter(candidate.id for candidate in context.candidates)
        names = {key: "/".join(key) if ids[key[1]] > 1 else key[1] for key in (item.key for item in ranked)}
        kept = {passage.key for passage in context.passages}
        return ContextPreview(
            **fields,
            memory_ids=tuple(names[item.key] for item in ranked if item.key in kept),
            ranking_scores={names[item.key]: item.score for item in ranked},
            budget_used=100 * context.tokens / context.budget if context.budget else 0.0,
        )

    def _fields(self, ranked: Sequence[Ranked]) -> dict[str, Any]:
        context = self.context
        kept = {passage.key for passage in context.passages}
        return {
            "context": context.text,
            "token_count": context.tokens,
            "memories": results_of((item for item in ranked if item.key in kept), context),
            "truncated": context.is_truncated,
            "template": context.request.template.name,
            "warnings": context.warnings,
            "trace": context,
        }
