"""Recency, gated: it enters the ranking only when the question asks for the latest of something.

Always-on recency was measured to harm; see the README's benchmark.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.ranking.editions import EDITION, SPOKEN
from langchain_context_engine.ranking.wording import wording_of

_ASKS = re.compile(
    r"\b(?:(?:most|more)\s+recent(?:ly)?|latest|newest|last\s+(?:change|commit|update|edit|time|version|fix|modification)"
    r"|last\s+(?:changed|updated|edited|modified|touched))\b",
    re.IGNORECASE,
)
_IDENTIFIER = re.compile(r"[A-Za-z_][\w]*(?:[._/][A-Za-z_]\w*)*(?:\(\))?")
_LOOKS_LIKE_CODE = re.compile(r"[_.]|[a-z][A-Z]|\(\)$|^[A-Z]+[a-z]+[A-Z]")
EXACT, OTHERS = 0.5, 0.5


def asks_for_latest(query: str, edition: int = EDITION) -> bool:
    """Return whether a question asks for the most recent, latest, newest or last change, in any language.

    Args:
        query: The question.
        edition: Of the rules, see `editions.py`; before the eighth only English asks.

    Example:
        >>> asks_for_latest("What was the most recent change to Router.mount?")
        True
        >>> asks_for_latest("How long does a session last?")
        False
    """
    return _ASKS.search(query) is not None or (edition >= SPOKEN and wording_of(query) is not None)


def named_identifiers(query: str) -> tuple[str, ...]:
    """Return the words of a question that look like identifiers, in order.

    Example:
        >>> named_identifiers("latest change to `Router.mount`?")
        ('Router.mount',)
    """
    quoted = re.findall(r"[`'\"]([^`'\"\s]+)[`'\"]", query)
    found = quoted or [w for w in _IDENTIFIER.findall(query) if _LOOKS_LIKE_CODE.search(w)]
    return tuple(dict.fromkeys(word.rstrip(".?!,") for word in found))


def latest(
    candidates: Sequence[Candidate], request: ContextRequest, relevance: Sequence[float]
) -> list[float]:
    """Return the gated recency of each candidate, 0–1 (raw value ÷ 1.5, see `rank`).

    Passages that contain the named identifier exactly get .5 + their date rank (1 newest, to 0);
    without any, those of at least half the best relevance get .5 · their date rank.
    """
    names = named_identifiers(request.query)
    exact = [bool(names) and any(_contains(c.text, name) for name in names) for c in candidates]
    if any(exact):
        ranks = _date_ranks(candidates, exact)
        return [
            (EXACT + rank) / 1.5 if is_exact else 0.0 for rank, is_exact in zip(ranks, exact, strict=True)
        ]
    half = max(relevance, default=0.0) / 2
    eligible = [value >= half for value in relevance]
    ranks = _date_ranks(candidates, eligible)
    return [OTHERS * rank / 1.5 if is_in else 0.0 for rank, is_in in zip(ranks, eligible, strict=True)]


def _contains(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", text) is not None


def _date_ranks(candidates: Sequence[Candidate], eligible: Sequence[bool]) -> list[float]:
    """Return 1 for the newest eligible date, down to 0 for the oldest; undated and others are 0."""
    dates = sorted(
        {c.created_at for c, is_in in zip(candidates, eligible, strict=True) if is_in and c.created_at}
    )
    place = {date: (i + 1) / len(dates) for i, date in enumerate(dates)}
    return [
        place.get(c.created_at, 0.0) if is_in and c.created_at else 0.0
        for c, is_in in zip(candidates, eligible, strict=True)
    ]
