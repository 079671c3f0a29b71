"""`MemoryEngine`: semantic search over the memories of a workspace, and contexts for prompts built of them.

    collect   the nearest memories of the workspace (Chroma, vectors alone), filters inside the store query
    expand    the memories that these link to, breadth-first, within the workspace
    rank      similarity · .5 + 1/(1 + days) · .3 + confidence · .2, or another ranker
    dedupe    the better ranked of two that say the same
    pack      whole memories, the highest ranked first; what does not fit is cut or left out
    render    the templates chat, detailed, summary, or a registered one

Every call names its workspace; there is no default.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from langchain_core.runnables.config import ContextThreadPoolExecutor

from langchain_context_engine.designs.memory.answering import Answering
from langchain_context_engine.designs.memory.answers import ContextPreview, ContextResult, SearchAnalytics
from langchain_context_engine.designs.memory.options import (
    WORKSPACE_KEY,
    CacheConfig,
    RankingOptions,
    SearchOptions,
)
from langchain_context_engine.designs.memory.rankers import RANKERS, Ranker, check_ranker, engine_settings
from langchain_context_engine.designs.memory.results import SearchResult
from langchain_context_engine.designs.memory.setup import check_dimensions, open_cache, sources_of
from langchain_context_engine.designs.memory.templates import ContextTemplate, as_template
from langchain_context_engine.engine import ContextEngine
from langchain_context_engine.models.errors import ConfigError, ContextEngineError
from langchain_context_engine.models.redact import safe_message
from langchain_context_engine.models.registry import Registry
from langchain_context_engine.rendering.templates import TEMPLATES, Template

Options = Mapping[str, Any] | SearchOptions | None
Results = tuple[SearchResult, ...]
Vector = Sequence[float]

SETTINGS: Mapping[str, Any] = MappingProxyType(
    {"budget": 2000, "template": "chat", "selection": "score", "limit": 10, "shown_score": "relevance"}
)
"""What this design sets of the engine; everything else is the engine's default."""

_LOGGER = logging.getLogger(__name__)
_AT_ONCE = 8
"""Questions of a batch that are asked at the same time."""


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
        **settings: Further settings of `EngineConfig`: tokenizer, timeout_seconds, truncator, ….

    Attributes:
        embedding_cache: The `CachedEmbeddings`: `get`, `set`, `clear`.
        rankers: Rankers by name.
        templates: Templates by name.
        engine: The `ContextEngine` underneath, for LangChain's faces of it (give it a scope), and for
            replaying traces that a registered ranker made.
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
        storage: Any,
        embeddings: Any = None,
        *,
        expected_embedding_dimensions: int | None = None,
        default_template: str | ContextTemplate | Template = "chat",
        default_token_budget: int = SETTINGS["budget"],
        cache: CacheConfig | None = None,
        ranking: RankingOptions | None = None,
        logger: Any = None,
        journal: Any = None,
        workspace_key: str = WORKSPACE_KEY,
        **settings: Any,
    ) -> None:
        if embeddings is None:
            embeddings = getattr(storage, "embeddings", None)
        self.embedding_cache = open_cache(embeddings, cache or CacheConfig())
        check_dimensions(self.embedding_cache, expected_embedding_dimensions)
        self.rankers: Registry[Ranker] = Registry("ranker", RANKERS)
        self.templates: Registry[Template] = Registry("template", TEMPLATES)
        ranking = ranking or RankingOptions()
        if isinstance(default_template, str):
            default_template = self.templates[default_template]
        template = as_template(default_template)
        own = {**SETTINGS, **settings, **engine_settings(None, self.rankers, ranking)}
        own.update(budget=default_token_budget, template=template, scope_keys=(workspace_key,))
        recorded = ContextEngine(sources_of(storage, self.embedding_cache), journal=journal, **own)
        self.engine, self.journal = recorded, recorded.journal
        self._answering = Answering(
            recorded=recorded,
            unrecorded=ContextEngine(recorded.sources, **own),
            embeddings=self.embedding_cache,
            rankers=self.rankers,
            templates=self.templates,
            ranking=ranking,
            default_template=template,
            workspace_key=workspace_key,
            logger=logger or _LOGGER,
        )
        self._call, self._acall = self._answering.run, self._answering.arun

    def search(self, query: str, workspace_id: str, options: Options = None, **more: Any) -> Results:
        """Return the memories found, best first, at most `limit` of them.

        An empty question finds nothing and embeds nothing.

        Args:
            query: The question.
            workspace_id: The workspace; nothing of another one is looked at.
            options: A mapping or `SearchOptions`.
            **more: The same by name, over `options`.

        Raises:
            ScopeError: There is no workspace.
            ConfigError: An option is wrong.
            EmbeddingError: The question could not be embedded.
            AllSourcesFailedError: The store could not be searched.
        """
        return self._call("search", query, workspace_id, options, more).results()

    async def asearch(self, query: str, workspace_id: str, options: Options = None, **more: Any) -> Results:
        """Do the same as `search`, from a running event loop."""
        return (await self._acall("search", query, workspace_id, options, more)).results()

    def search_by_vector(
        self, vector: Vector, workspace_id: str, options: Options = None, **more: Any
    ) -> Results:
        """Return what `search` returns for the question that has this embedding."""
        return self._call("search_by_vector", vector, workspace_id, options, more).results()

    async def asearch_by_vector(
        self, vector: Vector, workspace_id: str, options: Options = None, **more: Any
    ) -> Results:
        """Do the same as `search_by_vector`, from a running event loop."""
        return (await self._acall("search_by_vector", vector, workspace_id, options, more)).results()

    def search_batch(
        self, queries: Sequence[str], workspace_id: str, options: Options = None, **more: Any
    ) -> tuple[Results, ...]:
        """Return what `search` returns for each question, in order; the first failure is raised."""
        with ContextThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
            return tuple(pool.map(lambda query: self.search(query, workspace_id, options, **more), queries))

    async def asearch_batch(
        self, queries: Sequence[str], workspace_id: str, options: Options = None, **more: Any
    ) -> tuple[Results, ...]:
        """Do the same as `search_batch`, from a running event loop."""
        asked = (self.asearch(query, workspace_id, options, **more) for query in queries)
        return tuple(await asyncio.gather(*asked))

    def build_context(
        self, query: str, workspace_id: str, options: Options = None, **more: Any
    ) -> ContextResult:
        """Return the context for a question: the highest ranked memories that fit the budget.

        The arguments are those of `search`; the options are `ContextOptions`.

        Raises:
            UnknownNameError: There is no such template or ranker; those that exist are listed.
            ContextEngineError: As `search`.
        """
        return self._call("build_context", query, workspace_id, options, more).result()

    async def abuild_context(
        self, query: str, workspace_id: str, options: Options = None, **more: Any
    ) -> ContextResult:
        """Do the same as `build_context`, from a running event loop."""
        return (await self._acall("build_context", query, workspace_id, options, more)).result()

    def build_context_by_vector(
        self, vector: Vector, workspace_id: str, options: Options = None, **more: Any
    ) -> ContextResult:
        """Return what `build_context` returns for the question that has this embedding."""
        return self._call("build_context_by_vector", vector, workspace_id, options, more).result()

    async def abuild_context_by_vector(
        self, vector: Vector, workspace_id: str, options: Options = None, **more: Any
    ) -> ContextResult:
        """Do the same as `build_context_by_vector`, from a running event loop."""
        return (await self._acall("build_context_by_vector", vector, workspace_id, options, more)).result()

    def preview_context(
        self, query: str, workspace_id: str, options: Options = None, **more: Any
    ) -> ContextPreview:
        """Return what `build_context` returns, with more figures; nothing is recorded.

        Raises:
            ContextEngineError: As `build_context`.
        """
        return self._call("preview_context", query, workspace_id, options, more).preview()

    async def apreview_context(
        self, query: str, workspace_id: str, options: Options = None, **more: Any
    ) -> ContextPreview:
        """Do the same as `preview_context`, from a running event loop."""
        return (await self._acall("preview_context", query, workspace_id, options, more)).preview()

    def build_or_empty(
        self, query: str, workspace_id: str, options: Options = None, **more: Any
    ) -> ContextResult:
        """Return the context, or where it cannot be built an empty one that says why in `error`."""
        try:
            return self.build_context(query, workspace_id, options, **more)
        except ContextEngineError as error:
            return ContextResult(error=error, warnings=(f"no context: {safe_message(error)}",))

    async def abuild_or_empty(
        self, query: str, workspace_id: str, options: Options = None, **more: Any
    ) -> ContextResult:
        """Do the same as `build_or_empty`, from a running event loop."""
        try:
            return await self.abuild_context(query, workspace_id, options, **more)
        except ContextEngineError as error:
            return ContextResult(error=error, warnings=(f"no context: {safe_message(error)}",))

    def register_template(self, name: str, template: ContextTemplate | Template) -> None:
        """Add a template, or replace one that was added before.

        Raises:
            TemplateError: It could never render.
            ConfigError: The name is built in.
        """
        self.templates.register(name, as_template(template))

    def register_ranker(self, name: str, ranker: Ranker) -> None:
        """Add a ranker (a function of results, or `RankingOptions`), or replace one that was added before.

        Raises:
            ConfigError: The name is built in, or it is no ranker.
        """
        check_ranker(ranker)
        self.rankers.register(name, ranker)
        self.engine = self._answering.registered()

    def engine_for(self, ranker: Any = None) -> ContextEngine:
        """Return the engine that a ranker (a name, a function, options) answers with, to replay its traces.

        Raises:
            ConfigError: It is no ranker, or none has that name.
        """
        return self._answering.engine(ranker)

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
        scope = self.journal.scope_digest(self._answering.scope_of(workspace_id))
        rows = self.journal.traces(limit=-1, scope=scope, since=since)
        return SearchAnalytics.of(rows, top=top)
