"""What a source offers, with what it has to say about it."""

from __future__ import annotations

from collections.abc import Iterable

from langchain_context_engine.models.types import Candidate


class Offer(list[Candidate]):
    """Candidates, best first, and warnings that the context is to carry.

    Args:
        candidates: The candidates.
        warnings: Sentences that name the source; nothing out of the request's scope may stand in them.
        searched: How they were found, in a few words that are the same from question to question; "" says
            nothing.

    Example:
        >>> Offer([], warnings=["the words of 'docs' are being read"]).warnings
        ("the words of 'docs' are being read",)
    """

    def __init__(
        self, candidates: Iterable[Candidate] = (), *, warnings: Iterable[str] = (), searched: str = ""
    ) -> None:
        super().__init__(candidates)
        self.warnings = tuple(warnings)
        self.searched = searched
