"""The settings of a workspace context: what collectors take, how candidates are weighed and cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any

from langchain_context_engine.designs.workspace.request import TokenBudget
from langchain_context_engine.models.errors import ConfigError, UnknownNameError
from langchain_context_engine.models.freeze import set_fields
from langchain_context_engine.rendering.compact import resolve_compactor
from langchain_context_engine.text.asking import AtLeast
from langchain_context_engine.text.truncate import TRUNCATORS

WEIGHTS: Mapping[str, float] = MappingProxyType(
    {"semantic": 0.35, "structural": 0.25, "recency": 0.15, "type_match": 0.15, "user_affinity": 0.10}
)

SIGNAL_OF: Mapping[str, str] = MappingProxyType({"semantic": "relevance", "recency": "recency_linear"})
"""The document's signals that the engine has under another name."""

STRATEGIES = ("keep_start", "keep_end", "extractive", "summarize")


@dataclass(frozen=True, slots=True, kw_only=True)
class FocusSettings:
    """Levels up, siblings on each side, children of each block."""

    enabled: bool = True
    ancestor_depth: int = 3
    sibling_count: int = 2
    children_limit: int = 5

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticSettings:
    """How many hits, and how similar: at least what share of the best three hits' similarity (0–1).

    As a similarity, .6 is one embedder's; of another the best hits are at .3, and nothing would pass.

    Attributes:
        enabled: Whether it is asked.
        top_k: Hits at most.
        min_threshold: The share of the best.
        min_similarity: And at least this similarity, 0–1; 0 is none.
    """

    enabled: bool = True
    top_k: int = 15
    min_threshold: float = 0.6
    min_similarity: float = 0.0

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationSettings:
    """Steps from the focus, and blocks at most."""

    enabled: bool = True
    max_depth: int = 2
    max_items: int = 10

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivitySettings:
    """Edits and views at most, and hours after which they are no longer recent."""

    enabled: bool = True
    recent_edit_count: int = 10
    recent_view_count: int = 5
    max_age_hours: float = 72

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectorSettings:
    """The settings of the four collectors; each has a bound, so that no context is the whole workspace."""

    focus: FocusSettings = field(default_factory=FocusSettings)
    semantic: SemanticSettings = field(default_factory=SemanticSettings)
    relations: RelationSettings = field(default_factory=RelationSettings)
    activity: ActivitySettings = field(default_factory=ActivitySettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncationSettings:
    """How what does not fit is shortened.

    Attributes:
        default_strategy: keep_start, keep_end, extractive or summarize.
        min_content_length: Characters below which what is left of a text is left out.
        model: The chat model that summarizes.

    Raises:
        UnknownNameError: There is no such strategy.
        ConfigError: summarize without a model, or a length that is no whole number.
    """

    default_strategy: str = "extractive"
    min_content_length: int = 50
    model: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        length = self.min_content_length
        if isinstance(length, bool) or not isinstance(length, int) or length < 0:
            raise ConfigError(f"min_content_length must be a whole number of 0 or more, got {length!r}")
        self.settings()

    def settings(self) -> dict[str, Any]:
        """Return them as settings of the engine."""
        if self.default_strategy not in STRATEGIES:
            raise UnknownNameError("truncation strategy", self.default_strategy, STRATEGIES)
        is_cut = self.default_strategy in TRUNCATORS
        cut = TRUNCATORS[self.default_strategy if is_cut else "extractive"]
        return {
            "truncator": AtLeast(truncator=cut, characters=self.min_content_length),
            "compactor": None if is_cut else resolve_compactor("summary", model=self.model),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextConfig:
    """Everything that a workspace context can be set to.

    Attributes:
        token_budget: What a request has that names none.
        collectors: What each collector takes.
        weights: Signal → weight; see `WEIGHTS`.
        truncation: How what does not fit is shortened.
    """

    token_budget: TokenBudget = field(default_factory=TokenBudget)
    collectors: CollectorSettings = field(default_factory=CollectorSettings)
    weights: Mapping[str, float] = field(default_factory=lambda: dict(WEIGHTS))
    truncation: TruncationSettings = field(default_factory=TruncationSettings)

    def __post_init__(self) -> None:
        for name in self.weights:
            if name not in WEIGHTS:
                raise UnknownNameError("signal of a workspace", name, WEIGHTS)
        set_fields(self, weights=dict(self.weights))


def _check(settings: Any) -> None:
    for name, value in asdict(settings).items():
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if name != "enabled" and (not is_number or not 0 <= value < float("inf")):
            raise ConfigError(f"collectors: {name} must be a number of 0 or more, got {value!r}")


DEFAULT_CONTEXT_CONFIG = ContextConfig()
"""The document's own configuration."""
