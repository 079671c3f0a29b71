"""The engine: one question in, one context out. See `build` for the whole way on one screen."""

from __future__ import annotations

import asyncio
import copy
import time
import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from langchain_context_engine.answering.assemble import assemble, order
from langchain_context_engine.answering.config import EngineConfig
from langchain_context_engine.answering.context import Context
from langchain_context_engine.answering.result_cache import ResultCache, request_key
from langchain_context_engine.sources.asking import Asking
from langchain_context_engine.stages.admit import Collected
from langchain_context_engine.stages.collect import acollect, collect
from langchain_context_engine.stages.expand import expand
from langchain_context_engine.telemetry.instruments import record_context, stage_span
from langchain_context_engine.values.errors import ConfigError
from langchain_context_engine.values.request import ContextRequest
from langchain_context_engine.values.types import Ranked, Status

if TYPE_CHECKING:
    from langchain_context_engine.journal import Journal
    from langchain_context_engine.langchain.retriever import ContextRetriever
    from langchain_context_engine.langchain.runnable import ContextRunnable


LIMIT_OF_ONE, LIMIT_OF_MANY = 100, 50
"""Candidates that a source may offer, where one source is asked and where several are."""


class ContextEngine:
    """Asks all sources at once, ranks, removes duplicates, fits the budget, and says why.

    Args:
        sources: Objects with `name` and `fetch(request)`; their order breaks ties.
        journal: A path or a `Journal`: every context is recorded there. None records nothing.
        cache: Keeps whole contexts for a short while; a `ResultCache`. None asks anew every time.
        **settings: See `EngineConfig`: budget, weights, template, tokenizer, scope_keys,
            timeout_seconds, truncator, compactor, selection, order, …

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
        **settings: Any,
    ) -> None:
        self.config = EngineConfig(**settings)
        self._asking = Asking.of(sources, self.config)
        self._parts = self.config.parts()
        self.journal = _open_journal(journal)
        self.cache = cache
        self._cache_name = uuid.uuid4().hex

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
        request = self._request(query, fields)
        if self._is_nothing(request):
            return self._finish(_nothing(request), Collected(), 0.0)
        key = self._key(request, query, fields)
        if (kept := self._recalled(key)) is not None:
            return kept
        start = time.monotonic()
        deadline = start + self._asking.patience(request, self.config.timeout_seconds)
        with stage_span("collect"):
            found = collect(self._asking.sources_for(request), request, deadline)
        return self._remembered(key, self._answer(request, found, start, deadline))

    async def abuild(self, query: str | ContextRequest, **fields: Any) -> Context:
        """Return the same context as `build`, from a running event loop."""
        request = self._request(query, fields)
        if self._is_nothing(request):
            return self._finish(_nothing(request), Collected(), 0.0)
        key = self._key(request, query, fields)
        if (kept := self._recalled(key)) is not None:
            return kept
        start = time.monotonic()
        deadline = start + self._asking.patience(request, self.config.timeout_seconds)
        with stage_span("collect"):
            found = await acollect(self._asking.sources_for(request), request, deadline)
        return self._remembered(key, await asyncio.to_thread(self._answer, request, found, start, deadline))

    def search(self, query: str | ContextRequest, **fields: Any) -> tuple[Ranked, ...]:
        """Return what rank and dedupe leave, best first, at most `k`; nothing is packed.

        Takes and raises what `build` does.
        """
        request = self._request(query, fields)
        if self._finds_nothing(request):
            return ()
        deadline = time.monotonic() + self._asking.patience(request, self.config.timeout_seconds)
        found = collect(self._asking.sources_for(request), request, deadline)
        return self._ranked(request, found, deadline)

    async def asearch(self, query: str | ContextRequest, **fields: Any) -> tuple[Ranked, ...]:
        """Return the same as `search`, from a running event loop."""
        request = self._request(query, fields)
        if self._finds_nothing(request):
            return ()
        deadline = time.monotonic() + self._asking.patience(request, self.config.timeout_seconds)
        found = await acollect(self._asking.sources_for(request), request, deadline)
        return await asyncio.to_thread(self._ranked, request, found, deadline)

    def with_settings(self, **settings: Any) -> ContextEngine:
        """Return an engine over the same sources, index and journal with some settings changed.

        Raises:
            ConfigError: A name or a value is wrong.
        """
        other = copy.copy(self)
        config = self.config.changed(**settings)
        asking, parts = self._asking.under(config), config.parts()
        vars(other).update(config=config, _asking=asking, _parts=parts, _cache_name=uuid.uuid4().hex)
        return other

    def as_retriever(self, **fields: Any) -> ContextRetriever:
        """Return a LangChain retriever; `fields` are those of `ContextRetriever`: k, budget, scope, …."""
        from langchain_context_engine.langchain.retriever import ContextRetriever

        return ContextRetriever(engine=self, **fields)

    def as_runnable(self, **fields: Any) -> ContextRunnable:
        """Return a Runnable from a question to a `Context`; `fields` are defaults of the request."""
        from langchain_context_engine.langchain.runnable import ContextRunnable

        return ContextRunnable(engine=self, **fields)

    def as_tool(self, **fields: Any) -> Any:
        """Return a LangChain tool that gives the text, with the `Context` as artifact."""
        from langchain_context_engine.langchain.tool import as_tool

        return as_tool(self, **fields)

    def _request(self, query: str | ContextRequest, fields: dict[str, Any]) -> ContextRequest:
        request = (
            replace(query, **fields)
            if isinstance(query, ContextRequest)
            else ContextRequest(query=query, **fields)
        )
        self._asking.check(request)
        self._parts.template_of(request.template)
        return replace(
            request,
            now=request.now or datetime.now(UTC),
            limit=self._limit(request) if request.limit is None else request.limit,
            budget=self.config.budget.tokens if request.budget is None else request.budget,
        )

    def _limit(self, request: ContextRequest) -> int:
        """Return how many candidates a source may offer where the request does not say: at least `k`."""
        usual = self.config.limit
        if usual is None:
            usual = LIMIT_OF_ONE if len(self._asking.sources_for(request)) == 1 else LIMIT_OF_MANY
        return max(usual, request.k or 0)

    def _is_nothing(self, request: ContextRequest) -> bool:
        return request.budget == 0 or self._finds_nothing(request)

    @staticmethod
    def _finds_nothing(request: ContextRequest) -> bool:
        """Return whether the request asks for nothing, so that nobody need be asked."""
        return request.k == 0 or request.limit == 0 or request.kinds == () or request.sources == ()

    def _expanded(self, request: ContextRequest, found: Collected, deadline: float) -> Collected:
        with stage_span("expand"):
            sources = self._asking.sources_for(request)
            more = expand(found.candidates, request, sources, deadline, fusion=self.config.fusion)
        return replace(
            more,
            candidates=self._asking.with_usage(more.candidates, self.journal),
            decisions=(*found.decisions, *more.decisions),
            warnings=(*found.warnings, *more.warnings),
            has_failures=found.has_failures,
        )

    def _ranked(self, request: ContextRequest, found: Collected, deadline: float) -> tuple[Ranked, ...]:
        return order(self._expanded(request, found, deadline).candidates, request, self._parts).items[
            : request.k
        ]

    def _answer(self, request: ContextRequest, found: Collected, start: float, deadline: float) -> Context:
        collected = (time.monotonic() - start) * 1000
        found = self._expanded(request, found, deadline)
        return self._finish(assemble(found.candidates, request, self._parts), found, collected)

    def _finish(self, context: Context, found: Collected, collect_milliseconds: float) -> Context:
        """Join what collecting noticed to what assembling gave, and record it."""
        status = Status.PARTIAL if found.has_failures else context.status
        context = replace(
            context,
            decisions=(*found.decisions, *context.decisions),
            warnings=(*found.warnings, *context.warnings),
            timings={"collect": collect_milliseconds, **context.timings},
            status=status,
            settings=self.config.described(),
        )
        return self._recorded(context)

    def _recorded(self, context: Context) -> Context:
        record_context(context)
        if self.journal is not None:
            self.journal.record(context)
        return context

    def _key(
        self, request: ContextRequest, query: str | ContextRequest, fields: dict[str, Any]
    ) -> str | None:
        """Return what the cache keeps the answer under: the request as asked, at whatever time."""
        if self.cache is None:
            return None
        asked_now = fields.get("now", getattr(query, "now", None))
        return request_key(replace(request, now=asked_now), self._cache_name)

    def _recalled(self, key: str | None) -> Context | None:
        if self.cache is None or key is None:
            return None
        start = time.perf_counter()
        kept = self.cache.get(key)
        if kept is None:
            return None
        return self._recorded(replace(kept, timings={"cache": (time.perf_counter() - start) * 1000}))

    def _remembered(self, key: str | None, context: Context) -> Context:
        # An answer that lacks a source is asked for again: the source may be back.
        if self.cache is not None and key is not None and context.status is not Status.PARTIAL:
            self.cache.set(key, context)
        return context


def _nothing(request: ContextRequest) -> Context:
    return Context(
        budget=request.budget or 0, request=request, status=Status.EMPTY, is_truncated=request.budget == 0
    )


def _open_journal(journal: Any) -> Any:
    if journal is None or hasattr(journal, "record"):
        return journal
    if not isinstance(journal, (str, bytes)) and not hasattr(journal, "__fspath__"):
        raise ConfigError(f"journal must be a path or a Journal, got {type(journal).__name__}")
    from langchain_context_engine.journal import Journal

    return Journal(journal)
