"""Tune: turn the weights and the budget, and see at once what would change. Recomputed by replay alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import streamlit as st

from inspector import asking, cards, grading, grid, state, wording
from inspector import knobs as tuning
from inspector.budget_usage import budget_bar
from inspector.candidates import funnel_told
from inspector.comparing import move_columns, moves, told_moves
from inspector.knobs import FULL, PART, SHARE, WEIGHT, Knobs
from inspector.palette import fate_of
from inspector.settings_diff import as_toml
from inspector.state import Opened
from inspector.wording import option_of, plain, sentence
from langchain_context_engine import Context, diff
from langchain_context_engine.evaluation.quality import change, quality
from langchain_context_engine.trace.diff import Diff
from langchain_context_engine.trace.explain import Row
from langchain_context_engine.trace.replay import REQUERY_SETTINGS

VIEWS = ("Candidates, before and after", "Text, before and after")
FORMS = {
    "selection": "Selection",
    "order": "Order in the text",
    "truncator": "Cutting",
    "template": "Template",
}
MOST_TRIES = 30

Limits = tuple[float, float, float]
"""Least, most, step."""


@dataclass(frozen=True, slots=True)
class Try:
    """One setting that was tried.

    Attributes:
        knobs: Every knob, to turn back to.
        changed: The settings for a replay.
        context: What they gave.
        difference: From what was recorded to that, worked out once.
        number: Its own, for as long as the session lasts; 0 is what was recorded.
    """

    knobs: Knobs
    changed: Mapping[str, Any]
    context: Context
    difference: Diff
    number: int = 0

    @property
    def told(self) -> str:
        """What was changed, in one line."""
        return ", ".join(f"{name}: {_short(value)}" for name, value in self.changed.items()) or "as recorded"


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{name} {weight:g}" for name, weight in value.items())
    tokens = getattr(value, "tokens", None)
    if tokens is not None:
        return f"{wording.number(tokens)} tokens, with shares or caps"
    return wording.number(value) if isinstance(value, int) and not isinstance(value, bool) else str(value)


def added(tries: Sequence[Try], one: Try) -> tuple[Try, ...]:
    """Return the tries with one more, unless it is what was tried last.

    It gets the next number. The oldest makes way; the recorded one, the first, stays.
    """
    if tries and repr(tries[-1].changed) == repr(one.changed):
        return tuple(tries)
    if not tries:
        return (one,)
    later = [*tries[1:], replace(one, number=max(t.number for t in tries) + 1)]
    return (tries[0], *later[-(MOST_TRIES - 1) :])


def tries_of(trace: str) -> tuple[Try, ...]:
    """Return what was tried on a trace in this session, what was recorded first."""
    tries: tuple[Try, ...] = st.session_state.setdefault("tries", {}).get(trace, ())
    return tries


def open_with(opened: Opened, settings: Mapping[str, Any]) -> None:
    """Go to the Tune page of a trace with the knobs turned to some settings of a replay."""
    before = tuning.recorded(opened.context)
    turned = tuning.turned_by(before, settings)
    state.forget(*before)
    # By the address, where the knobs are read and validated.
    address = {knob: str(value) for knob, value in turned.items() if value != before[knob]}
    state.open_page(opened.name, "tune", **address)


def turn_to(knobs: Knobs) -> None:
    """Turn every knob to a value."""
    for name, value in knobs.items():
        state.put(name, value)


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
            draw_knobs(opened.context, recorded)
            st.caption(
                f"Not here, since they act while asking: {', '.join(sorted(REQUERY_SETTINGS))}, scope and "
                "filters. They need a new question."
            )
    with right, cards.guard("Turn the last knob back, or start from “As recorded”."):
        knobs = {name: st.session_state.get(name, value) for name, value in recorded.items()}
        changed = tuning.changes(opened.context, knobs)
        context, rows = state.replayed(opened, changed)
        before, rows_before = state.replayed(opened, {})
        difference = diff(before, context)
        first = opened.context
        tries = tries_of(opened.name) or (Try(recorded, {}, first, diff(first, first)),)
        tries = added(tries, Try(knobs, changed, context, difference))
        st.session_state["tries"][opened.name] = tries
        with keys:
            history_keys(opened, recorded)
        if before.text != opened.context.text:
            st.caption(
                "Another version of the engine recorded this trace; before is what this version builds of it."
            )
        st.text(told_moves(difference, [*rows, *rows_before]))
        figures((before, rows_before), (context, rows), difference)
        st.html(budget_bar(context))
        st.caption(funnel_told(context))
        # Only what is looked at is drawn, so that a turned knob is answered at once.
        ranks, texts = st.tabs(VIEWS, key="view", on_change="rerun")
        if ranks.open:
            with ranks:
                candidates(rows_before, rows, difference)
        if texts.open:
            with texts:
                both_texts(before, context, difference)
        history(tries)
        copy(changed)
        asking.again(opened, changed)


def limits(context: Context, recorded: Knobs) -> dict[str, Limits]:
    """Return where each knob that is a number begins and ends, and its step."""
    most = tuning.largest_budget(context)
    found: dict[str, Limits] = {name: (0, 1, 0.01) for name in recorded if name.startswith(WEIGHT)}
    found |= {name: (0, 5, 0.25) for name in recorded if name.startswith(SHARE)}
    found |= {name: (0, 10, 0.1) for name in recorded if name.startswith(PART)}
    found |= {
        "budget": (0, most, 1),
        "reserve": (0, most, 1),
        "k": (0, 50, 1),
        "item_cap": (1, FULL, 1),
        "source_cap": (1, FULL, 1),
        "threshold": (50, FULL, 1),
        "min_score": (0, 1, 0.01),
    }
    # Whatever was recorded can be shown.
    return {
        name: (min(least, recorded[name]), max(end, recorded[name]), step)
        for name, (least, end, step) in found.items()
    }


def _is_within(bounds: Limits) -> Callable[[str], bool]:
    def is_known(text: str) -> bool:
        try:
            number = float(text)
        except ValueError:
            return False
        return math.isfinite(number) and bounds[0] <= number <= bounds[1]

    return is_known


def draw_knobs(context: Context, recorded: Knobs) -> None:
    """Draw every knob, as the address has it, else as recorded; a weight of 0 is folded away."""
    bounds = limits(context, recorded)
    st.session_state["knobs"] = tuple(recorded)
    for name, value in recorded.items():
        if name in bounds:
            state.seed(name, value, _is_within(bounds[name]), read=int if isinstance(value, int) else float)
        else:
            state.seed(name, value, tuning.choices(name, value).__contains__)

    def slider(name: str, label: str = "") -> None:
        kind: Any = float if isinstance(recorded[name], float) else int
        least, most, step = (kind(bound) for bound in bounds[name])
        shown = plain(label or name.partition("_")[2])
        st.slider(shown, least, most, step=step, key=name, on_change=state.keep, args=(name,))

    with st.expander("Weights", expanded=True):
        weights(context, recorded, slider)
    with st.expander("Budget and caps", expanded=True):
        slider("budget", "Budget, tokens")
        slider("k", "Max passages (0: as many as fit)")
        slider("item_cap", "Max share of one passage, %")
        slider("source_cap", "Max share of one source, %")
        with st.popover("Shares and reserve"):
            slider("reserve", "Kept free, tokens")
            st.caption("Shares by weight; a group with 0 takes from what the others leave.")
            for name in recorded:
                if name.startswith(SHARE):
                    slider(name)
    with st.expander("Selection, order and form", expanded=True):
        slider("threshold", "Duplicates from, % alike (100: equal)")
        slider("min_score", "Min score")
        for name, label in FORMS.items():
            options = tuning.choices(name, recorded[name])
            st.selectbox(label, options, key=name, on_change=state.keep, args=(name,))
    for name, value in recorded.items():
        state.publish(name, st.session_state[name], value)


def weights(context: Context, recorded: Knobs, slider: Callable[[str], None]) -> None:
    """Draw one slider a signal, those without a weight folded."""
    if context.settings.get("weights") is None:
        st.caption(
            "This trace has the default weights: relevance alone, and recency where the question asks "
            "for the latest. A turned weight replaces them."
        )
    names = [name for name in recorded if name.startswith(WEIGHT)]
    used = [name for name in names if recorded[name] > 0 or st.session_state[name] > 0]
    for name in used:
        slider(name)
    folded = st.container(horizontal=True)
    more = folded.popover("More signals", key="more-signals", on_change="rerun")
    parts = folded.popover("Parts of relevance", key="parts", on_change="rerun")
    if more.open:
        with more:
            for name in names:
                if name not in used:
                    slider(name)
    if parts.open:
        with parts:
            st.caption("What relevance is made of; but for feedback and intent only the proportions count.")
            for name in recorded:
                if name.startswith(PART):
                    slider(name)


def figures(before: tuple[Context, list[Row]], after: tuple[Context, list[Row]], difference: Diff) -> None:
    """Draw what changed as numbers, in one line."""

    def changed(by: float) -> str:
        told = wording.signed(round(by, 3))
        return f"({told})" if told else ""

    old, context = before[0], after[0]
    told = [
        f"{context.tokens:,} of {context.budget:,} tokens {changed(difference.tokens)}",
        f"{len(context.passages)} passages {changed(len(context.passages) - len(old.passages))}",
        f"{wording.share(difference.overlap)} shared",
        f"{wording.share(difference.kept_prefix)} of the text's beginning kept (what a cache saves)",
    ]
    grades = grading.grades_of(old.request.query)
    if grades:
        was, now = quality(*before, grades), quality(*after, grades)
        told.append(
            f"nDCG@10 {wording.ratio(now.ndcg)} {changed(change(was, now))} "
            f"({wording.share(now.coverage)} judged)"
        )
    st.html('<p class="ce-facts ce-figures">' + "".join(f"<span>{one}</span>" for one in told) + "</p>")


def candidates(before: list[Row], after: list[Row], difference: Diff) -> None:
    """Draw every candidate with its place before and after, and why the chosen one stands as it does."""
    only = state.whether("changed-only", "Changed only")
    table = moves(before, after, difference, only=only)
    if not table:
        st.text("No candidate moved, entered, left or was cut otherwise.")
        return
    options = [row["id"] for row in table]
    chosen = state.picked("moved", options)
    grid.draw(
        "moves", move_columns(table), table, label="Every candidate, before and after.", below=64,
        chosen=chosen, on_choose=lambda option: st.session_state.update(moved=option),
    )  # fmt: skip
    both = {
        name: next((row for row in rows if option_of(row.key) == chosen), None)
        for name, rows in (("Before", before), ("After", after))
    }
    st.html(f'<div class="ce-panel ce-sides">{fates_html(both)}</div>')


def fates_html(by_name: Mapping[str, Row | None]) -> str:
    """Return what became of one candidate in each of some contexts, in words."""
    lines = ""
    for name, row in by_name.items():
        fate = cards.fate_html(fate_of(row.verdict, row.reason) if row else "not offered")
        told = escape(sentence(row.sentence if row else "no source offered it"))
        lines += f"<p><strong>{escape(name)}</strong> {fate} <bdi>{told}</bdi></p>"
    return lines


def both_texts(old: Context, new: Context, difference: Diff) -> None:
    """Draw the text before and after, and their difference."""
    if difference.lines:
        st.caption("The difference")
        st.code("\n".join(difference.lines[2:]), language="diff", wrap_lines=True)
    for column, name, context in zip(st.columns(2), ("Before", "After"), (old, new), strict=True):
        column.caption(name)
        column.code(context.text or "(empty)", language=None, wrap_lines=True, height=420)


def history_keys(opened: Opened, recorded: Knobs) -> None:
    """Draw the way back; U undoes wherever the focus is."""
    tries = tries_of(opened.name)

    def undo() -> None:
        earlier = tries_of(opened.name)[:-1]
        if earlier:
            st.session_state["tries"][opened.name] = earlier
            turn_to(earlier[-1].knobs)

    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Undo (U)", key="undo", on_click=undo, disabled=len(tries) == 1)
        st.button("As recorded", key="reset", on_click=turn_to, args=(recorded,))


def history(tries: Sequence[Try]) -> None:
    """Draw what was tried, the latest first, each compared with what was recorded."""
    count = len(tries) - 1
    if count:
        with st.expander(wording.counted(count, "try", "tries"), expanded=True):
            cards.table(
                [
                    {
                        "try": str(one.number or "recorded"),
                        "changed": one.told,
                        "tokens": one.context.tokens,
                        "passages": len(one.context.passages),
                        "entered": len(one.difference.entered),
                        "left": len(one.difference.left),
                        "shared": wording.share(one.difference.overlap),
                    }
                    for one in reversed(tries)
                ]
            )
    st.caption("The address holds these settings: copy it to share them.")


def copy(changed: Mapping[str, Any]) -> None:
    """Draw the settings to take away."""
    settings = st.expander("Copy these settings", key="copy", on_change="rerun")
    if settings.open:
        with settings, cards.guard("Copy the address instead."):
            st.caption("TOML, for --settings FILE and ContextEngine.from_file(FILE)")
            st.code(as_toml(changed) or "# nothing is changed", language="toml", wrap_lines=True)
