"""`LearningMemoryAssembler`: what a project remembers, for an agent's session, and warnings before it debugs.

    collect   memories, code, experiences, values, commits; or experiences on four axes, each asked its own
    expand    nothing: what is found stands for itself
    rank      similarity · .7, tier · .1, importance · .1, recency of commits and experiences · .1
    dedupe    one experience, one file in code and commits, texts alike by 90 %: the better ranked stays
    pack      shares 3 : 2 : 2 : 1 : 1, no item above a quarter of its share, the rest handed on
    render    a section for each source that has something, and a footer that counts
    (soft)    by choice what stands around the items is free: exceeded with a warning and a flag

The settings are `SETTINGS`, `WEIGHTS` and `SHARES`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from langchain_context_engine.designs.learning.formats import METADATA_OF, NOTE, NOTES, SAID
from langchain_context_engine.designs.learning.result import (
    ContextAssemblyError,
    ContextItem,
    FormattedContext,
    InvalidContextTypeError,
    formatted,
    log_context,
)
from langchain_context_engine.designs.learning.sources import KIND_OF, Searcher
from langchain_context_engine.engine import ContextEngine
from langchain_context_engine.ranking.identity import AcrossKinds, Versions
from langchain_context_engine.ranking.signals import ForKinds, Lookup, Recency, Signal, Stated
from langchain_context_engine.values.budget import Budget
from langchain_context_engine.values.errors import ConfigError
from langchain_context_engine.values.request import ContextRequest
from langchain_context_engine.writing.templates import Template

__all__ = [
    "METADATA_OF",
    "ContextAssemblyError",
    "ContextItem",
    "FormattedContext",
    "InvalidContextTypeError",
    "LearningMemoryAssembler",
    "Searcher",
]

SHARES: Mapping[str, float] = MappingProxyType(
    {"experiences": 3, "code": 2, "commits": 2, "values": 1, "memories": 1}
)
"""Context type → weight of its share."""

PREMORTEM_SHARES: Mapping[str, float] = MappingProxyType(
    {"full": 3, "strategy": 3, "surprise": 3, "root_cause": 3, "values": 1}
)

WEIGHTS: Mapping[str, float] = MappingProxyType(
    {"relevance": 0.7, "tier": 0.1, "importance_of_memories": 0.1, "newness": 0.1}
)
"""Signal → weight: similarity first, the others move what is about as similar."""

TIERS: Mapping[str, float] = MappingProxyType({"gold": 1.0, "silver": 0.7, "bronze": 0.4, "abandoned": 0.0})

SIGNALS: Mapping[str, Signal] = MappingProxyType(
    {
        "tier": Lookup(values=TIERS, default=0.5, key="confidence_tier"),
        "importance_of_memories": ForKinds(signal=Stated(key="importance"), kinds=("memory",)),
        "newness": ForKinds(signal=Recency(curve="half_life"), kinds=("commit", "experience")),
    }
)

TITLES: Mapping[str, str] = MappingProxyType({name: name.capitalize() for name in KIND_OF})

PREMORTEM_TITLES: Mapping[str, str] = MappingProxyType(
    {
        "full": "Common Failures",
        "strategy": "Strategy Performance",
        "surprise": "Unexpected Outcomes",
        "root_cause": "Root Causes to Watch",
        "values": "Relevant Principles",
    }
)

MAX_ITEM_FRACTION = 0.25

MINIMUM_CUT = 8
"""A quarter of a small share is little: what is left of an item may be a line."""

SAME_THING = (
    AcrossKinds({"experience": "ghap_id", "value": "ghap_id"}),
    AcrossKinds({"code": "file_path", "commit": "files_changed"}),
    Versions(("symbol",), within=("file_path",), tells_apart=True),
)
"""What makes two items one. Two functions of one file never are, however alike; two versions of one are."""

SETTINGS: Mapping[str, Any] = MappingProxyType(
    {
        "weights": WEIGHTS,
        "signals": SIGNALS,
        "selection": "score",
        "truncator": "keep_start",
        "notes": NOTES,
        "dedupe_key": SAID,
        "dedupe_threshold": 90.0,
    }
)
"""What this design sets of the engine; everything else is the engine's default."""

_FORM = {"passage": "{{content}}", "section": "## {{title}}\n", "separator": "\n\n", "note": NOTE}

TEMPLATE = Template(
    name="learning",
    header="# Context\n\n",
    footer="\n\n---\n*{{count}} items from {{sources}} sources*",
    **_FORM,
)


class LearningMemoryAssembler:
    """Assembles contexts out of what a project has learnt.

    Args:
        searcher: Where the five kinds are.
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
        searcher: Searcher,
        *,
        soft_limit: bool = False,
        scope_keys: Sequence[str] = (),
        journal: Any = None,
        tokenizer: Any = "auto",
        timeout_seconds: float = 2.0,
    ) -> None:
        if not isinstance(searcher, Searcher):
            raise ConfigError(f"searcher must be a Searcher, got {type(searcher).__name__}")
        self.searcher = searcher
        own = {"scope_keys": tuple(scope_keys), "tokenizer": tokenizer, "timeout_seconds": timeout_seconds}
        budget = Budget(item_cap=MAX_ITEM_FRACTION, minimum_cut=MINIMUM_CUT, is_soft=soft_limit)
        self.engine = ContextEngine(
            sources=searcher.sources(),
            journal=journal,
            budget=replace(budget, shares=SHARES),
            template=TEMPLATE,
            titles=TITLES,
            dedupe_rules=SAME_THING,
            **SETTINGS,
            **own,
        )
        self.premortem_engine = ContextEngine(
            sources=searcher.premortem_sources(),
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
            AllSourcesFailedError: Every source failed.
        """
        request = self._request(query, context_types, limit, max_tokens, fields)
        return self._told(await self.engine.abuild(request), "context.assembled")

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
        return self._told(self.engine.build(request), "context.assembled")

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
            AllSourcesFailedError: Every source failed.
        """
        request = self._premortem_request(domain, strategy, limit, max_tokens, fields)
        return self._told(await self.premortem_engine.abuild(request), "premortem.assembled")

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
        return self._told(self.premortem_engine.build(request), "premortem.assembled")

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
        template = _premortem_template(domain, strategy)
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


def _premortem_template(domain: str, strategy: str | None) -> Template:
    for name, value in (("domain", domain), ("strategy", strategy or "none")):
        if not isinstance(value, str) or not value.strip() or not value.isprintable() or "{{" in value:
            raise ConfigError(f"{name} must be a name on one line, got {value!r}")
    return Template(
        name="premortem",
        header=f"# Premortem: {domain}{f' with {strategy}' if strategy else ''}\n\n",
        footer="\n\n---\n*Based on {{count}} past experiences*",
        **_FORM,
    )
