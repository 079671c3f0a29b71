"""What a workspace weighs: nearness in the tree, the type that a question asks for, the asker's own pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.ranking.signals import MISSING, clamp, read_number
from langchain_context_engine.text.words import words

ASKS_FOR: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "task": MappingProxyType({"todo": 0.9, "kanban_card": 0.9}),
        "summary": MappingProxyType({"page": 0.8}),
    }
)
"""Intent → block type → how well it matches; other types match at 0.5."""

WORDS_OF: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "task": ("task", "tasks", "subtask", "subtasks", "todo", "todos"),
        "summary": ("summary", "summaries", "summarize", "summarise", "summarized", "summarised"),
    }
)
"""Intent → words of a question that tell it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeDistance:
    """Nearness in the tree: max(0, 1 − step · steps to the focus), as the metadata `tree_distance` says.

    Attributes:
        step: What each step takes away, 0–1.
        missing: The value where nothing is focused.
    """

    step: float = 0.1
    missing: float = MISSING

    def __call__(self, candidates: Sequence[Candidate], request: ContextRequest) -> list[float]:
        """Return one value for each candidate."""
        del request
        steps = (read_number(candidate.metadata.get("tree_distance")) for candidate in candidates)
        return [self.missing if n is None else clamp(1 - self.step * n) for n in steps]


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeMatch:
    """How well a block's type is what the question asks for; types that the request prioritises match at 1.

    Attributes:
        asks_for: Intent → type → value.
        words_of: Intent → the words that tell it.
    """

    asks_for: Mapping[str, Mapping[str, float]] = field(default_factory=lambda: ASKS_FOR)
    words_of: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: WORDS_OF)

    def __call__(self, candidates: Sequence[Candidate], request: ContextRequest) -> list[float]:
        """Return one value for each candidate."""
        asked = set(words(request.query))
        told = [self.asks_for[intent] for intent, names in self.words_of.items() if asked & set(names)]
        focus: Mapping[str, Any] = request.focus if isinstance(request.focus, Mapping) else {}
        values = {kind: value for kinds in told for kind, value in kinds.items()}
        values |= dict.fromkeys(focus.get("kinds", ()), 1.0)
        return [values.get(candidate.kind, MISSING) for candidate in candidates]


@dataclass(frozen=True, slots=True, kw_only=True)
class UserAffinity:
    """The share of the user's recent edits and views that are this block or lie on its page.

    The recent ones are those that one source offers; without any, all are 0.

    Attributes:
        source: The name of that source.
    """

    source: str = "activity"

    def __call__(self, candidates: Sequence[Candidate], request: ContextRequest) -> list[float]:
        """Return one value for each candidate."""
        del request
        recent = [c for c in candidates if self.source in c.provenance]
        places = Counter(_place(c) for c in recent)
        return [places[_place(c)] / len(recent) if recent else 0.0 for c in candidates]


def _place(candidate: Candidate) -> tuple[str, str]:
    """Return the page that a block lies on, else the block itself."""
    page = candidate.metadata.get("page_id")
    return (candidate.source, str(page) if page else candidate.id)
