"""Compare: two or more traces, candidate by candidate. What is tried on one, Tune compares."""

from __future__ import annotations

from functools import partial

import streamlit as st

from inspector import cards, opening, state, wording
from inspector.comparing import changed, told_moves
from inspector.state import Opened
from inspector.views.tune import PAIR, passages, save, side_by_side
from inspector.wording import one_line
from langchain_context_engine import Context, diff
from langchain_context_engine.trace.explain import Row

MOST = 6
LATEST = 300


def show() -> None:
    """Draw the page."""
    head = st.container()
    kept = sides()
    labels = offered(kept)
    if "compare" not in st.session_state:
        st.session_state["compare"] = [name for name in kept if name in labels][:MOST]
    chosen = st.multiselect(
        "Traces", list(labels), format_func=lambda name: labels.get(name, name),
        max_selections=MOST, select_all=False, key="compare", placeholder="choose two or more",
        label_visibility="collapsed",
    )  # fmt: skip
    st.session_state["compared"] = chosen
    if st.query_params.get_all("compare") != chosen:
        st.query_params["compare"] = chosen
    if len(chosen) < PAIR:
        with head:
            cards.heading("Compare")
        st.text("Choose two or more: tick them on the Traces page, or choose them here.")
        return
    contexts: dict[str, Context] = {}
    columns: dict[str, list[Row]] = {}
    names = dict(zip("ABCDEF", chosen, strict=False))
    with cards.guard("Choose others."):
        for letter, name in names.items():
            opened = Opened(name, state.open_named(name))
            contexts[letter], columns[letter] = opened.context, state.rows_of(opened)
    with head:
        questions = {context.request.query for context in contexts.values()}
        cards.heading(f"Compare: {questions.pop()}" if len(questions) == 1 else "Compare")
    if len(contexts) < len(names):
        return
    compared(names, labels, contexts, columns)


def sides() -> list[str]:
    """Return the names of what is compared, the first being what the others are held against.

    The address wins; then what is ticked on the Traces page, where the trace that is looked at is among it or
    there is none; else that beside the newest other answer to its question, or what was looked at before it.
    """
    session = st.session_state
    asked = [name for name in st.query_params.get_all("compare") if opening.is_trace_name(name)]
    if asked or "compare" in session:
        return list(dict.fromkeys((*asked, *session.get("compare", ()))))
    current, before = session.get("trace"), list(session.get("compared", ()))
    ticked = list(session.get("ticked", ()))[:MOST]
    if current is None or current in ticked:
        return opening.oldest_first(ticked, state.settings())
    same: list[str] = []
    with cards.kept_guard(), opening.journal_of(state.settings()) as journal:
        query = state.open_named(current).request.query
        same = [row.id for row in journal.traces(2, query=query)] if journal else []
    wanted = [
        current,
        *[name for name in (*same, session.get("looked-before")) if name not in {None, current}][:1],
    ]
    # What was added to it on the page stays.
    return before if current in before else wanted


def offered(kept: list[str]) -> dict[str, str]:
    """Return what can be compared: name in the address → label, no two alike."""
    labels = {name: name.replace("-", " ") for name in state.known_names()}
    # A trace of any age by its address, whether it is among the latest or not.
    wanted = [name for name in (*kept, st.session_state.get("trace")) if name]
    with opening.journal_of(state.settings()) as journal:
        rows = journal.traces(LATEST) if journal is not None else []
        latest = {row.id for row in rows}
        if journal is not None:
            rows += [row for name in wanted if name not in latest for row in journal.traces(1, id=name)]
    for row in rows:
        asked = wording.time(row.time, cards.zone())
        labels[row.id] = f"{asked} · {one_line(row.query, 70)} · {row.id[:8]}"
    return {name: name[:12] for name in wanted} | labels


def compared(
    names: dict[str, str], labels: dict[str, str], contexts: dict[str, Context], columns: dict[str, list[Row]]
) -> None:
    """Draw which letter is which, the figures of each, what the others have otherwise, and the texts."""
    first, table = contexts["A"], []
    is_one = len({context.request.query for context in contexts.values()}) == 1
    differences = {
        letter: state.remember(("diff", names["A"], name), partial(diff, first, contexts[letter]))
        for letter, name in names.items()
    }
    for letter, context in contexts.items():
        row = {"": letter, "What": labels[names[letter]]}
        if not is_one:
            row["Question"] = one_line(context.request.query, 80)
        row["Changed from A"] = "" if context is first else changed(first, context) or "nothing"
        row["Tokens"] = f"{context.tokens:,} of {context.budget:,}"
        row["Passages"] = str(len(context.passages))
        row["Shared with A"] = wording.share(differences[letter].overlap)
        table.append(row)
    cards.table(table)
    for letter in list(names)[1:]:
        st.text(f"From A to {letter}: {told_moves(differences[letter], [*columns[letter], *columns['A']])}")
    cards.part(side_by_side, columns, contexts, names)
    st.subheader("Passages")
    for letter in list(names)[1:]:
        with st.expander(f"A against {letter}", expanded=len(names) == PAIR):
            passages(first, contexts[letter], [*columns[letter], *columns["A"]])
    save(columns, contexts, names["A"])
