"""Figures: how the questions of an application went over time, by day, from the journal alone."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from inspector import cards, opening, state, wording
from langchain_context_engine.journal.over_time import WHOLE, Spread, by_day, of_sources, of_stages

MOST = 20_000


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
    stages, sources = of_stages(rows), of_sources(rows)
    known = {"the whole answer": WHOLE, **{f"stage {name}": ("stage", name) for name in stages}}
    known |= {f"source {name}": ("source", name) for name in sources}
    what, told = st.columns([30, 70], vertical_alignment="bottom")
    timed = what.selectbox("Milliseconds of", list(known), key="timed", **state.BOUND) or "the whole answer"
    days = by_day(rows, cards.zone(), known[timed])
    latest = f"The latest {len(rows):,} of {total:,}" if total > len(rows) else f"{total:,}"
    told.caption(
        f"{latest} questions on {wording.counted(len(days), 'day')}, from the journal alone. "
        "p50: half took at most so long; p95: nineteen of twenty did."
    )
    table = [
        {
            "day": one.day,
            "questions": one.questions,
            "p50 ms": round(one.milliseconds.p50),
            "p95 ms": round(one.milliseconds.p95),
            "doubtful": one.doubtful,
            "partial": one.partial,
            "failed": one.failed,
            "nothing kept": one.bare,
            "tokens unused": wording.share(one.unused),
            "duplicates a question": round(one.duplicates, 1),
        }
        for one in days
    ]
    left, right = st.columns(2)
    if len(days) > 1:
        left.bar_chart(table, x="day", y="questions", x_label="", height=170)
        right.line_chart(table, x="day", y="p95 ms", x_label="", height=170)
    cards.table(table)
    left, right = st.columns(2)
    with left:
        spreads("By stage", stages)
    with right:
        spreads("By source", sources)
        st.caption("How long each source was waited for; they are asked at once.")


def spreads(title: str, found: Mapping[str, Spread]) -> None:
    """Draw what took how long, the slowest first."""
    st.subheader(title)
    if found:
        cards.table(
            [
                {"what": name, "questions": one.count, "p50 ms": round(one.p50), "p95 ms": round(one.p95)}
                for name, one in found.items()
            ]
        )
    else:
        st.text("These traces were recorded before this was timed.")
