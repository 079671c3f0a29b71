"""Figures: how the questions of an application went over time, by day, from the journal alone."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import altair as alt
import pandas as pd
import streamlit as st

from inspector import cards, grid, opening, state, wording
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
DAYS: list[grid.Column] = [
    {"name": "day", "label": "Day", "width": 110},
    {"name": "questions", "label": "Questions", "kind": "number", "width": 90},
    {"name": "p50", "label": "p50 ms", "kind": "number", "width": 74},
    {"name": "p95", "label": "p95 ms", "kind": "number", "width": 74},
    {"name": "doubtful", "label": "Doubtful", "kind": "number", "width": 82},
    {"name": "partial", "label": "Partial", "kind": "number", "width": 70},
    {"name": "failed", "label": "Failed", "kind": "number", "width": 66},
    {"name": "bare", "label": "Nothing kept", "kind": "number", "width": 102},
    {"name": "unused", "label": "Tokens unused", "kind": "number", "width": 116},
    {"name": "duplicates", "label": "Duplicates a question", "kind": "number", "width": 158},
]
SPREADS: list[grid.Column] = [
    {"name": "name", "label": "What"},
    {"name": "count", "label": "Questions", "kind": "number", "width": 90},
    {"name": "p50", "label": "p50 ms", "kind": "number", "width": 74},
    {"name": "p95", "label": "p95 ms", "kind": "number", "width": 74},
]


def show() -> None:
    """Draw the page."""
    cards.heading("Figures")
    with cards.guard(), opening.journal_of(state.settings()) as journal:
        if journal is None:
            st.text("Figures over time come from a journal, and none is open.")
            cards.how_to_record()
            return
        rows = journal.traces(MOST)
        total = journal.count()
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
    grid.draw(
        "days", DAYS, [_day(one) for one in days], label="Figures by day, the latest first.", height=300
    )
    left, right = st.columns(2)
    with left:
        spreads("stages", "By stage", stages, "These traces were recorded before stages were timed.")
    with right:
        spreads("sources", "By source", sources, "These traces were recorded before sources were timed.")
        st.caption("How long each source was waited for; they are asked at once.")


def choose_timed(known: list[Timed]) -> Timed:
    """Draw the choice of what the milliseconds of the days are those of, and return it."""
    named = {"": WHOLE, **{f"{kind} {name}": (kind, name) for kind, name in known}}
    state.seed("timed", "", named.__contains__)
    if st.session_state["timed"] not in named:
        st.session_state["timed"] = ""
    name = st.selectbox(
        "Milliseconds of", list(named), key="timed", format_func=lambda one: one or "the whole answer"
    )
    state.publish("timed", name, "")
    return named[name]


def chart(days: list[Day]) -> None:
    """Draw how many questions there were a day, and their p95, from the first day to the last."""
    drawn = pd.DataFrame(
        [(one.day, one.questions, one.milliseconds.p95) for one in days],
        columns=["day", "questions", "p95 ms"],
    ).set_index("day")
    first, last = min(drawn.index), max(drawn.index)
    if (last - first).days < MOST_DAYS:
        # A day without a question has its place too.
        drawn = drawn.reindex([first + timedelta(days=n) for n in range((last - first).days + 1)])
    drawn = drawn.fillna({"questions": 0}).reset_index()
    drawn["day"] = [str(day) for day in drawn["day"]]
    label = alt.Axis(
        labelExpr="timeFormat(toDate(datum.value + 'T00:00'), '%-d %b')", labelOverlap=True, labelAngle=0
    )
    for column, name in zip(st.columns(2), ("questions", "p95 ms"), strict=True):
        shown = alt.Chart(drawn, height=130).encode(
            alt.X("day:O", title=None, axis=label),
            alt.Y(f"{name}:Q", axis=alt.Axis(tickMinStep=1, tickCount=4)),
            tooltip=["day:N", f"{name}:Q"],
        )
        column.altair_chart(shown.mark_bar() if name == "questions" else shown.mark_line(point=True))


def spreads(key: str, title: str, found: Mapping[str, Spread], nothing: str) -> None:
    """Draw what took how long, the slowest first."""
    st.subheader(title)
    if found:
        grid.draw(key, SPREADS, _spreads(found), label=f"{title}: what took how long.", height=260)
    else:
        st.text(nothing)


def _day(one: Day) -> grid.GridRow:
    told = {
        "day": wording.day(one.day),
        "questions": wording.number(one.questions),
        "p50": wording.number(one.milliseconds.p50),
        "p95": wording.number(one.milliseconds.p95),
        "unused": wording.share(one.unused),
        "duplicates": f"{one.duplicates:.1f}",
        **{name: wording.number(getattr(one, name)) for name in ("doubtful", "partial", "failed", "bare")},
    }
    return {"id": str(one.day), "cells": told}


def _spreads(found: Mapping[str, Spread]) -> list[grid.GridRow]:
    return [
        {
            "id": name,
            "cells": {
                "name": name,
                "count": wording.number(spread.count),
                "p50": wording.number(spread.p50),
                "p95": wording.number(spread.p95),
            },
        }
        for name, spread in found.items()
    ]


show()
