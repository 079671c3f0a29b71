"""What flows through the engine and what goes wrong in it: requests, candidates, decisions, budgets, errors.

Nothing here knows how a question is answered; only the standard library is imported. Begin with
`types.py`: every other file serves the values that it draws.
"""

from __future__ import annotations

__all__ = [
    "budget",
    "clock",
    "columns",
    "disk",
    "errors",
    "freeze",
    "kept",
    "locks",
    "metadata",
    "offer",
    "places",
    "redact",
    "registry",
    "request",
    "settings",
    "types",
    "verdicts",
]
