"""Sets: questions that settings are tried on together, and what becomes of each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pandas as pd
import streamlit as st

from inspector import cards, grading, opening, state, wording
from inspector.views.tune import open_with
from langchain_context_engine import ConfigError, Context
from langchain_context_engine.evaluation.metrics import mean
from langchain_context_engine.evaluation.quality import Grades, Tried, try_settings
from langchain_context_engine.evaluation.tune import MIN_QUERIES

ALL = grading.JUDGED
RECORDED = "recorded"
LONGEST_NAME = 80
MOST_QUESTIONS = 200


def show() -> None:
    """Draw the page."""
    cards.heading("Sets")
    grades = grading.all_grades()
    with opening.journal_of(state.settings()) as journal:
        named = journal.sets() if journal is not None else {}
    judged = {query: one.name for query, one in grading.traces_of(list(grades)[:MOST_QUESTIONS]).items()}
    sets = ({ALL: judged} if grades else {}) | {n: dict(each) for n, each in named.items() if n != ALL}
    choice, new = st.columns(2, vertical_alignment="bottom")
    with new:
        new_set()
    if not sets:
        st.text(
            "Nothing is judged yet, and no set is named. Judge some, or tick questions on the Traces page "
            "and name them here. Whatever you then try on the Tune page is told here over the whole set."
        )
        st.page_link(st.session_state["pages"]["traces"], label="Tick questions")
        return
    name = choice.selectbox("Set", list(sets), key="set", **state.BOUND) or next(iter(sets))
    figures(name, sets[name], grades, missing=len(grades) - len(judged) if name == ALL else 0)


def new_set() -> None:
    """Draw the way to name a set of what is ticked on the Traces page."""
    ticked: list[str] = st.session_state.get("ticked", [])

    def keep() -> None:
        with cards.kept_guard("Give the set a name, and check that the journal can be written."):
            traces = {state.open_named(trace).request.query: trace for trace in ticked}
            if len(traces) < len(ticked):
                told = f"{len(ticked)} traces were chosen, of {wording.counted(len(traces), 'question')}"
                st.session_state["set-note"] = f"{told}: a set holds each question once."
            with state.writing() as journal:
                name = (st.session_state["set-name"] or "").strip()
                journal.keep_set(name, traces)
                st.session_state["set"] = name

    if not ticked:
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(
            "Name of a new set", key="set-name", max_chars=LONGEST_NAME, width=320,
            placeholder="for example: billing, hard ones",
        )  # fmt: skip
        st.button(f"Keep the {len(ticked)} ticked", key="keep-ticked", on_click=keep)


def figures(
    name: str, questions: Mapping[str, str], grades: Mapping[str, Grades], *, missing: int = 0
) -> None:
    """Draw one line a try over the whole set, and what became of each question under the chosen one."""
    contexts: list[Context] = []
    for trace in questions.values():
        with suppress(ConfigError):
            contexts.append(state.open_named(trace))
    settings: dict[str, Mapping[str, Any]] = {RECORDED: {}}
    for trace, tries in st.session_state.get("tries", {}).items():
        # Tries of two traces may have one number, and be told alike.
        settings |= {f"try {one.number}: {one.told} · {trace[:8]}": one.changed for one in tries}
    with st.spinner("Replaying the set…"):
        results = {label: tried(name, contexts, changed, grades) for label, changed in settings.items()}
    before = results[RECORDED]
    told = f"{wording.counted(len(before), 'question')}. "
    told += "Turn knobs on the Tune page: each of its tries is a line here."
    if gone := len(questions) - len(contexts) + missing:
        told += f" {wording.WITHOUT_TRACE}: {gone}."
    if others := len(contexts) - len(before):
        told += f" {wording.NOT_REPLAYED}: {others}."
    st.caption(told)
    if note := st.session_state.pop("set-note", None):
        st.text(note)
    if not before:
        return
    cards.table(_row(label, before, found) for label, found in results.items())
    suggestion(len(grades))
    labels = list(results)
    chosen = st.selectbox("The questions under", labels, len(labels) - 1) if len(labels) > 1 else RECORDED
    each(chosen, before, results[chosen], questions, grades)


def each(
    chosen: str,
    before: list[Tried],
    after: list[Tried],
    questions: Mapping[str, str],
    grades: Mapping[str, Grades],
) -> None:
    """Draw one row a question, the worst first; choosing one opens it to be graded."""
    was = {one.query: one.quality for one in before}
    judged = [(one.query, was[one.query], one.quality) for one in after if grades.get(one.query)]
    if not judged:
        st.caption("None of its questions is judged yet, so evidence and nDCG are not known.")
        return
    is_tried = chosen != RECORDED
    told = (
        f"{grading.tally(judged)}; the worse ones first, then by nDCG@10." if is_tried else "The worst first."
    )
    st.caption(
        f"{told} Choose a question to see and grade its candidates, of the answer named. {len(judged)} of "
        f"{len(before)} are judged. {grading.agreement_told()}"
    )
    frame = pd.DataFrame(grading.quality_rows(judged))
    frame["answer"] = [questions[query][:8] for query in frame["question"]]
    of = {one.query: one.tokens for one in after}
    frame["tokens"] = [of[query] for query in frame["question"]]
    shown = frame if is_tried else frame.drop(columns=["change", "verdict"])
    cells = st.dataframe(
        shown,
        hide_index=True,
        key="judged",
        on_select="rerun",
        selection_mode="single-cell",
        column_config={"tokens": st.column_config.NumberColumn(format="localized")},
    ).selection.cells
    if cells:
        state.open_page(questions[frame["question"].iloc[cells[0][0]]], "judge")


def suggestion(judged: int) -> None:
    """Draw what `tune` learns of the judgments, once it is asked for: told before it is taken."""
    lacking = MIN_QUERIES - judged
    with st.container(horizontal=True, vertical_alignment="center"):
        is_asked = st.button("Suggest weights", disabled=lacking > 0)
        if lacking > 0:
            st.caption(f"From {MIN_QUERIES} judged questions on: {lacking} more.")
    if is_asked:
        with cards.guard(), st.spinner("Ranking them again…"):
            st.session_state["suggested"] = grading.suggested()
    learned = st.session_state.get("suggested")
    if learned is None:
        return
    st.text(wording.sentence(learned.reason))
    now, new = learned.present or {"relevance": 1.0}, learned.learned
    names = [name for name in {**new, **now} if now.get(name) != new.get(name)]
    cards.table({"signal": n, "now": now.get(n, 0.0), "suggested": new.get(n, 0.0)} for n in names)
    if names and (opened := state.current()) and st.button("Try them in Tune"):
        open_with(opened, {"weights": dict(new)})


def tried(
    name: str, contexts: list[Context], changed: Mapping[str, Any], grades: Mapping[str, Grades]
) -> list[Tried]:
    """Return what some settings give of a set, worked out once in a session."""
    key = ("set", name, repr(sorted(changed.items())), repr(sorted(grades.items())), len(contexts))
    return state.remember(key, lambda: try_settings(contexts, grades, changed))


def _row(label: str, before: list[Tried], after: list[Tried]) -> dict[str, Any]:
    was = {one.query: one.quality for one in before}
    became = Counter(grading.verdict_of(was[one.query], one.quality) for one in after if one.query in was)
    return {
        "try": label,
        "evidence": wording.share(mean(one.quality.recall for one in after)),
        "nDCG@10": wording.ratio(mean(one.quality.ndcg for one in after)),
        "tokens": wording.number(mean(float(one.tokens) for one in after)),
        "shared": wording.share(mean(one.shared for one in after)),
        "gained": became["better"],
        "lost": became["regression"],
    }
