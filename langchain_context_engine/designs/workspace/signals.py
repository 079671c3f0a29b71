"""What only a workspace weighs: nearness in the tree, the type asked for, the user's own pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from langchain_context_engine.ranking.signals import MISSING, Signal, clamp, read_number
from langchain_context_engine.text.words import words
from langchain_context_engine.values.request import ContextRequest
from langchain_context_engine.values.types import Candidate

ASKS_FOR: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "task": MappingProxyType({"todo": 0.9, "kanban_card": 0.9}),
        "summary": MappingProxyType({"page": 0.8}),
    }
)
"""Intent → block type → how well it matches; other types match at 0.5."""

WORDS_OF: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "task": frozenset({"task", "tasks", "subtask", "subtasks", "todo", "todos"}),
        "summary": frozenset({"summary", "summaries", "summarize", "summarise", "summarized", "summarised"}),
    }
)
"""Intent → words of a question that tell it."""


def structural(candidates: Sequence[Candidate], request: ContextRequest) -> list[float]:
    """Return max(0, 1 − 0.1 · steps in the tree to the focus); 0.5 where nothing is focused."""
    del request
    steps = (read_number(candidate.metadata.get("tree_distance")) for candidate in candidates)
    return [MISSING if n is None else clamp(1 - 0.1 * n) for n in steps]


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeMatch:
    """How well a block's type is what the question asks for; types that the request prioritises match at 1.

    Attributes:
        asks_for: Intent → type → value.
        words_of: Intent → the words that tell it.
    """

    asks_for: Mapping[str, Mapping[str, float]] = field(default_factory=lambda: ASKS_FOR)
    words_of: Mapping[str, frozenset[str]] = field(default_factory=lambda: WORDS_OF)

    def __call__(self, candidates: Sequence[Candidate], request: ContextRequest) -> list[float]:
        """Return one value for each candidate."""
        asked = set(words(request.query))
        told = [self.asks_for[intent] for intent, names in self.words_of.items() if names & asked]
        focus: Mapping[str, Any] = request.focus if isinstance(request.focus, Mapping) else {}
        values = {kind: value for kinds in told for kind, value in kinds.items()}
        values |= dict.fromkeys(focus.get("kinds", ()), 1.0)
        return [values.get(candidate.kind, MISSING) for candidate in candidates]


def user_affinity(candidates: Sequence[Candidate], request: ContextRequest) -> list[float]:
    """Return the share of the user's recent edits and views that are this block or lie on its page.

    The recent ones are those that the activity collector offers; without any, all are 0.
    """
    del request
    recent = [c for c in candidates if "activity" in c.provenance]
    places = Counter(_place(c) for c in recent)
    return [places[_place(c)] / len(recent) if recent else 0.0 for c in candidates]


SIGNALS: Mapping[str, Signal] = MappingProxyType(
    {"structural": structural, "type_match": TypeMatch(), "user_affinity": user_affinity}
)


def _place(candidate: Candidate) -> tuple[str, str]:
    """Return the page that a block lies on, else the block itself."""
    page = candidate.metadata.get("page_id")
    return (candidate.source, str(page) if page else candidate.id)
