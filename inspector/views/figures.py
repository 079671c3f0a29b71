"""Figures: how the questions of an application went over time, by day, from the journal alone."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import streamlit as st

from inspector import cards, opening, state, wording
from langchain_context_engine.journal import TraceRow
from langchain_context_engine.journal.over_time import (
    WHOLE,
    Day,
    Spread,
    Timed,
    by_day,
    of_sources,
    of_stages,
)

MOST = 20_000
MOST_DAYS = 1_000


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
        drawn(rows, total)


def drawn(rows: list[TraceRow], total: int) -> None:
    """Draw the figures by day, by stage and by source."""
    stages, sources = of_stages(rows), of_sources(rows)
    what, told = st.columns([30, 70], vertical_alignment="bottom")
    with what:
        timed = choose_timed([*(("stage", name) for name in stages), *(("source", name) for name in sources)])
    days = by_day(rows, cards.zone(), timed)
    latest = f"The latest {len(rows):,} of {total:,}" if total > len(rows) else f"{total:,}"
    told.caption(
        f"{latest} questions on {wording.counted(len(days), 'day')}, from the journal alone. "
        "p50: half took at most so long; p95: nineteen of twenty did."
    )
    if len(days) > 1:
        chart(days)
    cards.table(
        [
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
    )
    left, right = st.columns(2)
    with left:
        spreads("By stage", stages, "These traces were recorded before stages were timed.")
    with right:
        spreads("By source", sources, "These traces were recorded before sources were timed.")
        st.caption("How long each source was waited for; they are asked at once.")


def choose_timed(known: list[Timed]) -> Timed:
    """Draw the choice of what the milliseconds of the days are those of, and return it."""
    named = {"the whole answer": WHOLE, **{f"{kind} {name}": (kind, name) for kind, name in known}}
    return named[st.selectbox("Milliseconds of", list(named), key="timed", **state.BOUND)]


def chart(days: list[Day]) -> None:
    """Draw how many questions there were a day, and their p95, from the first day to the last."""
    by_date = {one.day: (one.questions, one.milliseconds.p95) for one in days}
    first, last = min(by_date), max(by_date)
    count = (last - first).days + 1
    # A day without a question has its place too.
    shown = [first + timedelta(days=n) for n in range(count)] if count < MOST_DAYS else sorted(by_date)
    left, right = st.columns(2)
    for column, place, name in ((left, 0, "questions"), (right, 1, "p95 ms")):
        table = {
            "day": [str(day) for day in shown],
            name: [by_date.get(day, (0, None))[place] for day in shown],
        }
        draw = column.bar_chart if place == 0 else column.line_chart
        draw(table, x="day", y=name, x_label="", height=170)


def spreads(title: str, found: Mapping[str, Spread], nothing: str) -> None:
    """Draw what took how long, the slowest first."""
    st.subheader(title)
    if not found:
        st.text(nothing)
        return
    cards.table(
        [
            {"what": name, "questions": one.count, "p50 ms": round(one.p50), "p95 ms": round(one.p95)}
            for name, one in found.items()
        ]
    )
