"""Figures: how the questions of an application went over time, by day, from the journal alone."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from inspector import cards, grid, opening, state, wording
from langchain_context_engine.journal import TraceRow
from langchain_context_engine.journal.over_time import Day, Spread, by_day, of_sources, of_stages

MOST = 20_000
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
    days = by_day(rows, cards.zone())
    latest = (
        f"The latest {len(rows):,} of {total:,} questions" if total > len(rows) else f"{total:,} questions"
    )
    on_days = f"{len(days):,} {'day' if len(days) == 1 else 'days'}"
    st.caption(f"{latest}{total:,} questions on {on_days}, from the journal alone.")
    if len(days) > 1:
        chart = pd.DataFrame(
            {"day": [str(one.day) for one in days], "questions": [one.questions for one in days]}
        )
        st.bar_chart(chart, x="day", y="questions", height=150, x_label="", y_label="questions")
    grid.draw(
        "days", DAYS, [_day(one) for one in days], label="Figures by day, the latest first.", height=360
    )
    left, right = st.columns(2)
    with left:
        st.subheader("By stage")
        stages = of_stages(rows)
        if stages:
            grid.draw("stages", SPREADS, _spreads(stages), label="What each stage took.", height=260)
        else:
            st.text("These traces were recorded before stages were timed in the journal.")
    with right:
        st.subheader("By source")
        grid.draw(
            "sources", SPREADS, _spreads(of_sources(rows)), label="Answers with each source.", height=260
        )
        st.caption("Whole answers that a source had a part in.")


def _day(one: Day) -> grid.GridRow:
    told = {
        "day": f"{one.day.day} {one.day:%b %Y}",
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
