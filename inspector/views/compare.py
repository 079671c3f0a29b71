"""Compare: two or more traces, or settings tried on one, candidate by candidate."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from inspector import cards, opening, state
from inspector.comparing import aligned, settings_table, told
from inspector.state import Opened
from inspector.tables import one_line
from langchain_context_engine import Context, diff
from langchain_context_engine.answering.explain import Row, rows
from langchain_context_engine.answering.traces import ranking

MOST = 6
LATEST = 50


def show() -> None:
    """Draw the page."""
    st.title("Compare")
    names = offered()
    labels = {name: label for name, (label, _) in names.items()}
    current = st.session_state.get("trace")
    asked = state.take_from_address("compare", names)[:MOST]
    kept = [name for name in st.session_state.get("compared", [current]) if name in names]
    st.session_state["compare"] = asked or st.session_state.get("compare", kept)
    chosen = st.multiselect(
        "Traces and tries",
        list(names),
        format_func=lambda name: labels.get(name, name),
        max_selections=MOST,
        select_all=False,
        key="compare",
        placeholder="choose two or more",
    )
    st.session_state["compared"] = chosen
    state.write_to_address("compare", chosen)
    if len(chosen) < 2:  # noqa: PLR2004
        st.text(
            "Choose two or more: recorded questions, samples, or settings that you tried on the Tune page."
        )
        return
    contexts: dict[str, Context] = {}
    columns: dict[str, list[Row]] = {}
    for number, name in enumerate(chosen):
        column = "ABCDEF"[number]
        contexts[column], columns[column] = load(name)
    key(chosen, labels, contexts)
    tables(contexts, columns)
    texts(contexts)


def offered() -> dict[str, tuple[str, Context | None]]:
    """Return what can be compared: name in the address → label, and the context of a try."""
    found: dict[str, tuple[str, Context | None]] = {}
    for trace, tries in st.session_state.get("tries", {}).items():
        for number, one in enumerate(tries[1:], start=1):
            found[f"try-{trace}-{number}"] = (f"try {number}: {one.told}", one.context)
    for name in state.known_names():
        found[name] = (name.replace("-", " "), None)
    with opening.journal_of(state.settings()) as journal:
        for trace in journal.traces(LATEST) if journal is not None else ():
            found[trace.id] = (f"{trace.time:%d %b %H:%M} · {one_line(trace.query, 70)}", None)
    current = st.session_state.get("trace")
    if current and current not in found and opening.is_trace_name(current):
        found[current] = (current, None)
    return found


def load(name: str) -> tuple[Context, list[Row]]:
    """Return a context of `offered`, with its rows."""
    context = offered()[name][1]
    if context is not None:
        return context, state.remember(
            ("rows", name, context.tokens), lambda: rows(context, ranking(context))
        )
    opened = Opened(name, state.open_named(name))
    return opened.context, state.rows_of(opened)


def key(chosen: list[str], labels: dict[str, str], contexts: dict[str, Context]) -> None:
    """Draw which letter is which, with the figures of each."""
    first = next(iter(contexts.values()))
    table = [
        {
            "": letter,
            "what": labels[name],
            "question": one_line(context.request.query, 80),
            "tokens": context.tokens,
            "budget": context.budget,
            "passages": len(context.passages),
            "shared with A": diff(first, context).overlap,
            "against A": "" if context is first else told(diff(first, context)),
        }
        for (letter, context), name in zip(contexts.items(), chosen, strict=True)
    ]
    column = st.column_config
    st.dataframe(
        pd.DataFrame(table),
        hide_index=True,
        column_config={
            "": column.TextColumn("", width=34),
            "what": column.TextColumn("what", width=270),
            "question": column.TextColumn("question", width=250),
            "shared with A": column.ProgressColumn(
                "shared with A", format="percent", min_value=0, max_value=1, width=110
            ),
        },
    )


def tables(contexts: dict[str, Context], columns: dict[str, list[Row]]) -> None:
    """Draw the candidates aligned, and the settings that differ."""
    left, right = st.columns([68, 32], gap="medium")
    with left:
        st.subheader("Candidates")
        only = st.toggle("Only those treated differently", key="onlydiff", persist_state="session")
        table = [row for row in aligned(columns) if row["differs"] or not only]
        width = st.column_config.TextColumn("text", width=260)
        st.dataframe(
            pd.DataFrame(table),
            hide_index=True,
            height=cards.table_height(len(table), 560),
            column_order=["text", *contexts, "candidate"],
            column_config={"text": width},
            alt="Every candidate with its place, fate and score in each context.",
        )
    with right:
        st.subheader("Settings that differ")
        settings = settings_table(contexts)
        if settings:
            widths = {name: st.column_config.TextColumn(name, width=105) for name in contexts}
            st.dataframe(pd.DataFrame(settings), hide_index=True, column_config=widths)
        else:
            st.text("None: the same question under the same settings.")


def texts(contexts: dict[str, Context]) -> None:
    """Draw the difference of the texts, each against the first."""
    st.subheader("Texts")
    letters = list(contexts)
    for letter in letters[1:]:
        # Without its first two lines, which name files that there are not.
        lines = diff(contexts[letters[0]], contexts[letter]).lines[2:]
        with st.expander(f"A against {letter}", expanded=len(letters) == 2):  # noqa: PLR2004
            st.code("\n".join(lines) or "The texts are equal.", language="diff", wrap_lines=True)


show()
