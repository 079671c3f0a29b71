"""Compare: two or more traces, or settings tried on one, candidate by candidate."""

from __future__ import annotations

from typing import Any

import streamlit as st

from inspector import cards, grid, opening, state, wording
from inspector.choosing import whether
from inspector.comparing import aligned, aligned_columns, settings_table, told
from inspector.state import Opened
from inspector.tables import one_line
from langchain_context_engine import ConfigError, Context, diff
from langchain_context_engine.answering import knobs as tuning
from langchain_context_engine.answering.deviations import deviations
from langchain_context_engine.answering.explain import Row, rows
from langchain_context_engine.answering.traces import ranking

MOST = 6
LATEST = 50
TRY = "try-"
QUESTION: grid.Column = {"name": "question", "label": "Question", "width": 240}


def show() -> None:
    """Draw the page."""
    cards.heading("Compare")
    asked = [
        name for name in state.take_from_address("compare") if opening.is_trace_name(name.partition("~")[0])
    ]
    current = st.session_state.get("trace")
    before = st.session_state.get("compared", [current] if current else [])
    kept = asked or st.session_state.get("compare") or before
    # A trace of any age by its address, whether it is among the latest or not.
    labels = offered(kept)
    st.session_state["compare"] = [name for name in kept if name in labels][:MOST]
    chosen = st.multiselect(
        "Traces and tries",
        list(labels),
        format_func=lambda name: labels.get(name, name),
        max_selections=MOST,
        select_all=False,
        key="compare",
        placeholder="choose two or more",
    )
    st.session_state["compared"] = chosen
    state.write_to_address("compare", chosen)
    if len(chosen) < 2:  # noqa: PLR2004
        st.text("Choose two or more: tick them on the Traces page, or choose them here.")
        return
    contexts: dict[str, Context] = {}
    columns: dict[str, list[Row]] = {}
    for number, name in enumerate(chosen):
        letter = "ABCDEF"[number]
        contexts[letter], columns[letter] = load(name)
    key(chosen, labels, contexts)
    tables(contexts, columns)
    texts(contexts)


def offered(kept: list[str]) -> dict[str, str]:
    """Return what can be compared: name in the address → label, no two alike."""
    told: dict[str, tuple[str, ...]] = {}
    for trace, tries in st.session_state.get("tries", {}).items():
        for one in tries[1:]:
            told[try_name(trace, one.knobs, one.number)] = (f"try {one.number}: {one.told}", trace)
    for name in state.known_names():
        told[name] = (name.replace("-", " "),)
    with opening.journal_of(state.settings()) as journal:
        for row in journal.traces(LATEST) if journal is not None else ():
            told[row.id] = (
                f"{wording.time(row.time, cards.zone())} · {one_line(row.query, 70)}",
                f"{row.kept} passages, {row.tokens:,} of {row.budget:,} tokens",
                row.id[:8],
            )
    current = st.session_state.get("trace")
    for name in [*kept, *([current] if current else [])]:
        if name not in told:
            told[name] = named(name)
    return wording.unique_labels(told)


def named(name: str) -> tuple[str, ...]:
    """Return what can be said of a trace or a try that an address names."""
    if name.startswith(TRY):
        return (f"try: {name.partition('~')[2].replace('~', ', ')}", name)
    with cards.kept_guard():
        context = state.open_named(name)
        own = ", ".join(f"{setting} {value}" for setting, value in deviations(context).items())
        return (one_line(context.request.query, 70) or name, one_line(own, 60), name[:8])
    return (name,)


def try_name(trace: str, knobs: tuning.Knobs, number: int) -> str:
    """Return how a try is named in the address: its trace and the knobs that were turned."""
    recorded = tuning.recorded(state.open_named(trace))
    turned = [f"{knob}={value}" for knob, value in knobs.items() if value != recorded.get(knob)]
    return "~".join((f"{TRY}{trace}", *turned)) if turned else f"{TRY}{trace}~number={number}"


def load(name: str) -> tuple[Context, list[Row]]:
    """Return a context of `offered`, with its rows.

    Raises:
        ConfigError: There is no such trace, or a try in the address is none.
    """
    if not name.startswith(TRY):
        opened = Opened(name, state.open_named(name))
        return opened.context, state.rows_of(opened)
    trace, *turned = name.removeprefix(TRY).split("~")
    opened = Opened(trace, state.open_named(trace))
    recorded = tuning.recorded(opened.context)
    knobs = {**recorded, **dict(_knob(part, recorded) for part in turned if not part.startswith("number="))}
    context, _ = state.replayed(opened, tuning.changes(opened.context, knobs))
    return context, state.remember(("rows", name), lambda: rows(context, ranking(context)))


def _knob(part: str, recorded: tuning.Knobs) -> tuple[str, Any]:
    name, _, text = part.partition("=")
    try:
        return name, type(recorded[name])(text)
    except (KeyError, ValueError) as error:
        raise ConfigError(f"the address names a try with {part!r:.80}, which is no setting") from error


def key(chosen: list[str], labels: dict[str, str], contexts: dict[str, Context]) -> None:
    """Draw which letter is which, with the figures of each."""
    first = next(iter(contexts.values()))
    named = list(zip(chosen, contexts.values(), strict=True))
    table: list[grid.GridRow] = [
        {
            "id": letter,
            "cells": {
                "letter": letter,
                "what": labels[name],
                "question": one_line(context.request.query, 80),
                "tokens": f"{context.tokens:,} of {context.budget:,}",
                "passages": str(len(context.passages)),
                "shared": wording.share(diff(first, context).overlap),
                "against": "" if context is first else told(diff(first, context)),
            },
        }
        for (letter, context), name in zip(contexts.items(), chosen, strict=True)
    ]
    # A label that holds its question says it already.
    is_told = all(one_line(c.request.query, 20).rstrip("…") in labels[n] for n, c in named)
    columns: list[grid.Column] = [
        {"name": "letter", "label": "", "width": 28},
        {"name": "what", "label": "What"},
        *([] if is_told else [QUESTION]),
        {"name": "tokens", "label": "Tokens", "kind": "number", "width": 110},
        {"name": "passages", "label": "Passages", "kind": "number", "width": 72},
        {"name": "shared", "label": "Shared with A", "kind": "number", "width": 104},
        {"name": "against", "label": "Against A", "width": 230},
    ]
    grid.draw("letters", columns, table, label="Which letter is which.", height=220)


def tables(contexts: dict[str, Context], columns: dict[str, list[Row]]) -> None:
    """Draw the candidates aligned, and the settings that differ."""
    only = whether("onlydiff", "Only those treated differently")
    table = aligned(columns, contexts, only=only)
    if table:
        grid.draw(
            "aligned", aligned_columns(list(contexts)), table,
            label="Every candidate with its fate, place and score in each context.", height=420,
        )  # fmt: skip
    else:
        st.text("Every candidate is treated alike.")
    settings = settings_table(contexts)
    if settings:
        st.subheader("Settings that differ")
        names: list[grid.Column] = [{"name": "setting", "label": "Setting", "width": 200}]
        names += [{"name": name, "label": name} for name in contexts]
        grid.draw(
            "settings", names, [{"id": row["setting"], "cells": row} for row in settings],
            label="Settings that differ.", height=260,
        )  # fmt: skip
    else:
        st.text("Settings that differ: none. The same question under the same settings.")


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
