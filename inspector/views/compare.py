"""Compare: two or more traces, or settings tried on one, candidate by candidate."""

from __future__ import annotations

from typing import Literal

import streamlit as st

from inspector import cards, opening, state, wording
from inspector import knobs as tuning
from inspector.comparing import changed, settings_table, told_moves
from inspector.state import Opened
from inspector.views.tune import save, side_by_side, tries_of
from inspector.wording import one_line
from langchain_context_engine import ConfigError, Context, diff
from langchain_context_engine.trace.diff import Diff
from langchain_context_engine.trace.explain import Row

MOST = 6
LATEST = 300
TRY = "try-"
PAIR = 2
MOST_LINES = 24


def show() -> None:
    """Draw the page."""
    head = st.container()
    kept = sides()
    labels = offered(kept)
    if "compare" not in st.session_state:
        st.session_state["compare"] = [name for name in kept if name in labels][:MOST]
    chosen = st.multiselect(
        "Traces and tries", list(labels), format_func=lambda name: labels.get(name, name),
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
            contexts[letter], columns[letter] = load(name)
    with head:
        questions = {context.request.query for context in contexts.values()}
        cards.heading(f"Compare: {questions.pop()}" if len(questions) == 1 else "Compare")
    if len(contexts) < len(names):
        return
    key(names, labels, contexts, columns)
    cards.part(side_by_side, columns, contexts)
    settings = settings_table(contexts)
    if settings:
        st.subheader("Settings that differ")
        cards.table(settings)
    else:
        st.text("Settings that differ: none. The same question under the same settings.")
    texts(names, contexts)
    save(columns, contexts)


def sides() -> list[str]:
    """Return the names of what is compared, the first being what the others are held against.

    The address wins; then what is ticked on the Traces page, where the trace that is looked at is among it or
    there is none; else that beside what is nearest to it.
    """
    session = st.session_state
    asked = [n for n in st.query_params.get_all("compare") if opening.is_trace_name(n.partition("~")[0])]
    if asked or "compare" in session:
        return list(dict.fromkeys((*asked, *session.get("compare", ()))))
    current, before = session.get("trace"), list(session.get("compared", ()))
    ticked = list(session.get("ticked", ()))[:MOST]
    if current is None or current in ticked:
        return ticked
    with cards.kept_guard():
        nearest = near(current)
        wanted = [current, *([nearest] if nearest else [])]
        # What was added to it on the page stays.
        return before if set(wanted) <= set(before) else wanted
    return [current]


def near(trace: str) -> str | None:
    """Return what is nearest to a trace: its last try, else the newest other answer to its question.

    The knobs themselves are looked at, since a page that is left at once may not have noted its last turn.
    """
    context, session = state.open_named(trace), st.session_state
    if session.get("knobs-of") == trace:
        recorded = tuning.recorded(context)
        standing = {name: session.get(name, value) for name, value in recorded.items()}
        if standing != recorded:
            return try_name(trace, standing)
    if tries := tries_of(trace):
        return try_name(trace, tries[-1].knobs)
    with opening.journal_of(state.settings()) as journal:
        same = [row.id for row in journal.traces(2, query=context.request.query)] if journal else []
    return next(
        (name for name in (*same, st.session_state.get("looked-before")) if name not in {None, trace}), None
    )


def offered(kept: list[str]) -> dict[str, str]:
    """Return what can be compared: name in the address → label, no two alike."""
    labels: dict[str, str] = {}
    for trace, tries in st.session_state.get("tries", {}).items():
        for one in tries:
            labels[try_name(trace, one.knobs)] = f"try {one.number}: {one.told} · {trace[:8]}"
    labels |= {name: name.replace("-", " ") for name in state.known_names()}
    with opening.journal_of(state.settings()) as journal:
        for row in journal.traces(LATEST) if journal is not None else ():
            asked = wording.time(row.time, cards.zone())
            labels[row.id] = f"{asked} · {one_line(row.query, 70)} · {row.id[:8]}"
    # A trace of any age by its address, whether it is among the latest or not.
    for name in filter(None, (*kept, st.session_state.get("trace"))):
        trace, *turned = name.removeprefix(TRY).split("~")
        labels.setdefault(name, " · ".join(filter(None, (", ".join(turned), trace[:12]))))
    return labels


def try_name(trace: str, knobs: tuning.Knobs) -> str:
    """Return how a try is named in the address: its trace and the knobs that were turned."""
    recorded = tuning.recorded(state.open_named(trace))
    turned = [f"{knob}={value}" for knob, value in knobs.items() if value != recorded.get(knob)]
    return "~".join((f"{TRY}{trace}", *turned))


def load(name: str) -> tuple[Context, list[Row]]:
    """Return a context of `offered`, with its rows.

    Raises:
        ConfigError: There is no such trace, or a try in the address is none.
    """
    trace, *turned = name.removeprefix(TRY).split("~")
    opened = Opened(trace, state.open_named(trace))
    if not name.startswith(TRY):
        return opened.context, state.rows_of(opened)
    recorded = tuning.recorded(opened.context)
    knobs = dict(recorded)
    for part in turned:
        knob, _, text = part.partition("=")
        try:
            knobs[knob] = type(recorded[knob])(text)
        except (KeyError, ValueError) as error:
            raise ConfigError(f"the address has a try with {part!r:.80}, which is no setting") from error
    return state.replayed(opened, tuning.changes(opened.context, knobs))


def against(names: dict[str, str], contexts: dict[str, Context], letter: str) -> Diff:
    """Return the difference from the first context to another, worked out once."""
    found = ("diff", names["A"], names[letter])
    return state.remember(found, lambda: diff(contexts["A"], contexts[letter]))


def key(
    names: dict[str, str], labels: dict[str, str], contexts: dict[str, Context], columns: dict[str, list[Row]]
) -> None:
    """Draw which letter is which with the figures of each, and in words what the others have otherwise."""
    first, table = contexts["A"], []
    is_one = len({context.request.query for context in contexts.values()}) == 1
    for letter, context in contexts.items():
        difference = against(names, contexts, letter)
        row = {"": letter, "What": labels[names[letter]]}
        if not is_one:
            row["Question"] = one_line(context.request.query, 80)
        row["Changed from A"] = "" if context is first else changed(first, context) or "nothing"
        row["Tokens"] = f"{context.tokens:,} of {context.budget:,}"
        row["Passages"] = str(len(context.passages))
        row["Shared with A"] = wording.share(difference.overlap)
        table.append(row)
    cards.table(table)
    for letter in list(names)[1:]:
        told = told_moves(against(names, contexts, letter), [*columns[letter], *columns["A"]])
        st.text(f"From A to {letter}: {told}")


def texts(names: dict[str, str], contexts: dict[str, Context]) -> None:
    """Draw the difference of the texts, each against the first."""
    st.subheader("Texts")
    for letter in list(names)[1:]:
        # Without its first two lines, which name files that there are not.
        lines = against(names, contexts, letter).lines[2:]
        shown = "\n".join(lines) or "The texts are equal."
        with st.expander(f"A against {letter}", expanded=len(names) == PAIR):
            height: int | Literal["content"] = 520 if len(lines) > MOST_LINES else "content"
            st.code(shown, language="diff", wrap_lines=True, height=height)
