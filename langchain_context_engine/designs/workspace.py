"""The workspace design: a context out of a workspace of blocks, for its user and where they are.

collect   focus, semantic, relations, activity (one collection, the user's permissions in every read),
          history, system
(near)    of the search what has a word of the question or stands out, and .6 of the best hits' similarity
rank      semantic · .35 + structural · .25 + recency · .15 + type match · .15 + user affinity · .10
dedupe    the better ranked of two that say the same
pack      a share for each section, scaled to the total; whole, cut (extractive), the rest handed on
render    a section for each collector, `_No relevant content found._` where one is empty, the question
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, Unpack

from langchain_core.embeddings import Embeddings
from pydantic import Field

from langchain_context_engine.designs.arguments import Checked, EngineSettings, off_loop
from langchain_context_engine.designs.workspace_blocks import (
    ActivitySettings,
    Blocks,
    BlockSource,
    FocusSettings,
    Number,
    RelationSettings,
    around_focus,
    connected,
    focus_of,
    lately,
    target_of,
)
from langchain_context_engine.engine import ContextEngine
from langchain_context_engine.errors import ConfigError, ScopeError
from langchain_context_engine.filters import in_scope
from langchain_context_engine.journal import open_journal
from langchain_context_engine.models.budget import Budget
from langchain_context_engine.models.request import MOST_CANDIDATES, ContextRequest, Message
from langchain_context_engine.models.types import Candidate, Passage
from langchain_context_engine.pipeline.thresholds import Threshold
from langchain_context_engine.ranking.signals import TreeDistance, TypeMatch, UserAffinity
from langchain_context_engine.rendering.compact import resolve_compactor
from langchain_context_engine.rendering.templates import Template
from langchain_context_engine.sources.adapted import AdaptedSource
from langchain_context_engine.sources.given import HistorySource
from langchain_context_engine.text.tokens import resolve_tokenizer
from langchain_context_engine.text.truncate import TRUNCATORS, AtLeast
from langchain_context_engine.text.words import query_terms
from langchain_context_engine.trace.context import Context

if TYPE_CHECKING:
    from chromadb import Collection
    from langchain_core.vectorstores import VectorStore

SECTIONS: Mapping[str, str] = {
    "focus": "Focused Content",
    "semantic": "Related Content",
    "relations": "Connected Items",
    "activity": "Recent Activity",
    "history": "Conversation",
    "system": "System",
}
"""Section → title. The last two are there where the request brings something for them."""

_IF_ASKED = ("history", "system")
_PERSONAL = ("activity", "history")
"""What a person did or said lately says nothing to a search or an automation, which leave it out."""

WEIGHTS: Mapping[str, float] = {
    "semantic": 0.35,
    "structural": 0.25,
    "recency": 0.15,
    "type_match": 0.15,
    "user_affinity": 0.10,
}
_SIGNAL_OF = {"semantic": "relevance", "recency": "recency_linear"}

SETTINGS: Mapping[str, Any] = {
    "template": Template(
        name="workspace",
        header="## Current Context\n\n",
        section="### {{title}}\n",
        passage="{{title}}\n{{content}}",
        separator="\n\n",
    ),
    "empty_section": "_No relevant content found._",
    "closing": "\n\n---\n\nUser Query: {{query}}",
    "selection": "score",
}
"""What this design sets of the engine; everything else is the engine's default."""

SIGNALS: Mapping[str, Any] = {
    "structural": TreeDistance(),
    "type_match": TypeMatch(),
    "user_affinity": UserAffinity(),
}

_FOCUS_ASKED = 600
"""Characters of the focused block that the search is asked with, beside the question."""

_MINIMUM_CUT = 101
"""What does not fit is cut where more than 100 tokens are left."""

Share = Annotated[float, Field(ge=0, le=1, strict=True)]
Names = tuple[str, ...]


class User(Checked):
    """Who asks.

    Attributes:
        id: Whose edits and views count.
        attributes: Whatever the builder's `permissions` reads: groups, workspaces, …
        preferences: What the user likes, name → value: shown in the section of system prompts.
    """

    id: str = Field(min_length=1)
    attributes: Mapping[str, Any] = {}
    preferences: Mapping[str, Any] = {}


class TokenBudget(Checked):
    """Tokens in all, and of each section.

    The sections' numbers are scaled to the total, so that they need not add up to it. What a section
    leaves over goes to the best of the others; a section of 0 is left out and its collector not asked.

    Example:
        >>> TokenBudget(total=3000, activity=0).shares()["semantic"]
        1200
    """

    total: Number = 4000
    focus: Number = 1500
    semantic: Number = 1200
    relations: Number = 800
    activity: Number = 300
    history: Number = 500
    system: Number = 200

    def shares(self) -> dict[str, int]:
        """Return section → its number, those of 0 left out."""
        return {name: value for name in SECTIONS if (value := getattr(self, name))}


class ContextHints(Checked):
    """What the caller knows beyond the question.

    Attributes:
        prioritize_types: Block types that match best.
        time_range: (start, end), either may be None: only blocks last changed within it, but for what is
            around the focus.
        include_blocks: Ids of blocks that must come in.
        exclude_blocks: Ids of blocks that must not.
        max_depth: How far from the focus anything may be taken: levels up and down, links.
    """

    prioritize_types: Names = ()
    time_range: tuple[Any, Any] | None = None
    include_blocks: Names = ()
    exclude_blocks: Names = ()
    max_depth: Number | None = None


class FocusPoint(Checked):
    """Where the user is: a block, its page, a database."""

    block_id: str | None = None
    page_id: str | None = None
    database_id: str | None = None


class WorkspaceRequest(Checked):
    """One request for a context.

    Attributes:
        query: What the user asks.
        user: Who asks.
        type: assist or chat; search or automate, which leave out what the user did and said lately.
        focus: A `FocusPoint`, or a mapping of its fields.
        conversation_history: Messages, oldest first; system messages go to the section `system`.
        token_budget: A `TokenBudget`, or a total whose sections have the configured proportions; None is
            the configured one. There is no way to ask without a budget.
        hints: See `ContextHints`.
        system: A system prompt that the context should show.
        now: The instant that counts as now.
    """

    query: str
    user: User
    type: Literal["assist", "chat", "search", "automate"] = "assist"
    focus: FocusPoint = FocusPoint()
    conversation_history: tuple[Any, ...] = ()
    token_budget: TokenBudget | Number | None = None
    hints: ContextHints = ContextHints()
    system: str = ""
    now: Any = None


class SemanticSettings(Checked):
    """How many hits of the search, and how similar.

    A hit that has no word of what was asked must stand out from the others; and each must have at least
    `min_threshold` of the best three hits' similarity (0–1), and `min_similarity` itself. As a similarity,
    the document's .6 is one embedder's; of another the best hits are at .3, and nothing would pass. Where
    it is meant, of an embedder whose hits are above it, say `min_similarity=0.6`.
    """

    enabled: bool = True
    top_k: Number = 15
    min_threshold: Share = 0.6
    min_similarity: Share = 0.0


class CollectorSettings(Checked):
    """The settings of the four collectors; each has a bound, so that no context is the whole workspace."""

    focus: FocusSettings = FocusSettings()
    semantic: SemanticSettings = SemanticSettings()
    relations: RelationSettings = RelationSettings()
    activity: ActivitySettings = ActivitySettings()


class TruncationSettings(Checked):
    """How what does not fit is shortened.

    What is left of a text is left out below so many characters; the chat `model` summarizes.
    """

    default_strategy: Literal["keep_start", "keep_end", "extractive", "summarize"] = "extractive"
    min_content_length: Number = 50
    model: Any = Field(default=None, repr=False)

    def settings(self) -> dict[str, Any]:
        """Return them as settings of the engine."""
        summarizes = self.default_strategy == "summarize"
        cut = TRUNCATORS["extractive" if summarizes else self.default_strategy]
        return {
            "truncator": AtLeast(truncator=cut, characters=self.min_content_length),
            "compactor": resolve_compactor("summary", model=self.model) if summarizes else None,
        }


class ContextConfig(Checked):
    """Everything that a workspace context can be set to.

    Attributes:
        token_budget: What a request has that names none.
        collectors: What each collector takes.
        weights: Signal → weight; see `WEIGHTS`.
        truncation: How what does not fit is shortened.
    """

    token_budget: TokenBudget = TokenBudget()
    collectors: CollectorSettings = CollectorSettings()
    weights: Mapping[str, float] = dict(WEIGHTS)
    truncation: TruncationSettings = TruncationSettings()


DEFAULT_CONTEXT_CONFIG = ContextConfig()
"""The document's own configuration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextItem:
    """One block in the context.

    Its `relevance` is its collector's own claim, its `score` what it was sorted by, 0–1; its `path` the names
    from the top of the tree to it, titles or first lines, or what its metadata state under `path`.
    """

    block_id: str
    block_type: str
    content: str
    relevance: float
    score: float
    is_truncated: bool = False
    page_title: str = ""
    path: tuple[str, ...] = ()
    last_modified: datetime | None = None

    @classmethod
    def of(cls, passage: Passage) -> ContextItem:
        """Return a passage as an item."""
        candidate = passage.ranked.candidate
        stated = candidate.metadata.get("path") or candidate.metadata.get("breadcrumb") or ()
        return cls(
            block_id=candidate.id,
            block_type=candidate.kind,
            content=passage.text,
            relevance=candidate.relevance,
            score=passage.ranked.score,
            is_truncated=passage.is_truncated,
            page_title=str(candidate.metadata.get("page_title") or ""),
            path=tuple(map(str, stated)) if isinstance(stated, (list, tuple)) else (str(stated),),
            last_modified=candidate.created_at,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSection:
    """A section of the text: focus, semantic, relations, activity, history or system."""

    type: str
    title: str
    items: tuple[ContextItem, ...]
    token_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PayloadMetadata:
    """What a context was made of."""

    total_tokens: int
    focus_block_id: str | None
    focus_page_id: str | None
    timestamp: str
    collectors_used: tuple[str, ...]
    blocks_included: int
    blocks_considered: int
    remaining_budget: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPayload:
    """A context for a model; `str(payload)` is the text."""

    sections: tuple[ContextSection, ...]
    metadata: PayloadMetadata
    serialized: str
    context: Context

    def __str__(self) -> str:
        return self.serialized


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextValidationResult:
    """Whether a payload keeps what every context must, and what it does not."""

    is_valid: bool
    problems: tuple[str, ...] = ()


Permissions = Callable[[User], Mapping[str, Any]]
"""Gives what must stand in a block's metadata for a user to see it, such as `{"workspace_id": "acme"}`."""


class WorkspaceContextBuilder:
    """Builds contexts out of a collection of blocks; what is read of their metadata is in `README.md`.

    Args:
        collection: The blocks: a chromadb Collection, or a `langchain_chroma.Chroma`.
        permissions: The user's permissions as metadata that must match; see `Permissions`. It is part of
            every read of the store, and checked again for all that any collector offers.
        embeddings: LangChain Embeddings, the ones the collection was filled with.
        config: The settings.
        journal: A path or a `Journal`: views are remembered there (see `viewed`), and every context.
        fields: What the design reads → the metadata key that it is stored under: `{"parent_id": "parent"}`.
        **settings: Further settings of the engine: tokenizer, timeout_seconds, ….

    Attributes:
        engine: The `ContextEngine` behind it, with the configured budget.

    Raises:
        ConfigError: There are no permissions, or an argument is wrong.
    """

    def __init__(
        self,
        collection: Collection | VectorStore,
        *,
        permissions: Permissions,
        embeddings: Embeddings | None = None,
        config: ContextConfig = DEFAULT_CONTEXT_CONFIG,
        journal: Any = None,
        fields: Mapping[str, str] | None = None,
        **settings: Unpack[EngineSettings],
    ) -> None:
        if not callable(permissions):
            raise ConfigError(
                "a workspace is never read without permissions: pass permissions=user -> metadata that must"
                f" match, got {type(permissions).__name__}"
            )
        self.config = config
        self.journal = open_journal(journal)
        self._permissions = permissions
        self._blocks = Blocks(collection, fields, embeddings)
        self.store = self._blocks.name
        self._count = resolve_tokenizer(settings.get("tokenizer", "auto"))
        collectors = config.collectors
        near, activity = collectors.semantic, collectors.activity
        own: dict[str, Any] = {
            **SETTINGS,
            "weights": {_SIGNAL_OF.get(name, name): weight for name, weight in config.weights.items()},
            "thresholds": {"semantic": Threshold(of_best=near.min_threshold, least=near.min_similarity)},
            # Each collector has a bound of its own; none is cut short by the engine's.
            "limit": MOST_CANDIDATES,
            **config.truncation.settings(),
            **settings,
            **_divided(config.token_budget, ()),
            "signals": {**SIGNALS, **settings.get("signals", {})},
        }
        found = {
            "focus": self._collector("focus", around_focus, collectors.focus),
            "semantic": self._collector("semantic", self._nearest),
            "relations": self._collector("relations", connected, collectors.relations),
            "activity": self._collector("activity", lately, activity, self.journal),
        }
        sources = [source for name, source in found.items() if getattr(collectors, name).enabled]
        self.engine = ContextEngine([*sources, *map(_messages, _IF_ASKED)], journal=self.journal, **own)

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
        given = dict(query) if isinstance(query, WorkspaceRequest) else {"query": query}
        if "user" not in {**given, **fields}:
            raise ConfigError("a workspace is read for a user: pass user=User(id=…)")
        request = WorkspaceRequest(**{**given, **fields})
        engine, asked = self._asked(request)
        return self._payload(engine.build(asked), request)

    abuild = off_loop(build)
    """Do the same as `build`, from a running event loop."""

    def estimate_tokens(self, payload: ContextPayload | str) -> int:
        """Return the tokens of a payload or a text: counted, not estimated."""
        return self._count(str(payload))

    def validate(self, payload: ContextPayload) -> ContextValidationResult:
        """Return whether a payload holds: its tokens, its budget, the permissions, no block twice."""
        context, told = payload.context, payload.metadata.total_tokens
        tokens = self._count(payload.serialized)
        keys = [passage.key for passage in context.passages]
        outside = sum(not in_scope(p.ranked.candidate, context.request) for p in context.passages)
        checks = {
            f"the text has {tokens} tokens, {told} are told": tokens != told,
            f"the text has {tokens} tokens, {context.budget} are allowed": tokens > context.budget,
            "no permissions were asked for": not context.request.scope,
            f"{outside} blocks are outside the user's permissions": bool(outside),
            "a block stands in the text twice": len(keys) != len(set(keys)),
        }
        problems = tuple(problem for problem, is_so in checks.items() if is_so)
        return ContextValidationResult(is_valid=not problems, problems=problems)

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
        budget, own = request.token_budget, self.config.token_budget
        if not isinstance(budget, TokenBudget):
            budget = own if budget is None else TokenBudget(**{**dict(own), "total": budget})
        history = _history(request)
        brought = {"system" if message.role == "system" else "history" for message in history}
        left_out = {name for name in _IF_ASKED if name not in brought}
        left_out |= set(_PERSONAL) if request.type in {"search", "automate"} else set()
        enabled = ({source.name for source in self.engine.sources} & set(budget.shares())) - left_out
        scope = self._scope(request.user)
        asked = ContextRequest(
            query=request.query,
            scope=scope,
            sources=tuple(name for name in SECTIONS if name in enabled),
            history=history,
            pinned=tuple((self.store, id_) for id_ in request.hints.include_blocks),
            excluded=request.hints.exclude_blocks,
            focus=_focus(request),
            budget=budget.total,
            now=request.now,
        )
        target = target_of(asked)
        for block in self._blocks.read([target] if target else (), asked).values():
            asked = replace(asked, focus={**focus_of(asked), "said": block.text[:_FOCUS_ASKED]})
        more = [name for name in _IF_ASKED if name in enabled]
        settings = _divided(budget, more)
        near = self.engine.config.thresholds.get("semantic")
        if near is not None and near.of_best:
            words = tuple(query_terms(_asked_of_search(asked)))
            settings["thresholds"] = {**self.engine.config.thresholds, "semantic": replace(near, words=words)}
        return self.engine.with_settings(**settings), asked

    def _scope(self, user: User) -> dict[str, Any]:
        scope = self._permissions(user)
        if not isinstance(scope, Mapping) or not scope or None in scope.values():
            raise ScopeError(
                "the permissions of a user must name at least one metadata value that must match; those of"
                f" this user are {type(scope).__name__} with nothing to match"
            )
        return dict(scope)

    def _collector(self, name: str, collect: Callable[..., Any], *given: Any) -> BlockSource:
        return BlockSource(name=name, blocks=self._blocks, collect=functools.partial(collect, *given))

    def _nearest(self, blocks: Blocks, request: ContextRequest) -> list[Candidate]:
        """Return the nearest blocks; which of them are near enough the engine tells."""
        query, limit = _asked_of_search(request), self.config.collectors.semantic.top_k
        found = blocks.source.fetch(replace(blocks.within_time(request), query=query, limit=limit))
        # The similarity stays known where another collector finds the block too, with a claim of its own.
        alike = _cosines(found, blocks.handle.space)
        return [replace(c, claims={"dense": value}) for c, value in zip(found, alike, strict=True)]

    def _payload(self, context: Context, request: WorkspaceRequest) -> ContextPayload:
        types = {title: type_ for type_, title in SECTIONS.items()}
        passages = {passage.key: passage for passage in context.passages}
        sections = tuple(
            ContextSection(
                type=types.get(section.title, section.title),
                title=section.title,
                items=tuple(ContextItem.of(passages[key]) for key in section.keys),
                token_count=section.tokens,
            )
            for section in context.sections
        )
        now = context.request.now
        metadata = PayloadMetadata(
            total_tokens=context.tokens,
            focus_block_id=request.focus.block_id,
            focus_page_id=request.focus.page_id,
            timestamp="" if now is None else now.isoformat(),
            collectors_used=context.request.sources or (),
            blocks_included=sum(key[0] == self.store for key in passages),
            blocks_considered=sum(candidate.source == self.store for candidate in context.candidates),
            remaining_budget=max(0, context.budget - context.tokens),
        )
        return ContextPayload(sections=sections, metadata=metadata, serialized=context.text, context=context)


def _divided(budget: TokenBudget, more: Sequence[str]) -> dict[str, Any]:
    """Return a budget, and the sections that are there, as settings of the engine."""
    titles = {name: title for name, title in SECTIONS.items() if name not in _IF_ASKED or name in more}
    shares = budget.shares()
    return {"budget": Budget(tokens=budget.total, shares=shares, minimum_cut=_MINIMUM_CUT), "titles": titles}


def _history(request: WorkspaceRequest) -> tuple[Message, ...]:
    told = "\n".join(f"- {name}: {value}" for name, value in request.user.preferences.items())
    texts = [request.system, f"The user's preferences:\n{told}" if told else ""]
    system = [Message(role="system", text=text) for text in texts if text]
    return (*system, *map(Message.of, request.conversation_history))


def _focus(request: WorkspaceRequest) -> dict[str, Any]:
    """Return where and who the asker is, as plain data that a trace can keep."""
    focus, hints = request.focus, request.hints
    since, until = (ContextRequest(since=at).since for at in hints.time_range or (None, None))
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


def _asked_of_search(request: ContextRequest) -> str:
    """Return the question, and where a block is focused its own words too.

    For "break this task into subtasks" names none.
    """
    said = focus_of(request).get("said", "")
    return f"{request.query}\n{said}".strip() if request.query.strip() else request.query


def _cosines(found: Sequence[Candidate], space: str) -> list[float]:
    """Return how similar what a search found is as a cosine: a share of the best means little otherwise.

    LangChain's Chroma measures by l2, where chance hits have three quarters of the best's relevance. What
    no vectors of length 1 could give is left as it is.
    """
    relevances = [candidate.relevance for candidate in found]
    if space == "l2":
        cosines = [1.5 - 0.5 / relevance for relevance in relevances]
    elif space == "ip":
        cosines = [math.log(r / (1 - r)) if r < 1 else math.inf for r in relevances]
    else:
        return relevances
    return [max(0.0, c) for c in cosines] if 0 < max(cosines, default=0.0) <= 1 else relevances


def _messages(name: str) -> AdaptedSource:
    """Return the messages of the conversation, or its system prompts."""

    def ask(request: ContextRequest) -> ContextRequest:
        own = (m for m in request.history if (m.role == "system") == (name == "system"))
        return replace(request, history=tuple(own))

    def shape(found: Sequence[Candidate], request: ContextRequest) -> list[Candidate]:
        del request
        ids = [candidate.id for candidate in found]
        # Neighbours, so that a conversation is read from its oldest message on.
        return [
            replace(
                candidate,
                metadata={**candidate.metadata, "title": f"[{candidate.metadata['role']}]"},
                neighbours=(*ids[max(0, i - 1) : i], *ids[i + 1 : i + 2]),
            )
            for i, candidate in enumerate(found)
        ]

    return AdaptedSource(HistorySource(name=name), name=name, ask=ask, shape=shape)
