"""`LearningMemoryAssembler`: what a project remembers, for an agent's session, and warnings before it debugs.

    collect   memories, code, experiences, values, commits; or experiences on four axes, each asked its own
    expand    nothing: what is found stands for itself
    rank      similarity · .7, tier · .1, importance · .1, recency of commits and experiences · .1
    dedupe    one experience, one file in code and commits, texts alike by 90 %: the better ranked stays
    pack      shares 3 : 2 : 2 : 1 : 1, no item above a quarter of its share, the rest handed on
    render    a section for each source that has something, and a footer that counts
    (soft)    by choice what stands around the items is free: exceeded with a warning and a flag

The settings stand in `settings.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_context_engine.designs.learning.formats import METADATA_OF
from langchain_context_engine.designs.learning.result import (
    ContextAssemblyError,
    ContextItem,
    FormattedContext,
    InvalidContextTypeError,
    formatted,
    log_context,
    nothing_found,
)
from langchain_context_engine.designs.learning.settings import (
    MAX_ITEM_FRACTION,
    MINIMUM_CUT,
    PREMORTEM_SHARES,
    PREMORTEM_TITLES,
    SAME_THING,
    SETTINGS,
    SHARES,
    TEMPLATE,
    TITLES,
    premortem_template,
)
from langchain_context_engine.designs.learning.sources import Searcher, as_searcher
from langchain_context_engine.engine import ContextEngine
from langchain_context_engine.models.budget import Budget
from langchain_context_engine.models.errors import AllSourcesFailedError
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.trace.context import Context

__all__ = [
    "METADATA_OF",
    "SHARES",
    "ContextAssemblyError",
    "ContextItem",
    "FormattedContext",
    "InvalidContextTypeError",
    "LearningMemoryAssembler",
    "Searcher",
]


class LearningMemoryAssembler:
    """Assembles contexts out of what a project has learnt.

    Args:
        searcher: Where the five kinds are: a `Searcher`, or an object with the document's five methods.
        soft_limit: `max_tokens` bounds the items alone; headings, notes and footer may exceed it, with a
            warning and a flag. The limit is hard by default.
        scope_keys: Metadata keys that every call's `scope` must name.
        journal: A path or a `Journal`: every context is recorded there.
        tokenizer: What counts tokens; see `EngineConfig`.
        timeout_seconds: One deadline for all sources; what is late is left out with a warning.

    Attributes:
        engine: The `ContextEngine` behind `assemble_context`.
        premortem_engine: The one behind `get_premortem_context`.

    Raises:
        ConfigError: An argument is wrong.
    """

    def __init__(
        self,
        searcher: Any,
        *,
        soft_limit: bool = False,
        scope_keys: Sequence[str] = (),
        journal: Any = None,
        tokenizer: Any = "auto",
        timeout_seconds: float = 2.0,
    ) -> None:
        self.searcher = as_searcher(searcher)
        own = {"scope_keys": tuple(scope_keys), "tokenizer": tokenizer, "timeout_seconds": timeout_seconds}
        budget = Budget(item_cap=MAX_ITEM_FRACTION, minimum_cut=MINIMUM_CUT, is_soft=soft_limit)
        self.engine = ContextEngine(
            sources=self.searcher.sources(),
            journal=journal,
            budget=replace(budget, shares=SHARES),
            template=TEMPLATE,
            titles=TITLES,
            dedupe_rules=SAME_THING,
            **SETTINGS,
            **own,
        )
        self.premortem_engine = ContextEngine(
            sources=self.searcher.premortem_sources(),
            journal=self.engine.journal,
            budget=replace(budget, shares=PREMORTEM_SHARES),
            titles=PREMORTEM_TITLES,
            uncounted=("values",),
            counted_by="ghap_id",
            dedupe_rules=(),
            # One experience is shown on several axes, as long as they show different things of it.
            **{**SETTINGS, "dedupe_key": None},
            **own,
        )

    async def assemble_context(
        self,
        query: str,
        context_types: Sequence[str],
        limit: int = 20,
        max_tokens: int = 2000,
        **fields: Any,
    ) -> FormattedContext:
        """Return the context for a question, from some of the sources.

        Args:
            query: What context is needed for.
            context_types: Of memories, code, experiences, values, commits.
            limit: Items a source may offer.
            max_tokens: Tokens of the text.
            **fields: Further fields of `ContextRequest`: scope, where, now, …

        Raises:
            InvalidContextTypeError: There is no such type, or no collection of it.
        """
        request = self._request(query, context_types, limit, max_tokens, fields)
        try:
            context = await self.engine.abuild(request)
        except AllSourcesFailedError as error:
            context = nothing_found(request, error)
        return self._told(context, "context.assembled")

    def assemble_context_sync(
        self,
        query: str,
        context_types: Sequence[str],
        limit: int = 20,
        max_tokens: int = 2000,
        **fields: Any,
    ) -> FormattedContext:
        """Return the same as `assemble_context`, without an event loop."""
        request = self._request(query, context_types, limit, max_tokens, fields)
        return self._told(self._built(self.engine, request), "context.assembled")

    async def get_premortem_context(
        self,
        domain: str,
        strategy: str | None = None,
        limit: int = 10,
        max_tokens: int = 1500,
        **fields: Any,
    ) -> FormattedContext:
        """Return warnings for a domain: failures, surprises and root causes of the past, and principles.

        Args:
            domain: For example "debugging".
            strategy: For example "systematic-elimination": its experiences too.
            limit: Items of each axis; of values at most 5.
            max_tokens: Tokens of the text.
            **fields: Further fields of `ContextRequest`: scope, where, now, …

        Raises:
            InvalidContextTypeError: There are neither experiences nor values.
            ConfigError: The domain or the strategy is no name on one line.
        """
        request = self._premortem_request(domain, strategy, limit, max_tokens, fields)
        try:
            context = await self.premortem_engine.abuild(request)
        except AllSourcesFailedError as error:
            context = nothing_found(request, error)
        return self._told(context, "premortem.assembled")

    def get_premortem_context_sync(
        self,
        domain: str,
        strategy: str | None = None,
        limit: int = 10,
        max_tokens: int = 1500,
        **fields: Any,
    ) -> FormattedContext:
        """Return the same as `get_premortem_context`, without an event loop."""
        request = self._premortem_request(domain, strategy, limit, max_tokens, fields)
        return self._told(self._built(self.premortem_engine, request), "premortem.assembled")

    @staticmethod
    def _built(engine: ContextEngine, request: ContextRequest) -> Context:
        try:
            return engine.build(request)
        except AllSourcesFailedError as error:
            return nothing_found(request, error)

    def _request(
        self, query: str, types: Sequence[str], limit: int, max_tokens: int, fields: Mapping[str, Any]
    ) -> ContextRequest:
        asked = (types,) if isinstance(types, str) else tuple(types)
        known = self.searcher.types()
        for name in asked:
            if name not in known:
                raise InvalidContextTypeError("context type", name, known)
        sources = tuple(name for name in known if name in asked)
        return ContextRequest(query=query, sources=sources, limit=limit, budget=max_tokens, **fields)

    def _premortem_request(
        self, domain: str, strategy: str | None, limit: int, max_tokens: int, fields: Mapping[str, Any]
    ) -> ContextRequest:
        template = premortem_template(domain, strategy)
        sources = tuple(
            source.name for source in self.premortem_engine.sources if strategy or source.name != "strategy"
        )
        if not sources:
            raise InvalidContextTypeError("context type", "experiences", self.searcher.types())
        return ContextRequest(
            query=f"{domain} {strategy or ''}".strip(),
            focus={"domain": domain, **({"strategy": strategy} if strategy else {})},
            sources=sources,
            limit=limit,
            budget=max_tokens,
            template=template,
            **fields,
        )

    def _told(self, context: Any, event: str) -> FormattedContext:
        found = formatted(context)
        log_context(event, found)
        return found
