"""Tune: turn the weights and the budget, and see at once what would change. Recomputed by replay alone."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from inspector import cards, controls, grading, state, tuning
from inspector.comparing import CHANGE_COLOURS, moves, told
from inspector.judging import quality
from inspector.state import Opened
from inspector.trying import Try, added, try_table, undone
from langchain_context_engine import Context, diff
from langchain_context_engine.answering.explain import Row
from langchain_context_engine.answering.traces import REQUERY_SETTINGS, Diff

SHARED = st.column_config.ProgressColumn("shared", format="percent", min_value=0, max_value=1)


def show() -> None:
    """Draw the page."""
    opened = cards.needs_trace()
    if opened is not None:
        cards.question(opened.context)
        st.fragment(bench)(opened)


def bench(opened: Opened) -> None:
    """Draw the knobs and what they give; turning one draws this alone again."""
    recorded = tuning.recorded(opened.context)
    left, right = st.columns([28, 72], gap="large")
    with left:
        controls.draw(opened.context, recorded)
        st.caption(
            f"Not here, since they act while asking: {', '.join(sorted(REQUERY_SETTINGS))}, scope and "
            "filters. They need a new question (Collections page)."
        )
    with right, cards.guard("Turn the last knob back, or start from “As recorded”."):
        knobs = controls.turned(recorded)
        changed = tuning.changes(opened.context, knobs)
        context, rows = state.replayed(opened, changed)
        before = Opened(opened.name, state.replayed(opened, {})[0])
        difference = diff(before.context, context)
        remember(before, Try(knobs, changed, context, difference), recorded)
        if before.context.text != opened.context.text:
            st.caption(
                "Another version of the engine recorded this trace; before is what this version builds of it."
            )
        result(before, context, rows, difference)
        history(opened, recorded)
        copy(changed)


def remember(opened: Opened, one: Try, recorded: tuning.Knobs) -> None:
    """Add what is tried now to the history of this trace, which begins with what was recorded."""
    first = opened.context
    tries = tries_of(opened) or (Try(recorded, {}, first, diff(first, first)),)
    st.session_state["tries"][opened.name] = added(tries, one)


def tries_of(opened: Opened) -> tuple[Try, ...]:
    """Return what was tried on this trace in this session."""
    tries: tuple[Try, ...] = st.session_state.setdefault("tries", {}).get(opened.name, ())
    return tries


def result(opened: Opened, context: Context, rows: list[Row], difference: Diff) -> None:
    """Draw before and after: figures, ranks, texts."""
    before = state.replayed(opened, {})[1]
    figures(opened, context, rows, difference)
    st.text(told(difference))
    # Only what is looked at is drawn, so that a turned knob is answered at once.
    ranks, texts = st.tabs(
        ["Candidates, before and after", "Text, before and after"], key="view", on_change="rerun"
    )
    if ranks.open:
        with ranks:
            table(before, rows, difference)
    if texts.open:
        with texts:
            both_texts(opened.context, context, difference)


def both_texts(old: Context, new: Context, difference: Diff) -> None:
    """Draw the text before and after, and their difference."""
    for column, name, context in zip(st.columns(2), ("Before", "After"), (old, new), strict=True):
        column.caption(name)
        column.code(context.text or "(empty)", language=None, wrap_lines=True, height=420)
    if difference.lines:
        st.caption("The difference")
        st.code("\n".join(difference.lines[2:]), language="diff", wrap_lines=True)


def figures(opened: Opened, context: Context, rows: list[Row], difference: Diff) -> None:
    """Draw what changed as numbers."""
    old = opened.context
    grades = grading.grades_of(old.request.query)
    columns = st.columns(5, gap="small")
    columns[0].metric(
        "Tokens",
        f"{context.tokens:,}",
        difference.tokens or None,
        "off",
        border=True,
        height="stretch",
        help=f"Of a budget of {context.budget:,}.",
    )
    gained = len(context.passages) - len(old.passages)
    columns[1].metric("Passages", len(context.passages), gained or None, "off", border=True, height="stretch")
    columns[2].metric(
        "Shared", f"{difference.overlap:.0%}", border=True, height="stretch", help="Passages in both, of all."
    )
    columns[3].metric(
        "Prefix kept",
        f"{difference.kept_prefix:.0%}",
        border=True,
        height="stretch",
        help="Of the text: what a cache saves.",
    )
    if grades:
        was = quality(old, state.replayed(opened, {})[1], grades)
        now = quality(context, rows, grades)
        judged = f"{now.coverage:.0%} judged"
        columns[4].metric(
            "nDCG@10",
            f"{now.ndcg:.3f}",
            round(now.ndcg - was.ndcg, 3) or None,
            border=True,
            height="stretch",
            help=f"Of the first ten {judged}.",
            delta_description=judged,
        )
    else:
        columns[4].metric(
            "nDCG@10",
            "–",
            border=True,
            height="stretch",
            help="Unjudged: grade candidates on the Judge page.",
        )


def table(before: list[Row], after: list[Row], difference: Diff) -> None:
    """Draw every candidate with its place before and after."""
    column = st.column_config
    rows = moves(before, after, difference)
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        height=cards.table_height(len(rows), 560),
        column_config={
            "#": column.NumberColumn("#", width=38),
            "was": column.NumberColumn("was", width=42),
            "moved": column.TextColumn("moved", width=60),
            "change": column.MultiselectColumn(
                "change", options=list(CHANGE_COLOURS), color=list(CHANGE_COLOURS.values()), width=76
            ),
            "fate": cards.fate_column("fate"),
            "fate before": cards.fate_column("was before"),
            "score": column.NumberColumn("score", format="%.3f", width=58),
            "tokens": column.NumberColumn("tokens", width=56),
            "source": column.TextColumn("source", width=90),
            "candidate": column.TextColumn("candidate", width=250),
        },
        column_order=[
            *("#", "moved", "change", "fate", "fate before", "candidate", "tokens", "score", "source", "was"),
        ],
        placeholder="",
        alt="Every candidate with its place and fate before and after.",
    )


def history(opened: Opened, recorded: tuning.Knobs) -> None:
    """Draw what was tried, and the way back."""
    tries = tries_of(opened)

    def undo() -> None:
        earlier = undone(tries)
        st.session_state["tries"][opened.name] = earlier
        controls.turn_to(earlier[-1].knobs)

    def reset() -> None:
        controls.turn_to(recorded)

    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Undo", key="undo", on_click=undo, disabled=len(tries) < 2, shortcut="U")  # noqa: PLR2004
        st.button("As recorded", key="reset", on_click=reset)
        st.caption("The address holds these settings: copy it to share them.")
    if len(tries) > 1:
        st.dataframe(
            pd.DataFrame(try_table(tries)),
            hide_index=True,
            column_config={"changed": st.column_config.TextColumn("changed", width=330), "shared": SHARED},
            alt="What was tried, the latest first.",
        )


def copy(changed: dict[str, object]) -> None:
    """Draw the settings to take away."""
    settings = st.expander("Copy these settings", key="copy", on_change="rerun")
    if settings.open:
        python, data = settings.columns(2)
        python.code(tuning.as_python(changed), language="python")
        data.code(tuning.as_json(changed), language="json")


show()
