"""The open store: a new question, and the same one again with other settings."""

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
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.search.stores import sheets

_TIMEOUT_SECONDS = 30
_SEQUENCE = ("document", "start")


def place() -> str:
    """Return the store that is open, else the one that stands beside the journal; "" where there is none."""
    session = st.session_state
    if "open-store" not in session:
        session["open-store"] = opening.store_beside(state.settings().journal)
    return str(session["open-store"])


def collections() -> list[str]:
    """Return the collections of the open store that hold a record; none where no store is open."""
    if not place():
        return []
    found = state.remember(("sheets", place()), lambda: sheets(state.client(place())))
    return [str(sheet["collection"]) for sheet in found if sheet["records"]]


def engine_of(names: Sequence[str], **settings: Any) -> ContextEngine:
    """Return an engine over collections of the open store."""
    client, embeddings = state.client(place()), LocalEmbeddings()
    found = [client.get_collection(name, embedding_function=None) for name in names]
    sources = [ChromaSource(one, embeddings=embeddings, sequence=_SEQUENCE) for one in found]
    return ContextEngine(sources, timeout_seconds=_TIMEOUT_SECONDS, **settings)


def engine_of_store(context: Context) -> ContextEngine | None:
    """Return an engine over the collections that a question was asked of; None where no store is open."""
    names = asked_of(context)
    return engine_of(names) if names else None


def asked_of(context: Context) -> list[str]:
    """Return the open store's collections that a question was asked of; all where none is known."""
    names, wanted = collections(), {candidate.source for candidate in context.candidates}
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
        if not place():
            st.text("Open the store first: the Collections page opens a folder or a server.")
            st.page_link(st.session_state["pages"]["collections"], label="Open a store")
            return
        st.caption(f"Asks {place()}, and records the answer where there is a journal.")
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
                ask(asked_of(opened.context), request, settings)


def ask(names: Sequence[str], request: ContextRequest, settings: Mapping[str, Any]) -> None:
    """Ask once, and go to the explanation.

    Args:
        names: Collections of the open store.
        request: The question.
        settings: The engine's, where not default.

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
        state.open_page(trace)
    number = st.session_state["asked"] = st.session_state.get("asked", 0) + 1
    state.add(f"asked-{number}", context)


def _recorded(journal: Journal | None, context: Context) -> str | None:
    """Return the answer's name in the journal; None where it is not kept there, or not shown of it."""
    if journal is None or not journal.flush():
        return None
    with suppress(ConfigError):
        journal.trace(context.trace_id)
        return context.trace_id
    return None
