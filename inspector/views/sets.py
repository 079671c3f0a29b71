"""Sets: named questions that settings are tried on together, one line of figures a try."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import streamlit as st

from inspector import cards, grading, grid, opening, state, wording
from inspector.wording import one_line
from langchain_context_engine import ConfigError, Context
from langchain_context_engine.evaluation.quality import (
    Grades,
    SetFigures,
    Tried,
    figures_of,
    try_settings,
)

LONGEST_NAME = 80
COLUMNS: list[grid.Column] = [
    {"name": "try", "label": "Try"},
    {"name": "recall", "label": "Recall", "kind": "number", "width": 70},
    {"name": "ndcg", "label": "nDCG@10", "kind": "number", "width": 80},
    {"name": "tokens", "label": "Tokens", "kind": "number", "width": 70},
    {"name": "ms", "label": "ms", "kind": "number", "width": 56},
    {"name": "shared", "label": "Shared", "kind": "number", "width": 70},
    {"name": "gained", "label": "Gained", "kind": "number", "width": 70},
    {"name": "lost", "label": "Lost", "kind": "number", "width": 60},
]


def show() -> None:
    """Draw the page."""
    cards.heading("Sets")
    path = state.settings().journal
    if path is None or not path.exists():
        st.text("Named sets of questions are kept in a journal: start with --journal FILE.")
        return
    new_set()
    with opening.journal_of(state.settings()) as journal:
        sets = journal.sets() if journal is not None else {}
    if not sets:
        st.text(
            "No set is named yet. Tick questions on the Traces page, or take all judged ones, and name them. "
            "Whatever you then try on the Tune page is told here over the whole set: what it gains and loses."
        )
        st.page_link(st.session_state["pages"]["traces"], label="Tick questions")
        return
    names = list(sets)
    name = st.selectbox("Set", names, key="set", label_visibility="collapsed", **state.BOUND)
    figures(name, dict(sets[name]))


def new_set() -> None:
    """Draw the way to name a set: of what is ticked on the Traces page, or of all judged questions."""
    ticked: list[str] = st.session_state.get("ticked", [])

    def keep(is_ticked: bool) -> None:
        with cards.kept_guard("Give the set a name, and check that the journal can be written."):
            if is_ticked:
                traces = {state.open_named(trace).request.query: trace for trace in ticked}
            else:
                traces = {q: one.name for q, one in grading.traces_of(list(grading.all_grades())).items()}
            if not traces:
                raise ConfigError("there is no question to put into the set")
            if is_ticked and len(traces) < len(ticked):
                told = f"{len(ticked)} traces were chosen, of {wording.counted(len(traces), 'question')}"
                st.session_state["set-note"] = f"{told}: a set holds each question once."
            with opening.journal_of(state.settings(), read_only=False) as journal:
                if journal is not None:
                    name = (st.session_state["set-name"] or "").strip()
                    journal.keep_set(name, traces)
                    st.session_state["set"] = name

    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(
            "Name of a new set", key="set-name", max_chars=LONGEST_NAME, width=320,
            placeholder="for example: billing, hard ones",
        )  # fmt: skip
        told = f"Keep the {len(ticked)} ticked"
        st.button(told, key="keep-ticked", disabled=not ticked, on_click=keep, args=(True,))
        st.button("Keep all judged questions", key="keep-judged", on_click=keep, args=(False,))


def figures(name: str, questions: dict[str, str]) -> None:
    """Draw one line a try over the whole set, and what became of each question under the chosen one."""
    contexts: list[Context] = []
    for trace in questions.values():
        with suppress(ConfigError):
            contexts.append(state.open_named(trace))
    grades = grading.all_grades()
    before = tried(name, contexts, {}, grades)
    told = f"{wording.counted(len(before), 'question')}. "
    told += "Turn knobs on the Tune page: each of its tries is a line here."
    if gone := len(questions) - len(contexts):
        told += f" {wording.WITHOUT_TRACE}: {gone}."
    if others := len(contexts) - len(before):
        told += f" {wording.NOT_REPLAYED}: {others}."
    st.caption(told)
    if not contexts:
        return
    settings: dict[str, Mapping[str, Any]] = {"recorded": {}}
    for trace, tries in st.session_state.get("tries", {}).items():
        # Tries of two traces may have one number, and be told alike.
        settings |= {f"try {one.number}: {one.told} · {trace[:8]}": one.changed for one in tries}
    results: dict[str, SetFigures] = {}
    with st.spinner("Replaying the set…"):
        for label, changed in settings.items():
            results[label] = figures_of(before, tried(name, contexts, changed, grades))
    lines(results)
    if not any(grades.get(query) for query in questions):
        st.caption("None of its questions is judged yet, so recall and nDCG are not known.")


def lines(results: Mapping[str, SetFigures]) -> None:
    """Draw one line a try, and what the chosen one gains and loses."""
    chosen = str(st.session_state.get("set-try"))
    if chosen not in results:
        chosen = list(results)[-1]
    grid.draw(
        "set-figures", COLUMNS, [_row(label, found) for label, found in results.items()],
        label="One line of figures a try.", height=300, chosen=chosen,
        on_choose=lambda label: st.session_state.update({"set-try": label}),
    )  # fmt: skip
    if note := st.session_state.pop("set-note", None):
        st.text(note)
    if len(results) == 1:
        st.page_link(st.session_state["pages"]["tune"], label="Turn knobs on the Tune page")
    # What is recorded gains and loses nothing against itself.
    if chosen != "recorded":
        for label, queries in (("Gained", results[chosen].gained), ("Lost", results[chosen].lost)):
            st.subheader(f"{label}: {len(queries)}")
            for query in queries:
                st.text(one_line(query, 140))


def tried(
    name: str, contexts: list[Context], changed: Mapping[str, Any], grades: Mapping[str, Grades]
) -> list[Tried]:
    """Return what some settings give of a set, worked out once in a session."""
    key = ("set", name, repr(sorted(changed.items())), repr(sorted(grades.items())), len(contexts))
    return state.remember(key, lambda: try_settings(contexts, grades, changed))


def _row(label: str, found: SetFigures) -> grid.GridRow:
    cells = {
        "try": label,
        "recall": wording.share(found.recall),
        "ndcg": wording.ratio(found.ndcg),
        "tokens": wording.number(found.tokens),
        "ms": wording.number(found.milliseconds),
        "shared": wording.share(found.shared),
        "gained": str(len(found.gained)),
        "lost": str(len(found.lost)),
    }
    return {"id": label, "cells": cells}
