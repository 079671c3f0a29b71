"""The prime-context service: what an agent should read before it answers in a thread.

The pipeline that it assembles:

    collect   explicit references, full text, keywords, fuzzy, recently accessed, thread: at once
    rank      TF-IDF cosine .35, keywords .25, recency .15, source priority .15, usage .10
    dedupe    one record once, however it was found; texts that say the same once
    pack      references first, then by score per token, no kind above 70 % of more than five
    render    `[fil-…]` markers that stay the same from answer to answer
    answer    4000 tokens less 500 for the system prompt, kept 30 seconds for the same request
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from langchain_context_engine.designs.prime.gap import optimality_gap
from langchain_context_engine.designs.prime.setup import DEFAULTS, PrimeSettings, sources_of
from langchain_context_engine.designs.prime.values import (
    ContextItem,
    ContextMetrics,
    ContextStats,
    PrimeContext,
)
from langchain_context_engine.engine import ContextEngine
from langchain_context_engine.filters import in_scope
from langchain_context_engine.journal import Journal
from langchain_context_engine.models.budget import Budget
from langchain_context_engine.models.errors import ConfigError, ScopeError
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.source import SupportsPrepare, readers
from langchain_context_engine.models.types import Key
from langchain_context_engine.rendering.citations import used_citations
from langchain_context_engine.search.finders import KEYWORDS
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.result_cache import ResultCache

__all__ = [
    "ContextItem",
    "ContextMetrics",
    "ContextStats",
    "PrimeContext",
    "PrimeContextService",
    "PrimeSettings",
]


_LOGGER = logging.getLogger("langchain_context_engine.designs.prime")


class PrimeContextService:
    """Finds, weighs and packs what an agent should read for a message in a thread.

    Args:
        files: A Chroma collection of files, or several. Read of their metadata are `path`, `title`,
            `kind` (`chunk` for a part of a file), `created_at`, `accessed_at`, and whose they are.
        messages: A collection of the messages of threads, or None.
        references: A collection of what threads refer to: a text, or under `file_id` a file's id or path.
        sources: Further sources to be asked.
        journal: A path or a `Journal`: traces, usage and feedback are kept there.
        settings: The service's numbers.
        **engine_settings: Settings of `EngineConfig`, over those of the design: `selection="knapsack"`, ….

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
        files: Any,
        messages: Any = None,
        references: Any = None,
        *,
        sources: Sequence[Any] = (),
        journal: Any = None,
        settings: PrimeSettings = DEFAULTS,
        **engine_settings: Any,
    ) -> None:
        if isinstance(journal, (str, Path)):
            journal = Journal(journal)
        asked = sources_of(files, messages, references, journal=journal, settings=settings)
        keeps = settings.cache_seconds > 0
        self.user_key = settings.user_key
        self.engine = ContextEngine(
            sources=[*asked, *sources],
            journal=journal,
            cache=ResultCache(settings.cache_entries, settings.cache_seconds) if keeps else None,
            **{
                "budget": Budget(tokens=settings.max_tokens, reserve=settings.system_prompt_tokens),
                "scope_keys": (settings.user_key,) if settings.user_key else (),
                **settings.engine,
                **engine_settings,
            },
        )
        self.unreserved = _unreserved(self.engine)

    @classmethod
    def over(cls, engine: ContextEngine, *, user_key: str = "") -> PrimeContextService:
        """Return a service that answers with an engine of your own.

        Args:
            engine: Its sources, settings, journal and cache are used as they are.
            user_key: The key of the scope that a user's id is given under; "" where there are no users.
        """
        service = cls.__new__(cls)
        service.user_key = user_key
        service.engine, service.unreserved = engine, _unreserved(engine)
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
        request = self._request(thread_id, user_message, user_id, fields)
        return self._told(self._engine(request).build(request))

    async def abuild_prime_context(
        self, thread_id: str | None, user_message: str, user_id: str | None = None, **fields: Any
    ) -> PrimeContext:
        """Return the same as `build_prime_context`, from a running event loop."""
        request = self._request(thread_id, user_message, user_id, fields)
        return self._told(await self._engine(request).abuild(request))

    def _told(self, context: Context) -> PrimeContext:
        """Return an answer, its figures logged: no text, id or scope."""
        cache = self.engine.cache
        answer = PrimeContext.of(context, cache_hit_rate=0.0 if cache is None else cache.hit_rate)
        _LOGGER.info("Context assembly metrics %s", figures := answer.metrics.to_dict(), extra=figures)
        return answer

    def _engine(self, request: ContextRequest) -> ContextEngine:
        """Return what answers: of a budget given for one call nothing is kept free."""
        return self.engine if request.budget is None else self.unreserved

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
        self._forget_those_of([key])

    def mark_used(self, context: PrimeContext, used: Iterable[str] | str) -> PrimeContext:
        """Return the context with the used citations marked; the next ranking feels each use.

        The items count as accessed by the user now.

        Args:
            context: What the answer was made from.
            used: Markers, or the answer itself.
        """
        citations = context.trace.citations
        markers = used_citations(used, citations) if isinstance(used, str) else tuple(used)
        keys = [(key[0], key[1]) for marker in markers if (key := citations.get(marker))]
        if self.engine.journal is not None and keys:
            self.engine.journal.touch(keys)
            user = context.trace.request.scope.get(self.user_key)
            for key in keys if isinstance(user, str) else ():
                self.engine.journal.view(user, key)
            self._forget_those_of(keys)
        return context.mark_as_used(markers)

    def update_access_time(self, file_id: str, user_id: str, *, scope: Any = None) -> None:
        """Remember that a user opened a file now: it is among the recently accessed from now on.

        Raises:
            ConfigError: There is no such file for this user, or no journal.
        """
        key = self._find(file_id, self._scope(user_id, scope))
        self._journal().view(user_id, key)
        self._forget(lambda context: context.request.scope.get(self.user_key) == user_id)

    def invalidate(self, pattern: str | None = None) -> int:
        """Forget the kept answers whose request contains a text, or all; return how many."""
        return 0 if self.engine.cache is None else self.engine.cache.invalidate(pattern)

    def optimality_gap(self, context: PrimeContext) -> float:
        """Return by what share of the best possible sum of scores the selection falls short, 0–1."""
        return optimality_gap(context.trace, self.engine)

    def prepare(self) -> None:
        """Read the collections now, rather than with the first question."""
        for source in (s for s in self.engine.sources if isinstance(s, SupportsPrepare)):
            source.prepare()

    def close(self) -> None:
        """Write what waits to be written, and close the journal."""
        if self.engine.journal is not None:
            self.engine.journal.close()

    def _request(
        self, thread_id: str | None, message: str, user_id: str | None, fields: Mapping[str, Any]
    ) -> ContextRequest:
        more = dict(fields)
        references = more.pop("references", ())
        named = (references,) if isinstance(references, str) else tuple(references)
        scope = self._scope(user_id, more.pop("scope", None))
        return ContextRequest(
            query=message, scope=scope, focus={"thread": thread_id, "references": named}, **more
        )

    def _scope(self, user_id: str | None, scope: Mapping[str, Any] | None) -> dict[str, Any]:
        own = {self.user_key: user_id} if self.user_key and user_id is not None else {}
        joined = {**(scope or {}), **own}
        for key in self.engine.config.scope_keys:
            if joined.get(key) is None:
                msg = f"this service answers only within a scope: give {key}"
                raise ScopeError(msg)
        return joined

    def _find(self, item_id: str, scope: Mapping[str, Any]) -> Key:
        """Return the key of a record that the scope may see: whoever cannot see it must not move it."""
        request = ContextRequest(scope=scope)
        by_id = readers(self.engine.sources)
        collection, _, rest = item_id.partition("/")
        tries = [(collection, rest)] if collection in by_id and rest else []
        tries += [(name, item_id) for name in by_id]
        keys: list[Key] = []
        for name, id_ in tries:
            found = by_id[name].get([id_], request)
            if found and in_scope(found[0], request):
                keys.append(found[0].key)
                if name == collection:
                    break
        if len(set(keys)) > 1:
            named = " or ".join(sorted("/".join(key) for key in set(keys)))
            raise ConfigError(f"item {item_id!r} stands in several collections; give {named}")
        if not keys:
            raise ConfigError(f"there is no item {item_id!r}; give the id of an item of a context")
        return keys[0]

    def _journal(self) -> Any:
        if self.engine.journal is None:
            raise ConfigError("usage and feedback are kept in a journal; give the service journal=…")
        return self.engine.journal

    def _forget_those_of(self, keys: Sequence[Key]) -> None:
        """Forget the kept answers that these records were weighed for."""
        moved = set(keys)
        self._forget(lambda context: not moved.isdisjoint(c.key for c in context.candidates))

    def _forget(self, is_outdated: Callable[[Context], bool]) -> None:
        if self.engine.cache is not None:
            self.engine.cache.invalidate(lambda _, context: is_outdated(context))


def _unreserved(engine: ContextEngine) -> ContextEngine:
    return engine.with_settings(budget=replace(engine.config.budget, reserve=0))
