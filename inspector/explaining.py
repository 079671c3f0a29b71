"""The parts of the Explain page: one candidate, duplicates, the text, exports."""

from __future__ import annotations

import json
from typing import Literal

import pandas as pd
import streamlit as st

from inspector import cards, controls, exports, state
from inspector.charts import score_chart
from inspector.palette import badge_colour, fate_of
from inspector.state import Opened
from inspector.tables import label_of, near_misses, option_of, signal_table
from inspector.texts import Group, Piece, cut_lines, duplicate_groups, mark_difference, pieces, token_view
from langchain_context_engine.answering.explain import Row
from langchain_context_engine.answering.whatif import what_would_it_take
from langchain_context_engine.values.types import Verdict

__all__ = ["candidate", "duplicates", "export", "missed", "not_offered", "text"]

VIEWS = ("By passage", "As given", "Token by token")
"""How the final text can be drawn."""

_FOLDED = 320
"""Height in pixels of a folded text."""


def candidate(opened: Opened, found: dict[str, Row], names: list[str], colours: dict[str, str]) -> None:
    """Draw the candidate that is looked at: its fate, score, text, and what would admit it."""
    state.seed("candidate", names[0], found.__contains__)
    if st.session_state.get("candidate") not in found:
        st.session_state["candidate"] = names[0]
    walk(names)
    name = st.selectbox(
        "Candidate",
        names,
        format_func=lambda option: label_of(found[option]) if option in found else option,
        key="candidate",
        persist_state="session",
        label_visibility="collapsed",
    )
    state.publish("candidate", name)
    row = found[name]
    fate = fate_of(row.verdict, row.reason)
    st.badge(fate, color=badge_colour(fate))
    if row.title:
        st.text(row.title)
    st.text(f"{row.citation} {option_of(row.key)}".strip())
    st.text(row.sentence[:1].upper() + row.sentence[1:] + ".")
    if row.contributions:
        st.altair_chart(
            score_chart(row.contributions, colours), alt=f"Score {row.score or 0:.3f}, made of its signals."
        )
    with st.expander("Signals, weights and what they add"):
        st.dataframe(pd.DataFrame(signal_table(row)), hide_index=True, placeholder="–")
    kept = next((p for p in opened.context.passages if p.key == row.key), None)
    if kept is not None and kept.is_truncated:
        st.caption("Kept lines begin with +, cut ones with −.")
        st.code(cut_lines(kept), language="diff", wrap_lines=True, height=_FOLDED)
    else:
        st.code(row.text or "(no text)", language=None, wrap_lines=True, height=_height(row.text))
    metadata(opened, row)
    if row.verdict is Verdict.DROPPED:
        wanted(opened, row)


def _height(text: str) -> int | Literal["content"]:
    return _FOLDED if len(text) > 700 or text.count("\n") > 12 else "content"  # noqa: PLR2004


def walk(names: list[str]) -> None:
    """Draw the buttons that walk through the candidates, J down and K up."""
    with st.container(horizontal=True):
        st.button("Next", key="next", shortcut="J", on_click=step, args=(names, 1))
        st.button("Previous", key="previous", shortcut="K", on_click=step, args=(names, -1))


def step(names: list[str], by: int) -> None:
    """Look at the candidate so many places on."""
    at = names.index(st.session_state["candidate"])
    st.session_state["candidate"] = names[max(0, min(len(names) - 1, at + by))]


def metadata(opened: Opened, row: Row) -> None:
    """Draw a record's own metadata, each value as it is."""
    record = next((c for c in opened.context.candidates if c.key == row.key), None)
    if record is None:
        return
    facts = {"kind": record.kind, "created": record.created_at, "offered by": ", ".join(record.provenance)}
    values = {**facts, **record.metadata}
    with st.expander("Metadata"):
        # As text: one column of mixed types is more than a table can hold.
        st.dataframe(
            pd.DataFrame({"field": list(values), "value": [str(v) for v in values.values()]}), hide_index=True
        )


def wanted(opened: Opened, row: Row) -> None:
    """Draw what would admit a candidate that was left out, each change proved by a replay."""
    st.subheader("What would it take?")
    key = ("whatif", opened.name, row.key)
    if not st.button("Find the smallest change that admits it", key=f"whatif-{option_of(row.key)}") and (
        key not in st.session_state.get("remembered", {})
    ):
        return
    with cards.guard("Try the Tune page."), st.spinner("Replaying under other settings…"):
        changes = state.remember(key, lambda: what_would_it_take(opened.context, row.key))
        if not changes:
            st.text("No single change of a weight, the budget or a threshold admits it.")
        for number, change in enumerate(changes):
            with st.container(border=True, horizontal=True, vertical_alignment="center"):
                st.text(change.sentence)
                if st.button("See it in Tune", key=f"take-{number}"):
                    controls.open_in_tune(opened.name, opened.context, change.settings)
        if changes:
            st.caption("Each alone is enough, and was proved by a replay of this trace.")


def not_offered(opened: Opened) -> None:
    """Say why something that was searched is not among the candidates at all."""
    request = opened.context.request
    st.text("No candidate of this question is like that: no source offered it.")
    narrowing = {
        "limit": request.limit,
        "scope": dict(request.scope) or None,
        "where": dict(request.where) or None,
        "kinds": request.kinds,
        "sources": request.sources,
        "since": request.since,
        "until": request.until,
        "min_confidence": request.min_confidence,
    }
    told = {name: str(value) for name, value in narrowing.items() if value is not None}
    st.caption("What narrowed the question. Widening one of these needs a new question.")
    st.dataframe(pd.DataFrame({"field": list(told), "value": list(told.values())}), hide_index=True)


def duplicates(opened: Opened) -> None:
    """Draw each survivor with the texts it stands for, side by side."""
    groups = duplicate_groups(opened.context)
    threshold = opened.context.settings.get("dedupe_threshold")
    alike = "only equal texts are" if threshold is None else f"texts at least {threshold:g} % alike are"
    st.caption(f"Of repeated texts the best ranked stays; {alike} one.")
    if not groups:
        st.text("No candidate repeats another.")
    for number, group in enumerate(groups, start=1):
        with st.expander(f"Group {number}: {len(group.duplicates) + 1} texts", expanded=number <= 3):  # noqa: PLR2004
            side_by_side(group)


def side_by_side(group: Group) -> None:
    """Draw a survivor beside its duplicates; words that the other lacks stand in brackets."""
    for duplicate in group.duplicates:
        kept, dropped = mark_difference(group.text, duplicate.text)
        left, right = st.columns(2)
        fate = f"Kept: {group.citation}" if group.is_kept else "Ranked better, but left out too:"
        left.text(f"{fate} {option_of(group.key)}")
        left.code(kept, language=None, wrap_lines=True)
        how = f"{duplicate.similarity:.0f} % alike" if duplicate.similarity is not None else duplicate.rule
        right.text(f"Dropped: {option_of(duplicate.key)}" + (f" · {how}" if how else ""))
        right.code(dropped, language=None, wrap_lines=True)


def text(opened: Opened) -> None:
    """Draw the final text: its passages beside what leads to their candidates, as one, or token by token."""
    context = opened.context
    shown = st.segmented_control("View", VIEWS, default=VIEWS[0], required=True, key="textview")
    if shown == VIEWS[0] and context.text:
        for number, piece in enumerate(pieces(context)):
            passage(number, piece)
        st.caption(f"{context.tokens:,} of {context.budget:,} tokens. A number leads to its candidate.")
    elif shown == VIEWS[2]:
        with cards.guard("The text is shown as given instead."):
            st.code(token_view(context), language=None, wrap_lines=True)
            st.caption(f"{context.tokens:,} tokens; a bar stands at each beginning.")
    else:
        st.code(context.text or "(empty)", language=None, wrap_lines=True)
        st.caption(f"{context.tokens:,} of {context.budget:,} tokens.")


def passage(number: int, piece: Piece) -> None:
    """Draw a piece of the text, beside the button that leads to where it comes from."""
    if not piece.text.strip():
        return
    left, right = st.columns([1, 11])
    if piece.key is not None:
        left.button(
            controls.plain(piece.citation or "source"),
            key=f"cite-{number}",
            on_click=look_at,
            args=(option_of(piece.key),),
            help=controls.plain(option_of(piece.key)),
            width="stretch",
        )
    right.code(piece.text.strip("\n"), language=None, wrap_lines=True)


def look_at(name: str) -> None:
    """Go to a candidate's explanation."""
    st.session_state["candidate"] = name
    st.session_state["section"] = "Candidates"


def export(opened: Opened, rows: list[Row]) -> None:
    """Draw what can be taken away."""
    context = opened.context
    table = exports.rows_for_export(rows)
    st.text("The whole trace, its table, or an account to paste into an issue.")
    with st.container(horizontal=True):
        st.download_button("Candidates as CSV", lambda: exports.as_csv(table), "candidates.csv", "text/csv")
        st.download_button(
            "Trace as JSON",
            lambda: json.dumps(context.to_dict(), ensure_ascii=False).encode(),
            "trace.json",
            "application/json",
        )
        st.download_button(
            "Account as Markdown",
            lambda: exports.as_markdown(context, rows).encode(),
            "context.md",
            "text/markdown",
        )
    st.text("For a bug report: every figure and fate, without a text, a name or a value of your records.")
    st.download_button(
        "Redacted bundle",
        lambda: exports.redacted_bundle(context, rows),
        "redacted.json",
        "application/json",
    )


def missed(rows: list[Row]) -> None:
    """Draw the best ranked candidates that only lacked room."""
    misses = near_misses(rows)
    if misses:
        st.subheader("Nearest to getting in")
    for row in misses:
        st.text(f"{label_of(row)} — {row.sentence}")
