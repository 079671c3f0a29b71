"""What the prime-context service answers: items, citations, counts and figures, read off a `Context`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_context_engine.models.types import Candidate, Passage
from langchain_context_engine.rendering.citations import Citation, mark_used
from langchain_context_engine.rendering.templates import title_of
from langchain_context_engine.search.finders import KEYWORDS
from langchain_context_engine.telemetry.instruments import PHASES
from langchain_context_engine.text.words import words
from langchain_context_engine.trace.cited import list_citations, sources_block
from langchain_context_engine.trace.context import Context

__all__ = ["ContextItem", "ContextMetrics", "ContextStats", "PrimeContext"]

_COUNTED = {"reference": "explicit", "message": "history"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextItem:
    """One passage of the context.

    Attributes:
        id: The record's id; `collection/id` where two collections offered that id.
        type: `file`, `chunk`, `message`, `reference`, or what the record calls itself.
        content: What stands in the context of it.
        excerpt: The excerpt that was found, matches between `<<<` and `>>>`; "" where nothing matched.
        source: Its path, else its title, else where it comes from.
        relevance: What it was chosen by, 0–1.
        tokens: What it costs in the text.
        citation: Its marker.
        metadata: `path`, `created_at`, `matched_keywords`, `search_rank`; those that are known.
    """

    id: str
    type: str
    content: str
    excerpt: str
    source: str
    relevance: float
    tokens: int
    citation: str
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextStats:
    """How many records were found, by how, and how many of them are not in the context.

    Explicit, search and history together are the items and the excluded.
    """

    explicit_count: int = 0
    search_count: int = 0
    history_count: int = 0
    excluded_count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextMetrics:
    """Figures of one answer; times in milliseconds. The same go to OpenTelemetry, see `telemetry`.

    Attributes:
        assembly_time: The whole answer.
        search_latency: Asking the sources.
        scoring_latency: Ranking and removing duplicates.
        optimization_latency: Sharing out the budget and rendering.
        items_retrieved: Records that were ranked.
        items_selected: Passages in the text.
        token_usage: Tokens of the text.
        is_cached: It came from the cache.
        cache_hit_rate: The share of the service's questions so far that the cache answered, 0–1.
    """

    assembly_time: float
    search_latency: float
    scoring_latency: float
    optimization_latency: float
    items_retrieved: int
    items_selected: int
    token_usage: int
    is_cached: bool
    cache_hit_rate: float = 0.0

    def to_dict(self) -> dict[str, float]:
        """Return the figures under the document's names, JSON-ready."""
        return {
            "assemblyTime": self.assembly_time,
            "itemsRetrieved": self.items_retrieved,
            "itemsSelected": self.items_selected,
            "tokenUsage": self.token_usage,
            "cacheHitRate": self.cache_hit_rate,
            "searchLatency": self.search_latency,
            "scoringLatency": self.scoring_latency,
            "optimizationLatency": self.optimization_latency,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PrimeContext:
    """A context as the service answers it.

    Attributes:
        total_tokens: Tokens of the text.
        items: In text order.
        citations: One for each item, in text order.
        stats: Counts.
        text: What to give to the model.
        cache_hit_rate: As `ContextMetrics` has it, when this was answered.
        trace: The whole `Context`: why each candidate is in it or not.
    """

    total_tokens: int
    items: tuple[ContextItem, ...]
    citations: tuple[Citation, ...]
    stats: ContextStats
    text: str
    trace: Context
    cache_hit_rate: float = 0.0

    def __str__(self) -> str:
        return self.text

    @classmethod
    def of(cls, context: Context, *, cache_hit_rate: float = 0.0) -> PrimeContext:
        """Read a context of any engine."""
        ids = Counter(id_ for _, id_ in {candidate.key for candidate in context.candidates})
        found = Counter(_COUNTED.get(candidate.kind, "search") for candidate in context.candidates)
        return cls(
            total_tokens=context.tokens,
            items=tuple(
                _item(passage, context.request.query, is_shared=ids[passage.key[1]] > 1)
                for passage in context.passages
            ),
            citations=list_citations(context),
            stats=ContextStats(
                explicit_count=found["explicit"],
                search_count=found["search"],
                history_count=found["history"],
                excluded_count=len(context.candidates) - len(context.passages),
            ),
            text=context.text,
            trace=context,
            cache_hit_rate=cache_hit_rate,
        )

    @property
    def metrics(self) -> ContextMetrics:
        """The figures of this answer."""
        timings = self.trace.timings
        search, scoring, optimisation = (
            sum(timings.get(stage, 0.0) for stage in stages) for stages in PHASES.values()
        )
        return ContextMetrics(
            assembly_time=timings.get("total", sum(timings.values())),
            search_latency=search,
            scoring_latency=scoring,
            optimization_latency=optimisation,
            items_retrieved=len(self.trace.candidates),
            items_selected=len(self.items),
            token_usage=self.total_tokens,
            is_cached="cache" in timings,
            cache_hit_rate=self.cache_hit_rate,
        )

    def mark_as_used(self, used: Iterable[str] | str) -> PrimeContext:
        """Return a copy whose citations say which ones were used; those marked before stay so.

        Args:
            used: Markers, or the answer itself.
        """
        return replace(self, citations=mark_used(self.citations, used))

    def format_citations_for_response(self) -> str:
        """Return the Sources block of the citations that were used, to put below the answer; "" of none."""
        return sources_block(self.trace, [c.marker for c in self.citations if c.is_used])

    def to_dict(self) -> dict[str, Any]:
        """Return what `POST /build` answers as `data`, with the document's names, JSON-ready."""
        return {
            "text": self.text,
            "totalTokens": self.total_tokens,
            "status": str(self.trace.status),
            "items": [_item_data(item) for item in self.items],
            "citations": [_citation_data(citation) for citation in self.citations],
            "stats": {
                "explicitCount": self.stats.explicit_count,
                "searchCount": self.stats.search_count,
                "historyCount": self.stats.history_count,
                "excludedCount": self.stats.excluded_count,
            },
        }


def _item(passage: Passage, query: str, *, is_shared: bool) -> ContextItem:
    candidate = passage.ranked.candidate
    return ContextItem(
        id="/".join(candidate.key) if is_shared else candidate.id,
        type=candidate.kind,
        content=passage.text,
        excerpt=str(candidate.metadata.get("excerpt") or ""),
        source=str(candidate.metadata.get("path") or title_of(candidate) or candidate.origin),
        relevance=passage.ranked.score,
        tokens=passage.tokens,
        citation=passage.citation,
        metadata=_told(candidate, query),
    )


def _told(candidate: Candidate, query: str) -> dict[str, Any]:
    matched = tuple(sorted(KEYWORDS.keywords(query).intersection(words(candidate.text))))
    told = {
        "path": candidate.metadata.get("path"),
        "created_at": candidate.created_at,
        "matched_keywords": matched,
        "search_rank": candidate.metadata.get("search_rank"),
    }
    return {name: value for name, value in told.items() if value is not None}


def _item_data(item: ContextItem) -> dict[str, Any]:
    metadata = item.metadata
    created_at = metadata.get("created_at")
    told = {
        "path": metadata.get("path"),
        "createdAt": created_at.isoformat() if created_at else None,
        "matchedKeywords": list(metadata["matched_keywords"]),
        "searchRank": metadata.get("search_rank"),
    }
    return {
        "id": item.id,
        "type": item.type,
        "content": item.content,
        **({"excerpt": item.excerpt} if item.excerpt else {}),
        "source": item.source,
        "relevance": item.relevance,
        "tokens": item.tokens,
        "metadata": {name: value for name, value in told.items() if value is not None},
    }


def _citation_data(citation: Citation) -> dict[str, Any]:
    told = {"path": citation.path, "place": citation.place, "excerpt": citation.excerpt}
    return {
        "id": citation.marker,
        "source": citation.source,
        "type": citation.kind,
        **{name: value for name, value in told.items() if value},
        "relevance": citation.relevance,
        "usedInResponse": citation.is_used,
    }
