"""What a score is made of: each signal with its weight and what it adds, relevance with its parts. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from langchain_context_engine.trace.explain import Row

__all__ = ["ScorePart", "score_parts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorePart:
    """One signal of a score.

    Attributes:
        name: The signal.
        depth: 1 for a part of the relevance, else 0.
        value: The signal, 0–1; None where it is not known.
        weight: What it is multiplied by; None where that cannot be told.
        adds: Weight times value; None for what adds nothing of its own.
    """

    name: str
    depth: int = 0
    value: float | None = None
    weight: float | None = None
    adds: float | None = None


def score_parts(row: Row) -> list[ScorePart]:
    """Return what a score is made of, what adds most first; the parts of relevance stand under it.

    Signals without a weight come last.
    """
    found = []
    parts = {name: value for name, value in row.signals.items() if name not in row.contributions}
    for name, adds in sorted(row.contributions.items(), key=lambda item: -item[1]):
        value = row.signals.get(name)
        found.append(ScorePart(name=name, value=value, weight=adds / value if value else None, adds=adds))
        if name == "relevance":
            found += [ScorePart(name=part, depth=1, value=number) for part, number in parts.items()]
            parts = {}
    return found + [ScorePart(name=part, value=number) for part, number in parts.items()]
