"""Collections: what the sources are like, what is doubtful about them; and asking a new question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from inspector import asking, cards, grid, state, wording
from inspector.figures.offered import offered_table
from langchain_context_engine import ConfigError
from langchain_context_engine.filters import parse_scope
from langchain_context_engine.search.stores import Sheet, doubts, is_server, sheets

MOST_TOKENS = 100_000
OFFERED: list[grid.Column] = [
    {"name": "source", "label": "Source", "width": 180},
    {"name": "candidates", "label": "Candidates", "kind": "number", "width": 90},
    {"name": "kinds", "label": "Kinds", "width": 150},
    {"name": "dated", "label": "Dated", "kind": "share", "width": 130},
    {"name": "searched", "label": "Searched", "width": 250},
    {"name": "keys", "label": "Metadata keys"},
]
SHEETS: list[grid.Column] = [
    {"name": "collection", "label": "Collection", "width": 180},
    {"name": "records", "label": "Records", "kind": "number", "width": 80},
    {"name": "unindexed", "label": "Not indexed yet", "kind": "number", "width": 112},
    {"name": "dimension", "label": "Dimension", "kind": "number", "width": 84},
    {"name": "metric", "label": "Metric", "width": 70},
    {"name": "embedder", "label": "Embedded by", "width": 180},
    {"name": "index", "label": "Index of words", "width": 300},
    {"name": "keys", "label": "Metadata keys"},
]


def show() -> None:
    """Draw the page."""
    cards.heading("Collections")
    opened = state.current()
    if opened is not None:
        st.subheader("What the sources of this trace offered")
        grid.draw(
            "offered", OFFERED, [_offered(row) for row in offered_table([opened.context])],
            label="What each source of this trace offered.", height=260,
        )  # fmt: skip
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
    found = sheets(client)
    if not found:
        st.text("The store holds no collection.")
        return
    grid.draw(
        "sheets",
        SHEETS,
        [_sheet(sheet) for sheet in found],
        label="What each collection is like.",
        height=300,
    )
    told = doubts(found)
    if not is_server(place):
        told.append(
            "This is a copy of the folder as it was when it was opened. Press Open again for what was "
            "written since."
        )
    for doubt in told:
        st.text(f"! {doubt}")
    ask(client, [str(sheet["collection"]) for sheet in found if sheet["records"]])


def _offered(row: Mapping[str, Any]) -> grid.GridRow:
    dated = float(row["dated"])
    told = {"candidates": wording.number(row["candidates"]), "dated": (dated, wording.share(dated))}
    return {"id": row["source"], "cells": {**row, **told, "keys": row["metadata keys"]}}


def _sheet(sheet: Sheet) -> grid.GridRow:
    numbers = {name: wording.number(sheet[name]) for name in ("records", "unindexed", "dimension")}
    return {"id": sheet["collection"], "cells": {**sheet, **numbers, "keys": sheet["metadata keys"]}}


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
                scope=parse_scope(scope or ""),
            )


show()
