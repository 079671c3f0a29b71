"""Tune: turn the weights and the budget, and see at once what would change. Recomputed by replay alone."""

from __future__ import annotations

import streamlit as st

from inspector import asking, cards, controls, grading, grid, state, wording
from inspector.choosing import whether
from inspector.comparing import MOVE_COLUMNS, moves, told_moves
from inspector.figures import knobs as tuning
from inspector.figures.settings import as_json, as_python, as_toml
from inspector.sections import funnel_told
from inspector.spending_bar import budget_bar
from inspector.state import Opened
from inspector.tables import places
from inspector.trying import Try, added, try_table, undone
from langchain_context_engine import Context, diff
from langchain_context_engine.evaluation.quality import change, quality
from langchain_context_engine.trace.diff import Diff
from langchain_context_engine.trace.explain import Row
from langchain_context_engine.trace.replay import REQUERY_SETTINGS

TRY_COLUMNS: list[grid.Column] = [
    {"name": "try", "label": "Try", "width": 74},
    {"name": "changed", "label": "Changed"},
    {"name": "tokens", "label": "Tokens", "kind": "number", "width": 76},
    {"name": "passages", "label": "Passages", "kind": "number", "width": 76},
    {"name": "entered", "label": "Entered", "kind": "number", "width": 76},
    {"name": "left", "label": "Left", "kind": "number", "width": 76},
    {"name": "shared", "label": "Shared", "kind": "number", "width": 76},
]
VIEWS = ("Candidates, before and after", "Text, before and after")


def show() -> None:
    """Draw the page."""
    opened = cards.needs_trace("Tune")
    if opened is not None:
        cards.part(bench, opened)


def bench(opened: Opened) -> None:
    """Draw the knobs and what they give; turning one draws this alone again."""
    recorded = tuning.recorded(opened.context)
    left, right = st.columns([30, 70], gap="medium")
    with left:
        keys = st.container()
        with st.container(height=620, border=False, key="tune-knobs"):
            controls.draw(opened.context, recorded)
            st.caption(
                f"Not here, since they act while asking: {', '.join(sorted(REQUERY_SETTINGS))}, scope and "
                "filters. They need a new question."
            )
    with right, cards.guard("Turn the last knob back, or start from “As recorded”."):
        knobs = controls.turned(recorded)
        changed = tuning.changes(opened.context, knobs)
        context, rows = state.replayed(opened, changed)
        before = Opened(opened.name, state.replayed(opened, {})[0])
        difference = diff(before.context, context)
        remember(before, Try(knobs, changed, context, difference), recorded)
        with keys:
            history_keys(opened, recorded)
        if before.context.text != opened.context.text:
            st.caption(
                "Another version of the engine recorded this trace; before is what this version builds of it."
            )
        result(before, context, rows, difference)
        history(opened)
        copy(changed)
        asking.again(opened, changed)


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
    """Draw before and after: figures, the budget, ranks, texts."""
    before = state.replayed(opened, {})[1]
    where = places(context.candidates)
    st.text(told_moves(difference, [*rows, *before], where))
    figures(opened, context, rows, difference)
    st.html(budget_bar(context))
    st.caption(funnel_told(Opened(opened.name, context)))
    # Only what is looked at is drawn, so that a turned knob is answered at once.
    ranks, texts = st.tabs(VIEWS, key="view", on_change="rerun")
    if ranks.open:
        with ranks:
            table(before, rows, difference, context)
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
    """Draw what changed as numbers, in one line."""
    old = opened.context
    gained = len(context.passages) - len(old.passages)
    told = [
        f"{context.tokens:,} of {context.budget:,} tokens {_changed(difference.tokens)}",
        f"{len(context.passages)} passages {_changed(gained)}",
        f"{wording.share(difference.overlap)} shared",
        f"{wording.share(difference.kept_prefix)} of the text's beginning kept (what a cache saves)",
    ]
    grades = grading.grades_of(old.request.query)
    if grades:
        was = quality(old, state.replayed(opened, {})[1], grades)
        now = quality(context, rows, grades)
        told.append(
            f"nDCG@10 {wording.ratio(now.ndcg)} {_changed(change(was, now))} "
            f"({wording.share(now.coverage)} judged)"
        )
    st.html('<p class="ce-facts ce-figures">' + "".join(f"<span>{one}</span>" for one in told) + "</p>")


def _changed(by: float) -> str:
    told = wording.signed(round(by, 3))
    return f"({told})" if told else ""


def table(before: list[Row], after: list[Row], difference: Diff, context: Context) -> None:
    """Draw every candidate with its place before and after."""
    only = whether("changed-only", "Changed only")
    rows = moves(before, after, difference, places(context.candidates), only=only)
    if not rows:
        st.text("No candidate moved, entered, left or was cut otherwise.")
        return
    grid.draw("moves", MOVE_COLUMNS, rows, label="Every candidate, before and after.", height=460)


def history_keys(opened: Opened, recorded: tuning.Knobs) -> None:
    """Draw the way back; U undoes wherever the focus is."""

    def undo() -> None:
        earlier = undone(tries_of(opened))
        if earlier:
            st.session_state["tries"][opened.name] = earlier
            controls.turn_to(earlier[-1].knobs)

    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Undo (U)", key="undo", on_click=undo, disabled=len(tries_of(opened)) < 2)  # noqa: PLR2004
        st.button("As recorded", key="reset", on_click=controls.turn_to, args=(recorded,))


def history(opened: Opened) -> None:
    """Draw what was tried."""
    tries = tries_of(opened)
    count = len(tries) - 1
    if count:
        with st.expander(wording.counted(count, "try", "tries"), expanded=True):
            rows: list[grid.GridRow] = [{"id": row["try"], "cells": row} for row in try_table(tries)]
            grid.draw("history", TRY_COLUMNS, rows, label="What was tried, the latest first.", height=220)
    st.caption("The address holds these settings: copy it to share them.")


def copy(changed: dict[str, object]) -> None:
    """Draw the settings to take away."""
    settings = st.expander("Copy these settings", key="copy", on_change="rerun")
    if settings.open:
        python, toml, data = settings.columns(3)
        python.caption("Python")
        python.code(as_python(changed), language="python", wrap_lines=True)
        toml.caption("TOML, for --settings and ContextEngine.from_file")
        with toml, cards.guard("Copy the JSON instead."):
            st.code(as_toml(changed), language="toml", wrap_lines=True)
        data.caption("JSON")
        data.code(as_json(changed), language="json", wrap_lines=True)


show()
