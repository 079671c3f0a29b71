"""Truncators that are told the question, so that a cut keeps what answers it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from langchain_context_engine.text.truncate import Count, Extractive, Truncator, extractive

__all__ = ["AtLeast", "asking"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AtLeast:
    """A truncator whose result is left out where it would be very short.

    Attributes:
        truncator: What cuts.
        characters: Below so many the result is "".

    Example:
        >>> words = lambda text: len(text.split())
        >>> AtLeast(truncator=extractive, characters=10)("Ana left. Bo came.", 2, words)
        ''
    """

    truncator: Truncator
    characters: int

    def __call__(self, text: str, allowance: int, count: Count) -> str:
        """Return the cut text, or ""."""
        cut = self.truncator(text, allowance, count)
        return cut if len(cut) >= self.characters else ""


def asking(truncator: Truncator, query: str) -> Truncator:
    """Return the truncator as it cuts for a question: extracts are chosen by what answers it.

    One that keeps the start or the end, a function of one's own, and an `Extractive` that has a question
    already are returned as they are.

    Example:
        >>> words = lambda text: len(text.split())
        >>> asking(extractive, "who came?")("It rains. Ana left. Bo came.", 2, words)
        'Bo came.'
    """
    if truncator is extractive:
        return Extractive(query)
    if isinstance(truncator, Extractive) and not truncator.query:
        return replace(truncator, query=query)
    if isinstance(truncator, AtLeast):
        return replace(truncator, truncator=asking(truncator.truncator, query))
    return truncator
