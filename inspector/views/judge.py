"""Judge: say how well candidates answer, see how good the contexts are by that, and learn weights from it."""

from __future__ import annotations

import streamlit as st

from inspector import cards, explaining, grading, grid, judged, marking, searching, state, wording
from inspector.choosing import one_of
from inspector.judging import GRADES, UNJUDGED, grade_columns, grade_rows
from inspector.palette import fate_of
from inspector.state import Opened
from inspector.tables import options, places
from langchain_context_engine.evaluation.quality import quality
from langchain_context_engine.models.types import Key
from langchain_context_engine.text.words import query_terms
from langchain_context_engine.trace.explain import Row

SECTIONS = ("Grade this question", "All judged questions", "Import and export")
LONGEST_NAME = 60


def show() -> None:
    """Draw the page."""
    # The head comes first, and what it is depends on the section that is chosen below it.
    head = st.container()
    section = one_of("judging", SECTIONS, "Section")
    opened = state.current() if section == SECTIONS[0] else None
    with head:
        if opened is not None:
            cards.trace_head(opened)
        else:
            cards.heading("Judge")
    if opened is None:
        waiting()
    if section == SECTIONS[1]:
        judged.over_all()
    elif section == SECTIONS[2]:
        judged.exchange()
    elif opened is not None:
        cards.part(grade, opened)
    else:
        cards.no_trace()


def waiting() -> None:
    """Say which grades are not saved, and offer to try again."""
    count = grading.unsaved()
    if not count:
        return

    def again() -> None:
        with cards.kept_guard("The grades are still kept here, unsaved."):
            grading.save_again()

    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.text(
            f"{wording.counted(count, 'grade is', 'grades are')} kept here, unsaved: the journal took none."
        )
        st.button("Save again", key="save-again", on_click=again)


def ask_name() -> None:
    """Ask once who grades; the grades of two people stand beside each other."""
    state.seed("rater", "", lambda text: len(text) <= LONGEST_NAME)
    st.text_input(
        "Your name", key="rater", max_chars=LONGEST_NAME, placeholder="your name, kept beside your grades",
        label_visibility="collapsed",
    )  # fmt: skip
    st.session_state["kept-rater"] = (st.session_state["rater"] or "").strip()


def grade(opened: Opened) -> None:
    """Draw the candidates to grade, and the one that is read."""
    # Here, where a grade is given: the page around is not drawn again for it.
    waiting()
    context, rows = opened.context, state.rows_of(opened)
    query = context.request.query
    if not rows:
        st.text("No source offered a candidate for this question, so there is nothing to grade.")
        searching.missing(opened)
        return
    who, only = st.columns([2, 5], vertical_alignment="center")
    with who:
        ask_name()
    everyone = grading.everyone(query)
    own = grading.own_grades(query)
    agreed = grading.grades_of(query)
    judged.figures_line(quality(context, rows, agreed), None, f"Judged: {len(own)} of {len(rows)}")
    if told := judged.agreement_told(everyone):
        st.caption(told)
    is_only = only.toggle("Only what I have not judged", key="unjudged")
    table = grade_rows(rows, everyone, grading.rater(), places(context.candidates), only_unjudged=is_only)
    if not table:
        st.text("You judged every candidate of this question.")
        searching.missing(opened)
        return
    found = options(rows)
    shown = [row["id"] for row in table]
    if st.session_state.get("reading") not in shown:
        st.session_state["reading"] = shown[0]
    left, right = st.columns([62, 38], gap="small")
    with left:
        draw_table(opened, table, found, sorted({j.rater for j in everyone}))
    with right:
        read(opened, found[st.session_state["reading"]], own, shown)
    searching.missing(opened)


def draw_table(opened: Opened, table: list[grid.GridRow], found: dict[str, Row], raters: list[str]) -> None:
    """Draw the table in which grades are picked and candidates chosen; 0 to 3 grade what is on the screen."""
    query, shown = opened.context.request.query, [row["id"] for row in table]
    names = {words: value for value, words in GRADES.items()}

    def press(option: str, value: int) -> None:
        give(query, found[option].key, value)
        st.session_state["reading"] = after(shown, option)

    def pick(option: str, words: str) -> None:
        give(query, found[option].key, None if words == UNJUDGED else names[words])

    grid.draw(
        "grading",
        grade_columns(raters, grading.rater()),
        table,
        label="The candidates to grade. 0 to 3 grade the chosen one, J and K walk.",
        chosen=st.session_state["reading"],
        on_choose=lambda option: st.session_state.update(reading=option),
        on_grade=press,
        on_pick=pick,
        walks=True,
        below=50,
    )


def after(shown: list[str], option: str) -> str:
    """Return the one after another, of those that are shown; the last stays."""
    at = shown.index(option) if option in shown else -1
    return shown[min(len(shown) - 1, at + 1)]


def give(query: str, key: Key, value: int | None) -> None:
    """Grade a candidate; what the journal does not take is kept and said to be unsaved."""
    with cards.kept_guard(grading.UNSAVED):
        grading.give(query, key, value)


def read(opened: Opened, row: Row, own: dict[Key, int], shown: list[str]) -> None:
    """Draw one candidate in full, with the buttons that grade it."""
    context = opened.context
    query, option = context.request.query, st.session_state["reading"]

    def press(value: int | None) -> None:
        # Of this run, for this candidate: what is pressed is what was drawn.
        give(query, row.key, value)
        st.session_state["reading"] = after(shown, option)

    graded = GRADES.get(own.get(row.key, -1), UNJUDGED)
    st.html(
        f'<div class="ce-panel"><p class="ce-where">{explaining.record_html(context, row)}</p>'
        f"<p>{fate_of(row.verdict, row.reason)} · {graded}</p></div>"
    )
    with st.container(horizontal=True, gap="small"):
        for value, name in GRADES.items():
            st.button(name, key=f"grade{value}-{option}", on_click=press, args=(value,))
        st.button("Take back", key=f"ungrade-{option}", on_click=press, args=(None,))
    st.html(marking.box(marking.beginning(row.text, query_terms(query)) or "<i>no text</i>", height=400))


show()
