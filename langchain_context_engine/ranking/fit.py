"""The thing first: how well what a record is suits what the question is after.

A question about code is answered where a thing is defined, one about its use where it is documented, one
about its past where it was decided; tests and mentions come after, unless the question speaks of tests.
A record that is none of these (a memory, a message, a page) is as good for any question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from langchain_context_engine.models.types import Candidate
from langchain_context_engine.ranking.aims import Aims, aims_of
from langchain_context_engine.ranking.asides import asides
from langchain_context_engine.ranking.editions import ASIDES, CHECKS, EDITION, WHOLE
from langchain_context_engine.ranking.releases import by_release
from langchain_context_engine.ranking.roles import Role, role_of

_D, _P, _C, _L, _T, _O = (
    Role.DEFINITION, Role.DOCUMENT, Role.CHANGE, Role.CHANGELOG, Role.TEST, Role.OTHER,
)  # fmt: skip
NO_AIM: Mapping[Role, float] = {_D: 1.0, _P: 1.0, _C: 0.95, _L: 0.95, _T: 0.75, _O: 1.0}
AIMED: Mapping[str, Mapping[Role, float]] = {
    "code": {_D: 1.0, _P: 0.7, _C: 0.6, _L: 0.6, _T: 0.5, _O: 0.8},
    "use": {_D: 0.8, _P: 1.0, _C: 0.6, _L: 0.7, _T: 0.5, _O: 1.0},
    "history": {_D: 0.65, _P: 0.7, _C: 1.0, _L: 0.95, _T: 0.4, _O: 0.8},
}
"""Aim → role → how well it suits, 0–1. Of several aims the best counts."""

CHANGELOG_OF_COMMIT = 0.8
"""How well a changelog suits a question that asks which commit it was."""


def suitability(aims: Aims, edition: int = EDITION) -> Mapping[Role, float]:
    """Return how well each role suits a question, 0–1, by an edition of the rules (see `editions.py`)."""
    tables = [table for aim, table in AIMED.items() if getattr(aims, aim)] or [NO_AIM]
    suits = {role: max(table[role] for table in tables) for role in Role}
    if aims.commits and edition >= WHOLE:
        suits[_L] = min(suits[_L], CHANGELOG_OF_COMMIT)
    if aims.present and edition >= WHOLE:
        suits[_D] = 1.0
    return {**suits, Role.TEST: 1.0} if aims.tests or (aims.checks and edition >= CHECKS) else suits


def fits(candidates: Sequence[Candidate], query: str, strength: float, edition: int = EDITION) -> list[float]:
    """Return what each candidate's relevance is multiplied by: 1 for the role here that suits best.

    Args:
        candidates: The pool.
        query: The question; without one all are 1.
        strength: The exponent of how well a role suits; 0 makes all 1.
        edition: Of the rules, see `editions.py`.
    """
    if not query or not strength or not candidates:
        return [1.0] * len(candidates)
    suits = suitability(aims_of(query, edition), edition)
    found = [suits[role_of(candidate, edition)] for candidate in candidates]
    if edition >= ASIDES:
        aside = asides(candidates, query, edition)
        found = [suit * less for suit, less in zip(found, aside, strict=True)]
    if edition >= WHOLE:
        found = [suit * less for suit, less in zip(found, by_release(candidates, query), strict=True)]
    best = max(found)
    return [float((suit / best) ** strength) for suit in found]
