"""What the memory engine can be told: the options of a search and of a context, with their defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from langchain_core.stores import ByteStore
from pydantic import Field, field_validator

from langchain_context_engine.designs.checked import Checked
from langchain_context_engine.models.clock import read_instant
from langchain_context_engine.models.errors import ConfigError

WORKSPACE_KEY = "workspace_id"
"""The metadata key that says which workspace a memory belongs to."""

DEEPEST = 10
"""The most links that a context may follow, however many were asked for."""


class SearchOptions(Checked):
    """What narrows a search.

    Attributes:
        limit: Memories at most; 0 is none.
        memory_types: Only these types; None is all, empty is none.
        date_from: Only memories created then or later.
        date_to: Only memories created then or earlier.
        min_confidence: Only memories of at least this confidence, 0–1; one that states none has 0.5.
        conversation_id: Only memories of this conversation.
        include_relationships: Follow the memories' links.
        relationship_depth: How many links in a row; below 1 is 1, above 10 is 10.
        ranker: A ranker's name, a function, or `RankingOptions`; None is "default".
        now: The instant from which recency counts; None is the clock's.
    """

    limit: int = Field(default=10, ge=0, strict=True)
    memory_types: tuple[str, ...] | None = None
    date_from: Any = None
    date_to: Any = None
    min_confidence: float | None = Field(default=None, ge=0, le=1)
    conversation_id: str | None = None
    include_relationships: bool = False
    relationship_depth: int = 1
    ranker: Any = None
    now: Any = None

    @field_validator("memory_types", mode="before")
    @classmethod
    def _read_types(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @field_validator("date_from", "date_to", "now")
    @classmethod
    def _check_date(cls, value: Any) -> Any:
        if value is not None and read_instant(value) is None:
            raise ValueError(f"must be a date (datetime, ISO 8601 or epoch), got {value!r}")
        return read_instant(value)

    @field_validator("relationship_depth")
    @classmethod
    def _clamp_depth(cls, value: int) -> int:
        return min(DEEPEST, max(1, value))

    @classmethod
    def read(cls, given: object, more: Mapping[str, Any]) -> Self:
        """Return the options of a mapping or an options object, with further ones on top; None is not given.

        Raises:
            ConfigError: A name is unknown or a value wrong; the message names it.
        """
        if isinstance(given, SearchOptions):
            given = {name: getattr(given, name) for name in given.model_fields_set}
        if given is not None and not isinstance(given, Mapping):
            raise ConfigError(f"options are a mapping or {cls.__name__}, got {type(given).__name__}")
        values = {**(given or {}), **more}
        return cls(**{name: value for name, value in values.items() if value is not None})

    def as_request(self) -> dict[str, Any]:
        """Return the same as fields of a `ContextRequest`."""
        return {
            "limit": self.limit,
            "kinds": self.memory_types,
            "since": self.date_from,
            "until": self.date_to,
            "min_confidence": self.min_confidence,
            "conversation_id": self.conversation_id,
            "now": self.now,
            "depth": self.relationship_depth if self.include_relationships else 0,
        }


class ContextOptions(SearchOptions):
    """What shapes a context, beside what narrows its search.

    Attributes:
        template: A template's name, a `ContextTemplate` or a `Template`; None is the engine's default.
        token_budget: Tokens at most; None is the engine's default, 0 gives an empty context.
        include_metadata: True shows each memory's type, confidence and timestamp, False hides them;
            None leaves it to the template.
    """

    template: Any = None
    token_budget: int | None = Field(default=None, ge=0, strict=True)
    include_metadata: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheConfig:
    """How query embeddings are remembered.

    Attributes:
        max_size: Embeddings kept, the least recently used evicted first; None is no bound.
        ttl: How many seconds one serves; None is for ever.
        store: Any LangChain `ByteStore`, for example one over Redis, to keep them in; None is memory.
    """

    max_size: int | None = 10_000
    ttl: float | None = None
    store: ByteStore | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingOptions:
    """How much similarity, recency and confidence weigh; they are scaled to sum to 1.

    Example:
        >>> RankingOptions().weights()
        {'relevance': 0.5, 'recency': 0.3, 'confidence': 0.2}
    """

    similarity_weight: float = 0.5
    recency_weight: float = 0.3
    confidence_weight: float = 0.2

    def weights(self) -> dict[str, float]:
        """Return the same as weights of the engine's signals."""
        return {
            "relevance": self.similarity_weight,
            "recency": self.recency_weight,
            "confidence": self.confidence_weight,
        }
