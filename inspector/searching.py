"""What was not offered, found by a search of the open store, to be graded too."""

from __future__ import annotations

from html import escape

import streamlit as st

from inspector import cards, grading, marking, state
from inspector.figures.fates import known_by
from inspector.figures.settings import scope_within
from inspector.judging import GRADES
from inspector.state import Opened
from inspector.tables import option_of
from langchain_context_engine import ChromaSource, ContextEngine, LocalEmbeddings
from langchain_context_engine.models.types import Candidate, Ranked
from langchain_context_engine.search.stores import sheets
from langchain_context_engine.text.words import query_terms

__all__ = ["missing"]

_MOST = 8
_LONGEST = 400


def missing(opened: Opened) -> None:
    """Draw the search for records that should have been offered, and the buttons that grade them."""
    box = st.expander("Grade what was not offered", key="not-offered", on_change="rerun")
    with box:
        if not box.open:
            return
        place = st.session_state.get("open-store")
        if not place:
            st.text("Open the store first: the Collections page opens a folder or a server.")
            return
        words = st.text_input("Search the store", key="store-search", placeholder="words of the record")
        if not words:
            return
        with cards.guard("Open the store again on the Collections page."):
            offered = {candidate.key for candidate in opened.context.candidates}
            found = [item.candidate for item in _found(opened, place, words) if item.key not in offered]
            if not found:
                st.text("Nothing like it that was not offered.")
            for candidate in found[:_MOST]:
                _one(opened, candidate)


def _found(opened: Opened, place: str, words: str) -> tuple[Ranked, ...]:
    # Within the question's scope, and the inspector's: what may not be seen there is not shown here either.
    scope = scope_within(opened.context.request.scope, state.settings().scope)

    def search() -> tuple[Ranked, ...]:
        client = state.client(place)
        embeddings = LocalEmbeddings()
        names = [str(sheet["collection"]) for sheet in sheets(client) if sheet["records"]]
        sources = [
            ChromaSource(client.get_collection(name, embedding_function=None), embeddings=embeddings)
            for name in names
        ]
        return ContextEngine(sources, timeout_seconds=20).search(words, scope=scope, k=30)

    return state.remember(("store-search", place, words, repr(scope)), search)


def _one(opened: Opened, candidate: Candidate) -> None:
    query = opened.context.request.query
    grade = grading.own_grades(query).get(candidate.key)

    def press(value: int) -> None:
        with cards.kept_guard(grading.UNSAVED):
            grading.give(query, candidate.key, value)

    place = known_by(candidate)
    cut = len(candidate.text) > _LONGEST
    told = f" · the first {_LONGEST} of {len(candidate.text):,} characters" if cut else ""
    st.html(
        f'<div class="ce-panel"><p class="ce-where">{escape(place)} · {escape(candidate.source)}'
        f"{f' · {GRADES[grade]}' if grade is not None else ''}{told}</p></div>"
        + marking.box(marking.asked(candidate.text[:_LONGEST], query_terms(query)), height=110)
    )
    with st.container(horizontal=True, gap="small"):
        for value, name in GRADES.items():
            st.button(
                name, key=f"not-offered-{value}-{option_of(candidate.key)}", on_click=press, args=(value,)
            )
