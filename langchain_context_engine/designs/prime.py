"""The prime-context design: what an agent should read before it answers in a thread.

collect   explicit references, full text, keywords, fuzzy, recently accessed, thread: at once
rank      TF-IDF cosine .35, keywords .25, recency .15, source priority .15, usage .10
dedupe    one record once, however it was found; texts that say the same once
pack      references first, then by score per token, no kind above 70 % of more than five
render    `[fil-…]` markers that stay the same from answer to answer
answer    4000 tokens less 500 for the system prompt, kept 30 seconds for the same request
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Unpack

from pydantic.alias_generators import to_camel

from langchain_context_engine.designs.arguments import EngineSettings
from langchain_context_engine.engine import ContextEngine
from langchain_context_engine.errors import ConfigError, ScopeError
from langchain_context_engine.filters import in_scope
from langchain_context_engine.journal import open_journal
from langchain_context_engine.models.metadata import checked_fields
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.source import SupportsGet, SupportsPrepare, collection_of
from langchain_context_engine.models.types import Candidate, Key, Passage
from langchain_context_engine.pipeline.selection import Diversity, knapsack
from langchain_context_engine.ranking.fusion import Fusion
from langchain_context_engine.rendering.citations import (
    Citation,
    list_citations,
    mark_used,
    sources_block,
    used_citations,
)
from langchain_context_engine.rendering.layout import Writer
from langchain_context_engine.rendering.templates import Template, title_of
from langchain_context_engine.search.collection import CollectionHandle
from langchain_context_engine.sources.adapted import AdaptedSource
from langchain_context_engine.sources.full_text import (
    KEYWORDS,
    FileSource,
    Finder,
    Fuzzy,
    OfThread,
    RecentlyAccessed,
    Referenced,
    by_keywords,
    full_text,
)
from langchain_context_engine.sources.given import HistorySource
from langchain_context_engine.telemetry import PHASES
from langchain_context_engine.text.words import words
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.replay import config_of, ranking
from langchain_context_engine.trace.result_cache import ResultCache

if TYPE_CHECKING:
    from chromadb import Collection
    from langchain_core.vectorstores import VectorStore

ENGINE: Mapping[str, Any] = {
    "weights": {
        "term_similarity": 0.35,
        "keyword_match": 0.25,
        "recency_exponential": 0.15,
        "source_priority": 0.15,
        "usage": 0.10,
    },
    "selection": "density",
    "diversity": Diversity(kind_share=0.7, after=5, enough_fill=0.9, enough_items=10, offers_rest=True),
    "citations": "key",
    "template": Template(
        name="prime", passage="{{citation}} {{type}} {{title}}\n{{content}}", separator="\n\n"
    ),
    # Relevance carries no weight here, so nobody needs to lend any.
    "fusion": Fusion(neighbour=0.0, link=0.0),
}
"""What this design sets of the engine; everything else is the engine's default."""

_LOGGER = logging.getLogger("langchain_context_engine.designs.prime")
_MOST_REFERENCES = 50
_LEAST_LIMIT = 50
_WRITERS = ("author", "sender", "user_name", "name", "role")
_COUNTED = {"reference": "explicit", "message": "history"}
_OPTIONAL = ("excerpt", "path", "place")


@dataclass(frozen=True, slots=True, kw_only=True)
class PrimeSettings:
    """The service's numbers.

    Attributes:
        max_tokens: Of the context and the system prompt together.
        system_prompt_tokens: Kept free for the system prompt.
        full_text: Files found by full text, at most.
        keywords: Files found by keywords, at most.
        fuzzy: Files found by spelling, at most.
        fuzzy_threshold: A path or a short text must be more alike than this, 0–1.
        recent: Files accessed last, at most.
        history: Messages of the thread, at most.
        cache_entries: Answers kept.
        cache_seconds: How long one is kept after it was last used; 0 keeps none.
        user_key: The metadata key that says whose a record is; "" where everything is everybody's.
        thread_key: The metadata key that says which thread a message or a reference is of.
    """

    max_tokens: int = 4000
    system_prompt_tokens: int = 500
    full_text: int = 10
    keywords: int = 10
    fuzzy: int = 5
    fuzzy_threshold: float = 0.3
    recent: int = 5
    history: int = 20
    cache_entries: int = 100
    cache_seconds: float = 30.0
    user_key: str = "user_id"
    thread_key: str = "thread_id"


DEFAULTS = PrimeSettings()
"""The document's numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextItem:
    """One passage of the context.

    Its `id` is `collection/id` where two collections offered that id; in its `excerpt` matches stand between
    `<<<` and `>>>`; its `source` is its path, else its title, else where it comes from; of its `metadata`
    `path`, `created_at`, `matched_keywords` and `search_rank` are told where they are known.
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

    @classmethod
    def of(cls, passage: Passage, context: Context) -> ContextItem:
        """Return a passage of a context as an item."""
        candidate = passage.ranked.candidate
        keywords = KEYWORDS.keywords(context.request.query)
        told = {
            "path": candidate.metadata.get("path"),
            "created_at": candidate.created_at,
            "matched_keywords": tuple(sorted(keywords.intersection(words(candidate.text)))),
            "search_rank": candidate.metadata.get("search_rank"),
        }
        is_shared = any(c.id == candidate.id and c.key != candidate.key for c in context.candidates)
        return cls(
            id="/".join(candidate.key) if is_shared else candidate.id,
            type=candidate.kind,
            content=passage.text,
            excerpt=str(candidate.metadata.get("excerpt") or ""),
            source=str(candidate.metadata.get("path") or title_of(candidate) or candidate.origin),
            relevance=passage.ranked.score,
            tokens=passage.tokens,
            citation=passage.citation,
            metadata={name: value for name, value in told.items() if value is not None},
        )


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
    """Figures of one answer; times in milliseconds. The same go to OpenTelemetry, see `telemetry`."""

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
        figures: dict[str, float] = _named(self, "is_cached")
        return figures


@dataclass(frozen=True, slots=True, kw_only=True)
class PrimeContext:
    """A context as the service answers it."""

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
        found = Counter(_COUNTED.get(candidate.kind, "search") for candidate in context.candidates)
        return cls(
            total_tokens=context.tokens,
            items=tuple(ContextItem.of(passage, context) for passage in context.passages),
            citations=list_citations(context),
            stats=ContextStats(
                **{f"{name}_count": found[name] for name in ("explicit", "search", "history")},
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
        """Return a copy whose citations say which ones were used (markers, or the answer itself).

        Those marked before stay so.
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
            "items": [_named(item, "citation") for item in self.items],
            "citations": [
                {"id": c.marker, "type": c.kind, "usedInResponse": c.is_used}
                | _named(c, "marker", "key", "kind", "is_used")
                for c in self.citations
            ],
            "stats": _named(self.stats),
        }


class PrimeContextService:
    """Finds, weighs and packs what an agent should read for a message in a thread.

    Args:
        files: A Chroma collection of files, or several; or a `langchain_chroma.Chroma`. Read of their
            metadata are `path`, `title`, `kind` (`chunk` for a part of a file), `created_at`,
            `accessed_at`, and whose they are.
        messages: A collection of the messages of threads, or None.
        references: A collection of what threads refer to: a text, or under `file_id` a file's id or path.
        sources: Further sources to be asked.
        journal: A path or a `Journal`: traces, usage and feedback are kept there.
        settings: The service's numbers.
        fields: What the design reads → the metadata key that it is stored under: `{"path": "source"}`. The
            spelling of paths is known under the key `path` alone.
        **engine_settings: Settings of the engine, over those of the design: `selection="knapsack"`, ….

    Raises:
        ConfigError: An argument is wrong.

    Example:
        >>> import chromadb
        >>> files = chromadb.EphemeralClient().create_collection("prime-example", embedding_function=None)
        >>> about = {"path": "billing.md", "user_id": "ann"}
        >>> files.add(ids=["a"], documents=["Bills go out monthly."], embeddings=[[1, 0]], metadatas=[about])
        >>> context = PrimeContextService(files).build_prime_context("t1", "When do bills go out?", "ann")
        >>> context.items[0].excerpt, context.stats.search_count
        ('<<<Bills>>> <<<go>>> out monthly.', 1)
    """

    def __init__(
        self,
        files: Collection | VectorStore | Sequence[Collection | VectorStore],
        messages: Collection | VectorStore | None = None,
        references: Collection | VectorStore | None = None,
        *,
        sources: Sequence[Any] = (),
        journal: Any = None,
        settings: PrimeSettings = DEFAULTS,
        fields: Mapping[str, str] | None = None,
        **engine_settings: Unpack[EngineSettings],
    ) -> None:
        journal, names = open_journal(journal), checked_fields(fields)
        collections = files if isinstance(files, (list, tuple)) else [files]
        of_threads = {"messages": messages, "references": references}
        found = _sources(collections, settings, names, **of_threads, journal=journal)
        history = AdaptedSource(HistorySource(last=settings.history), name="history", shape=_written_by)
        keeps = settings.cache_seconds > 0
        self.user_key = settings.user_key
        self.engine = ContextEngine(
            sources=[*found, history, *sources],
            journal=journal,
            **{
                **ENGINE,
                "budget": max(0, settings.max_tokens - settings.system_prompt_tokens),
                "scope_keys": (settings.user_key,) if settings.user_key else (),
                # Each source has a bound of its own; none is cut short by the engine's.
                "limit": max(_LEAST_LIMIT, *(getattr(source, "limit", 0) for source in found)),
                "cache": ResultCache(settings.cache_entries, settings.cache_seconds) if keeps else None,
                **engine_settings,
            },
        )

    @classmethod
    def over(cls, engine: ContextEngine, *, user_key: str = "") -> PrimeContextService:
        """Return a service that answers with an engine of your own.

        Args:
            engine: Its sources, settings, journal and cache are used as they are.
            user_key: The key of the scope that a user's id is given under; "" where there are no users.
        """
        service = cls.__new__(cls)
        service.user_key, service.engine = user_key, engine
        return service

    def build_prime_context(
        self, thread_id: str | None, user_message: str, user_id: str | None = None, **fields: Any
    ) -> PrimeContext:
        """Return the context for a message of a user in a thread.

        Args:
            thread_id: Its messages and references are offered.
            user_message: The message.
            user_id: Only what is this user's is seen.
            **fields: `references` (ids or paths of files that the user names), and fields of
                `ContextRequest`: history, scope, where, excluded, now, …. A `budget` counts for the
                context alone; what the settings keep free is taken from the default one.

        Raises:
            ScopeError: There is no user, and the service has users.
            ConfigError: A field is wrong.
            AllSourcesFailedError: Every source failed.
        """
        return self._told(self.engine.build(self._request(thread_id, user_message, user_id, **fields)))

    async def abuild_prime_context(
        self, thread_id: str | None, user_message: str, user_id: str | None = None, **fields: Any
    ) -> PrimeContext:
        """Return the same as `build_prime_context`, from a running event loop."""
        request = self._request(thread_id, user_message, user_id, **fields)
        return self._told(await self.engine.abuild(request))

    @staticmethod
    def extract_keywords(query: str) -> tuple[str, ...]:
        """Return the keywords of a question, sorted: longer than three letters, no stop words, each once.

        Example:
            >>> PrimeContextService.extract_keywords("What did we decide about the billing?")
            ('billing', 'decide')
        """
        return tuple(sorted(KEYWORDS.keywords(query)))

    def record_feedback(
        self, context_item_id: str, useful: bool, user_id: str | None = None, *, scope: Any = None
    ) -> None:
        """Remember whether an item was useful; the next ranking feels it.

        Args:
            context_item_id: The id of a record, or `collection/id`.
            useful: Whether it was.
            user_id: Only what is this user's is found.
            scope: What else the record must match.

        Raises:
            ConfigError: There is no such item for this user, or no journal.
            ScopeError: There is no user, and the service has users.
        """
        key = self._find(context_item_id, self._scope(user_id, scope))
        self._journal().feedback(key, useful)
        self._forget([key])

    def mark_used(self, context: PrimeContext, used: Iterable[str] | str) -> PrimeContext:
        """Return the context with the used citations marked; the next ranking feels each use.

        The items count as accessed by the user now.

        Args:
            context: What the answer was made from.
            used: Markers, or the answer itself.
        """
        citations, journal = context.trace.citations, self.engine.journal
        markers = used_citations(used, citations) if isinstance(used, str) else tuple(used)
        keys = [(key[0], key[1]) for marker in markers if (key := citations.get(marker))]
        if journal is not None and keys:
            journal.touch(keys)
            user = context.trace.request.scope.get(self.user_key)
            for key in keys if isinstance(user, str) else ():
                journal.view(user, key)
            self._forget(keys)
        return context.mark_as_used(markers)

    def update_access_time(self, file_id: str, user_id: str, *, scope: Any = None) -> None:
        """Remember that a user opened a file now: it is among the recently accessed from now on.

        Raises:
            ConfigError: There is no such file for this user, or no journal.
        """
        key = self._find(file_id, self._scope(user_id, scope))
        self._journal().view(user_id, key)
        self._forget(user=user_id)

    def invalidate(self, pattern: str | None = None) -> int:
        """Forget the kept answers whose request contains a text, or all; return how many."""
        return 0 if self.engine.cache is None else self.engine.cache.invalidate(pattern)

    def optimality_gap(self, context: PrimeContext) -> float:
        """Return by what share of the best possible sum of scores the selection falls short, 0–1.

        The best is found by dynamic programming over whole passages. A passage that was cut counts by the
        share of its tokens that is in.
        """
        trace = context.trace
        packing = config_of(trace, self.engine).parts().packing_for(trace.request)
        ranked = ranking(trace, self.engine)
        whole = [Passage(ranked=item, text=item.candidate.text) for item in ranked]
        texts = (Writer(packing.layout)([passage]).text for passage in whole)
        costs = [packing.count(packing.layout.template.separator + text) for text in texts]
        scores = [item.score for item in ranked]
        room = max(0, packing.budget.tokens - packing.budget.reserve)
        best = math.fsum(scores[i] for i in knapsack(scores, costs, room))
        cost_of = {item.key: cost for item, cost in zip(ranked, costs, strict=True)}
        got = math.fsum(
            p.ranked.score * (min(1.0, p.tokens / cost_of[p.key]) if p.is_truncated else 1.0)
            for p in trace.passages
        )
        return max(0.0, 1 - got / best) if best else 0.0

    def prepare(self) -> None:
        """Read the collections now, rather than with the first question."""
        for source in self.engine.sources:
            if isinstance(source, SupportsPrepare):
                source.prepare()

    def close(self) -> None:
        """Write what waits to be written, and close the journal."""
        if self.engine.journal is not None:
            self.engine.journal.close()

    def _told(self, context: Context) -> PrimeContext:
        """Return an answer, its figures logged: no text, id or scope."""
        cache = self.engine.cache
        answer = PrimeContext.of(context, cache_hit_rate=0.0 if cache is None else cache.hit_rate)
        _LOGGER.info("Context assembly metrics %s", figures := answer.metrics.to_dict(), extra=figures)
        return answer

    def _request(
        self,
        thread_id: str | None,
        message: str,
        user_id: str | None,
        *,
        references: Iterable[str] | str = (),
        scope: Any = None,
        **fields: Any,
    ) -> ContextRequest:
        named = (references,) if isinstance(references, str) else tuple(references)
        focus = {"thread": thread_id, "references": named}
        return ContextRequest(query=message, scope=self._scope(user_id, scope), focus=focus, **fields)

    def _scope(self, user_id: str | None, scope: Mapping[str, Any] | None) -> dict[str, Any]:
        own = {self.user_key: user_id} if self.user_key and user_id is not None else {}
        joined = {**(scope or {}), **own}
        for key in self.engine.config.scope_keys:
            if joined.get(key) is None:
                raise ScopeError(f"this service answers only within a scope: give {key}")
        return joined

    def _find(self, item_id: str, scope: Mapping[str, Any]) -> Key:
        """Return the key of a record that the scope may see: whoever cannot see it must not move it."""
        request = ContextRequest(scope=scope)
        collection, _, rest = item_id.partition("/")
        keys: set[Key] = set()
        for source in self.engine.sources:
            if isinstance(source, SupportsGet):
                is_named = rest and collection == collection_of(source)
                found = source.get([rest if is_named else item_id], request)
                keys |= {candidate.key for candidate in found if in_scope(candidate, request)}
        if len(keys) > 1:
            named = " or ".join(sorted("/".join(key) for key in keys))
            raise ConfigError(f"item {item_id!r} stands in several collections; give {named}")
        if not keys:
            raise ConfigError(f"there is no item {item_id!r}; give the id of an item of a context")
        return keys.pop()

    def _journal(self) -> Any:
        if self.engine.journal is None:
            raise ConfigError("usage and feedback are kept in a journal; give the service journal=…")
        return self.engine.journal

    def _forget(self, keys: Iterable[Key] = (), user: str | None = None) -> None:
        """Forget the kept answers that these records were weighed for, and those of a user."""
        moved = set(keys)

        def is_outdated(_: str, context: Context) -> bool:
            is_users = user is not None and context.request.scope.get(self.user_key) == user
            return is_users or any(candidate.key in moved for candidate in context.candidates)

        if self.engine.cache is not None:
            self.engine.cache.invalidate(is_outdated)


def _sources(
    files: Sequence[Any],
    settings: PrimeSettings,
    fields: Mapping[str, str],
    *,
    messages: Any,
    references: Any,
    journal: Any,
) -> list[FileSource]:
    """Return what is asked: what must come in, the searches of each collection of files, the thread."""
    thread, created = settings.thread_key, fields.get("created_at", "created_at")
    kept = None if references is None else CollectionHandle(references)
    named = Referenced(kept=kept, thread_key=thread, path_key=fields.get("path", "path"))
    accessed = fields.get("accessed_at", "accessed_at")
    searches: Mapping[str, tuple[Finder, int]] = {
        "full_text": (full_text, settings.full_text),
        "keywords": (by_keywords, settings.keywords),
        "fuzzy": (Fuzzy(settings.fuzzy_threshold), settings.fuzzy),
        "recent": (
            RecentlyAccessed(by=accessed, journal=journal, user_key=settings.user_key),
            settings.recent,
        ),
    }
    whole: dict[str, Any] = {"excerpt_characters": None, "fields": fields}
    must = {**whole, "kind_always": "reference", "is_pinned": True, "limit": _MOST_REFERENCES}
    suffixes = [f":{CollectionHandle(one).name}" if len(files) > 1 else "" for one in files]
    each = list(zip(files, suffixes, strict=True))
    found = [FileSource(one, named, name=f"explicit{suffix}", **must) for one, suffix in each]
    if references is not None:
        texts = OfThread(thread_key=thread, by=created, lacking="file_id")
        found.append(FileSource(references, texts, name="references", **must))
    for one, suffix in each:
        for name, (finder, limit) in searches.items():
            without = () if name == "full_text" else ("chunk",)
            told: dict[str, Any] = {"limit": limit, "without_kinds": without, "fields": fields}
            found.append(FileSource(one, finder, name=f"{name}{suffix}", **told))
    if messages is not None:
        said = {"kind_always": "message", "titled_by": _WRITERS, "limit": settings.history, **whole}
        latest = OfThread(thread_key=thread, by=created)
        found.append(FileSource(messages, latest, name="thread", **said))
    return found


def _written_by(found: Sequence[Candidate], request: ContextRequest) -> list[Candidate]:
    """Return messages of the history with who said each for a title."""
    del request
    return [replace(c, metadata={**c.metadata, "title": c.metadata["role"]}) for c in found]


def _named(value: Any, *without: str) -> Any:
    """Return a value under the document's names, JSON-ready; of what may be missing only what is there."""
    if is_dataclass(value):
        value = {f.name: getattr(value, f.name) for f in fields(value) if f.name not in without}
    if isinstance(value, Mapping):
        told = {to_camel(name): _named(item) for name, item in value.items()}
        return {name: item for name, item in told.items() if item != "" or name not in _OPTIONAL}
    if isinstance(value, tuple):
        return list(value)
    return value.isoformat() if isinstance(value, datetime) else value
