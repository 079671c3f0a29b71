"""Figures: how the questions of an application went over time, by day, from the journal alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from inspector import cards, opening, state, wording
from langchain_context_engine.journal import TraceRow

MOST = 20_000
STATUSES = ("unsure", "doubtful", "partial", "failed")
WHOLE = "the whole answer"
FEW = 3
"""Of fewer there is no half and no twentieth."""

SPREAD = {"p50 ms": 0.5, "p95 ms": 0.95}
"""Half took at most so long; nineteen of twenty did."""


def show() -> None:
    """Draw the page."""
    cards.heading("Figures")
    with cards.guard(), opening.journal_of(state.settings()) as journal:
        if journal is None:
            st.text("Figures over time come from a journal, and none is open.")
            cards.how_to_record()
            return
        rows, total = journal.traces(MOST), journal.count()
    if not rows:
        st.text("Nothing is recorded yet.")
        return
    # Of a cached answer and of the sum of the stages nothing was waited for.
    stages = [{n: ms for n, ms in row.timings.items() if n not in {"total", "cache"}} for row in rows]
    waited = [row.source_timings for row in rows]
    known: dict[str, Sequence[float | None]] = {WHOLE: [row.milliseconds for row in rows]}
    for what, found in (("stage", stages), ("source", waited)):
        names = dict.fromkeys(name for one in found for name in one)
        known |= {f"{what} {name}": [one.get(name) for one in found] for name in names}
    choice, told = st.columns([30, 70], vertical_alignment="bottom")
    timed = choice.selectbox("Milliseconds of", list(known), key="timed", **state.BOUND) or WHOLE
    table = by_day(rows, known[timed])
    latest = f"The latest {len(rows):,} of {total:,}" if total > len(rows) else f"{total:,}"
    told.caption(
        f"{latest} questions on {wording.counted(len(table), 'day')}, from the journal alone. "
        "p50: half took at most so long; p95: nineteen of twenty did. Choose a day to see its questions."
    )
    left, right = st.columns(2)
    if len(table) > 1:
        left.bar_chart(table, x="day", y="questions", x_label="", height=170)
        right.line_chart(table, x="day", y="p95 ms", x_label="", height=170)
    # A day leads to its questions.
    chosen = st.dataframe(
        table,
        hide_index=True,
        key="days",
        on_select="rerun",
        selection_mode="single-cell",
        column_config=dict.fromkeys(SPREAD, st.column_config.NumberColumn(format="localized")),
    ).selection.cells
    if chosen:
        day = str(table["day"].iloc[chosen[0][0]])
        state.go("traces", since=day, until=day)
    left, right = st.columns(2)
    with left:
        spreads("By stage", stages)
    with right:
        spreads("By source", waited)
        st.caption("How long each source was waited for; they are asked at once.")


def by_day(rows: Iterable[TraceRow], milliseconds: Sequence[float | None]) -> pd.DataFrame:
    """Return one line a day that has questions, the latest first, days as they are where the viewer is."""
    frame = pd.DataFrame(
        {
            "day": row.time.astimezone(cards.zone()).date(),
            "ms": took,
            "unused": 1 - row.tokens / row.budget if row.budget else None,
            "bare": not row.kept,
            "duplicates": row.duplicates,
            **{status: row.status == status for status in STATUSES},
        }
        for row, took in zip(rows, milliseconds, strict=True)
    ).astype({"ms": float, "unused": float})
    days = frame.groupby("day")
    spread = {name: days["ms"].agg(_within, q) for name, q in SPREAD.items()}
    columns = {
        "questions": days.size(),
        **spread,
        **{status: days[status].sum() for status in STATUSES},
        "nothing kept": days["bare"].sum(),
        "tokens unused": days["unused"].mean().map(wording.share),
        "duplicates a question": days["duplicates"].mean().round(1),
    }
    return pd.DataFrame(columns).sort_index(ascending=False).reset_index()


def _within(took: pd.Series[float], share: float) -> float:
    """Return the milliseconds within which so large a share of some was there, NaN of none."""
    return (
        float(np.quantile(took.dropna(), share, method="inverted_cdf").round()) if took.count() else math.nan
    )


def spreads(title: str, found: Sequence[Mapping[str, float]]) -> None:
    """Draw what took how long, the slowest first."""
    st.subheader(title)
    frame = pd.DataFrame(map(dict, found))
    table: list[dict[str, Any]] = [
        {"what": name, "questions": int(frame[name].count())}
        | {
            told: _within(frame[name], q) if frame[name].count() >= FEW else None
            for told, q in SPREAD.items()
        }
        | {"longest ms": float(frame[name].max().round())}
        for name in frame.columns
    ]
    if table:
        cards.table(sorted(table, key=lambda one: -one["longest ms"]))
    else:
        st.text("These traces were recorded before this was timed.")
