"""Explain: why this context is as it is, and why a given candidate is not in it."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from inspector import cards, explaining, state
from inspector.budgets import budget_parts, group_table, shared_tokens
from inspector.charts import budget_chart, funnel_chart, legend_chart
from inspector.palette import colours_of
from inspector.state import Opened
from inspector.tables import SHOWN, filter_rows, funnel, options, ranked_table, searched
from langchain_context_engine.answering.explain import Row

SECTIONS = ("Candidates", "Budget", "Duplicates", "Text", "Export")
ACCENT = "#4c7be0"
CANDIDATE_WIDTH = 235
LONGEST_SEARCH = 200


def show() -> None:
    """Draw the page."""
    opened = cards.needs_trace()
    if opened is None:
        return
    context, rows = opened.context, state.rows_of(opened)
    cards.question(context)
    cards.strip(context)
    if state.ranked_of(opened) is None:
        st.caption(
            "A part of this engine was given as a function, which a trace cannot hold: scores of what was "
            "left out are not known here, and Tune cannot replay it."
        )
    state.seed("section", SECTIONS[0], SECTIONS.__contains__)
    section = st.segmented_control(
        "Section",
        SECTIONS,
        required=True,
        key="section",
        persist_state="session",
        label_visibility="collapsed",
    )
    state.publish("section", section, SECTIONS[0])
    if section == "Budget":
        budget(opened, rows)
    elif section == "Duplicates":
        explaining.duplicates(opened)
    elif section == "Text":
        explaining.text(opened)
    elif section == "Export":
        explaining.export(opened, rows)
    else:
        candidates(opened, rows)


def candidates(opened: Opened, rows: list[Row]) -> None:
    """Draw the ranked table beside the candidate that is looked at."""
    found = options(rows)
    names = list(found)
    if not names:
        st.text("No source offered a candidate for this question.")
        return
    colours = colours_of(name for row in rows for name in row.contributions)
    overview(opened)
    left, right = st.columns([66, 34], gap="medium")
    with left:
        narrow, search = st.columns([3, 2], vertical_alignment="bottom")
        state.seed("shown", SHOWN[0], SHOWN.__contains__)
        state.seed("find", "", lambda text: len(text) <= LONGEST_SEARCH)
        narrow.segmented_control("Show", SHOWN, required=True, key="shown", persist_state="session")
        search.text_input(
            "Why is this not here?",
            key="find",
            max_chars=LONGEST_SEARCH,
            placeholder="words of it, its id or source",
            live="300ms",
            on_change=look_for,
            args=(found,),
        )
        state.publish("shown", st.session_state["shown"], SHOWN[0])
        state.publish("find", st.session_state["find"], "")
        ranked(opened, filter_rows(rows, st.session_state["shown"], st.session_state["find"] or ""), colours)
    with right:
        explaining.candidate(opened, found, names, colours)


def look_for(found: dict[str, Row]) -> None:
    """Look at what is searched: the best ranked that was left out, else the best ranked."""
    name = searched(found, st.session_state["find"] or "")
    if name is not None:
        st.session_state["candidate"] = name


def overview(opened: Opened) -> None:
    """Draw in two pictures where the candidates and where the tokens went."""
    context = opened.context
    left, right = st.columns(2, gap="medium")
    left.altair_chart(funnel_chart(funnel(context), ACCENT), alt="From collected to packed.")
    right.altair_chart(
        budget_chart(budget_parts(context), context.budget), alt="The budget: groups, frame, what is left."
    )


def ranked(opened: Opened, rows: list[Row], colours: dict[str, str]) -> None:
    """Draw the ranked table; choosing a row looks at its candidate."""
    if not rows:
        explaining.not_offered(opened)
        return
    table = ranked_table(opened.context, rows, colours)
    if colours:
        st.altair_chart(legend_chart(colours), alt="Which colour is which signal.")
    column = st.column_config
    st.dataframe(
        pd.DataFrame(table),
        hide_index=True,
        key="ranked",
        on_select=lambda: take_row([row["option"] for row in table]),
        selection_mode="single-row",
        height=cards.table_height(len(table), 640),
        column_order=["#", "fate", "made of", "score", "candidate", "tokens", "cite", "source", "Δ above"],
        column_config={
            "#": column.NumberColumn("#", width=38),
            "fate": cards.fate_column("fate"),
            "made of": column.ImageColumn("made of", width=136, help="weight × signal, stacked"),
            "score": column.NumberColumn("score", format="%.3f", width=58),
            "Δ above": column.NumberColumn("Δ above", format="%.3f", width=66),
            "tokens": column.NumberColumn("tokens", width=58),
            "cite": column.TextColumn("cite", width=46),
            "source": column.TextColumn("source", width=90),
            "candidate": column.TextColumn("candidate", width=CANDIDATE_WIDTH),
        },
        placeholder="",
        alt="Every candidate, best first, with its fate, score and cost.",
    )


def take_row(names: list[str]) -> None:
    """Look at the candidate of the row that was chosen in the table."""
    chosen = st.session_state["ranked"]["selection"]["rows"]
    if chosen and chosen[0] < len(names) and names[chosen[0]]:
        st.session_state["candidate"] = names[chosen[0]]


def budget(opened: Opened, rows: list[Row]) -> None:
    """Draw where the budget went."""
    context = opened.context
    overview(opened)
    st.caption("Frame is what the template adds around the passages; left over is room that nothing fitted.")
    if shared := shared_tokens(context):
        st.caption(f"Joined, the passages take {shared} tokens less than counted one by one, as here.")
    column = st.column_config
    groups = group_table(context)
    top = max((group["tokens"] for group in groups), default=1) or 1
    st.dataframe(
        pd.DataFrame(groups),
        hide_index=True,
        column_config={
            "tokens": column.ProgressColumn("tokens", format="localized", min_value=0, max_value=top),
            "share": column.NumberColumn("promised share", format="localized"),
            "no room": column.NumberColumn("left out for room"),
        },
        placeholder="–",
        alt="What each group offered, got and was promised.",
    )
    explaining.missed(rows)


show()
