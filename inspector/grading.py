"""People's grades: kept in the journal where there is one, else in this session. Each rater has their own."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, datetime

import streamlit as st

from inspector import opening, state
from langchain_context_engine import ContextEngineError
from langchain_context_engine.evaluation.judgments import Given, agreed_grades
from langchain_context_engine.journal import Judgment
from langchain_context_engine.models.types import Key

__all__ = [
    "UNSAVED", "all_grades", "everyone", "give", "grades_of", "own_grades", "rater", "save_again", "take_in",
    "unsaved",
]  # fmt: skip

UNSAVED = "The grade is kept here, unsaved. Save it again when the journal can be written."
"""What is said where the journal does not take a grade."""


def rater() -> str:
    """Return the name of who grades in this session; "" where nobody said."""
    return str(st.session_state.get("kept-rater") or "")


def everyone(query: str | None = None) -> list[Judgment]:
    """Return every judgment of everyone, or those of exactly one question, unsaved ones included.

    Where the journal took no grade it may give none either: then the unsaved ones alone, which are told of.
    """
    try:
        with opening.journal_of(state.settings()) as journal:
            kept = journal.judgments(query) if journal is not None else []
    except ContextEngineError:
        if not unsaved():
            raise
        kept = []
    found = {(j.query, j.key, j.rater): j for j in kept}
    for (asked, key, who), grade in _own().items():
        if query is not None and asked != query:
            continue
        if grade is None:
            found.pop((asked, key, who), None)
        else:
            at = datetime.fromtimestamp(time.time(), tz=UTC)
            found[asked, key, who] = Judgment(query=asked, key=key, grade=grade, time=at, rater=who)
    return [found[name] for name in sorted(found)]


def all_grades() -> dict[str, dict[Key, int]]:
    """Return question → candidate → grade, for every judged question; of several raters, the median."""
    return agreed_grades(everyone())


def grades_of(query: str) -> dict[Key, int]:
    """Return candidate → grade of exactly one question; of several raters, the median."""
    return agreed_grades(everyone(query)).get(query, {})


def own_grades(query: str) -> dict[Key, int]:
    """Return candidate → grade that this session's rater gave for exactly one question."""
    return {j.key: j.grade for j in everyone(query) if j.rater == rater()}


def give(query: str, key: Key, grade: int | None, who: str | None = None) -> None:
    """Grade a candidate; None takes a grade back.

    A grade that the journal does not take is kept in the session.

    Raises:
        ContextEngineError: The journal did not take it.
    """
    name = (query, key, rater() if who is None else who)
    # First here: whatever becomes of the journal, the grade is not lost.
    _own()[name] = grade
    with opening.journal_of(state.settings(), read_only=False) as journal:
        if journal is not None:
            journal.judge(query, key, grade, rater=name[2])
            del _own()[name]
        elif state.settings().journal is not None:
            raise ContextEngineError(f"there is no journal {state.settings().journal}")
        elif grade is None:
            del _own()[name]


def take_in(judgments: Iterable[Given]) -> int:
    """Keep judgments over earlier ones; return how many."""
    given = list(judgments)
    for query, key, who, grade in given:
        give(query, key, grade, who or rater())
    return len(given)


def unsaved() -> int:
    """Return how many grades wait for a journal that did not take them."""
    return len(_own()) if state.settings().journal is not None else 0


def save_again() -> None:
    """Try again to write what waits."""
    for (query, key, who), grade in list(_own().items()):
        give(query, key, grade, who)


def _own() -> dict[tuple[str, Key, str], int | None]:
    grades: dict[tuple[str, Key, str], int | None] = st.session_state.setdefault("grades", {})
    return grades
