"""The parameters that the designs share: stores, settings of the engine, checked options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from pydantic import BaseModel, ConfigDict, ValidationError

from langchain_context_engine.models.freeze import as_config_error

if TYPE_CHECKING:
    from typing import TypeAlias

    from chromadb import Collection
    from langchain_core.vectorstores import VectorStore

    from langchain_context_engine.models.budget import Budget
    from langchain_context_engine.models.source import Source

    Store: TypeAlias = Collection | VectorStore | Source
    """A Chroma collection, a `langchain_chroma.Chroma`, or a source of one's own."""


class EngineSettings(TypedDict, total=False):
    """What every design passes on to its engine, by name: see `EngineConfig` and `ContextEngine`."""

    budget: int | Budget | None
    weights: Mapping[str, float] | None
    signals: Mapping[str, Any]
    template: Any
    templates: Mapping[str, Any]
    tokenizer: Any
    scope_keys: Sequence[str] | str
    timeout_seconds: float
    limit: int | None
    min_score: float | None
    thresholds: Mapping[str, Any]
    truncator: Any
    compactor: Any
    selection: Literal["adaptive", "score", "density", "knapsack"]
    diversity: Any
    order: Any
    dedupe_threshold: float | None
    dedupe_rules: Sequence[Any]
    dedupe_key: str | None
    fusion: Any
    unit_value: Any
    citations: Any
    group_by: Literal["source", "kind"]
    titles: Mapping[str, str]
    empty_section: str
    notes: Mapping[str, str]
    closing: str
    uncounted: Sequence[str]
    counted_by: str
    shown_score: Literal["score", "relevance"]
    doubtful_below: float
    unsure_below: float
    when_doubtful: Literal["keep", "empty"]
    index_dir: str | Path | None
    rerank: Any
    rerank_best: int
    rerank_seconds: float


class Checked(BaseModel):
    """Options that are checked when they are made.

    Raises:
        ConfigError: A name is unknown or a value wrong; the message names it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise as_config_error([{**found} for found in error.errors()]) from None
