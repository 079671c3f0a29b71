"""Collections: what the sources are like and what is doubtful about them; and the form for a question."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import streamlit as st

from inspector import cards, opening, state
from inspector.knobs import as_json, own_settings
from langchain_context_engine import (
    Budget,
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
USUAL_BUDGET = Budget().tokens


def show() -> None:
    """Draw the page."""
    cards.heading("Collections")
    place = place_of_store()
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


def ask_button(
    label: str, context: Context | None = None, changed: Mapping[str, Any] | None = None, **given: Any
) -> None:
    """Draw a button that opens the form for a question.

    Args:
        label: What it says.
        context: The answer whose question is asked again, narrowed as it was; without one the question is
            still to be written, within the scope and budget of the one that is looked at.
        changed: Settings of a replay to ask with.
        **given: As for `st.button`.
    """

    def fill() -> None:
        """Fill the form, whatever an earlier one was left with."""
        with suppress(ConfigError):
            opened = state.current()
            looked_at = opened.context if opened is not None else Context(budget=USUAL_BUDGET)
            budget, request = (context or looked_at).budget, (context or looked_at).request
            told = ", ".join(f"{name}={value}" for name, value in request.scope.items())
            form = {
                "new-question": "" if context is None else request.query,
                "asked-budget": min(budget, MOST_TOKENS),
                "asked-scope": told,
            }
            st.session_state.update(form)

    if st.button(label, on_click=fill, **given):
        title = "Ask a question" if context is None else "Ask this question again"
        st.dialog(title, width="medium")(ask)(context, changed or {})


def ask(context: Context | None, changed: Mapping[str, Any]) -> None:
    """Draw the form for a question; one press asks once, and the answer goes into the journal."""
    with cards.guard("Check the address, and that the server runs."):
        cards.alerts()
        if not place_of_store():
            where_field("Open its store first: a folder or a server", "store-ask")
            return
        names = names_in_store()
        with st.form("question", border=False):
            question = st.text_input("Question", key="new-question")
            usual = names if context is None else asked_of(context)
            chosen = st.multiselect("Collections", names, default=usual, key="asked-collections")
            left, right = st.columns([1, 3])
            budget = left.number_input(
                "Budget, tokens", 0, MOST_TOKENS, key="asked-budget", disabled="budget" in changed
            )
            scope = right.text_input(
                "Scope", key="asked-scope", placeholder="workspace_id=acme, user=ann",
                help="Only records whose metadata is so are asked: name=value, several with commas.",
            )  # fmt: skip
            is_asked = st.form_submit_button("Ask", type="primary")
        own = {} if context is None else own_settings(context)
        lost = "; ".join(f"{name}: {value}" for name, value in own.items() if name not in changed)
        kept = "" if context is None else "Filters, dates, k and template are those of that answer. "
        st.text(
            f"{kept}{f'Not taken over, so as usual here: {lost}. ' if lost else ''}"
            f"Asks {place_of_store()} by the local model; for collections of another embedder, ask in "
            "your application. The answer is recorded where there is a journal."
        )
        if changed:
            st.code(as_json(changed), language="json", wrap_lines=True)
    if not is_asked:
        return
    with cards.guard("Correct the form and ask again."), st.spinner(f"Asking {', '.join(chosen)}…"):
        if not (question or "").strip():
            raise ConfigError("give a question and choose a collection")
        within = read_pairs("a scope", filter(str.strip, (scope or "").split(",")))
        # The changed settings go before what the request said.
        settings, request = dict(changed), ContextRequest() if context is None else context.request
        request = dataclasses.replace(
            request,
            query=question.strip(),
            scope=within,
            k=settings.pop("k", request.k),
            budget=None if "budget" in changed else int(budget),
            template=None if "template" in changed else request.template,
        )
        ask_store(chosen, request, settings)


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
        # It is no news to who asked it.
        st.session_state["listed"] = datetime.now(tz=UTC)
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
