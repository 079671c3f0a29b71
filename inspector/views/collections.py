"""Collections: what the sources are like, what is doubtful about them; and asking a new question."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from inspector import asking, cards, state, stores
from langchain_context_engine import ConfigError

MOST_TOKENS = 100_000


def show() -> None:
    """Draw the page."""
    cards.heading("Collections")
    opened = state.current()
    if opened is not None:
        st.subheader("What the sources of this trace offered")
        st.dataframe(
            pd.DataFrame(stores.offered_table([opened.context])),
            hide_index=True,
            column_config={
                "dated": st.column_config.ProgressColumn("dated", format="percent", min_value=0, max_value=1),
                "metadata keys": st.column_config.TextColumn("metadata keys", width=420),
            },
        )
    st.subheader("Open a store")
    st.caption(
        "A Chroma server's address, a folder of Chroma, or the folder that `index` printed (--store). Traces "
        "never need this; only a new question does. A folder is copied first, so that nothing writes to it."
    )
    with st.form("store"):
        where, go = st.columns([5, 1], vertical_alignment="bottom")
        where.text_input("Server or folder", key="where", placeholder="http://localhost:8000  or  ./chroma")
        is_asked = go.form_submit_button("Open", width="stretch")
    if is_asked:
        st.session_state["open-store"] = (st.session_state["where"] or "").strip()
        # Opened anew: what was written since is in the new copy.
        st.session_state.setdefault("clients", {}).pop(st.session_state["open-store"], None)
    place = st.session_state.get("open-store")
    if place:
        with cards.guard("Check the address, and that the server runs."):
            store(place)


def store(place: str) -> None:
    """Draw what a store holds, and the form that asks it."""
    client = state.client(place)
    found = stores.sheets(client)
    if not found:
        st.text("The store holds no collection.")
        return
    st.dataframe(
        pd.DataFrame(found),
        hide_index=True,
        column_config={
            "unindexed": st.column_config.NumberColumn("unindexed", format="localized"),
            "metadata keys": st.column_config.TextColumn("metadata keys", width=380),
        },
        placeholder="not told",
    )
    told = stores.doubts(found)
    if not stores.is_server(place):
        told.append(
            "This is a copy of the folder as it was when it was opened. Press Open again for what was "
            "written since."
        )
    for doubt in told:
        st.text(f"! {doubt}")
    ask(client, [str(sheet["collection"]) for sheet in found if sheet["records"]])


def ask(client: Any, names: list[str]) -> None:
    """Draw the form for a new question; one press asks once."""
    st.subheader("Ask a new question")
    with st.form("question"):
        st.text_input("Question", key="new-question")
        left, middle, right = st.columns([4, 1, 1], vertical_alignment="bottom")
        left.multiselect("Collections", names, default=names, key="asked-collections")
        middle.number_input("Budget, tokens", 0, MOST_TOKENS, 1000, key="asked-budget")
        is_asked = right.form_submit_button("Ask", width="stretch")
        scope = st.text_input(
            "Scope", key="asked-scope", placeholder="workspace_id=acme, user=ann", help="key=value, comma"
        )
    st.caption("Embedded by the local model; for collections of another embedder, ask in your application.")
    if is_asked:
        with cards.guard("Correct the form and ask again."), st.spinner("Asking…"):
            question = (st.session_state["new-question"] or "").strip()
            if not question:
                raise ConfigError("give a question and choose a collection")
            asking.ask(
                client,
                st.session_state["asked-collections"],
                question,
                {},
                budget=int(st.session_state["asked-budget"]),
                scope=stores.read_scope(scope or ""),
            )


show()
