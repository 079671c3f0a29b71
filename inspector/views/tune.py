"""Tune: turn the weights and the budget, and see at once what would change. Recomputed by replay alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import streamlit as st

from inspector import cards, grading, state, wording
from inspector import knobs as tuning
from inspector.candidates import budget_bar, fates_told
from inspector.exports import File
from inspector.knobs import FULL, PART, SHARE, WEIGHT, Knobs, as_json, meanings
from inspector.state import Opened
from inspector.views import collections
from inspector.views.compare import compared_files, moves_html, passages, side_by_side
from inspector.wording import option_of, plain
from langchain_context_engine import Context, diff
from langchain_context_engine.evaluation.quality import change, quality
from langchain_context_engine.models.types import Key
from langchain_context_engine.trace.explain import Row
from langchain_context_engine.trace.replay import REQUERY_SETTINGS, Diff

REST = 2.0
"""Seconds: what is turned again before is turned on."""

TIMES, LEAST_END, STEPS = 4, 500, 200
"""How far a slider of tokens goes: so many budgets of the answer, tokens at least, steps at most."""
MOST_TOKENS = 9_999_999
"""A number that is written, or stands in an address, may be any up to this."""

TOLD = "A is as recorded, B as turned."
VIEWS = ("Candidates", "Texts")
LABELS = {
    "budget": "Budget, tokens",
    "k": "Max passages (0: as many as fit)",
    "item_cap": "Max share of one passage, %",
    "source_cap": "Max share of one source, %",
    "reserve": "Kept free, tokens",
    "threshold": "Duplicates from, % alike (100: equal)",
    "min_score": "Min score",
    "selection": "Selection",
    "order": "Order in the text",
    "truncator": "Cutting",
    "template": "Template",
    "dedupe_rules": "Rules of duplicates",
    "diversity": "Diversity",
}
BOUNDS: Mapping[str, tuple[float, float, float]] = {
    WEIGHT: (0, 1, 0.01), SHARE: (0, 5, 0.25), PART: (0, 10, 0.1), "budget": (0, 0, 1), "reserve": (0, 0, 1),
    "k": (0, 50, 1), "item_cap": (1, FULL, 1), "source_cap": (1, FULL, 1), "threshold": (50, FULL, 1),
    "min_score": (0, 1, 0.01),
}  # fmt: skip
"""Of a knob that is a number, or a kind of them: least, most (0: some budgets of the answer), step."""


class Try(NamedTuple):
    """Settings that were tried: the knobs to turn back to, and what a replay is given."""

    number: int
    knobs: Knobs
    changed: Mapping[str, Any]
    at: float

    @property
    def told(self) -> str:
        """What was changed, in one line."""
        return ", ".join(f"{name}: {_short(value)}" for name, value in self.changed.items())


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{name} {weight:g}" for name, weight in value.items())
    if tokens := getattr(value, "tokens", None):
        return f"{wording.number(tokens)} tokens, with shares or caps"
    return wording.number(value) if type(value) is int else str(value)


def tries_of(trace: str | None) -> list[Try]:
    """Return what was tried on a trace in this session, the latest last."""
    tries: list[Try] = st.session_state.setdefault("tries", {}).setdefault(trace, [])
    return tries


def keep_try(tries: list[Try], recorded: Knobs, knobs: Knobs, changed: Mapping[str, Any]) -> None:
    """Keep settings that are tried; steps of one knob without a rest between, a drag, are one try."""
    if not changed or (tries and repr(tries[-1].changed) == repr(changed)):
        return
    number, now = 1 + (tries[-1].number if tries else 0), time.monotonic()
    if tries and now - tries[-1].at < REST:
        before = tries[-2].knobs if len(tries) > 1 else recorded
        turned = turned_of(before, tries[-1].knobs)
        if len(turned) == 1 and turned_of(tries[-1].knobs, knobs) == turned:
            number = tries.pop().number
    tries.append(Try(number, knobs, changed, now))


def turned_of(before: Knobs, after: Knobs) -> set[str]:
    """Return the names of the knobs that are not turned alike."""
    return {name for name in after if after[name] != before.get(name)}


def turn_told(before: Knobs, after: Knobs) -> str:
    """Return which knob was turned from what to what; of several how many."""
    turned = sorted(turned_of(before, after))
    if len(turned) != 1:
        return f"{len(turned)} settings"
    (name,) = turned
    return f"{label_of(name)} {_short(before.get(name))} → {_short(after[name])}"


def label_of(name: str) -> str:
    """Return what a knob is called."""
    return LABELS.get(name) or name.partition("_")[2]


def turn_to(trace: str, knobs: Knobs) -> None:
    """Turn every knob of a trace to a value."""
    st.session_state.update({**knobs, "knobs-of": trace})


def open_with(opened: Opened, settings: Mapping[str, Any], key: Key | None = None) -> None:
    """Go to the Tune page of a trace, to a candidate, with the knobs turned to some settings of a replay."""
    recorded = tuning.recorded(opened.context)
    knobs = tuning.turned_by(recorded, settings)
    turn_to(opened.name, knobs)
    if key is not None:
        st.session_state["side"] = option_of(key)
    # Streamlit writes what is set before a knob is drawn into no address.
    turned = {name: str(knobs[name]) for name in turned_of(recorded, knobs)}
    state.open_page(opened.name, "tune", **turned)


def show() -> None:
    """Draw the page."""
    opened = cards.needs_trace("Tune")
    if opened is not None and (why := state.unreplayable(opened)):
        st.text(f"No setting can be tried on this answer: {why}.")
    elif opened is not None:
        cards.part(bench, opened)


def bench(opened: Opened) -> None:
    """Draw the knobs and what they give; turning one draws this alone again."""
    recorded = tuning.recorded(opened.context)
    left, right = st.columns([26, 74], gap="medium")
    with left:
        keys = st.container(horizontal=True, vertical_alignment="center")
        st.caption("What a slider gives is shown when it is let go, or after each press of an arrow key.")
        with st.container(height=620, border=False, key="tune-knobs"):
            draw_knobs(opened, recorded)
            st.caption(
                f"Not here, since they act while asking: {', '.join(sorted(REQUERY_SETTINGS))}, scope and "
                "filters. They need a new question."
            )
    with right, cards.guard("Turn the last knob back, or start from “As recorded”."):
        knobs = turned_now(recorded)
        changed = tuning.changes(opened.context, knobs)
        context, rows = state.replayed(opened, changed)
        before, rows_before = state.replayed(opened, {})
        difference = diff(before, context)
        tries = tries_of(opened.name)
        keep_try(tries, recorded, knobs, changed)
        with keys:
            history_keys(opened, recorded, is_turned=bool(changed))
        if before.text != opened.context.text:
            st.caption(
                "Another version of the engine recorded this trace; before is what this version builds of it."
            )
        st.html(moves_html(difference, [*rows, *rows_before]))
        figures((before, rows_before), (context, rows), difference)
        st.html(budget_bar(context))
        st.caption(fates_told(context))
        sides = {"A": rows_before, "B": rows}
        # Only what is looked at is drawn, so that a turned knob is answered at once.
        candidates, texts = st.tabs(VIEWS, key="view", on_change="rerun", bind="query-params")
        if candidates.open:
            with candidates:
                side_by_side(sides, {"A": before, "B": context}, {"A": opened.name}, TOLD)
        if texts.open:
            with texts:
                passages(before, context, [*rows, *rows_before])
        history(opened, tries)
        collections.ask_button("Ask again with these settings", opened.context, changed, key="ask-turned")


def turned_now(recorded: Knobs) -> Knobs:
    """Return the knobs as they stand; those that are not drawn yet, as recorded."""
    turned = {name: st.session_state.get(name) for name in recorded}
    return {name: value if turned[name] is None else turned[name] for name, value in recorded.items()}


def draw_knobs(opened: Opened, recorded: Knobs) -> None:
    """Draw every knob, as the address has it, else as recorded; a weight of 0 is folded away."""
    session = st.session_state
    if session.get("knobs-of") not in {None, opened.name}:
        turn_to(opened.name, recorded)
    session["knobs-of"] = opened.name
    knob = partial(draw_knob, recorded=recorded, end=max(LEAST_END, TIMES * opened.context.budget))
    with st.expander("Weights", expanded=True):
        weights(recorded, knob)
    with st.expander("Budget and caps", expanded=True):
        for name in ("budget", "k", "item_cap", "source_cap"):
            knob(name)
        with st.popover("Shares and reserve"):
            knob("reserve")
            st.caption("Shares by weight; a group with 0 takes from what the others leave.")
            for name in recorded:
                if name.startswith(SHARE):
                    knob(name)
    with st.expander("Selection, order and form"):
        for name in [*LABELS][5:]:
            if name in recorded:
                knob(name)


def draw_knob(name: str, recorded: Knobs, end: int) -> None:
    """Draw a knob: a slider beside its number, which may be beyond the slider's end, or a choice."""
    session, label, value = st.session_state, plain(label_of(name)), recorded[name]
    bounds = BOUNDS.get(name) or BOUNDS.get(name.partition("_")[0] + "_")
    if not bounds:
        options = tuning.choices(name, value)
        st.selectbox(label, options, options.index(value), key=name, **state.BOUND)
        return
    if name in (typed := session.get("typed", {})):
        session[name] = typed[name]
    # Whatever was recorded, or is to be tried, can be shown.
    shown, (least, most, step) = [value, session.get(name, value)], bounds
    highest, turned_by, asked = most or MOST_TOKENS, step, st.query_params.get(name, "")
    if not most:
        turned_by = max(1, 10 * round(end / STEPS / 10))
        shown += [int(asked)] if asked.isdecimal() and len(asked) <= len(str(MOST_TOKENS)) else []
    least, most = min(least, *shown), max(most or end, *shown)
    of, meaning = type(value), meanings().get(label_of(name))
    slider, field = st.columns([68, 32], vertical_alignment="bottom", gap="small")
    slider.slider(
        label, of(least), of(most), value, step=of(turned_by), key=name, help=meaning, **state.BOUND
    )
    drawn = session[name]
    if typed.get(name, drawn) != drawn:
        # With another end it is another slider to Streamlit, and took what the address had.
        st.rerun()
    typed.pop(name, None)
    # One of its own for each value: an earlier one that is still told would turn the slider back.
    figure = f"figure-{name}-{drawn}"
    field.number_input(
        label, of(least), of(max(highest, most)), drawn, step=of(step), key=figure,
        label_visibility="collapsed", on_change=type_in, args=(name, figure, drawn),
    )  # fmt: skip


def type_in(name: str, figure: str, drawn: float) -> None:
    """Turn a knob to the number that was written beside it."""
    typed = st.session_state.get(figure, drawn)
    if typed != drawn:
        st.session_state[name] = typed
        st.session_state["typed"] = {name: typed}


def weights(recorded: Knobs, knob: Callable[[str], None]) -> None:
    """Draw one slider a signal, those without a weight folded."""
    session, names = st.session_state, [name for name in recorded if name.startswith(WEIGHT)]
    # What is turned there stays there until it closes: it would run away from under the pointer.
    if not session.get("more-signals"):
        # One that an address turns is known only when it is drawn.
        turned = [name for name in names if session.get(name, 0) > 0 or name in st.query_params]
        session["signals-used"] = {*turned, *(name for name in names if recorded[name] > 0)}
    used = [name for name in names if name in session["signals-used"]]
    for name in used:
        knob(name)
    folded = st.container(horizontal=True)
    more = folded.popover("More signals", key="more-signals", on_change="rerun")
    parts = folded.popover("Parts of relevance", key="parts", on_change="rerun")
    if more.open:
        with more:
            for name in names:
                if name not in used:
                    knob(name)
    if parts.open or any(name.startswith(PART) for name in st.query_params):
        with parts:
            st.caption("What relevance is made of; but for feedback and intent only the proportions count.")
            for name in recorded:
                if name.startswith(PART):
                    knob(name)


def figures(before: tuple[Context, list[Row]], after: tuple[Context, list[Row]], difference: Diff) -> None:
    """Draw what changed as numbers, in one line."""

    def changed(by: float) -> str:
        told = wording.signed(round(by, 3))
        return f"({told})" if told else ""

    old, context = before[0], after[0]
    told = [
        f"{context.tokens:,} of {context.budget:,} tokens {changed(difference.tokens)}",
        f"{len(context.passages)} passages {changed(len(context.passages) - len(old.passages))}",
        f"{len(difference.entered)} entered, {len(difference.left)} left",
        f"{wording.share(difference.overlap)} of the passages in both",
        f"unchanged up to {wording.share(difference.kept_prefix)} of the text",
    ]
    grades = grading.grades_of(old.request.query)
    if grades:
        was, now = quality(*before, grades), quality(*after, grades)
        told.append(f"evidence in the text {wording.share(was.recall)} → {wording.share(now.recall)}")
        told.append(
            f"nDCG@10, of the order alone, {wording.ratio(now.ndcg)} {changed(change(was, now))} "
            f"({wording.share(now.coverage)} judged)"
        )
    st.html('<p class="ce-facts ce-figures">' + "".join(f"<span>{one}</span>" for one in told) + "</p>")


def history_keys(opened: Opened, recorded: Knobs, *, is_turned: bool) -> None:
    """Draw the way back, and what it takes back; U undoes wherever the focus is."""
    tries = tries_of(opened.name)
    now = tries[-1].knobs if is_turned and tries else recorded
    before = [recorded, *[one.knobs for one in tries[: -1 if is_turned else None]]][-1]

    def undo() -> None:
        if is_turned:
            tries.pop()
        turn_to(opened.name, before)

    told = f": {turn_told(before, now)}" if tries else ""
    st.button(plain(f"Undo{told} (U)"), key="undo", on_click=undo, disabled=not tries)
    st.button("As recorded", key="reset", on_click=turn_to, args=(opened.name, recorded))


def history(opened: Opened, tries: Sequence[Try]) -> None:
    """Draw what was tried, the latest first, each compared with what was recorded."""
    if tries:
        table = []
        for one in reversed(tries):
            context, _ = state.replayed(opened, dict(one.changed))
            difference = diff(opened.context, context)
            table.append(
                {
                    "try": str(one.number),
                    "changed": one.told,
                    "tokens": context.tokens,
                    "passages": len(context.passages),
                    "entered": len(difference.entered),
                    "left": len(difference.left),
                    "shared": wording.share(difference.overlap),
                }
            )
        with st.expander(wording.counted(len(tries), "try", "tries"), expanded=True):
            cards.table(table)
    st.caption("The address holds these settings: copy it to share them.")


def files() -> list[File]:
    """Return what is turned as settings, and every candidate as recorded and as turned."""
    opened = state.current()
    if opened is None or state.unreplayable(opened):
        return []
    changed = tuning.changes(opened.context, turned_now(tuning.recorded(opened.context)))
    (before, rows_before), (context, rows) = (state.replayed(opened, one) for one in ({}, changed))
    settings = as_json(changed).encode()
    named = wording.file_name(opened.context.request.query, [opened.name], "settings.json")
    return [
        File("Settings, JSON, for ContextEngine.from_file", settings, named),
        *compared_files({"A": rows_before, "B": rows}, {"A": before, "B": context}, [opened.name]),
    ]
