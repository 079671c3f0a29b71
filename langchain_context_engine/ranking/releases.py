"""A question that names a release is answered by what its changelog says of that one, not of the others."""

from __future__ import annotations

import re
from collections.abc import Sequence

from langchain_context_engine.models.types import Candidate
from langchain_context_engine.ranking.roles import is_changelog

OTHER = 0.5
"""How well a section on another release suits such a question."""

_NAMED = re.compile(
    r"(?<![\w.])v?(\d{1,9}\.\d{1,9}(?:\.\d{1,9}){0,2}(?:(?:a|b|rc|\.dev|-[a-z]+\.?)\d{0,9})?)(?![\w.]*\d)"
)
_SPAN = re.compile(
    r"\b(?:since|after|before|until|till|between|from|than|later|earlier|newer|older|above|below|onwards?|through"
    r"|upgrad\w*|migrat\w*|compare\w*|versus|vs)\b",
    re.IGNORECASE,
)


def named_releases(query: str) -> frozenset[str]:
    """Return the releases that a question is about; none where it speaks of a span of them.

    Example:
        >>> named_releases("What is new in v6.2.1?"), named_releases("what changed since 1.7?")
        (frozenset({'6.2.1'}), frozenset())
    """
    return frozenset() if _SPAN.search(query) else frozenset(_NAMED.findall(query))


def by_release(candidates: Sequence[Candidate], query: str) -> list[float]:
    """Return how well each candidate suits the release that a question names: 1; of another one's `OTHER`.

    What speaks of that release itself, as "reverts the change of 1.8.0" does, suits as well as its own
    section; nothing is told apart where no section is of it.

    Args:
        candidates: The pool.
        query: The question.

    Example:
        >>> told = [{"path": "CHANGELOG.md", "version": version} for version in ("1.0", "1.1")]
        >>> sections = [Candidate(id="a", text="Tea.", metadata=metadata) for metadata in told]
        >>> by_release(sections, "what is new in 1.1?")
        [0.5, 1.0]
    """
    named = named_releases(query)
    of = [_release(candidate) if named else "" for candidate in candidates]
    if not any(_is_of(release, named) for release in of if release):
        return [1.0] * len(candidates)
    return [
        1.0
        if not release or _is_of(release, named) or any(name in candidate.text for name in named)
        else OTHER
        for release, candidate in zip(of, candidates, strict=True)
    ]


def _release(candidate: Candidate) -> str:
    """Return the release that a section of a changelog is of, "" for anything else."""
    version = candidate.metadata.get("version")
    return str(version).removeprefix("v") if version and is_changelog(candidate.metadata) else ""


def _is_of(release: str, named: frozenset[str]) -> bool:
    """Return whether a release is named, as `6.2.1` is by "6.2"."""
    return any(release == name or release.startswith(f"{name}.") for name in named)
