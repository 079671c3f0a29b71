"""What a person knows a candidate by. Pure."""

from __future__ import annotations

from langchain_context_engine.models.types import Candidate

__all__ = ["known_by"]


def known_by(candidate: Candidate) -> str:
    """Return what a person knows a candidate by: its place, its title, or its kind and day; never a hash.

    Example:
        >>> known_by(Candidate(id="9f3a", metadata={"path": "a.py", "start_line": 3, "end_line": 9}))
        'a.py:3-9'
        >>> known_by(Candidate(id="9f3a", kind="memory", created_at="2026-01-12"))
        'memory of 12 Jan 2026'
    """
    created = candidate.created_at
    kind = candidate.kind or candidate.source
    dated = f"{kind} of {created.day} {created:%b %Y}" if created else kind
    return candidate.place or str(candidate.metadata.get("title") or "") or dated
