"""Recency where a question asks for it: what the newest is asked of, and the order of time.

"What changed most recently?" names nothing else, so the order of time answers it. A question that names a
thing beside is answered by the newest records that hold what it names, as well as anything here does: being
new makes up for nothing else. Always-on recency was measured to harm, so without such words it is silent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from langchain_context_engine.models.clock import read_instant
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.ranking.intent import Role, is_changelog, role_of
from langchain_context_engine.text.analysis import find_terms, idf_of
from langchain_context_engine.text.memoize import memoize
from langchain_context_engine.text.words import query_terms, term_number

WEIGHT = 1.5
"""Of recency beside a relevance of weight 1, where the question names a thing beside."""

WEIGHT_ALONE = 30.0
"""The same where it names nothing: the order of time is the answer."""

ABOUT = 0.75
"""What a record must hold of what a question names, as a share of what the best of all holds."""

MOST = 20
"""So many of the newest stand in order of time."""

_THINGS = (
    r"(?:chang\w*|commits?|updates?|edits?|versions?|fix(?:es)?|releases?|tags?|merges?|modifications?|additions?"
    r"|features?|entry|entries|pull\s+requests?|prs?|notes?|messages?|decisions?|meetings?|improvements?)"
)
_ASKS = re.compile(
    r"\b(?:most|more)\s+recent(?:ly)?\b|\b(?:latest|newest|youngest)\b"
    rf"|\blast\s+(?:\d+\s+|few\s+|couple\s+of\s+|(?:[\w-]+\s+){{0,3}}?){_THINGS}\b"
    r"|\blast\s+(?:time|changed|updated|edited|modified|touched|released|committed|merged)\b"
    rf"|\brecent\s+(?:[\w-]+\s+)?{_THINGS}\b|\bwhat(?:'s|’s|\s+is)\s+new\b"
    r"|\b(?:changed|released|committed|merged|happened)\s+(?:recently|lately|last)\b"
    r"|\bjust\s+(?:changed|released|committed|merged|happened)\b",
    re.IGNORECASE,
)
_HOW_MANY = re.compile(
    r"\b(?:last|latest|newest|recent)\s+\d{1,3}\b|\b\d{1,3}\s+(?:most\s+recent|last|latest|newest)\b",
    re.IGNORECASE,
)
_ON_BRANCH = re.compile(
    r"\b(?:on|in|to|into)\s+(?:the\s+)?(?:master|main|trunk|develop|head)(?:\s+branch)?(?=\s*(?:[?.!,;]|$))",
    re.IGNORECASE,
)
"""Where a change landed, said last: not what it is about, as in "the main function"."""

_RELEASE = re.compile(r"\b(?:releas\w+|versions?|tags?|tagged|what(?:'s|’s|\s+is)\s+new)\b", re.IGNORECASE)
_SAID_ANYWAY = frozenset(
    query_terms(
        "most more recent recently latest newest youngest very last lately new just few couple change"
        " changes changed commit commits committed update updated edit edited version fix fixes fixed"
        " release released tag merge merged modification modified addition added feature entry entries"
        " pull request requests pr prs time touched landed happen happened thing things project"
        " repository repo code git log history decision decisions decided meeting meetings message"
        " messages note notes said told discussed agreed related tell show give list date author who"
        " made make look"
    )
)
"""What a question for the newest says whatever it is about."""

_RELEASES_TITLE = re.compile(
    r"\b(?:release|bump|version|prepare|tag)\b.*\d+\.\d+|^v?\d+\.\d+(?:\.\d+)*\S*$", re.IGNORECASE
)
_VERSION = re.compile(r"(?<![\w.])v?\d+\.\d+(?:\.\d+)*")


@dataclass(frozen=True, slots=True)
class Newest:
    """What the newest is asked of.

    Attributes:
        is_release: Releases, rather than changes or whatever there is.
        about: Terms of what else the question names, each once; () names nothing.
    """

    is_release: bool
    about: tuple[str, ...]

    @property
    def weight(self) -> float:
        """The weight of the order of time beside a relevance of weight 1."""
        return WEIGHT_ALONE if self.is_release or not self.about else WEIGHT


@memoize(2**20)
def newest_of(query: str) -> Newest | None:
    """Return what a question asks the newest of, or None where it does not; English only.

    Example:
        >>> newest_of("What changed most recently?")
        Newest(is_release=False, about=())
        >>> newest_of("the last performance related change to glob matching").about
        ('perform', 'glob', 'match')
        >>> newest_of("how long does a session last?") is None
        True
    """
    if _ASKS.search(query) is None:
        return None
    named = _ON_BRANCH.sub(" ", _HOW_MANY.sub(" ", query))
    about = tuple(term for term in query_terms(named) if term not in _SAID_ANYWAY)
    return Newest(_RELEASE.search(query) is not None, about)


def in_time_order(candidates: Sequence[Candidate], newest: Newest) -> list[float]:
    """Return, for each candidate, its place in time among those that are asked for: 1 newest, others 0."""
    pool = _releases(candidates) if newest.is_release else []
    if not pool:
        changes = [i for i, c in enumerate(candidates) if role_of(c) in {Role.CHANGE, Role.OTHER}]
        pool = _about(candidates, newest.about, changes or range(len(candidates)))
    told = {i: fresh for i in pool if (fresh := _freshness(candidates[i])) is not None}
    order = sorted(told, key=told.__getitem__, reverse=True)[:MOST]
    values = [0.0] * len(candidates)
    for place, i in enumerate(order):
        values[i] = 1 - place / (len(order) + 1)
    return values


def _releases(candidates: Sequence[Candidate]) -> list[int]:
    """Return the places of what tells of a release: sections of a changelog, else commits that make one."""
    sections = [
        i
        for i, candidate in enumerate(candidates)
        if is_changelog(candidate.metadata) and names_version(candidate.metadata)
    ]
    return sections or [
        i
        for i, candidate in enumerate(candidates)
        if role_of(candidate) is Role.CHANGE and _RELEASES_TITLE.search(_title(candidate))
    ]


def _about(candidates: Sequence[Candidate], about: Sequence[str], pool: Sequence[int]) -> list[int]:
    """Return those of a pool that hold what the question names, nearly as well as the best of all do."""
    if not about:
        return list(pool)
    wanted = tuple(map(term_number, about))
    found = [find_terms(candidate.text, wanted, False) for candidate in candidates]
    idf = idf_of(found, len(wanted))
    held = [sum(idf[term] for term, _ in terms_found) for terms_found in found]
    best = max(held, default=0.0)
    return [i for i in pool if best and held[i] >= ABOUT * best]


def freshness(metadata: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Return what the newest records are sorted by, the largest first; None for the undated.

    Within one date a file is read from its top. What a changelog says of no version, because it is not
    released yet, comes last.
    """
    created_at = read_instant(metadata.get("created_at"))
    return None if created_at is None else _fresh(created_at, metadata)


def _freshness(candidate: Candidate) -> tuple[Any, ...] | None:
    return None if candidate.created_at is None else _fresh(candidate.created_at, candidate.metadata)


def _fresh(created_at: datetime, metadata: Mapping[str, Any]) -> tuple[Any, ...]:
    start, part = (_number(metadata.get(key)) for key in ("start", "part"))
    # An entry that an author signed has a day of its own.
    is_unreleased = is_changelog(metadata) and not names_version(metadata) and not metadata.get("author")
    return not is_unreleased, created_at.astimezone(UTC), -start, -part


def names_version(metadata: Mapping[str, Any]) -> bool:
    """Return whether a section of a changelog says which release it is of, and that is not still to come."""
    if metadata.get("unreleased"):
        return False
    if metadata.get("version"):
        return True
    headings = metadata.get("headings")
    return isinstance(headings, str) and _VERSION.search(headings) is not None


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def _title(candidate: Candidate) -> str:
    return str(candidate.metadata.get("title") or candidate.text.partition("\n")[0])
