"""Collections: what the sources are like, what is doubtful about them; and asking a new question."""

from __future__ import annotations

import streamlit as st

from inspector import asking, cards, state
from langchain_context_engine import ConfigError
from langchain_context_engine.models.metadata import read_pairs
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.search.stores import doubts, is_server, sheets

MOST_TOKENS = 100_000


def show() -> None:
    """Draw the page."""
    cards.heading("Collections")
    opened, place = state.current(), asking.place()
    if place:
        with cards.guard("Check the address, and that the server runs."):
            ask(opened.context.request if opened is not None else None)
    st.subheader("Open a store")
    st.caption(
        "A Chroma server's address, a folder of Chroma, or the folder that `index` printed (--store). Traces "
        "never need this; only a new question does. A folder is copied first, so that nothing writes to it."
    )
    with st.form("store"):
        where, go = st.columns([5, 1], vertical_alignment="bottom")
        where.text_input(
            "Server or folder", key="where", value=place, placeholder="http://localhost:8000  or  ./chroma"
        )
        is_asked = go.form_submit_button("Open", width="stretch")
    if is_asked:
        # Opened anew: what was written since is in the new copy.
        st.session_state.setdefault("clients", {}).pop(place, None)
        st.session_state.get("remembered", {}).clear()
        st.session_state["open-store"] = (st.session_state["where"] or "").strip()
        st.rerun()
    if place:
        with cards.guard("Check the address, and that the server runs."):
            store(place)


def store(place: str) -> None:
    """Draw what a store holds, and what is doubtful about it."""
    found = sheets(state.client(place))
    if not found:
        st.text("The store holds no collection.")
        return
    cards.table([dict(sheet) for sheet in found])
    told = doubts(found)
    if not is_server(place):
        told.append(
            "This is a copy of the folder as it was when it was opened. Press Open again for what was "
            "written since."
        )
    for doubt in told:
        st.text(f"! {doubt}")


def ask(request: ContextRequest | None) -> None:
    """Draw the form for a new question, filled with the one that is looked at; one press asks once."""
    names = asking.collections()
    st.subheader("Ask a new question")
    with st.form("question"):
        question = st.text_input("Question", value=request.query if request else "", key="new-question")
        left, middle, right = st.columns([4, 1, 1], vertical_alignment="bottom")
        chosen = left.multiselect("Collections", names, default=names, key="asked-collections")
        usual = request.budget if request and request.budget is not None else 1000
        budget = middle.number_input("Budget, tokens", 0, MOST_TOKENS, usual, key="asked-budget")
        is_asked = right.form_submit_button("Ask", width="stretch")
        told = ", ".join(f"{name}={value}" for name, value in request.scope.items()) if request else ""
        scope = st.text_input(
            "Scope",
            told,
            key="asked-scope",
            placeholder="workspace_id=acme, user=ann",
            help="key=value, comma",
        )
    st.caption("Embedded by the local model; for collections of another embedder, ask in your application.")
    if is_asked:
        with cards.guard("Correct the form and ask again."), st.spinner("Asking…"):
            if not (question or "").strip():
                raise ConfigError("give a question and choose a collection")
            within = read_pairs("a scope", filter(str.strip, (scope or "").split(",")))
            asking.ask(chosen, ContextRequest(query=question.strip(), budget=int(budget), scope=within), {})
