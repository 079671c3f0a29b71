"""The newest of something, where a question asks for it: what it names beside, and the order of time.

"What changed most recently?" names nothing else, so it is answered by the newest records in order of
time, whatever their words. "The last release" is the top section of the changelog, or the newest commit
that releases something. A question that names a thing beside is answered by the newest records that
hold what it names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from langchain_context_engine.models.clock import read_instant
from langchain_context_engine.models.types import Candidate
from langchain_context_engine.ranking.editions import ASIDES, CHECKS, EDITION, SPOKEN
from langchain_context_engine.ranking.roles import Role, is_changelog, role_of
from langchain_context_engine.ranking.wording import wording_of
from langchain_context_engine.text.analysis import find_terms, idf_of, term_number
from langchain_context_engine.text.memo import remember
from langchain_context_engine.text.words import query_terms

_THINGS = (
    r"(?:chang\w*|commits?|updates?|edits?|versions?|fix(?:es)?|releases?|tags?|merges?|modifications?|additions?"
    r"|features?|entry|entries|pull\s+requests?|prs?|notes?|messages?|decisions?|meetings?|improvements?)"
)
_ASKS = re.compile(
    r"\b(?:most|more)\s+recent(?:ly)?\b|\b(?:latest|newest|youngest)\b|\bmost\s+up[-\s]to[-\s]date\b"
    rf"|\blast\s+(?:\d+\s+|few\s+|couple\s+of\s+|(?:[\w-]+\s+){{0,3}}?){_THINGS}\b"
    r"|\blast\s+(?:time|changed|updated|edited|modified|touched|released|committed|merged)\b"
    rf"|\brecent\s+(?:[\w-]+\s+)?{_THINGS}\b|\bwhat(?:'s|’s|\s+is)\s+new\b"
    r"|\bjust\s+(?:been\s+)?(?:changed|committed|released|merged|added|landed|updated)\b"
    r"|\b(?:changed|released|committed|merged|happened)\s+(?:recently|lately|last)\b",
    re.IGNORECASE,
)
_RELEASE = re.compile(r"\b(?:releas\w+|versions?|tags?|tagged|what(?:'s|’s|\s+is)\s+new)\b", re.IGNORECASE)
_RECORD = re.compile(
    r"\b(?:decisions?|decided|decide|meetings?|messages?|notes?|memor(?:y|ies)|said|told|discussed|agreed)\b",
    re.IGNORECASE,
)
"""What people wrote down, as they did: it has a date of its own, as a commit has, and code has not."""

_SAID_ANYWAY = frozenset(
    query_terms(
        "most more recent recently latest newest youngest very last lately new just up-to-date few couple"
        " change changes changed commit commits committed update updated edit edited version fix fixes fixed"
        " release released tag merge merged modification modified addition added feature entry entries pull"
        " request requests pr prs time touched landed happen happened thing things project repository repo"
        " code codebase branch master main trunk head git log history contain contains include includes"
        " related regarding concerning tell show give list date author who made make one look like"
        " say says 2 3 4 5 10 20"
    )
)
_RELEASES_TITLE = re.compile(
    r"\b(?:release|bump|version|prepare|tag)\b.*\d+\.\d+|^v?\d+\.\d+(?:\.\d+)*\S*$", re.IGNORECASE
)
_VERSION = re.compile(r"(?<![\w.])v?\d+\.\d+(?:\.\d+)*")
ABOUT = 0.75
"""What a record must hold of what a question names, as a share of what the best one holds."""

MOST = 20
"""So many of the newest are candidates of each collection, and stand in order of time."""

_ONE = re.compile(
    r"\b(?:last|latest|newest|most\s+recent)\s+(?:[\w-]+\s+){0,2}?(?:change|commit|update|edit|version|fix|release"
    r"|tag|merge|modification|addition|feature|entry|pull\s+request|pr|improvement)\b"
    r"|\b(?:changed|committed|merged|happened|touched|edited|updated)\s+last\b"
    r"|\blast\s+(?:changed|updated|edited|modified|touched|released|committed|merged)\b",
    re.IGNORECASE,
)
_MANY = re.compile(
    r"\b(?:last|latest|newest|recent)\s+(\d{1,3})\b|\b(\d{1,3})\s+(?:last|latest|newest|most\s+recent)\b",
    re.IGNORECASE,
)
_SEVERAL = re.compile(
    r"\b(?:changes|commits|updates|edits|fixes|merges|releases|versions|tags|features|entries|additions|prs"
    r"|pull\s+requests|improvements|modifications)\b",
    re.IGNORECASE,
)
FOR_ONE, FOR_SOME, FOR_SEVERAL = 3, 5, 10
"""So many are shown to whom asks for one, for neither one nor several, and for several."""

LATER = 0.4
"""What those after them count for: too little to be read beside them."""


@dataclass(frozen=True, slots=True)
class Newest:
    """What the newest is asked of.

    Attributes:
        is_release: Releases, rather than changes or whatever there is.
        about: Terms of what else the question names, each once; () names nothing.
        is_record: What people decided or said, besides what they changed.
        wanted: So many of them; of releases, of which a section may be a part.
    """

    is_release: bool
    about: tuple[str, ...]
    is_record: bool = False
    wanted: int = MOST


@remember(2**20)
def newest_of(query: str, edition: int = EDITION) -> Newest | None:
    """Return what a question asks the newest of, or None where it does not.

    Args:
        query: The question.
        edition: Of the rules, see `editions.py`; by the first what people wrote down has no order of its own,
            before the eighth only English asks for the newest.

    Example:
        >>> newest_of("What changed most recently?")
        Newest(is_release=False, about=(), is_record=False, wanted=5)
        >>> newest_of("the last performance related change to glob matching").about
        ('perform', 'glob', 'match')
        >>> newest_of("how long does a session last?") is None
        True
    """
    if _ASKS.search(query) is None:
        return _newest_in_other_words(query) if edition >= SPOKEN else None
    is_record = edition >= CHECKS and _RECORD.search(query) is not None
    named = _RECORD.sub(" ", query) if is_record else query
    if edition >= ASIDES:
        named = _MANY.sub(" ", named)
    about = tuple(term for term in query_terms(named) if term not in _SAID_ANYWAY)
    is_release = _RELEASE.search(query) is not None
    wanted = _wanted(query, is_release=is_release) if edition >= ASIDES and not about else MOST
    return Newest(is_release, about, is_record, wanted)


def _newest_in_other_words(query: str) -> Newest | None:
    """Return the same of a question in another language than English."""
    found = wording_of(query)
    if found is None:
        return None
    about = tuple(term for term in query_terms(found.rest) if term not in _SAID_ANYWAY)
    wanted = FOR_SEVERAL if found.is_several else FOR_SOME
    if found.is_one:
        wanted = 1 if found.is_release else FOR_ONE
    if found.number:
        wanted = found.number
    return Newest(found.is_release, about, found.is_record, MOST if about else wanted)


def _wanted(query: str, *, is_release: bool) -> int:
    """Return how many of the newest are asked for."""
    if told := _MANY.search(query):
        return max(1, int(told[1] or told[2]))
    if _ONE.search(query):
        return 1 if is_release else FOR_ONE
    return FOR_SEVERAL if _SEVERAL.search(query) else FOR_SOME


def in_time_order(candidates: Sequence[Candidate], newest: Newest, edition: int = EDITION) -> list[float]:
    """Return, for each candidate, its place in time among those that are asked for: 1 newest, others 0."""
    told = [_told(candidate) for candidate in candidates]
    pool = _asked_for(candidates, newest, edition)
    if newest.about and not (newest.is_release and pool):
        pool = _about(candidates, newest.about, pool or range(len(candidates)))
    dated = [i for i in pool if told[i] is not None]
    order = sorted(dated, key=lambda i: told[i] or (), reverse=True)[:MOST]
    values = [0.0] * len(candidates)
    # Of two the older one is far behind, or it would come first for resembling the question more.
    steps = (len(order) if edition >= CHECKS else MOST) + 1
    things: dict[Any, int] = {}
    for place, i in enumerate(order):
        # The sections of one release are one thing.
        version = candidates[i].metadata.get("version") if newest.is_release else None
        thing = things.setdefault(i if version is None else str(version), len(things))
        values[i] = (1 - place / steps) * (1.0 if thing < newest.wanted else LATER)
    return values


def freshness(metadata: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Return what the newest records are sorted by, the largest first; None for the undated.

    Within one date a file is read from its top. What a changelog says of no version, because it is not
    released yet, comes last.
    """
    created_at = read_instant(metadata.get("created_at"))
    if created_at is None:
        return None
    return _fresh(created_at, metadata)


def _told(candidate: Candidate) -> tuple[Any, ...] | None:
    if candidate.created_at is None:
        return None
    return _fresh(candidate.created_at, candidate.metadata)


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


def _asked_for(candidates: Sequence[Candidate], newest: Newest, edition: int) -> list[int]:
    """Return the places of those whose role is asked for; all where none has one."""
    roles = [role_of(candidate, edition) for candidate in candidates]
    if newest.is_release:
        sections = [
            i
            for i, candidate in enumerate(candidates)
            if roles[i] is Role.CHANGELOG and names_version(candidate.metadata)
        ]
        return sections or [
            i
            for i, candidate in enumerate(candidates)
            if roles[i] is Role.CHANGE and _RELEASES_TITLE.search(_title(candidate))
        ]
    asked = {Role.CHANGE, Role.OTHER} if newest.is_record else {Role.CHANGE}
    changes = [i for i, role in enumerate(roles) if role in asked]
    return changes or list(range(len(candidates)))


def _title(candidate: Candidate) -> str:
    return str(candidate.metadata.get("title") or candidate.text.partition("\n")[0])


def _about(candidates: Sequence[Candidate], about: Sequence[str], pool: Sequence[int]) -> list[int]:
    """Return those of a pool that hold what the question names, nearly as well as the best."""
    wanted = tuple(map(term_number, about))
    found = [find_terms(candidate.text, wanted) for candidate in candidates]
    idf = idf_of(found, len(wanted))
    held = {i: sum(idf[term] for term, _ in found[i]) for i in pool}
    best = max(held.values(), default=0.0)
    return [i for i in pool if best and held[i] >= ABOUT * best]
