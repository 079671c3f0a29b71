"""People's grades: kept in the journal where there is one, else in this session."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from inspector import opening, state
from langchain_context_engine.values.types import Key

__all__ = ["all_grades", "give", "grades_of", "take_in"]


def all_grades() -> dict[str, dict[Key, int]]:
    """Return question → candidate → grade, for every judged question."""
    with opening.journal_of(state.settings()) as journal:
        if journal is None:
            own: dict[str, dict[Key, int]] = st.session_state.get("grades", {})
            return {query: dict(grades) for query, grades in own.items() if grades}
        found: dict[str, dict[Key, int]] = {}
        for judgment in journal.judgments():
            found.setdefault(judgment.query, {})[judgment.key] = judgment.grade
        return found


def grades_of(query: str) -> dict[Key, int]:
    """Return candidate → grade of one question."""
    with opening.journal_of(state.settings()) as journal:
        if journal is None:
            return dict(st.session_state.get("grades", {}).get(query, {}))
        return {judgment.key: judgment.grade for judgment in journal.judgments(query)}


def give(query: str, key: Key, grade: int | None) -> None:
    """Grade a candidate; None takes a grade back."""
    take_in({query: {key: grade}})


def take_in(judgments: Mapping[str, Mapping[Key, int | None]]) -> int:
    """Keep judgments over earlier ones; return how many."""
    given = [(query, key, grade) for query, grades in judgments.items() for key, grade in grades.items()]
    with opening.journal_of(state.settings(), read_only=False) as journal:
        for query, key, grade in given:
            if journal is not None:
                journal.judge(query, key, grade)
                continue
            own = st.session_state.setdefault("grades", {}).setdefault(query, {})
            if grade is None:
                own.pop(key, None)
            else:
                own[key] = grade
    return len(given)
