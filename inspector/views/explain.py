"""Explain: why this context is as it is, and why a given candidate is not in it."""

from __future__ import annotations

from html import escape

import streamlit as st

from inspector import cards, explaining, grid, marking, sections, state
from inspector.choosing import one_of
from inspector.figures.fates import SHOWN, meant_by, rows_like
from inspector.figures.settings_diff import narrowing
from inspector.palette import colours_of
from inspector.state import Opened
from inspector.tables import option_of, options, places, ranked_columns, ranked_rows
from langchain_context_engine.text.words import query_terms
from langchain_context_engine.trace.explain import Row

SECTIONS = ("Candidates", "Budget", "Duplicates", "Text", "Export")
LONGEST_SEARCH = 200
MISSING = "Why is X missing?"
# What is said where no candidate is of a kind.
NONE_SHOWN = {
    "In the context": "No candidate is in the context. “Left out” says why of each.",
    "Near misses": "No candidate lacked room alone. “Left out” says what each lacked.",
    "Left out": "Every candidate is in the context.",
}


def show() -> None:
    """Draw the page."""
    opened = cards.needs_trace("Explain")
    if opened is None:
        return
    rows = state.rows_of(opened)
    if why := state.unranked(opened):
        # Of the trace's own text: drawn as it is.
        st.text(f"Scores of what was left out are not known here, and Tune cannot replay it: {why}.")
    cards.part(body, opened, rows)


def body(opened: Opened, rows: list[Row]) -> None:
    """Draw the sections' names and the section that is looked at; a choice in it draws this alone again."""
    left, middle, right = st.columns([36, 34, 30], vertical_alignment="center")
    with left:
        section = one_of("section", SECTIONS, "Section")
    if section == "Candidates" and not rows:
        nothing(opened)
    elif section == "Candidates":
        with middle:
            one_of("shown", SHOWN, "Show")
        with right:
            search(opened, rows)
        candidates(opened, rows)
    elif section == "Budget":
        sections.budget(opened, rows)
    elif section == "Duplicates":
        sections.duplicates(opened)
    elif section == "Text":
        sections.text(opened)
    else:
        sections.export(opened, rows)


def search(opened: Opened, rows: list[Row]) -> None:
    """Draw where one asks why something is missing."""
    where = places(opened.context.candidates)

    def look() -> None:
        row = meant_by(rows, st.session_state["find"] or "", where)
        if row is not None:
            st.session_state["candidate"] = option_of(row.key)

    state.seed("find", "", lambda text: len(text) <= LONGEST_SEARCH)
    st.text_input(
        MISSING,
        key="find",
        max_chars=LONGEST_SEARCH,
        placeholder=f"{MISSING} Its words, place or source",
        live="300ms",
        on_change=look,
        label_visibility="collapsed",
    )
    state.publish("find", st.session_state["find"], "")


def candidates(opened: Opened, rows: list[Row]) -> None:
    """Draw the ranked table beside the candidate that is looked at."""
    where = places(opened.context.candidates)
    shown = rows_like(rows, st.session_state["shown"], st.session_state["find"] or "", where)
    if not shown:
        # Nothing like it: no table, and no panel that would speak of something else.
        if (st.session_state["find"] or "").strip():
            explaining.not_offered(opened.context)
        else:
            st.text(NONE_SHOWN[st.session_state["shown"]])
        return
    found = options(shown)
    names = list(found)
    state.seed("candidate", names[0], found.__contains__)
    if st.session_state["candidate"] not in found:
        st.session_state["candidate"] = names[0]
    name = st.session_state["candidate"]
    state.publish("candidate", name, names[0])
    left, right = st.columns([64, 36], gap="small")
    with left:
        ranked(opened, rows, shown, name)
    with right:
        explaining.candidate(opened, found[name])


def ranked(opened: Opened, rows: list[Row], shown: list[Row], name: str) -> None:
    """Draw the ranked table; a click, Enter, J and K choose a candidate."""
    colours = colours_of(signal for row in rows for signal in row.contributions)
    terms = query_terms(opened.context.request.query)

    def choose(option: str) -> None:
        st.session_state["candidate"] = option

    grid.draw(
        "ranked",
        ranked_columns(len(colours)),
        ranked_rows(opened.context, shown, colours, terms, everyone=rows),
        label="Every candidate, best first, with its fate, score and cost. J and K walk.",
        chosen=name,
        on_choose=choose,
        walks=True,
        below=26 if len(colours) > 1 else 0,
    )
    if len(colours) > 1:
        keys = "".join(
            f'<span><b style="background:{colour}"></b>{escape(signal)}</span>'
            for signal, colour in colours.items()
        )
        st.html(f'<div class="ce-keys">{keys}<span>J next, K previous</span></div>')


def nothing(opened: Opened) -> None:
    """Say that nothing was offered, and at once what narrowed the question."""
    if str(opened.context.status) == "failed":
        st.text("Every source failed, so there is no answer. The warnings above say how.")
        return
    st.text("No source offered a candidate for this question.")
    told = narrowing(opened.context)
    if told:
        st.caption("What narrowed the question:")
        st.html(marking.pairs(told))
    else:
        st.caption("Nothing narrowed it: no scope, filter, date or threshold.")


show()
