"""Traces: the recorded questions, newest first; open one, follow them live, or bring a saved trace."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from inspector import cards, opening, state
from inspector.tables import trace_table
from langchain_context_engine.journal import TraceRow

PAGE_SIZE = 50
EVERY = "2s"
ANY = "any"
STATUSES = (ANY, "ok", "partial", "empty")
LONGEST_SEARCH = 200


def show() -> None:
    """Draw the page."""
    st.title("Traces")
    settings = state.settings()
    with opening.journal_of(settings) as journal:
        total = journal.count() if journal is not None else 0
    if total:
        recorded(total)
    elif settings.journal is not None:
        st.subheader("Nothing is recorded yet")
        st.text(f"Waiting for {settings.journal}: run your application and ask it something.")
        st.button("Look again")
    bring(has_journal=total > 0)


def recorded(total: int) -> None:
    """Draw the filters and the table of a journal."""
    search, status, live = st.columns([5, 3, 2], vertical_alignment="bottom")
    state.seed("q", "", lambda text: len(text) <= LONGEST_SEARCH)
    state.seed("status", ANY, STATUSES.__contains__)
    search.text_input(
        "Search",
        key="q",
        max_chars=LONGEST_SEARCH,
        placeholder="a word of the question, or a source",
        live="300ms",
    )
    status.segmented_control("Status", STATUSES, key="status", required=True)
    state.publish("q", st.session_state["q"], "")
    state.publish("status", st.session_state["status"], ANY)
    live.toggle("Live tail", key="live", help=f"Looks for new questions every {EVERY}.")
    st.fragment(listing, run_every=EVERY if st.session_state["live"] else None)(total)


def listing(total: int) -> None:
    """Draw one page of the table; choosing a row opens it."""
    status = st.session_state["status"]
    wanted = None if status == ANY else status
    conditions: dict[str, Any] = {"search": st.session_state["q"] or "", "status": wanted}
    with cards.guard(), opening.journal_of(state.settings()) as journal:
        if journal is None:
            return
        found = journal.count(**conditions)
        pages = max(1, -(-found // PAGE_SIZE))
        state.seed("page", 1, str.isdecimal, read=int)
        page = st.session_state["page"] = max(1, min(st.session_state["page"], pages))
        traces = journal.traces(PAGE_SIZE, (page - 1) * PAGE_SIZE, **conditions)
    st.caption(f"{found:,} of {total:,} questions. Choose a row to see why its context is as it is.")
    if not traces:
        st.text("No recorded question is like that. Clear the search or the status.")
        return
    table(traces)
    if pages > 1:
        st.pagination(pages, key="page")
        state.publish("page", page, 1)


def table(traces: list[TraceRow]) -> None:
    """Draw the rows, and open the chosen one."""
    column = st.column_config
    event = st.dataframe(
        pd.DataFrame(trace_table(traces)),
        hide_index=True,
        key="traces",
        on_select="rerun",
        selection_mode="single-row",
        height=cards.table_height(len(traces), 620),
        column_order=[
            *("time", "question", "kept", "candidates", "used", "tokens", "budget", "duplicates", "ms"),
            *("status", "warnings", "sources"),
        ],
        column_config={
            "time": column.DatetimeColumn("time (UTC)", format="D MMM, HH:mm:ss", width=125),
            "question": column.TextColumn("question", width=320),
            "used": column.ProgressColumn(
                "budget used", format="%.0f %%", min_value=0, max_value=100, width=110
            ),
            "tokens": column.NumberColumn("tokens", format="localized", width=70),
            "budget": column.NumberColumn("budget", format="localized", width=70),
            "ms": column.NumberColumn("ms", format="%.0f", width=60),
        },
        alt="The recorded questions, newest first.",
    )
    chosen = event["selection"]["rows"]
    if chosen and chosen[0] < len(traces):
        state.choose(traces[chosen[0]].id)
        st.switch_page("views/explain.py")


def bring(*, has_journal: bool) -> None:
    """Draw the other ways to a trace: a file, a sample."""
    if has_journal:
        with st.expander("Open a saved trace, or a sample"):
            files()
        return
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.subheader("Look around in a sample")
        st.text("Questions to a small fictional company, answered by the real engine.")
        files()
    with right:
        st.subheader("Record your own")
        cards.how_to_record()


def files() -> None:
    """Draw the samples and the place to drop a file."""
    cards.samples()
    file = st.file_uploader("Open a JSON trace (context.to_dict())", type="json", max_upload_size=64)
    if file is not None:
        data = file.getvalue()
        name = opening.upload_name(data)
        if st.session_state.get("uploaded") != name:
            with cards.guard("Save one with json.dump(context.to_dict(), file) and drop that file here."):
                state.add(name, opening.read_trace(data))
                st.session_state["uploaded"] = name
                st.switch_page("views/explain.py")


show()
