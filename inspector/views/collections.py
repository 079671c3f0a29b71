"""Collections: what the sources are like, what is doubtful about them; and asking a new question."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import streamlit as st

from inspector import cards, opening, state
from inspector.state import Opened
from langchain_context_engine import (
    ChromaSource,
    ConfigError,
    Context,
    ContextEngine,
    Journal,
    LocalEmbeddings,
)
from langchain_context_engine.models.metadata import read_pairs
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.search.store_overview import doubts, is_server, sheets

MOST_TOKENS = 100_000


def show() -> None:
    """Draw the page."""
    cards.heading("Collections")
    opened, place = state.current(), place_of_store()
    if place:
        with cards.guard("Check the address, and that the server runs."):
            ask(opened.context.request if opened is not None else None)
    st.subheader("Open a store")
    st.caption(
        "A Chroma server's address, a folder of Chroma, or the folder that `index` printed (--store). Traces "
        "never need this; a new question does, and to hear why a record was not offered. A folder is copied "
        "first, so that nothing writes to it."
    )
    where_field("Server or folder", "where", place)
    if place:
        with cards.guard("Check the address, and that the server runs."):
            store(place)


def where_field(label: str, key: str, place: str = "") -> None:
    """Draw where a store's place is given; Enter opens it."""

    def take() -> None:
        open_place((st.session_state[key] or "").strip())

    st.text_input(label, place, key=key, on_change=take, placeholder="http://localhost:8000  or  ./chroma")


def open_place(place: str) -> None:
    """Open a store, anew: what was written since is in the new copy."""
    with cards.kept_guard("Check the address, and that the server runs."):
        st.session_state.setdefault("clients", {}).pop(place, None)
        st.session_state.get("remembered", {}).clear()
        st.session_state["open-store"] = ""
        if place:
            state.client(place)
        st.session_state["open-store"] = place


def store(place: str) -> None:
    """Draw what a store holds, and what is doubtful about it."""
    found = sheets(state.client(place))
    if not found:
        st.text("The store holds no collection.")
        return
    cards.table([dict(sheet) for sheet in found])
    told = doubts(found)
    for doubt in told:
        st.text(f"! {doubt}")
    if not is_server(place):
        st.caption("This is a copy of the folder as it was when it was opened.")
        st.button("Copy what was written since", on_click=open_place, args=(place,))


def ask(request: ContextRequest | None) -> None:
    """Draw the form for a new question, filled with the one that is looked at; one press asks once."""
    names = names_in_store()
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
            ask_store(chosen, ContextRequest(query=question.strip(), budget=int(budget), scope=within), {})


_TIMEOUT_SECONDS = 30
_SEQUENCE = ("document", "start")


def place_of_store() -> str:
    """Return the store that is open, else the one that stands beside the journal; "" where there is none."""
    session = st.session_state
    if "open-store" not in session:
        session["open-store"] = opening.store_beside(state.settings().journal)
    return str(session["open-store"])


def names_in_store() -> list[str]:
    """Return the collections of the open store that hold a record; none where no store is open."""
    if not place_of_store():
        return []
    found = state.remember(("sheets", place_of_store()), lambda: sheets(state.client(place_of_store())))
    return [str(sheet["collection"]) for sheet in found if sheet["records"]]


def engine_of(names: Sequence[str], **settings: Any) -> ContextEngine:
    """Return an engine over collections of the open store."""
    client, embeddings = state.client(place_of_store()), LocalEmbeddings()
    found = [client.get_collection(name, embedding_function=None) for name in names]
    sources = [ChromaSource(one, embeddings=embeddings, sequence=_SEQUENCE) for one in found]
    return ContextEngine(sources, timeout_seconds=_TIMEOUT_SECONDS, **settings)


def asked_of(context: Context) -> list[str]:
    """Return the open store's collections that a question was asked of; all where none is known."""
    names, wanted = names_in_store(), {candidate.source for candidate in context.candidates}
    return [name for name in names if name in wanted] or names


def within_scope(request: ContextRequest) -> ContextRequest:
    """Return a recorded question as it is asked of the open store: now, and within the inspector's scope."""
    scope = {**request.scope, **state.settings().scope}
    return dataclasses.replace(request, scope=scope, now=None, vector=None, sources=None)


def again(opened: Opened, changed: Mapping[str, Any]) -> None:
    """Draw the way to ask this question again with these settings; it goes into the journal."""
    box = st.expander("Ask again with these settings, against the live store", key="again", on_change="rerun")
    if not box.open:
        return
    with box:
        if not place_of_store():
            where_field("Open the store first: a folder or a server", "store-again")
            return
        st.caption(f"Asks {place_of_store()}, and records the answer where there is a journal.")
        if st.button("Ask again", key="ask-again", type="primary"):
            with cards.guard("Open the store again on the Collections page."), st.spinner("Asking…"):
                # The changed settings go before what the request said.
                settings, request = dict(changed), opened.context.request
                if "k" in settings:
                    request = dataclasses.replace(request, k=settings.pop("k"))
                if "budget" in settings:
                    request = dataclasses.replace(request, budget=None)
                if "template" in settings:
                    request = dataclasses.replace(request, template=None)
                ask_store(asked_of(opened.context), request, settings)


def ask_store(
    names: Sequence[str], request: ContextRequest, settings: Mapping[str, Any], **address: str
) -> None:
    """Ask once, and go to the explanation, with what its address then says.

    Raises:
        ConfigError: There is no collection, or a setting is wrong.
        AllSourcesFailedError: None could be asked.
    """
    if not names:
        raise ConfigError("give a question and choose a collection")
    with opening.journal_of(state.settings(), read_only=False) as journal:
        context = engine_of(names, journal=journal, **settings).build(within_scope(request))
        trace = _recorded(journal, context)
    if trace is not None:
        state.open_page(trace, **address)
    number = st.session_state["asked"] = st.session_state.get("asked", 0) + 1
    state.add(f"asked-{number}", context, **address)


def _recorded(journal: Journal | None, context: Context) -> str | None:
    """Return the answer's name in the journal; None where it is not kept there, or not shown of it."""
    if journal is None or not journal.flush():
        return None
    with suppress(ConfigError):
        journal.trace(context.trace_id)
        return context.trace_id
    return None
