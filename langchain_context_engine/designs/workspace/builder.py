"""`WorkspaceContextBuilder`: a context out of a workspace of blocks, for its user and where they are.

    collect   focus, semantic, relations, activity (one collection, the user's permissions in every read),
              history, system
    (near)    of the search what has at least .6 of the best hit's similarity
    rank      semantic · .35 + structural · .25 + recency · .15 + type match · .15 + user affinity · .10
    dedupe    the better ranked of two that say the same
    pack      a share for each section, scaled to the total; whole, cut (extractive), the rest handed on
    render    a section for each collector, `_No relevant content found._` where one is empty, the question

The settings are `DEFAULT_CONTEXT_CONFIG` and `SETTINGS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from langchain_context_engine.designs.workspace.config import (
    DEFAULT_CONTEXT_CONFIG,
    SIGNAL_OF,
    ContextConfig,
)
from langchain_context_engine.designs.workspace.payload import (
    ContextPayload,
    ContextValidationResult,
    payload_of,
    problems_of,
)
from langchain_context_engine.designs.workspace.request import (
    COLLECTORS_OF,
    ContextHints,
    FocusPoint,
    TokenBudget,
    User,
    WorkspaceRequest,
)
from langchain_context_engine.designs.workspace.signals import SIGNALS
from langchain_context_engine.designs.workspace.sources import sources_of
from langchain_context_engine.engine import ContextEngine
from langchain_context_engine.journal import Journal
from langchain_context_engine.models.budget import Budget
from langchain_context_engine.models.errors import ConfigError, ScopeError
from langchain_context_engine.models.request import ContextRequest, Message
from langchain_context_engine.pipeline.thresholds import Threshold
from langchain_context_engine.rendering.templates import Template
from langchain_context_engine.search.collection import CollectionHandle
from langchain_context_engine.text.tokens import resolve_tokenizer

__all__ = [
    "DEFAULT_CONTEXT_CONFIG",
    "ContextConfig",
    "ContextHints",
    "ContextPayload",
    "ContextValidationResult",
    "FocusPoint",
    "TokenBudget",
    "User",
    "WorkspaceContextBuilder",
    "WorkspaceRequest",
]

Permissions = Callable[[User], Mapping[str, Any]]
"""Gives what must stand in a block's metadata for a user to see it, such as `{"workspace_id": "acme"}`."""

TITLES: Mapping[str, str] = MappingProxyType(
    {
        "focus": "Focused Content",
        "semantic": "Related Content",
        "relations": "Connected Items",
        "activity": "Recent Activity",
    }
)
"""The sections that are always there."""

TITLES_IF_ASKED: Mapping[str, str] = MappingProxyType({"history": "Conversation", "system": "System"})
"""The sections that are there where the request brings something for them."""

TEMPLATE = Template(
    name="workspace",
    header="## Current Context\n\n",
    section="### {{title}}\n",
    passage="{{title}}\n{{content}}",
    separator="\n\n",
)

SETTINGS: Mapping[str, Any] = MappingProxyType(
    {
        "template": TEMPLATE,
        "empty_section": "_No relevant content found._",
        "closing": "\n\n---\n\nUser Query: {{query}}",
        "selection": "score",
    }
)
"""What this design sets of the engine; everything else is the engine's default."""

MINIMUM_CUT = 101
"""What does not fit is cut where more than 100 tokens are left."""

_ENGINES = 64
"""Engines that are kept, one for each budget and set of sections."""


class WorkspaceContextBuilder:
    """Builds contexts out of a collection of blocks.

    Of a block's metadata are read: `type`, `parent_id`, `position`, `page_id`, `title` or `page_title`,
    `links`, `relations`, `database_id`, `updated_at`, `updated_by`, `summary` (of a page).

    Args:
        collection: The blocks: a chromadb Collection, or a `langchain_chroma.Chroma`.
        permissions: The user's permissions as metadata that must match; see `Permissions`. It is part of
            every read of the store, and checked again for all that any collector offers.
        embeddings: LangChain Embeddings, the ones the collection was filled with.
        config: The settings.
        journal: A path or a `Journal`: views are remembered there (see `viewed`), and every context.
        tokenizer: What counts tokens; see `EngineConfig`.
        timeout_seconds: One deadline for all collectors.

    Attributes:
        engine: The `ContextEngine` behind it, with the configured budget.

    Raises:
        ConfigError: There are no permissions, or an argument is wrong.
    """

    def __init__(
        self,
        collection: Any,
        *,
        permissions: Permissions,
        embeddings: Any = None,
        config: ContextConfig = DEFAULT_CONTEXT_CONFIG,
        journal: Any = None,
        tokenizer: Any = "auto",
        timeout_seconds: float = 2.0,
    ) -> None:
        if not callable(permissions):
            raise ConfigError(
                "a workspace is never read without permissions: pass permissions=user -> metadata that must"
                f" match, got {type(permissions).__name__}"
            )
        self.config = config
        self.journal = journal if journal is None or hasattr(journal, "record") else Journal(journal)
        self.store = CollectionHandle(getattr(collection, "_collection", collection)).name
        self._permissions = permissions
        self._sources = sources_of(collection, embeddings, config.collectors, self.journal)
        self._count = resolve_tokenizer(tokenizer)
        self._settings = {"tokenizer": tokenizer, "timeout_seconds": timeout_seconds}
        # One engine for each budget, so that what an engine remembers of questions outlives one answer.
        self._engine = lru_cache(maxsize=_ENGINES)(self._new_engine)
        self.engine = self._engine(config.token_budget, ())

    def build(self, query: str | WorkspaceRequest, **fields: Any) -> ContextPayload:
        """Return the context for a request.

        Args:
            query: The question, or a whole `WorkspaceRequest`.
            **fields: Fields of `WorkspaceRequest`: user, focus, type, token_budget, hints, …

        Raises:
            ScopeError: The permissions of the user say nothing.
            ConfigError: A field is wrong.
            AllSourcesFailedError: Every collector failed.
        """
        request = _request(query, fields)
        engine, asked = self._asked(request)
        return self._payload(engine.build(asked), request)

    async def abuild(self, query: str | WorkspaceRequest, **fields: Any) -> ContextPayload:
        """Return the same as `build`, from a running event loop."""
        request = _request(query, fields)
        engine, asked = self._asked(request)
        return self._payload(await engine.abuild(asked), request)

    def estimate_tokens(self, payload: ContextPayload | str) -> int:
        """Return the tokens of a payload or a text: counted, not estimated."""
        return self._count(str(payload))

    def validate(self, payload: ContextPayload) -> ContextValidationResult:
        """Return whether a payload is within its budget and its user's permissions, and tells its tokens."""
        return problems_of(payload, self._count)

    def viewed(self, user: User, block_id: str, at: Any = None) -> None:
        """Remember that a user viewed a block or page, for the recent views.

        Raises:
            ConfigError: The builder has no journal.
        """
        if self.journal is None:
            raise ConfigError("views are remembered in a journal: pass journal=… to the builder")
        self.journal.view(user.id, (self.store, block_id), at)

    def _asked(self, request: WorkspaceRequest) -> tuple[ContextEngine, ContextRequest]:
        """Return the engine for a request's budget, and what it is asked."""
        budget, hints = self._budget(request), request.hints
        history = _history(request)
        brought = {"system" if message.role == "system" else "history" for message in history}
        enabled = {source.name for source in self._sources}
        sources = tuple(
            name
            for name in COLLECTORS_OF[request.type]
            if name in budget.shares()
            and name in enabled
            and (name not in TITLES_IF_ASKED or name in brought)
        )
        asked = ContextRequest(
            query=request.query,
            scope=self._scope(request.user),
            sources=sources,
            history=history,
            pinned=tuple((self.store, id_) for id_ in hints.include_blocks),
            excluded=tuple(hints.exclude_blocks),
            focus=_focus(request),
            budget=budget.total,
            now=request.now,
        )
        return self._engine(budget, tuple(name for name in TITLES_IF_ASKED if name in sources)), asked

    def _budget(self, request: WorkspaceRequest) -> TokenBudget:
        given = request.token_budget
        if isinstance(given, TokenBudget):
            return given
        own = self.config.token_budget
        return own if given is None else replace(own, total=given)

    def _scope(self, user: User) -> dict[str, Any]:
        scope = self._permissions(user)
        if not isinstance(scope, Mapping) or not scope or None in scope.values():
            raise ScopeError(
                "the permissions of a user must name at least one metadata value that must match; those of"
                f" this user are {type(scope).__name__} with nothing to match"
            )
        return dict(scope)

    def _new_engine(self, budget: TokenBudget, more: Sequence[str]) -> ContextEngine:
        weights = {SIGNAL_OF.get(name, name): weight for name, weight in self.config.weights.items()}
        near = self.config.collectors.semantic
        return ContextEngine(
            sources=self._sources,
            journal=self.journal,
            budget=Budget(tokens=budget.total, shares=budget.shares(), minimum_cut=MINIMUM_CUT),
            weights=weights,
            signals=SIGNALS,
            thresholds={"semantic": Threshold(of_best=near.min_threshold, least=near.min_similarity)},
            titles={**TITLES, **{name: TITLES_IF_ASKED[name] for name in more}},
            **SETTINGS,
            **self.config.truncation.settings(),
            **self._settings,
        )

    def _payload(self, context: Any, request: WorkspaceRequest) -> ContextPayload:
        return payload_of(context, request, {**TITLES, **TITLES_IF_ASKED}, self.store)


def _request(query: str | WorkspaceRequest, fields: Mapping[str, Any]) -> WorkspaceRequest:
    if isinstance(query, WorkspaceRequest):
        return replace(query, **fields)
    if "user" not in fields:
        raise ConfigError("a workspace is read for a user: pass user=User(id=…)")
    return WorkspaceRequest(query=query, **fields)


def _history(request: WorkspaceRequest) -> tuple[Message, ...]:
    preferences = request.user.preferences
    told = "\n".join(f"- {name}: {value}" for name, value in preferences.items())
    texts = [request.system, f"The user's preferences:\n{told}" if told else ""]
    system = [Message(role="system", text=text) for text in texts if text]
    return (*system, *(Message.of(message) for message in request.conversation_history))


def _focus(request: WorkspaceRequest) -> dict[str, Any]:
    """Return where and who the asker is, as plain data that a trace can keep."""
    focus, hints = request.focus, request.hints
    since, until = hints.time_range or (None, None)
    told = {
        "block": focus.block_id,
        "page": focus.page_id,
        "database": focus.database_id,
        "user": request.user.id,
        "depth": hints.max_depth,
        "kinds": list(hints.prioritize_types) or None,
        "since": since and since.isoformat(),
        "until": until and until.isoformat(),
    }
    return {name: value for name, value in told.items() if value is not None}
