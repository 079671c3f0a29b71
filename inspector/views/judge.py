"""Judge: say how well candidates answer, see how good the contexts are by that, and learn weights from it."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from inspector import cards, grading, judged, state
from inspector.judging import GRADES, grade_table, quality
from inspector.palette import fate_of
from inspector.state import Opened
from inspector.tables import label_of, options
from langchain_context_engine.answering.explain import Row
from langchain_context_engine.values.types import Key

SECTIONS = ("Grade this question", "All judged questions", "Import and export")


def show() -> None:
    """Draw the page."""
    state.seed("judging", SECTIONS[0], SECTIONS.__contains__)
    section = st.segmented_control(
        "Section",
        SECTIONS,
        required=True,
        key="judging",
        persist_state="session",
        label_visibility="collapsed",
    )
    state.publish("judging", section, SECTIONS[0])
    if section == SECTIONS[1]:
        judged.over_all()
    elif section == SECTIONS[2]:
        judged.exchange()
    else:
        opened = cards.needs_trace()
        if opened is not None:
            grade(opened)


def grade(opened: Opened) -> None:
    """Draw the candidates to grade, and the one that is read."""
    context, rows = opened.context, state.rows_of(opened)
    cards.question(context)
    grades = grading.grades_of(context.request.query)
    if not rows:
        st.text("No source offered a candidate for this question, so there is nothing to grade.")
        return
    figures(opened, rows, grades)
    left, right = st.columns([62, 38], gap="medium")
    with left:
        table(opened, rows, grades)
    with right:
        read(opened, rows, grades)


def figures(opened: Opened, rows: list[Row], grades: dict[Key, int]) -> None:
    """Draw how good this context is, and how much of it was judged."""
    now = quality(opened.context, rows, grades)
    figures = judged.told(now)
    columns = st.columns(1 + len(figures), gap="small")
    columns[0].metric("Judged", f"{len(grades)} of {len(rows)}", border=True)
    for column, figure in zip(columns[1:], figures, strict=True):
        column.metric(figure.label, figure.value, help=figure.meaning, border=True)


def table(opened: Opened, rows: list[Row], grades: dict[Key, int]) -> None:
    """Draw the table in which grades are chosen."""
    only = st.toggle("Only the unjudged", key="unjudged", persist_state="session")
    shown = grade_table(rows, grades, only_unjudged=only)
    if not shown:
        st.text("Every candidate of this question is judged.")
        return
    # A new editor after each grade: its own memory of edits is by row, and rows come and go.
    version = st.session_state.setdefault("editions", 0)
    column = st.column_config
    names = {value: grade for grade, value in GRADES.items()}
    by_option = options(rows)

    def take() -> None:
        for index, edit in st.session_state[f"grades-{version}"]["edited_rows"].items():
            row = by_option[shown[int(index)]["option"]]
            grading.give(opened.context.request.query, row.key, names.get(edit.get("grade")))
        st.session_state["editions"] = version + 1

    st.data_editor(
        pd.DataFrame(shown),
        key=f"grades-{version}",
        hide_index=True,
        on_change=take,
        disabled=["#", "fate", "source", "candidate"],
        height=cards.table_height(len(shown), 620),
        column_order=["grade", "#", "fate", "candidate", "source"],
        column_config={
            "grade": column.SelectboxColumn("grade", options=list(GRADES.values()), width=108),
            "#": column.NumberColumn("#", width=38),
            "fate": cards.fate_column("fate"),
            "candidate": column.TextColumn("candidate", width=310),
            "source": column.TextColumn("source", width=90),
        },
        placeholder="unjudged",
    )


def read(opened: Opened, rows: list[Row], grades: dict[Key, int]) -> None:
    """Draw one candidate in full, to be graded by a key: 0 to 3, J and K to walk."""
    found = options(rows)
    names = list(found)
    if st.session_state.get("reading") not in found:
        st.session_state["reading"] = names[0]
    row = found[st.session_state["reading"]]
    query = opened.context.request.query

    def give(value: int | None) -> None:
        grading.give(query, row.key, value)
        walk(1)

    def walk(by: int) -> None:
        at = names.index(st.session_state["reading"])
        st.session_state["reading"] = names[max(0, min(len(names) - 1, at + by))]

    with st.container(horizontal=True):
        st.button("Next", key="jnext", shortcut="J", on_click=walk, args=(1,))
        st.button("Previous", key="jprevious", shortcut="K", on_click=walk, args=(-1,))
    st.text(label_of(row))
    st.text(f"{fate_of(row.verdict, row.reason)} · {GRADES.get(grades.get(row.key, -1), 'unjudged')}")
    st.code(row.text or "(no text)", language=None, wrap_lines=True)
    with st.container(horizontal=True):
        for value, name in GRADES.items():
            words = name.partition(" · ")[2]
            st.button(words, key=f"grade{value}", shortcut=str(value), on_click=give, args=(value,))
    with st.container(horizontal=True):
        st.button("Useful", key="up", on_click=give, args=(max(GRADES),), help="The same as grade 3.")
        st.button("Not useful", key="down", on_click=give, args=(0,), help="The same as grade 0.")
        st.button("Take the grade back", key="ungrade", on_click=give, args=(None,))


show()
