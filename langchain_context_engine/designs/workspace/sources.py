"""The collectors of a workspace, as sources of the engine over one collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_context_engine.blocks.activity import ActivitySource
from langchain_context_engine.blocks.blocks import Blocks
from langchain_context_engine.blocks.focus import FocusSource
from langchain_context_engine.blocks.relations import RelationsSource
from langchain_context_engine.designs.workspace.config import CollectorSettings
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.sources.adapted import AdaptedSource
from langchain_context_engine.sources.chroma import ChromaSource
from langchain_context_engine.sources.history import HistorySource


def sources_of(
    collection: Any, embeddings: Any, settings: CollectorSettings, journal: Any
) -> tuple[Any, ...]:
    """Return the collectors that are enabled, in the order of the sections; history and system always are.

    Raises:
        ConfigError: The collection or the embeddings are none.
    """
    focus, relations, activity = settings.focus, settings.relations, settings.activity
    collectors = (
        (
            focus.enabled,
            FocusSource(
                collection,
                ancestors=focus.ancestor_depth,
                siblings=focus.sibling_count,
                children=focus.children_limit,
            ),
        ),
        (settings.semantic.enabled, _semantic(collection, embeddings, settings)),
        (
            relations.enabled,
            _timely(RelationsSource(collection, depth=relations.max_depth, most=relations.max_items)),
        ),
        (
            activity.enabled,
            _timely(
                ActivitySource(
                    collection,
                    journal=journal,
                    edits=activity.recent_edit_count,
                    views=activity.recent_view_count,
                    hours=activity.max_age_hours,
                )
            ),
        ),
        (True, _messages("history", is_system=False)),
        (True, _messages("system", is_system=True)),
    )
    return tuple(source for is_enabled, source in collectors if is_enabled)


def within_time(request: ContextRequest) -> ContextRequest:
    """Return the request with the time range of its hints as a filter on when a block was last changed."""
    focus: Mapping[str, Any] = request.focus if isinstance(request.focus, Mapping) else {}
    bounds = {"$gte": focus.get("since"), "$lte": focus.get("until")}
    told = {operator: bound for operator, bound in bounds.items() if bound is not None}
    if not told:
        return request
    is_unchanged = {"updated_at": {"$exists": False}, "created_at": told}
    return replace(request, where={"$and": [request.where, {"$or": [{"updated_at": told}, is_unchanged]}]})


def _timely(source: Any) -> AdaptedSource:
    return AdaptedSource(source, name=source.name, ask=within_time)


def _semantic(collection: Any, embeddings: Any, settings: CollectorSettings) -> AdaptedSource:
    """Return the search: the nearest blocks, placed in the tree; which are near enough the engine tells."""
    blocks = Blocks(collection)
    top_k = settings.semantic.top_k

    def ask(request: ContextRequest) -> ContextRequest:
        return replace(within_time(request), limit=top_k)

    def keep(candidate: Candidate) -> bool:
        # A store fills up its answer with what has nothing in common with the question.
        return candidate.relevance > 0

    def shape(found: Sequence[Candidate], request: ContextRequest) -> list[Candidate]:
        # The similarity stays known where another collector finds the block too, with a claim of its own.
        similar = [replace(candidate, claims={"dense": candidate.relevance}) for candidate in found]
        return blocks.placed(similar, request)

    search = ChromaSource(collection, embeddings=embeddings, hybrid=False)
    return AdaptedSource(search, name="semantic", ask=ask, keep=keep, shape=shape)


def _messages(name: str, *, is_system: bool) -> AdaptedSource:
    """Return the messages of the conversation, or its system prompts."""

    def ask(request: ContextRequest) -> ContextRequest:
        chosen = tuple(m for m in request.history if (m.role == "system") == is_system)
        return replace(request, history=chosen)

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
