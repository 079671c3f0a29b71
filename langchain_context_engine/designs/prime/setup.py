"""What the prime-context service is made of: its numbers, as data, and the sources that it asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.pipeline.select import Diversity
from langchain_context_engine.ranking.fusion import Fusion
from langchain_context_engine.rendering.templates import Template
from langchain_context_engine.search.collection import CollectionHandle
from langchain_context_engine.search.finders import (
    Fuzzy,
    OfThread,
    RecentlyAccessed,
    Referenced,
    by_keywords,
    full_text,
)
from langchain_context_engine.sources.adapted import AdaptedSource
from langchain_context_engine.sources.files import FileSource
from langchain_context_engine.sources.history import HistorySource

__all__ = ["DEFAULTS", "ENGINE", "PrimeSettings", "sources_of"]

ENGINE: Mapping[str, Any] = MappingProxyType(
    {
        "weights": MappingProxyType(
            {
                "term_similarity": 0.35,
                "keyword_match": 0.25,
                "recency_exponential": 0.15,
                "source_priority": 0.15,
                "usage": 0.10,
            }
        ),
        "selection": "density",
        "diversity": Diversity(kind_share=0.7, after=5, enough_fill=0.9, enough_items=10, offers_rest=True),
        "citations": "key",
        "template": Template(
            name="prime", passage="{{citation}} {{type}} {{title}}\n{{content}}", separator="\n\n"
        ),
        # Relevance carries no weight here, so nobody needs to lend any.
        "fusion": Fusion(neighbour=0.0, link=0.0),
    }
)
"""The engine's settings: signals and weights, selection, citations, template."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrimeSettings:
    """The service's numbers.

    Attributes:
        max_tokens: Of the context and the system prompt together.
        system_prompt_tokens: Kept free for the system prompt.
        full_text: Files found by full text, at most.
        keywords: Files found by keywords, at most.
        fuzzy: Files found by spelling, at most.
        fuzzy_threshold: A path or a short text must be more alike than this, 0–1.
        recent: Files accessed last, at most.
        history: Messages of the thread, at most.
        cache_entries: Answers kept.
        cache_seconds: How long one is kept after it was last used; 0 keeps none.
        user_key: The metadata key that says whose a record is; "" where everything is everybody's.
        thread_key: The metadata key that says which thread a message or a reference is of.
        engine: The engine's settings.
    """

    max_tokens: int = 4000
    system_prompt_tokens: int = 500
    full_text: int = 10
    keywords: int = 10
    fuzzy: int = 5
    fuzzy_threshold: float = 0.3
    recent: int = 5
    history: int = 20
    cache_entries: int = 100
    cache_seconds: float = 30.0
    user_key: str = "user_id"
    thread_key: str = "thread_id"
    engine: Mapping[str, Any] = field(default_factory=lambda: ENGINE)


WRITER_KEYS = ("author", "sender", "user_name", "name", "role")
"""Metadata keys that say who wrote a message; the first that says something is shown."""

DEFAULTS = PrimeSettings()
"""The document's numbers."""


def sources_of(
    files: Any, messages: Any, references: Any, *, journal: Any, settings: PrimeSettings
) -> list[Any]:
    """Return the sources of the service, in the order that breaks ties: explicit, search, history."""
    collections = files if isinstance(files, (list, tuple)) else [files]
    searches: list[Any] = []
    explicit: list[Any] = []
    for collection in collections:
        suffix = f":{_name(collection)}" if len(collections) > 1 else ""
        explicit.append(_explicit(collection, references, f"explicit{suffix}", settings))
        searches += _searches(collection, suffix, journal, settings)
    threads: list[Any] = []
    if messages is not None:
        threads.append(_of_thread(messages, "thread", "message", settings.history, settings))
    if references is not None:
        explicit.append(
            _of_thread(references, "references", "reference", 50, settings, lacking="file_id", is_pinned=True)
        )
    history = AdaptedSource(HistorySource(last=settings.history), name="history", shape=_written_by)
    return [*explicit, *searches, *threads, history]


def _searches(collection: Any, suffix: str, journal: Any, settings: PrimeSettings) -> Sequence[FileSource]:
    fuzzy = Fuzzy(settings.fuzzy_threshold)
    recent = RecentlyAccessed(journal=journal, user_key=settings.user_key)
    return [
        FileSource(collection, full_text, name=f"full_text{suffix}", limit=settings.full_text),
        FileSource(
            collection,
            by_keywords,
            name=f"keywords{suffix}",
            limit=settings.keywords,
            without_kinds=("chunk",),
        ),
        FileSource(collection, fuzzy, name=f"fuzzy{suffix}", limit=settings.fuzzy, without_kinds=("chunk",)),
        FileSource(
            collection, recent, name=f"recent{suffix}", limit=settings.recent, without_kinds=("chunk",)
        ),
    ]


def _explicit(collection: Any, references: Any, name: str, settings: PrimeSettings) -> FileSource:
    kept = None if references is None else CollectionHandle(getattr(references, "_collection", references))
    return FileSource(
        collection,
        Referenced(kept=kept, thread_key=settings.thread_key),
        name=name,
        limit=50,
        kind_always="reference",
        excerpt_characters=None,
        is_pinned=True,
    )


def _of_thread(
    collection: Any,
    name: str,
    kind: str,
    limit: int,
    settings: PrimeSettings,
    *,
    lacking: str = "",
    is_pinned: bool = False,
) -> FileSource:
    return FileSource(
        collection,
        OfThread(thread_key=settings.thread_key, lacking=lacking),
        name=name,
        limit=limit,
        kind_always=kind,
        excerpt_characters=None,
        is_pinned=is_pinned,
        titled_by=WRITER_KEYS if kind == "message" else (),
    )


def _written_by(found: Sequence[Candidate], request: ContextRequest) -> list[Candidate]:
    """Return messages of the history with who said each for a title."""
    del request
    return [replace(c, metadata={**c.metadata, "title": c.metadata["role"]}) for c in found]


def _name(collection: Any) -> str:
    return str(getattr(collection, "_collection", collection).name)
