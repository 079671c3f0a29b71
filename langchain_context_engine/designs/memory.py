"""The memory design: search over the memories of a workspace, and contexts for prompts built of them.

    collect   the nearest memories of the workspace (Chroma, vectors alone), filters inside the store query
    expand    the memories that these link to, breadth-first, within the workspace
    rank      similarity · .5 + 1/(1 + days) · .3 + confidence · .2, or another ranker
    dedupe    the better ranked of two that say the same
    pack      whole memories, the highest ranked first; what does not fit is cut or left out
    render    the templates chat, detailed, summary, or a registered one

Every call names its workspace; there is no default.
"""

from __future__ import annotations

import inspect
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from langchain_core.embeddings import Embeddings
from langchain_core.runnables.config import ContextThreadPoolExecutor
from langchain_core.stores import ByteStore

from langchain_context_engine.config import Registry
from langchain_context_engine.designs.arguments import as_source, off_loop
from langchain_context_engine.embeddings.cache import CachedEmbeddings
from langchain_context_engine.embeddings.vectors import check_vector
from langchain_context_engine.engine import ContextEngine
from langchain_context_engine.errors import (
    ConfigError,
    ContextEngineError,
    ScopeError,
    TemplateError,
    UnknownNameError,
)
from langchain_context_engine.journal import kept_in
from langchain_context_engine.models.redact import redact, safe_message
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate, Key, Ranked, Reason, Status
from langchain_context_engine.ranking.links import links_of
from langchain_context_engine.ranking.signals import MISSING, Stated, clamp, read_number
from langchain_context_engine.rendering.templates import TEMPLATES, Template
from langchain_context_engine.sources.shared import QueryVectors
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.replay import ranking, replay

if TYPE_CHECKING:
    from langchain_context_engine.designs.arguments import Store

WORKSPACE_KEY = "workspace_id"
"""The metadata key that says which workspace a memory belongs to."""

SETTINGS: Mapping[str, Any] = {
    "budget": 2000,
    "template": "chat",
    "selection": "score",
    "limit": 10,
    "shown_score": "relevance",
}
"""What this design sets of the engine; everything else is the engine's default."""

_LOGGER = logging.getLogger(__name__)
_DEEPEST = 10
_AT_ONCE = 8
_LONGEST_LOGGED = 200
_PLACE = "\0place"
_BY_PLACE: Mapping[str, Any] = {
    "weights": {"ranker": 1.0},
    "signals": {"ranker": Stated(key=_PLACE)},
    "min_score": 1e-12,
}
"""Settings that rank by the place that a function gave each memory; what it left out has none."""

_METADATA = re.compile(r"\{\{\s*(?:type|confidence|timestamp)\s*\}\}")
_METADATA_SHOWN = " ({{type}}, confidence: {{confidence}}, {{timestamp}})"


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheConfig:
    """How query embeddings are remembered: how many (None: no bound), for how many seconds (None: for ever).

    A `store` is any LangChain `ByteStore`, for example one over Redis; None is memory.
    """

    max_size: int | None = 10_000
    ttl: float | None = None
    store: ByteStore | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingOptions:
    """How much similarity, recency and confidence weigh; they are scaled to sum to 1.

    Example:
        >>> RankingOptions().weights()
        {'relevance': 0.5, 'recency': 0.3, 'confidence': 0.2}
    """

    similarity_weight: float = 0.5
    recency_weight: float = 0.3
    confidence_weight: float = 0.2

    def weights(self) -> dict[str, float]:
        """Return the same as weights of the engine's signals."""
        return {
            "relevance": self.similarity_weight,
            "recency": self.recency_weight,
            "confidence": self.confidence_weight,
        }


class SearchOptions(TypedDict, total=False):
    """What narrows a search: a mapping, or keywords of a call; None is as if it were not given.

    Attributes:
        limit: Memories at most, 10 by default; 0 is none.
        memory_types: Only these types; empty is none.
        date_from: Only memories created then or later.
        date_to: Only memories created then or earlier.
        min_confidence: Only memories of at least this confidence, 0–1; one that states none has 0.5.
        conversation_id: Only memories of this conversation.
        include_relationships: Follow the memories' links.
        relationship_depth: How many links in a row, 1 by default; below 1 is 1, above 10 is 10.
        ranker: A ranker's name, a function, or `RankingOptions`.
        now: The instant from which recency counts; the clock's by default.
    """

    limit: int | None
    memory_types: Sequence[str] | str | None
    date_from: Any
    date_to: Any
    min_confidence: float | None
    conversation_id: str | None
    include_relationships: bool | None
    relationship_depth: int | None
    ranker: Any
    now: Any


class ContextOptions(SearchOptions, total=False):
    """What shapes a context, beside what narrows its search.

    Attributes:
        template: A template's name, a `ContextTemplate` or a `Template`.
        token_budget: Tokens at most; 0 gives an empty context.
        include_metadata: True shows each memory's type, confidence and timestamp, False hides them.
    """

    template: Any
    token_budget: int | None
    include_metadata: bool | None


_REQUEST_FIELDS = {
    "limit": "limit",
    "memory_types": "kinds",
    "date_from": "since",
    "date_to": "until",
    "min_confidence": "min_confidence",
    "conversation_id": "conversation_id",
    "now": "now",
    "relationship_depth": "depth",
    "token_budget": "budget",
}
"""Option → the field of a `ContextRequest` that it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A stored memory: its `type` is fact, decision, …, and its `confidence` 0.5 where it states none."""

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
            metadata={name: value for name, value in candidate.metadata.items() if name != _PLACE},
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
    """A memory that was found: by which similarity, at which place (from 1), sorted by what.

    Attributes:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextResult:
    """A context, and what a preview tells of it; `str(result)` is its text.

    Attributes:
        memories: What stands in it, best first.
        memory_ids: Their ids; `collection/id` where two collections have that id.
        ranking_scores: Id, or `collection/id`, → what it was sorted by, of every memory considered.
        template: The name of its template.
        error: Why it is empty, where `build_or_empty` had to give up; else None.
        trace: The whole record: why each memory is in or out.
    """

    memories: tuple[SearchResult, ...] = ()
    memory_ids: tuple[str, ...] = ()
    ranking_scores: Mapping[str, float] = field(default_factory=dict)
    template: str = ""
    error: Exception | None = None
    trace: Context = field(default_factory=Context, repr=False)

    def __str__(self) -> str:
        return self.context

    @property
    def context(self) -> str:
        """The text."""
        return self.trace.text

    @property
    def token_count(self) -> int:
        """Its tokens."""
        return self.trace.tokens

    @property
    def budget_used(self) -> float:
        """Its tokens in percent of the budget, 0–100."""
        return 100 * self.trace.tokens / self.trace.budget if self.trace.budget else 0.0

    @property
    def truncated(self) -> bool:
        """The budget made a difference: something was cut or left out for room."""
        return self.trace.is_truncated

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person should know."""
        return self.trace.warnings


ContextPreview = ContextResult
"""A preview is the same context with the same figures; it is not recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAnalytics:
    """What was asked in one workspace, by the journal."""

    searches: int = 0
    without_results: int = 0
    partial: int = 0
    mean_milliseconds: float = 0.0
    mean_memories: float = 0.0
    mean_tokens: float = 0.0
    top_queries: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextTemplate:
    """How a context of memories looks, as the memory design writes it.

    Variables of `memory_format`: content, type, confidence (two decimals), timestamp (ISO 8601), score (the
    similarity, three decimals). `include_metadata=True` adds type, confidence and timestamp to a format that
    shows none of them, False takes one that shows some back to the bare content; None leaves it be.
    """

    name: str
    memory_format: str
    separator: str = "\n"
    header: str = ""
    footer: str = ""
    include_metadata: bool | None = None


RankingFunction = Callable[..., Sequence[SearchResult]]
"""`(results) -> results` or `(results, RankingOptions) -> results`: best first; what it leaves out is out."""

Ranker = RankingOptions | RankingFunction

RANKERS: Mapping[str, Ranker] = {
    "default": RankingOptions(),
    "by_similarity": RankingOptions(similarity_weight=1.0, recency_weight=0.0, confidence_weight=0.0),
    "by_recency": RankingOptions(similarity_weight=0.0, recency_weight=1.0, confidence_weight=0.0),
    "by_confidence": RankingOptions(similarity_weight=0.0, recency_weight=0.0, confidence_weight=1.0),
}
"""The built-in rankers: similarity · .5 + 1/(1 + days) · .3 + confidence · .2, or one of them alone."""


@dataclass(frozen=True, slots=True)
class CustomRanker:
    """A ranker that sorts by a function of each result, the highest first; ties keep their order."""

    score_fn: Callable[[SearchResult], float]

    def __call__(self, results: Sequence[SearchResult]) -> list[SearchResult]:
        """Return the results, best first."""
        return sorted(results, key=self.score_fn, reverse=True)


Options = SearchOptions | ContextOptions | Mapping[str, Any] | None
Results = tuple[SearchResult, ...]
Vector = Sequence[float]


class MemoryEngine:
    """Finds memories of a workspace and writes them into contexts that fit a token budget.

    Args:
        storage: A Chroma collection, a `langchain_chroma.Chroma`, any source, or a list of these.
        embeddings: Any LangChain `Embeddings`, the one that the collection was filled with; None takes
            the Chroma vector store's own.
        expected_embedding_dimensions: Raise now, rather than while searching, if vectors are not so long.
        default_template: A template's name, a `ContextTemplate` or a `Template`.
        default_token_budget: Tokens a context may have.
        cache: How query embeddings are remembered; its `store` makes that outlive the process.
        ranking: The weights of the ranker "default".
        logger: Told of each call that fails, with its question but without internals.
        journal: A path or a `Journal` to record searches and contexts in; previews are not recorded.
        workspace_key: The metadata key of the workspace.
        fields: What the design reads → the metadata key that it is stored under: `{"created_at": "when"}`.
        **settings: Further settings of the engine: tokenizer, timeout_seconds, truncator, ….

    Attributes:
        embedding_cache: The `CachedEmbeddings`: `get`, `set`, `clear`.
        rankers: Rankers by name.
        templates: Templates by name.
        engine: The `ContextEngine` underneath, for LangChain's faces of it (give it a scope).
        journal: The journal, or None.

    Raises:
        ConfigError: An argument is wrong, or the dimensions are not the expected ones.

    Example:
        >>> import chromadb
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> fake = DeterministicFakeEmbedding(size=8)
        >>> collection = chromadb.EphemeralClient().create_collection("doc-memories", embedding_function=None)
        >>> collection.add(
        ...     ids=["m1"], documents=["Ship in May."], metadatas=[{"workspace_id": "acme"}],
        ...     embeddings=fake.embed_documents(["Ship in May."]),
        ... )
        >>> memories = MemoryEngine(collection, fake)
        >>> print(memories.build_context("When do we ship?", "acme"))
        Relevant context from past conversations:
        <BLANKLINE>
        - Ship in May.
        <BLANKLINE>
    """

    def __init__(
        self,
        storage: Store | Sequence[Store],
        embeddings: Embeddings | None = None,
        *,
        expected_embedding_dimensions: int | None = None,
        default_template: str | ContextTemplate | Template = "chat",
        default_token_budget: int = SETTINGS["budget"],
        cache: CacheConfig | None = None,
        ranking: RankingOptions | None = None,
        logger: Any = None,
        journal: Any = None,
        workspace_key: str = WORKSPACE_KEY,
        fields: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        embeddings = getattr(storage, "embeddings", None) if embeddings is None else embeddings
        self.embedding_cache = _cached(embeddings, cache or CacheConfig(), expected_embedding_dimensions)
        self.rankers: Registry[Ranker] = Registry("ranker", RANKERS)
        self.templates: Registry[Template] = Registry("template", TEMPLATES)
        self._ranking = ranking or RankingOptions()
        self._template = self._template_of(default_template)
        self._workspace_key = workspace_key
        self._logger = logger or _LOGGER
        own = {**SETTINGS, "weights": self._ranking.weights(), **settings}
        own.update(budget=default_token_budget, template=self._template, scope_keys=(workspace_key,))
        stores = storage if isinstance(storage, Sequence) else [storage]
        sources = [as_source(store, self.embedding_cache, fields) for store in stores]
        self.engine = ContextEngine(sources, journal=journal, **own)
        self.journal = self.engine.journal
        self._unrecorded = ContextEngine(self.engine.sources, **own)

    def search(
        self, query: str, workspace_id: str, options: Options = None, **more: Unpack[SearchOptions]
    ) -> Results:
        """Return the memories found, best first, at most `limit` of them.

        An empty question finds nothing and embeds nothing.

        Args:
            query: The question.
            workspace_id: The workspace; nothing of another one is looked at.
            options: A mapping or `SearchOptions`.
            **more: The same by name, over `options`.

        Raises:
            ScopeError: There is no workspace.
            ConfigError: The question is no text, or an option is wrong.
            EmbeddingError: The question could not be embedded.
            AllSourcesFailedError: The store could not be searched.
        """
        return self._results(self._run("search", query, workspace_id, options, more))

    def search_by_vector(
        self, vector: Vector, workspace_id: str, options: Options = None, **more: Unpack[SearchOptions]
    ) -> Results:
        """Return what `search` returns for the question that has this embedding."""
        return self._results(self._run("search_by_vector", vector, workspace_id, options, more))

    def search_batch(
        self,
        queries: Sequence[str],
        workspace_id: str,
        options: Options = None,
        **more: Unpack[SearchOptions],
    ) -> tuple[Results, ...]:
        """Return what `search` returns for each question, in order; the first failure is raised."""
        with ContextThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
            return tuple(pool.map(lambda query: self.search(query, workspace_id, options, **more), queries))

    def build_context(
        self, query: str, workspace_id: str, options: Options = None, **more: Unpack[ContextOptions]
    ) -> ContextResult:
        """Return the context for a question: the highest ranked memories that fit the budget.

        The arguments are those of `search`; the options are `ContextOptions`.

        Raises:
            UnknownNameError: There is no such template or ranker; those that exist are listed.
            ContextEngineError: As `search`.
        """
        return self._result(self._run("build_context", query, workspace_id, options, more))

    def build_context_by_vector(
        self, vector: Vector, workspace_id: str, options: Options = None, **more: Unpack[ContextOptions]
    ) -> ContextResult:
        """Return what `build_context` returns for the question that has this embedding."""
        return self._result(self._run("build_context_by_vector", vector, workspace_id, options, more))

    def preview_context(
        self, query: str, workspace_id: str, options: Options = None, **more: Unpack[ContextOptions]
    ) -> ContextResult:
        """Return what `build_context` returns; nothing is recorded."""
        return self._result(self._run("preview_context", query, workspace_id, options, more))

    def build_or_empty(
        self, query: str, workspace_id: str, options: Options = None, **more: Unpack[ContextOptions]
    ) -> ContextResult:
        """Return the context, or where it cannot be built an empty one that says why in `error`."""
        try:
            return self.build_context(query, workspace_id, options, **more)
        except ContextEngineError as error:
            told = f"no context: {safe_message(error)}"
            return ContextResult(error=error, trace=Context(warnings=(told,)))

    asearch = off_loop(search)
    """Do the same as `search`, from a running event loop; so do all that begin with an a."""

    asearch_by_vector = off_loop(search_by_vector)
    asearch_batch = off_loop(search_batch)
    abuild_context = off_loop(build_context)
    abuild_context_by_vector = off_loop(build_context_by_vector)
    apreview_context = off_loop(preview_context)
    abuild_or_empty = off_loop(build_or_empty)

    def register_template(self, name: str, template: ContextTemplate | Template) -> None:
        """Add a template, or replace one that was added before.

        Raises:
            TemplateError: It could never render.
            ConfigError: The name is built in.
        """
        self.templates.register(name, _as_template(template))

    def register_ranker(self, name: str, ranker: Ranker) -> None:
        """Add a ranker (a function of results, or `RankingOptions`), or replace one that was added before.

        Raises:
            ConfigError: The name is built in, or it is no ranker.
        """
        self.rankers.register(name, _checked_ranker(ranker))

    def search_analytics(self, workspace_id: str, *, since: Any = None, top: int = 10) -> SearchAnalytics:
        """Return figures of what was asked in a workspace, by the journal.

        Args:
            workspace_id: The workspace; questions of another one are not counted.
            since: Only what was asked then or later.
            top: How many of the most frequent questions.

        Raises:
            ScopeError: There is no workspace.
            ConfigError: This engine has no journal.
        """
        if self.journal is None:
            raise ConfigError("search analytics need a journal: MemoryEngine(…, journal='context.db')")
        scope = self.journal.scope_digest(self._scope(workspace_id))
        rows = self.journal.traces(limit=-1, scope=scope, since=since)
        n = len(rows)
        if not n:
            return SearchAnalytics()
        return SearchAnalytics(
            searches=n,
            without_results=sum(row.candidates == 0 for row in rows),
            partial=sum(row.status == Status.PARTIAL for row in rows),
            mean_milliseconds=sum(row.milliseconds for row in rows) / n,
            mean_memories=sum(row.kept for row in rows) / n,
            mean_tokens=sum(row.tokens for row in rows) / n,
            top_queries=tuple(Counter(row.query for row in rows if row.query).most_common(top)),
        )

    def _run(self, name: str, asked: Any, workspace_id: Any, given: Options, more: Any) -> Context:
        """Answer a call: the one way that all of them go."""
        try:
            options = _read_options(given, more, is_search=name.startswith("search"))
            request = self._asked(asked, workspace_id, options, is_vector=name.endswith("by_vector"))
            ranker = self._ranker(options.get("ranker"))
            if request.budget != 0 and request.query.strip() and not request.asks_nothing:
                vector = QueryVectors().embed(self.embedding_cache, request.query)
                request = replace(request, vector=vector)
            is_preview = name == "preview_context"
            engine = self.engine if ranker is None and not is_preview else self._unrecorded
            context = engine.build(request)
            if ranker is None:
                return context
            context = self._ranked(context, ranker)
            return context if is_preview else kept_in(self.journal, context)
        except ContextEngineError as error:
            told = redact(asked)[:_LONGEST_LOGGED] if isinstance(asked, str) else f"({type(asked).__name__})"
            self._logger.warning("memory %s failed for %r: %s", name, told, type(error).__name__)
            raise

    def _asked(
        self, asked: Any, workspace_id: Any, options: Mapping[str, Any], *, is_vector: bool
    ) -> ContextRequest:
        template = self._template_of(options.get("template"), options.get("include_metadata"))
        fields = {field: options[name] for name, field in _REQUEST_FIELDS.items() if name in options}
        depth = fields.pop("depth", 1)
        if options.get("include_relationships"):
            fields["depth"] = min(_DEEPEST, max(1, depth)) if isinstance(depth, int) else depth
        if is_vector and (asked is None or isinstance(asked, str)):
            raise ConfigError(f"vector must be a list of numbers, got {type(asked).__name__}")
        fields |= {"vector": check_vector(asked, "the vector")} if is_vector else {"query": asked}
        return ContextRequest(scope=self._scope(workspace_id), template=template, **fields)

    def _scope(self, workspace_id: Any) -> dict[str, Any]:
        is_name = isinstance(workspace_id, (str, int)) and not isinstance(workspace_id, bool)
        if not is_name or workspace_id == "":
            raise ScopeError(f"workspace_id must be a non-empty string or a number, got {workspace_id!r}")
        return {self._workspace_key: workspace_id}

    def _template_of(self, given: Any, include_metadata: bool | None = None) -> Template:
        given = self._template if given is None else given
        return _as_template(self.templates[given] if isinstance(given, str) else given, include_metadata)

    def _ranker(self, given: Any) -> Any:
        """Return a ranker by its name, or as it is; None is the default one."""
        if given is None or given == "default":
            return None
        return self.rankers[given] if isinstance(given, str) else _checked_ranker(given)

    def _ranked(self, context: Context, ranker: Ranker) -> Context:
        """Return what was found under another ranker. What a function says is written on the candidates.

        So the trace holds it as data, and is replayed, tried and tuned without the function.
        """
        if isinstance(ranker, RankingOptions):
            return replay(context, self.engine, weights=ranker.weights())
        places = _places(context.candidates, ranker, self._ranking)
        marked = tuple(
            replace(c, metadata={**c.metadata, _PLACE: place})
            for c, place in zip(context.candidates, places, strict=True)
        )
        return replay(replace(context, candidates=marked), self.engine, **_BY_PLACE)

    def _results(self, context: Context) -> Results:
        """Return the memories that were found themselves, best first."""
        linked = _links_taken(context)
        direct = [item for item in ranking(context, self.engine) if item.key not in linked]
        return _results_of(direct[: context.request.limit], context)

    def _result(self, context: Context) -> ContextResult:
        ranked = ranking(context, self.engine)
        ids = Counter(candidate.id for candidate in context.candidates)
        names = {item.key: "/".join(item.key) if ids[item.key[1]] > 1 else item.key[1] for item in ranked}
        kept = {passage.key for passage in context.passages}
        return ContextResult(
            memories=_results_of((item for item in ranked if item.key in kept), context),
            memory_ids=tuple(names[item.key] for item in ranked if item.key in kept),
            ranking_scores={names[item.key]: item.score for item in ranked},
            template=context.request.template.name,
            trace=context,
        )


def _cached(embeddings: Any, cache: CacheConfig, expected: int | None) -> CachedEmbeddings:
    """Return embeddings behind a cache; those that do not tell how long their vectors are embed one word."""
    cached = (
        embeddings
        if isinstance(embeddings, CachedEmbeddings)
        else CachedEmbeddings(embeddings, cache.store, max_size=cache.max_size, ttl_seconds=cache.ttl)
    )
    if expected is not None:
        actual = cached.dimensions or len(QueryVectors().embed(cached, "dimensions"))
        if actual != expected:
            raise ConfigError(
                f"expected_embedding_dimensions is {expected}, but {cached.model} gives {actual}; "
                "use the embeddings that the collection was filled with"
            )
    return cached


def _read_options(given: Any, more: Mapping[str, Any], *, is_search: bool) -> dict[str, Any]:
    """Return the options of a mapping, with further ones on top."""
    options = {name: value for name, value in {**(given or {}), **more}.items() if value is not None}
    known = (SearchOptions if is_search else ContextOptions).__annotations__
    for name in options:
        if name not in known:
            raise UnknownNameError("option", name, known)
    return options


def _as_template(given: Any, include_metadata: bool | None = None) -> Template:
    """Return a template of the engine; `include_metadata` goes before the template's own."""
    if isinstance(given, ContextTemplate):
        include_metadata = given.include_metadata if include_metadata is None else include_metadata
        around = {"header": given.header, "separator": given.separator, "footer": given.footer}
        given = Template(name=given.name, passage=given.memory_format, **around)
    if not isinstance(given, Template):
        raise TemplateError(f"expected a ContextTemplate or a Template, got {type(given).__name__}")
    shows = _METADATA.search(given.passage) is not None
    if include_metadata is None or include_metadata == shows:
        return given
    return replace(given, passage=given.passage + _METADATA_SHOWN if include_metadata else "{{content}}")


def _checked_ranker(ranker: Any) -> Any:
    if callable(ranker) or isinstance(ranker, RankingOptions):
        return ranker
    kind = type(ranker).__name__
    raise ConfigError(f"a ranker is a name, a function of results or RankingOptions, got {kind}")


def _places(candidates: Sequence[Candidate], ranker: RankingFunction, options: RankingOptions) -> list[float]:
    """Return the place that a ranking function gives each: 1 for the first down to 1/n, 0 if left out."""
    results = [SearchResult(memory=Memory.of(c), score=c.relevance) for c in candidates]
    place = {id(result): i for i, result in enumerate(results)}
    values = [0.0] * len(results)
    name = getattr(ranker, "__name__", type(ranker).__name__)
    try:
        needed = [p for p in inspect.signature(ranker).parameters.values() if p.default is p.empty]
        ranked = list(ranker(list(results), options) if len(needed) > 1 else ranker(list(results)))
    except Exception as error:
        raise ConfigError(f"ranker {name!r} failed: {safe_message(error)}") from error
    for rank, result in enumerate(ranked):
        if id(result) not in place:
            raise ConfigError(f"ranker {name!r} gave a result that it was not given")
        values[place.pop(id(result))] = 1 - rank / len(results)
    return values


def _links_taken(context: Context) -> dict[Key, tuple[Key, int]]:
    """Return, for each memory that came through a link, the one that links to it and the depth."""
    through = (d for d in context.decisions if d.details.get("through") == Reason.EXPANDED)
    return {d.key: (tuple(d.details["by"]), int(d.details["depth"])) for d in through}


def _results_of(ranked: Iterable[Ranked], context: Context) -> Results:
    """Return ranked memories as results, each with the memories that only it leads to."""
    known = {candidate.key: candidate for candidate in context.candidates}
    steps = _links_taken(context)
    related: dict[Key, list[RelatedMemory]] = {}
    for key, (by, depth) in steps.items():
        root = by
        while root in steps:
            root = steps[root][0]
        if key in known:
            link = Relationship(source_id=by[1], target_id=key[1])
            found = RelatedMemory(memory=Memory.of(known[key]), relationship=link, depth=depth)
            related.setdefault(root, []).append(found)
    is_followed = context.request.depth > 0
    return tuple(
        SearchResult(
            memory=Memory.of(item.candidate),
            score=item.candidate.relevance,
            rank=place,
            rank_score=item.score,
            relationships=tuple(sorted(related.get(item.key, ()), key=lambda r: r.depth)),
            skipped_links=tuple(
                link
                for link in (links_of(item.candidate) if is_followed else ())
                if (item.candidate.source, link) not in known
            ),
        )
        for place, item in enumerate(ranked, start=1)
    )
