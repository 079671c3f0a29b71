"""Where a candidate is from, as people name it. Pure."""

from __future__ import annotations

from langchain_context_engine.values.metadata import read_list
from langchain_context_engine.values.types import Candidate

__all__ = ["known_by", "place_of"]

_COMMIT = 10


def place_of(candidate: Candidate) -> str:
    """Return where a candidate stands: `path:first-last`, its heading trail, its commit; else its title.

    Example:
        >>> place_of(Candidate(id="9f3a", metadata={"path": "a.py", "start_line": 3, "end_line": 9}))
        'a.py:3-9'
    """
    return getattr(candidate, "place", "") or _read(candidate)


def known_by(candidate: Candidate) -> str:
    """Return what a person knows a candidate by: where it stands, else its kind and day; never a hash.

    Example:
        >>> known_by(Candidate(id="9f3a", kind="memory", created_at="2026-01-12"))
        'memory of 12 Jan 2026'
    """
    created = candidate.created_at
    kind = candidate.kind or candidate.source
    dated = f"{kind} of {created.day} {created:%b %Y}" if created else kind
    return place_of(candidate) or dated


def _read(candidate: Candidate) -> str:
    facts = candidate.metadata
    place = str(facts.get("place") or facts.get("path") or "")
    first, last = facts.get("start_line"), facts.get("end_line")
    if place and first and not facts.get("place"):
        place += f":{first}" if last in (None, first) else f":{first}-{last}"
    trail = " › ".join(str(heading) for heading in read_list(facts.get("headings")))
    commit = str(facts.get("sha") or "")[:_COMMIT]
    parts = [place, trail, commit and f"commit {commit}"]
    return " · ".join(filter(None, parts)) or str(facts.get("title") or "")
