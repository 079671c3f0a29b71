"""The engine: one question in, one context out. See `build` for the whole way on one screen."""

from __future__ import annotations

import asyncio
import copy
import os
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from langchain_context_engine.config import AT_CONSTRUCTION, EngineConfig, read_settings
from langchain_context_engine.errors import AllSourcesFailedError, ConfigError
from langchain_context_engine.executor import Turn, aturn, turn
from langchain_context_engine.journal import kept_in, open_journal
from langchain_context_engine.langchain.reranker import scorer_of
from langchain_context_engine.models.freeze import with_fields
from langchain_context_engine.models.request import MOST_CANDIDATES, ContextRequest
from langchain_context_engine.models.types import Ranked, Status
from langchain_context_engine.pipeline.collect import Collected, acollect, collect
from langchain_context_engine.pipeline.expand import expand
from langchain_context_engine.pipeline.rerank import Reranking, rerank
from langchain_context_engine.sources.asking import Asking
from langchain_context_engine.telemetry import record_context, stage_span
from langchain_context_engine.trace.assemble import assemble, order
from langchain_context_engine.trace.context import Context, empty_context
from langchain_context_engine.trace.result_cache import ResultCache, request_key

if TYPE_CHECKING:
    from langchain_context_engine.journal import Journal
    from langchain_context_engine.langchain.runnable import ContextRetriever, ContextRunnable


class ContextEngine:
    """Asks all sources at once, ranks, removes duplicates, fits the budget, and says why.

    Args:
        sources: Objects with `name` and `fetch(request)`; their order breaks ties.
        journal: A path or a `Journal`: every context is recorded there. None records nothing.
        cache: A `ResultCache` (of `trace.result_cache`): keeps whole contexts for a short while.
        rerank: A LangChain document compressor, or `(query, texts) -> scores`: asked once about the
            `rerank_best` best, as the signal `rerank` among others. What it says is recorded for replays;
            where it fails or takes more than `rerank_seconds`, the answer does without, and warns.
        **settings: See `EngineConfig`: budget, weights, template, tokenizer, scope_keys, timeout_seconds, …

    Raises:
        ConfigError: A setting is wrong, or two sources have one name.

    Example:
        >>> from langchain_context_engine import Candidate
        >>> class Notes:
        ...     name = "notes"
        ...     def fetch(self, request):
        ...         return [Candidate(id="1", text="Invoices go out monthly.", relevance=0.9)]
        >>> engine = ContextEngine(sources=[Notes()], budget=100)
        >>> print(engine.build("when do invoices go out?"))
        [1] Invoices go out monthly.
    """

    def __init__(
        self,
        sources: Sequence[Any],
        *,
        journal: str | Journal | None = None,
        cache: ResultCache | None = None,
        rerank: Any = None,
        rerank_best: int = 30,
        rerank_seconds: float = 2.0,
        **settings: Any,
    ) -> None:
        self.config = EngineConfig(**settings)
        self._asking = Asking.of(sources, self.config)
        self._parts, self._settings = self.config.parts(), self.config.described()
        self.journal = open_journal(journal)
        if not isinstance(cache, (ResultCache, type(None))):
            raise ConfigError(f"cache must be a ResultCache, got {type(cache).__name__}")
        self.cache = cache
        self._cache_name = uuid.uuid4().hex
        self._reranking: Reranking | None = None
        if rerank is not None:
            scorer = scorer_of(rerank)
            self._reranking = Reranking(scorer=scorer, best=rerank_best, seconds=rerank_seconds)

    def __repr__(self) -> str:
        names = [source.name for source in self.sources]
        tokenizer = self.config.tokenizer
        counter = tokenizer if isinstance(tokenizer, str) else type(tokenizer).__name__
        budget = self.config.budget.tokens
        return f"{type(self).__name__}(sources={names!r}, budget={budget}, tokenizer={counter!r})"

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], sources: Sequence[Any], **given: Any) -> ContextEngine:
        """Return an engine with the settings of a TOML or JSON file; `given` ones go before those.

        What the file says of the question (its table `request`) is for `build`: see `read_settings`.

        Raises:
            ConfigError: The file cannot be read, or a setting is wrong.
        """
        return cls(sources, **{**read_settings(path).settings, **given})

    @property
    def sources(self) -> tuple[Any, ...]:
        """The sources, in order, bound to what they share."""
        return self._asking.sources

    def build(self, query: str | ContextRequest, **fields: Any) -> Context:
        """Return the context for a question.

        Args:
            query: The question, or a whole `ContextRequest`.
            **fields: Fields of `ContextRequest`: scope, budget, k, where, kinds, …

        Raises:
            ScopeError: The request lacks one of `scope_keys`.
            ConfigError: A field is wrong.
            AllSourcesFailedError: Every source failed.
        """
        request, key, ready = self._begun(query, fields)
        if ready is not None:
            return ready
        with turn() as mine:
            clock = start, deadline = self._clock(request)
            with stage_span("collect"), self._failure_recorded(request, start):
                found = collect(self._asking.sources_for(request), request, deadline)
            return self._answer(request, found, clock, mine, key)

    async def abuild(self, query: str | ContextRequest, **fields: Any) -> Context:
        """Return the same context as `build`, from a running event loop."""
        request, key, ready = self._begun(query, fields)
        if ready is not None:
            return ready
        async with aturn() as mine:
            clock = start, deadline = self._clock(request)
            with stage_span("collect"), self._failure_recorded(request, start):
                found = await acollect(self._asking.sources_for(request), request, deadline)
            return await asyncio.to_thread(self._answer, request, found, clock, mine, key)

    def search(self, query: str | ContextRequest, **fields: Any) -> tuple[Ranked, ...]:
        """Return what rank and dedupe leave, best first, at most `k`; nothing is packed.

        Takes and raises what `build` does.
        """
        request = self._request(query, fields)
        if request.asks_nothing:
            return ()
        with turn():
            _, deadline = self._clock(request)
            found = collect(self._asking.sources_for(request), request, deadline)
            return self._ranked(request, found, deadline)

    async def asearch(self, query: str | ContextRequest, **fields: Any) -> tuple[Ranked, ...]:
        """Return the same as `search`, from a running event loop."""
        request = self._request(query, fields)
        if request.asks_nothing:
            return ()
        async with aturn():
            _, deadline = self._clock(request)
            found = await acollect(self._asking.sources_for(request), request, deadline)
            return await asyncio.to_thread(self._ranked, request, found, deadline)

    def with_settings(self, **settings: Any) -> ContextEngine:
        """Return an engine over the same sources, index and journal with some settings changed.

        Raises:
            ConfigError: A name or a value is wrong, or it is one that only acts while an engine is made
                (`index_dir`).
        """
        for name in settings:
            if name in AT_CONSTRUCTION:
                raise ConfigError(f"{name} acts while an engine is made: ContextEngine(sources, {name}=…)")
        other = copy.copy(self)
        config = self.config.changed(**settings)
        vars(other).update(
            config=config,
            _asking=self._asking.under(config),
            _parts=config.parts(),
            _settings=config.described(),
            _cache_name=uuid.uuid4().hex,
        )
        return other

    def as_retriever(self, **fields: Any) -> ContextRetriever:
        """Return a LangChain retriever; `fields` are those of `ContextRetriever`: k, budget, scope, …."""
        from langchain_context_engine.langchain.runnable import ContextRetriever

        return ContextRetriever(engine=self, **fields)

    def as_runnable(self, **fields: Any) -> ContextRunnable:
        """Return a Runnable from a question to a `Context`; `fields` are defaults of the request."""
        from langchain_context_engine.langchain.runnable import ContextRunnable

        return ContextRunnable(engine=self, **fields)

    def as_node(self, **fields: Any) -> Any:
        """Return a node of a LangGraph graph, from the state's question to the context as plain data."""
        from langchain_context_engine.langchain.runnable import as_node

        return as_node(self, **fields)

    def as_tool(self, **fields: Any) -> Any:
        """Return a LangChain tool that gives the text, and as its artifact the whole trace as data."""
        from langchain_context_engine.langchain.tool import as_tool

        return as_tool(self, **fields)

    def _begun(
        self, query: str | ContextRequest, fields: dict[str, Any]
    ) -> tuple[ContextRequest, str | None, Context | None]:
        """Return the request, the cache's key for it, and the answer where nobody need be asked."""
        request = self._request(query, fields)
        if request.budget == 0 or request.asks_nothing:
            return request, None, self._finish(empty_context(request), Collected(), 0.0)
        if self.cache is None:
            return request, None, None
        start = time.perf_counter()
        # Under the request as it was asked, at whatever time.
        asked_now = fields.get("now", getattr(query, "now", None))
        key = request_key(replace(request, now=asked_now), self._cache_name)
        kept = None if key is None else self.cache.get(key)
        if kept is not None:
            took = {"cache": (time.perf_counter() - start) * 1000}
            kept = self._recorded(replace(kept, timings=took, source_timings={}))
        return request, key, kept

    def _clock(self, request: ContextRequest) -> tuple[float, float]:
        """Return now, and the deadline of all sources."""
        now = time.monotonic()
        return now, now + self._asking.patience(request, self.config.timeout_seconds)

    def _request(self, query: str | ContextRequest, fields: dict[str, Any]) -> ContextRequest:
        request = ContextRequest.of(query, fields)
        self._asking.check(request)
        self._parts.template_of(request.template)
        budget = self.config.budget.tokens if request.budget is None else request.budget
        return with_fields(
            request,
            now=request.now or datetime.now(UTC),
            limit=min(self._asking.limit_of(request, self.config.limit, budget), MOST_CANDIDATES),
            budget=budget,
        )

    def _expanded(self, request: ContextRequest, found: Collected, deadline: float) -> Collected:
        with stage_span("expand"):
            sources = self._asking.sources_for(request)
            more = expand(found.candidates, request, sources, deadline, fusion=self.config.fusion)
        candidates = self._asking.with_usage(more.candidates, self.journal)
        found = found.with_more(more.decisions, more.warnings, candidates=candidates)
        if self._reranking is None:
            return found
        with stage_span("rerank"):
            ranked = order(candidates, request, self._parts).items
            return rerank(found, ranked, request.query, self._reranking)

    def _ranked(self, request: ContextRequest, found: Collected, deadline: float) -> tuple[Ranked, ...]:
        candidates = self._expanded(request, found, deadline).candidates
        return order(candidates, request, self._parts).items[: request.k]

    def _answer(
        self,
        request: ContextRequest,
        found: Collected,
        clock: tuple[float, float],
        mine: Turn,
        key: str | None,
    ) -> Context:
        """Return the answer from what was collected, remembered where there is a cache."""
        collected = (time.monotonic() - clock[0]) * 1000
        found = replace(found, warnings=(*mine.warnings, *found.warnings))
        found = self._expanded(request, found, clock[1])
        context = self._finish(assemble(found.candidates, request, self._parts), found, collected)
        # An answer that lacks a source is asked for again: the source may be back.
        if self.cache is not None and key is not None and context.status is not Status.PARTIAL:
            self.cache.set(key, context)
        return context

    def _finish(self, context: Context, found: Collected, collect_milliseconds: float) -> Context:
        """Join what collecting noticed to what assembling gave, and record it."""
        status = Status.PARTIAL if found.has_failures else context.status
        context = replace(
            context,
            decisions=(*found.decisions, *context.decisions),
            warnings=(*found.warnings, *context.warnings),
            timings={"collect": collect_milliseconds, **context.timings},
            source_timings=found.took,
            searched=found.searched,
            status=status,
            settings=self._settings,
        )
        return self._recorded(context)

    @contextmanager
    def _failure_recorded(self, request: ContextRequest, start: float) -> Iterator[None]:
        """Record a question that no source answered; the error is raised all the same."""
        try:
            yield
        except AllSourcesFailedError as error:
            failed = Context(
                budget=request.budget or 0,
                request=request,
                status=Status.FAILED,
                warnings=error.warnings,
                timings={"collect": (time.monotonic() - start) * 1000},
                source_timings=error.took,
                settings=self._settings,
            )
            self._recorded(failed)
            raise

    def _recorded(self, context: Context) -> Context:
        record_context(context)
        return kept_in(self.journal, context)
