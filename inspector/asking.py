"""Asking anew: the same question with other settings against the live store, or a new question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import streamlit as st

from inspector import cards, opening, state
from inspector.figures.settings import asked_again, scope_within
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

__all__ = ["again", "ask"]

_TIMEOUT_SECONDS = 30
_SEQUENCE = ("document", "start")


def again(opened: Opened, changed: Mapping[str, Any]) -> None:
    """Draw the way to ask this question again with these settings; it goes into the journal."""
    with st.expander(
        "Ask again with these settings, against the live store", key="again", on_change="rerun"
    ) as box:
        if not box.open:
            return
        place = st.session_state.get("open-store")
        if not place:
            st.text("Open the store first: the Collections page opens a folder or a server.")
            st.page_link("views/collections.py", label="Open a store")
            return
        st.caption(f"Asks {place}, and records the answer where there is a journal.")
        if st.button("Ask again", key="ask-again", type="primary"):
            with cards.guard("Open the store again on the Collections page."), st.spinner("Asking…"):
                client = state.client(place)
                names = [str(sheet["collection"]) for sheet in sheets(client) if sheet["records"]]
                wanted = {c.source for c in opened.context.candidates}
                chosen = [name for name in names if name in wanted] or names
                ask(client, chosen, opened.context.request, changed)


def ask(
    client: Any,
    names: Sequence[str],
    request: ContextRequest | str,
    changed: Mapping[str, Any],
    **fields: Any,
) -> None:
    """Ask once, and go to the explanation.

    Args:
        client: From `searching.stores`.
        names: Collections to ask.
        request: The question, or a whole request.
        changed: Settings as `replay` takes them.
        **fields: Fields of the request.

    Raises:
        ConfigError: There is no collection, or a setting is wrong.
        AllSourcesFailedError: None could be asked.
    """
    if not names:
        raise ConfigError("give a question and choose a collection")
    embeddings = LocalEmbeddings()
    sources = [
        ChromaSource(
            client.get_collection(name, embedding_function=None), embeddings=embeddings, sequence=_SEQUENCE
        )
        for name in names
    ]
    recorded = request if isinstance(request, ContextRequest) else None
    settings, again_asked = asked_again(recorded, changed)
    asked = {**again_asked, **fields}
    if bound := state.settings().scope:
        mine = recorded.scope if recorded is not None else {}
        asked["scope"] = scope_within({**mine, **asked.get("scope", {})}, bound)
    with opening.journal_of(state.settings(), read_only=False) as journal:
        engine = ContextEngine(sources, journal=journal, timeout_seconds=_TIMEOUT_SECONDS, **settings)
        context = engine.build(request, **asked)
        trace = _recorded(journal, context)
    if trace is None:
        number = st.session_state["asked"] = st.session_state.get("asked", 0) + 1
        state.add(trace := f"asked-{number}", context)
    state.choose(trace)
    st.switch_page("views/explain.py", query_params={"trace": trace})


def _recorded(journal: Journal | None, context: Context) -> str | None:
    """Return the answer's name in the journal; None where it is not kept there, or not shown of it."""
    if journal is None or not journal.flush():
        return None
    with suppress(ConfigError):
        journal.trace(context.trace_id)
        return context.trace_id
    return None
