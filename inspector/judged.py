"""The parts of the Judge page over all judged questions: figures, regressions, weights, exchange."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import streamlit as st

from inspector import cards, grading, opening, state
from inspector.judging import (
    Quality,
    judgments_as_lines,
    means,
    quality,
    quality_table,
    read_judgments,
    tally,
)
from inspector.state import Opened
from inspector.suggesting import suggestion
from inspector.tables import Figure
from inspector.tuning import as_json
from langchain_context_engine import ConfigError

__all__ = ["exchange", "over_all", "told"]

_MOST = 200
_MEANINGS = {
    "ndcg": ("nDCG@10", "How well the first ten are ordered: 1 is the best order of all judged."),
    "precision": ("Precision@10", "Share of the first ten that answer well (grade 2 or 3)."),
    "recall": ("Evidence", "Share of the well-answering texts that stands in the context."),
    "utilisation": ("Budget used", "Share of the budget that is used."),
}
_UNJUDGED = {"utilisation"}


def told(figures: Quality) -> list[Figure]:
    """Return each figure; one that rests on judgments says how many of the first ten are judged."""
    judged = f" · {figures.coverage:.0%} judged"
    return [
        Figure(f"{label}{'' if name in _UNJUDGED else judged}", shown(getattr(figures, name)), meaning)
        for name, (label, meaning) in _MEANINGS.items()
    ]


def shown(value: float) -> str:
    """Return a figure with two decimals, or that it is unknown."""
    return "–" if math.isnan(value) else f"{value:.2f}"


def over_all() -> None:
    """Draw the figures of every judged question, as recorded and as last tried, the worst first."""
    judgments = grading.all_grades()
    if not judgments:
        st.subheader("Nothing is judged yet")
        st.text("Open a trace, grade some of its candidates from 0 to 3, and come back.")
        return
    traces = traces_of(list(judgments)[:_MOST])
    tried = last_tried()
    if tried:
        st.text("Compared with what you tried last on the Tune page:")
        st.code(as_json(tried), language="json")
    else:
        st.caption("Try settings on the Tune page to see here which questions they make better or worse.")
    found = []
    with st.spinner("Replaying the judged questions…"):
        for query, opened in traces.items():
            grades = judgments[query]
            recorded, tried_on = state.replayed(opened, {}), state.replayed(opened, tried)
            found.append((query, quality(*recorded, grades), quality(*tried_on, grades)))
    missing = len(judgments) - len(traces)
    if missing:
        st.caption(f"{missing} judged questions have no trace here any more; ask them again to see them.")
    if found:
        strip(means(q for _, q, _ in found), means(q for _, _, q in found), len(found), is_tried=bool(tried))
        table(quality_table(found), traces, is_tried=bool(tried))
    suggestion(traces, judgments)


def strip(before: Quality, after: Quality, count: int, *, is_tried: bool) -> None:
    """Draw the means, and by how much what is tried changes them."""
    columns = st.columns(1 + len(_MEANINGS), gap="small")
    columns[0].metric("Judged questions", count, border=True, height="stretch")
    for column, name, figure in zip(columns[1:], _MEANINGS, told(after), strict=True):
        change = getattr(after, name) - getattr(before, name)
        difference = None if not is_tried or math.isnan(change) else round(change, 3) or None
        column.metric(
            figure.label, figure.value, difference, help=figure.meaning, border=True, height="stretch"
        )


def table(rows: list[dict[str, Any]], traces: dict[str, Opened], *, is_tried: bool) -> None:
    """Draw one row a question, the worst first; choosing one opens it to be graded."""

    def take() -> None:
        chosen = st.session_state["judged"]["selection"]["rows"]
        if chosen and chosen[0] < len(rows):
            state.choose(traces[rows[chosen[0]]["asked"]].name)
            st.session_state["judging"] = "Grade this question"

    st.text(f"{tally(rows)}; the worse ones first, then by nDCG@10." if is_tried else "The worst first.")
    st.caption("Choose a row to see and grade its candidates.")
    column = st.column_config
    hidden = {"asked"} if is_tried else {"asked", "change", "verdict"}
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        key="judged",
        on_select=take,
        selection_mode="single-row",
        column_order=[name for name in rows[0] if name not in hidden],
        column_config={
            "question": column.TextColumn("question", width=300),
            **{
                name: column.ProgressColumn(name, format="%.2f", min_value=0, max_value=1, width=118)
                for name in ("nDCG@10", "precision", "evidence", "budget used", "judged")
            },
            "change": column.NumberColumn("change", format="%+.3f"),
        },
        alt="Figures of every judged question, the worst first.",
    )


def traces_of(queries: list[str]) -> dict[str, Opened]:
    """Return the latest trace of each question that has one: of this session, the samples, the journal."""
    found: dict[str, Opened] = {}
    wanted = set(queries)
    with opening.journal_of(state.settings()) as journal:
        for query in queries:
            for trace in journal.traces(5, search=query) if journal is not None else ():
                if trace.query == query and query not in found:
                    found[query] = Opened(trace.id, state.open_named(trace.id))
    for name in state.known_names():
        query = state.open_named(name).request.query
        if query in wanted:
            found.setdefault(query, Opened(name, state.open_named(name)))
    return found


def last_tried() -> dict[str, Any]:
    """Return the settings tried last on the trace that is looked at; nothing where none were."""
    tries = st.session_state.get("tries", {}).get(st.session_state.get("trace"), ())
    return dict(tries[-1].changed) if tries else {}


def exchange() -> None:
    """Draw the ways in and out for judgments."""
    judgments = grading.all_grades()
    count = sum(len(grades) for grades in judgments.values())
    where = "in the journal" if state.settings().journal is not None else "in this session alone"
    st.text(f"{count} judgments of {len(judgments)} questions, kept {where}.")
    st.download_button(
        "Export as JSON Lines",
        lambda: judgments_as_lines(judgments),
        "judgments.jsonl",
        "application/jsonl",
        disabled=not count,
    )
    file = st.file_uploader('Import JSON Lines: {"query", "source", "id", "grade"}', type=["jsonl", "json"])
    if file is not None and st.button("Take these judgments in", key="take-in"):
        with cards.guard("Nothing was taken in. Correct the line and try again."):
            taken = grading.take_in(read_judgments(file.getvalue()))
            if not taken:
                raise ConfigError("the file holds no judgment")
            st.success(f"{taken} judgments were taken in.")
