"""Truncators that are told the question, so that a cut keeps what answers it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from langchain_context_engine.text.truncate import (
    Count,
    Extractive,
    Truncator,
    extractive,
)

__all__ = ["AtLeast", "asking", "by_lines"]


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

    One that keeps the start or the end and a function of one's own are returned as they are; an `Extractive`
    that has a question keeps it.

    Args:
        truncator: Any.
        query: The question.

    Example:
        >>> words = lambda text: len(text.split())
        >>> asking(extractive, "who came?")("It rains. Ana left. Bo came.", 2, words)
        'Bo came.'
    """

    def asked(cuts: Truncator) -> Truncator:
        if isinstance(cuts, Extractive):
            return replace(cuts, query=cuts.query or query)
        return cuts

    return _changed(truncator, asked)


def by_lines(truncator: Truncator) -> Truncator:
    r"""Return the truncator as it cuts a program: extracts are its first lines, whole.

    One that keeps the start or the end and a function of one's own are returned as they are.

    Args:
        truncator: Any.

    Example:
        >>> words = lambda text: len(text.split())
        >>> by_lines(extractive)("# It adds.\ntotal = 1 + 2\nprint(total)", 8, words)
        '# It adds.\ntotal = 1 + 2'
    """

    def in_lines(cuts: Truncator) -> Truncator:
        return replace(cuts, in_lines=True) if isinstance(cuts, Extractive) else cuts

    return _changed(truncator, in_lines)


def _changed(truncator: Truncator, change: Callable[[Truncator], Truncator]) -> Truncator:
    """Return a truncator with what does the cutting changed, within whatever is around it."""
    if isinstance(truncator, AtLeast):
        return replace(truncator, truncator=_changed(truncator.truncator, change))
    return change(Extractive() if truncator is extractive else truncator)
