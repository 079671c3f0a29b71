"""People's grades: kept in the journal where there is one, else in this session. Each rater has their own."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import streamlit as st

from inspector import opening, state, wording
from inspector.candidates import base_cells
from inspector.grid import Column, GridRow
from inspector.state import Opened
from inspector.wording import option_of
from langchain_context_engine import ConfigError
from langchain_context_engine.evaluation.quality import Judged, Quality, change, verdict, worst_first
from langchain_context_engine.evaluation.tune import Tuning, agreed_grades, agreement, suggest
from langchain_context_engine.journal import Judgment
from langchain_context_engine.models.types import Key, Verdict
from langchain_context_engine.trace.explain import Row

GRADES = {0: "0 · no", 1: "1 · a little", 2: "2 · well", 3: "3 · exactly"}
"""What a grade means."""

UNJUDGED = "unjudged"
JUDGED = "all judged questions"
"""The set that holds of each judged question the answer that was judged last."""

LOOKED_THROUGH = 500
NOT_ENOUGH = "not enough judged"
ENOUGH_COVERAGE = 0.5
"""The share of the first ten that must be judged before a change is called one: unjudged counts as 0."""


def rater() -> str:
    """Return the name of who grades in this session; "" where nobody said."""
    return str(st.session_state.get("rater") or "").strip()


def everyone(query: str | None = None) -> list[Judgment]:
    """Return every judgment of everyone, or those of exactly one question."""
    with opening.journal_of(state.settings()) as journal:
        if journal is not None:
            return journal.judgments(query)
    return [one for name, one in sorted(_own().items()) if query in {None, name[0]}]


def all_grades() -> dict[str, dict[Key, int]]:
    """Return question → candidate → grade, for every judged question; of several raters, the median."""
    return agreed_grades(everyone())


def grades_of(query: str) -> dict[Key, int]:
    """Return candidate → grade of exactly one question; of several raters, the median."""
    return agreed_grades(everyone(query)).get(query, {})


def give(judgments: Iterable[tuple[str, Key, str, int | None]], trace: str = "") -> None:
    """Keep grades over earlier ones, those of nobody named as this rater's; None takes a grade back.

    Args:
        judgments: Question, candidate, rater and grade.
        trace: The answer that is judged, where there is one: it stands for its question in the sets.

    Raises:
        ContextEngineError: The journal did not take them.
    """
    given = [(query, key, who or rater(), grade) for query, key, who, grade in judgments]
    if state.settings().journal is not None:
        with state.writing() as journal:
            journal.judge_all(given)
            judged = dict(journal.sets().get(JUDGED, {}))
            own = {query: trace for query, *_ in given if trace and judged.get(query) != trace}
            if own and journal.count(id=trace):
                journal.keep_set(JUDGED, judged | own)
        return
    at = datetime.now(tz=UTC)
    for query, key, who, grade in given:
        _own().pop((query, key, who), None)
        if grade is not None:
            _own()[query, key, who] = Judgment(query=query, key=key, grade=grade, time=at, rater=who)


def _own() -> dict[tuple[str, Key, str], Judgment]:
    """Return the grades of a session without a journal."""
    grades: dict[tuple[str, Key, str], Judgment] = st.session_state.setdefault("grades", {})
    return grades


def traces_of(queries: Sequence[str]) -> dict[str, Opened]:
    """Return each question's judged trace, else its latest: the journal's, else the session's."""
    found: dict[str, Opened] = {}
    with opening.journal_of(state.settings()) as journal:
        judged = journal.sets().get(JUDGED, {}) if journal is not None else {}
        for query in queries:
            latest = [trace.id for trace in journal.traces(1, query=query)] if journal is not None else []
            for name in (*([judged[query]] if query in judged else []), *latest):
                # One that cannot be read costs its own question.
                with suppress(ConfigError):
                    if query not in found:
                        found[query] = Opened(name, state.open_named(name))
    for name in state.known_names():
        with suppress(ConfigError):
            opened = Opened(name, state.open_named(name))
            if opened.context.request.query in queries:
                found.setdefault(opened.context.request.query, opened)
    return found


def suggested() -> Tuning | None:
    """Return what `tune` learns of the journal's judgments; None without a journal."""
    with opening.journal_of(state.settings()) as journal:
        return suggest(journal) if journal is not None else None


def agreement_told(query: str | None = None) -> str:
    """Return how far the raters agree, in words; "" where nobody graded what another did."""
    found = agreement(everyone(query))
    if not found.pairs:
        return ""
    kappa = "" if math.isnan(found.kappa) else f", kappa {found.kappa:.2f}".replace("-", "−")
    return (
        f"Raters agree on {wording.share(found.same)} of {wording.counted(found.pairs, 'grade')} that two "
        f"gave, within one on {wording.share(found.near)}{kappa}."
    )


def grade_columns(raters: Sequence[str], own: str, *, blind: bool = False) -> list[Column]:
    """Return the columns of `grade_rows`: the own grade, and what may sway it unless blind."""
    columns: list[Column] = [{"name": "grade", "label": "Grade", "width": 82, "narrow": True}]
    if not blind:
        columns += [
            {"name": f"by {name}", "label": name or "unnamed", "width": 60} for name in raters if name != own
        ]
        columns += [
            {"name": "place", "label": "#", "kind": "number", "width": 40},
            {"name": "fate", "label": "Fate", "kind": "fate", "width": 122},
        ]
    return [
        *columns,
        {"name": "where", "label": "Place", "kind": "place", "width": 170},
        {"name": "text", "label": "Text", "narrow": True},
    ]


def grade_rows(
    rows: Sequence[Row], judgments: Sequence[Judgment], own: str, *, is_queue: bool = False
) -> list[GridRow]:
    """Return the candidates of a question to be graded, best ranked first.

    A queue has those that the rater did not grade, and first those nearest to the last that got in: they tell
    most, since a little decides whether they are in.
    """
    by_key: dict[Key, dict[str, int]] = {}
    for judgment in judgments:
        by_key.setdefault(judgment.key, {})[judgment.rater] = judgment.grade
    if is_queue:
        edge = sum(row.verdict is Verdict.KEPT for row in rows) + 0.4
        waiting = (row for row in rows if own not in by_key.get(row.key, {}))
        rows = sorted(waiting, key=lambda row: abs((row.place or math.inf) - edge))
    table: list[GridRow] = []
    for row in rows:
        grades = by_key.get(row.key, {})
        cells = base_cells(row) | {f"by {name}": str(grade) for name, grade in grades.items()}
        cells["grade"] = GRADES[grades[own]] if own in grades else UNJUDGED
        table.append({"id": option_of(row.key), "label": row.label, "cells": cells})
    return table


def next_to_judge() -> str | None:
    """Return an answer to a question that nobody judged, a doubtful one before others; None of none."""
    judged = set(all_grades())
    with opening.journal_of(state.settings()) as journal:
        latest = journal.traces(LOOKED_THROUGH) if journal is not None else []
    waiting = [trace for trace in latest if trace.candidates and trace.query not in judged]
    doubtful = [trace for trace in waiting if trace.status == "doubtful"]
    return next((trace.id for trace in (*doubtful, *waiting)), None)


def verdict_of(before: Quality, after: Quality) -> str:
    """Return whether a question became better or worse, where enough of its first ten is judged."""
    told = verdict(before, after)
    is_known = min(before.coverage, after.coverage) >= ENOUGH_COVERAGE
    return told if is_known or told == "unchanged" else NOT_ENOUGH


def quality_rows(judged: Iterable[Judged]) -> list[dict[str, Any]]:
    """Return one row a question: the figures as recorded and as tried: regressions, then the worst first."""
    return [
        {
            "question": query,
            "nDCG@10": round(after.ndcg, 3),
            "change": round(change(before, after), 3),
            "precision@10": round(after.precision, 3),
            "evidence": wording.share(after.recall),
            "budget used": wording.share(after.utilisation),
            "judged": wording.share(after.coverage),
            "verdict": verdict_of(before, after),
        }
        for query, before, after in worst_first(judged)
    ]


def tally(judged: Iterable[Judged]) -> str:
    """Return how many questions became better or worse, in words."""
    count = Counter(verdict_of(before, after) for _, before, after in judged)
    words: Mapping[str, str] = {"better": "better", "regression": "worse", "unchanged": "unchanged"}
    told = ", ".join(f"{count[name]} {said}" for name, said in words.items())
    return f"{told}, {count[NOT_ENOUGH]} {NOT_ENOUGH}" if count[NOT_ENOUGH] else told
