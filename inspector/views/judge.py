"""Judge: say how well candidates answer a question, and bring judgments in and out."""

from __future__ import annotations

from html import escape

import streamlit as st

from inspector import cards, grading, grid, marking, state, wording
from inspector.exports import File
from inspector.grading import GRADES, UNJUDGED, agreement_told, grade_columns, grade_rows
from inspector.palette import fate_of, fell_for
from inspector.state import Opened
from inspector.views.explain import record_html
from inspector.wording import option_of
from langchain_context_engine import ConfigError
from langchain_context_engine.evaluation.quality import Quality, quality
from langchain_context_engine.evaluation.tune import MIN_QUERIES, judgments_as_lines, read_judgments
from langchain_context_engine.models.types import Key
from langchain_context_engine.text.words import query_terms

LONGEST_NAME = 60
MEANINGS = {
    "ndcg": ("nDCG@10", "How well the first ten are ordered: 1 is the best order of all judged."),
    "precision": ("Precision@10 (grade 2 or 3)", "Share of the first ten that answer well."),
    "recall": ("Evidence in the text (grade 2 or 3)", "Share of what answers well that stands in the text."),
    "utilisation": ("Budget used", "Share of the budget that is used."),
    "coverage": ("First ten judged", "How far the other figures can be trusted."),
}


def show() -> None:
    """Draw the page."""
    opened = cards.needs_trace("Judge")
    if opened is not None:
        cards.part(grade, opened)
    with st.expander("Import judgments"):
        bring()


def grade(opened: Opened) -> None:
    """Draw the candidates to grade, and the one that is read."""
    context, rows = opened.context, state.rows_of(opened)
    query = context.request.query
    if not rows:
        st.text("No source offered a candidate for this question, so there is nothing to grade.")
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.text_input(
            "Your name", key="rater", max_chars=LONGEST_NAME, label_visibility="collapsed", width=300,
            placeholder="your name, kept beside your grades", **state.BOUND,
        )  # fmt: skip
        is_queue = state.whether(
            "queue", "Queue", "What you have not judged, and first what nearly got in or nearly did not.",
            on_change=from_the_first,
        )  # fmt: skip
        is_blind = state.whether("blind", "Blind", "Hides rank, fate and the grades of others.")
        st.button(
            "Next question", key="next", on_click=next_question,
            help=f"Of the latest {grading.LOOKED_THROUGH} answers one whose question nobody judged: the "
            "newest doubtful one, else the newest.",
        )  # fmt: skip
    everyone = grading.everyone(query)
    own = {j.key: j.grade for j in everyone if j.rater == grading.rater()}
    told = f"Judged: {len(own)} of {len(rows)}"
    figures_line(quality(context, rows, grading.grades_of(query)), told, "keys: 0–3 grade, J K walk")
    judged = len(grading.all_grades())
    more = f", {MIN_QUERIES - judged} more and weights are suggested" if judged < MIN_QUERIES else ""
    told = f"{wording.counted(judged, 'question')} judged in all{more}. {agreement_told(query)}"
    st.caption(told.strip())
    table = grade_rows(rows, everyone, grading.rater(), is_queue=is_queue)
    if not table:
        st.text("You judged every candidate of this question.")
        return
    found = {option_of(row.key): row for row in rows}
    shown = [row["id"] for row in table]
    reading = state.picked("reading", shown)

    def press(option: str, value: int | None) -> None:
        give(opened, found[option].key, value)
        # The one after it, of those that are shown; the last stays.
        at = shown.index(option) if option in shown else -1
        st.session_state["reading"] = shown[min(len(shown) - 1, at + 1)]

    left, right = st.columns([62, 38], gap="small")
    with left:
        raters = sorted({judgment.rater for judgment in everyone})
        grid.draw(
            "grading",
            grade_columns(raters, grading.rater(), blind=is_blind),
            table,
            label="The candidates to grade. 0 to 3 grade the chosen one, J and K walk.",
            chosen=reading,
            on_choose=lambda option: st.session_state.update(reading=option),
            # The table goes on to the next by itself.
            on_grade=lambda option, value: give(opened, found[option].key, value),
            walks=True,
            below=90,
        )
    with right:
        row = found[reading]
        graded = GRADES.get(own.get(row.key, -1), UNJUDGED)
        told = graded if is_blind else f"{fate_of(row.verdict, fell_for(row))} · {graded}"
        known = f'<p class="ce-where">{record_html(row)}</p><p>{escape(told)}</p>'
        st.html(f'<div class="ce-panel">{known}</div>')
        with st.container(horizontal=True, gap="small"):
            for value, name in [*GRADES.items(), (None, "Take back")]:
                # Of this run, for this candidate: what is pressed is what was drawn.
                st.button(name, key=f"grade{value}-{reading}", on_click=press, args=(reading, value))
        terms = query_terms(query)
        st.html(marking.box(marking.beginning(row.text, terms) or "<i>no text</i>", height=400))


def from_the_first() -> None:
    """Read the first candidate of what is shown, whichever was read before."""
    st.session_state.pop("reading", None)
    st.query_params.pop("reading", None)


def next_question() -> None:
    """Go on to a question that nobody judged."""
    with cards.kept_guard():
        if name := grading.next_to_judge():
            state.look_at(name)
        else:
            raise ConfigError("every question of the latest in the journal is judged, or there is no journal")


def give(opened: Opened, key: Key, value: int | None) -> None:
    """Grade a candidate; what the journal does not take is said."""
    with cards.kept_guard("The grade was not kept. Give it again when the journal can be written."):
        grading.give([(opened.context.request.query, key, "", value)], opened.name)


def figures_line(now: Quality, *more: str) -> None:
    """Draw the figures in one line, each with its meaning on hover."""
    told = [f"<span>{escape(one)}</span>" for one in more]
    for name, (label, meaning) in MEANINGS.items():
        value = getattr(now, name)
        shown = wording.ratio(value) if name in {"ndcg", "precision"} else wording.share(value)
        told.append(f'<span title="{escape(meaning)}">{label} <strong>{shown}</strong></span>')
    st.html(f'<p class="ce-facts ce-figures">{"".join(told)}</p>')


def bring() -> None:
    """Draw the way in for judgments."""
    count = st.empty()
    file = st.file_uploader(
        'Import JSON Lines: {"query", "source", "id", "grade", "rater"}', type=["jsonl", "json"]
    )
    if file is not None and st.button("Take these judgments in", key="take-in"):
        with cards.guard("None of them was taken in."):
            taken = read_judgments(file.getvalue())
            if not taken:
                raise ConfigError("the file holds no judgment")
            grading.give(taken)
            st.success(f"{len(taken)} judgments were taken in.")
    # Counted after what was taken in.
    judgments = grading.everyone()
    questions = wording.counted(len({judgment.query for judgment in judgments}), "question")
    where = "in the journal" if state.settings().journal is not None else "in this session alone"
    count.text(f"{wording.counted(len(judgments), 'judgment')} of {questions}, kept {where}.")


def files() -> list[File]:
    """Return every judgment."""
    judgments = grading.everyone()
    lines = judgments_as_lines([(j.query, j.key, j.rater, j.grade) for j in judgments])
    count = wording.counted(len(judgments), "judgment")
    return [File(f"{count}, JSON Lines", lines, f"{count.replace(' ', '-')}.jsonl")] if judgments else []
