"""Asking anew: the same question with other settings against the live store, or a new question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from inspector import cards, opening, state
from inspector.state import Opened
from langchain_context_engine import ChromaSource, ConfigError, ContextEngine, LocalEmbeddings
from langchain_context_engine.searching.sheets import sheets
from langchain_context_engine.values.request import ContextRequest

__all__ = ["again", "ask"]

_TIMEOUT_SECONDS = 30
_SEQUENCE = ("document", "start")
_ENGINE_ONLY = frozenset({"k"})


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
    settings = {name: value for name, value in changed.items() if name not in _ENGINE_ONLY}
    asked = {**{name: changed[name] for name in _ENGINE_ONLY & set(changed)}, **fields}
    if isinstance(request, ContextRequest):
        # The time is now, the vector and the sources' names are those of the store that is asked.
        asked = {"now": None, "vector": None, "sources": None, **asked}
        if "budget" in settings:
            asked["budget"] = None
        elif request.budget is not None:
            asked.setdefault("budget", request.budget)
        if "template" in settings:
            asked["template"] = None
    if state.settings().scope:
        mine = request.scope if isinstance(request, ContextRequest) else {}
        asked["scope"] = {**mine, **asked.get("scope", {}), **state.settings().scope}
    with opening.journal_of(state.settings(), read_only=False) as journal:
        engine = ContextEngine(sources, journal=journal, timeout_seconds=_TIMEOUT_SECONDS, **settings)
        context = engine.build(request, **asked)
        trace = journal.traces(1)[0].id if journal is not None and journal.flush() else None
    number = st.session_state["asked"] = st.session_state.get("asked", 0) + 1
    if trace is None:
        trace = f"asked-{number}"
        state.add(trace, context)
    state.choose(trace)
    st.switch_page("views/explain.py", query_params={"trace": trace})
