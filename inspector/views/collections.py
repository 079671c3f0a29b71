"""Collections: what the sources are like, what is doubtful about them; and asking a new question."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from inspector import cards, state, stores
from langchain_context_engine import ChromaSource, ConfigError, ContextEngine, LocalEmbeddings

MOST_TOKENS = 100_000


def show() -> None:
    """Draw the page."""
    st.title("Collections")
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
        "A Chroma server's address, or a folder. Traces never need this; only a new question does. "
        "A folder that another process writes to is read as it was when it was opened: use the server there."
    )
    with st.form("store"):
        where, go = st.columns([5, 1], vertical_alignment="bottom")
        where.text_input("Server or folder", key="where", placeholder="http://localhost:8000  or  ./chroma")
        is_asked = go.form_submit_button("Open", width="stretch")
    if is_asked:
        st.session_state["open-store"] = (st.session_state["where"] or "").strip()
    place = st.session_state.get("open-store")
    if place:
        with cards.guard("Check the address, and that the server runs."):
            store(place)


def store(place: str) -> None:
    """Draw what a store holds, and the form that asks it."""
    client = stores.open_client(place)
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
            "A folder is read directly: what another process wrote since may not be found by a search. "
            "Press Open again after restarting, or run a Chroma server."
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
        with cards.guard("Correct the form and ask again."):
            asked(client, stores.read_scope(scope or ""))


def asked(client: Any, scope: dict[str, Any]) -> None:
    """Ask once, and go to the explanation."""
    session = st.session_state
    question = (session["new-question"] or "").strip()
    if not question or not session["asked-collections"]:
        raise ConfigError("give a question and choose a collection")
    embeddings = LocalEmbeddings()
    sources = [
        ChromaSource(client.get_collection(name, embedding_function=None), embeddings=embeddings)
        for name in session["asked-collections"]
    ]
    engine = ContextEngine(sources=sources, timeout_seconds=30)
    context = engine.build(question, budget=int(session["asked-budget"]), scope=scope)
    number = session["asked"] = session.get("asked", 0) + 1
    state.add(f"asked-{number}", context)
    st.switch_page("views/explain.py")


show()
