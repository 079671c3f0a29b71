"""The knobs of the Tune page as widgets. Their values live in the address, so a setting can be shared."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from inspector import state
from inspector.figures.knobs import (
    FULL,
    PART,
    PRESETS,
    SHARE,
    WEIGHT,
    Knobs,
    choices,
    largest_budget,
    turned_by,
)
from inspector.figures.knobs import recorded as recorded_knobs
from inspector.number_box import number_box
from langchain_context_engine import Context

_MARKDOWN = re.compile(r"[\\`*{}\[\]<>()#+!|$~:]|(?<![^\W_])_|_(?![^\W_])")

__all__ = ["download", "draw", "open_in_tune", "plain", "standing", "turn_to", "turned"]

Limits = tuple[float, float, float]
"""Least, most, step."""


def download(label: str, data: bytes, file_name: str, mime: str, *, disabled: bool = False) -> None:
    """Draw a button that saves bytes.

    Streamlit also takes a function, but names its file anew in each run: a click while the page is drawn
    again would ask for a file that is gone. Bytes are named by what they hold, so such a click finds them.
    """
    st.download_button(label, data, file_name, mime, disabled=disabled, on_click="ignore")


def turned(recorded: Knobs) -> Knobs:
    """Return the knobs as they stand; those not drawn yet are as the address or the trace has them."""
    return {name: st.session_state.get(name, value) for name, value in recorded.items()}


def standing(recorded: Knobs) -> Knobs:
    """Return the knobs as Tune was left, from another page: what stood on it is kept, and drawn no more."""
    return {name: st.session_state.get(f"kept-{name}", value) for name, value in recorded.items()}


def turn_to(knobs: Knobs) -> None:
    """Turn every knob to a value."""
    for name, value in knobs.items():
        state.put(name, value)


def open_in_tune(name: str, context: Context, settings: Mapping[str, Any]) -> None:
    """Go to the Tune page of a trace with the knobs turned to some settings of a replay."""
    before = recorded_knobs(context)
    turned = turned_by(before, settings)
    state.choose(name)
    state.forget(*before)
    # By the address, where the knobs are read and validated.
    address = {knob: str(value) for knob, value in turned.items() if value != before[knob]}
    st.switch_page("views/tune.py", query_params={"trace": name, **address})


def limits(context: Context, recorded: Knobs) -> dict[str, Limits]:
    """Return where each knob that is a number begins and ends, and its step."""
    most = largest_budget(context)
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
        name: (min(least, recorded[name]), max(most, recorded[name]), step)
        for name, (least, most, step) in found.items()
    }


def follow_address(context: Context, recorded: Knobs) -> None:
    """Give every knob what the address says of it, else what was recorded. Call it before `draw`."""
    bounds = limits(context, recorded)
    st.session_state["knobs"] = tuple(recorded)
    for name, value in recorded.items():
        if name in bounds:
            state.seed(name, value, _is_within(bounds[name]), read=int if isinstance(value, int) else float)
        else:
            state.seed(name, value, choices(name, value).__contains__)


def _is_within(bounds: Limits) -> Callable[[str], bool]:
    def is_known(text: str) -> bool:
        try:
            number = float(text)
        except ValueError:
            return False
        return math.isfinite(number) and bounds[0] <= number <= bounds[1]

    return is_known


def draw(context: Context, recorded: Knobs) -> None:
    """Draw every knob. A number that is 0 in the recorded weights is folded away.

    Args:
        context: The trace.
        recorded: The knobs as the trace has them, their defaults.
    """
    follow_address(context, recorded)
    bounds = limits(context, recorded)
    presets(recorded)
    with st.expander("Weights", expanded=True):
        weights(context, recorded, bounds)
    with st.expander("Budget and caps", expanded=True):
        slider("budget", "Budget, tokens", recorded, bounds)
        slider("k", "Max passages (0: as many as fit)", recorded, bounds)
        slider("item_cap", "Max share of one passage, %", recorded, bounds)
        slider("source_cap", "Max share of one source, %", recorded, bounds)
        with st.popover("Shares and reserve"):
            slider("reserve", "Kept free, tokens", recorded, bounds)
            st.caption("Shares by weight; a group with 0 takes from what the others leave.")
            for name in recorded:
                if name.startswith(SHARE):
                    slider(name, name.removeprefix(SHARE), recorded, bounds)
    with st.expander("Selection, order and form", expanded=True):
        slider("threshold", "Duplicates from, % alike (100: equal)", recorded, bounds)
        slider("min_score", "Min score", recorded, bounds)
        forms(recorded)
    for name, value in recorded.items():
        state.publish(name, st.session_state[name], value)


def presets(recorded: Knobs) -> None:
    """Draw the settings to start from; one can be chosen again after a knob was turned."""

    def take() -> None:
        name = str(st.session_state.get("preset"))
        if name in PRESETS:
            turn_to(PRESETS[name](recorded))
        # Empty again, so that the same one can be chosen next.
        st.session_state["preset"] = None

    st.selectbox(
        "Start from", list(PRESETS), index=None, key="preset", on_change=take, placeholder="a preset"
    )


def weights(context: Context, recorded: Knobs, bounds: Mapping[str, Limits]) -> None:
    """Draw one slider a signal, those without a weight folded."""
    if context.settings.get("weights") is None:
        st.caption(
            "This trace has the default weights: relevance alone, and recency where the question asks "
            "for the latest. A turned weight replaces them."
        )
    names = [name for name in recorded if name.startswith(WEIGHT)]
    used = [name for name in names if recorded[name] > 0 or st.session_state[name] > 0]
    for name in used:
        slider(name, name.removeprefix(WEIGHT), recorded, bounds)
    folded = st.container(horizontal=True)
    more = folded.popover("More signals", key="more-signals", on_change="rerun")
    parts = folded.popover("Parts of relevance", key="parts", on_change="rerun")
    if more.open:
        for name in names:
            if name not in used:
                with more:
                    slider(name, name.removeprefix(WEIGHT), recorded, bounds)
    if parts.open:
        with parts:
            st.caption("What relevance is made of; but for feedback and intent only the proportions count.")
            for name in recorded:
                if name.startswith(PART):
                    slider(name, name.removeprefix(PART), recorded, bounds)


def forms(recorded: Knobs) -> None:
    """Draw the choices."""
    for name, label in (
        ("selection", "Selection"),
        ("order", "Order in the text"),
        ("truncator", "Cutting"),
        ("template", "Template"),
    ):
        st.selectbox(label, choices(name, recorded[name]), key=name, on_change=state.keep, args=(name,))


def slider(name: str, label: str, recorded: Knobs, bounds: Mapping[str, Limits]) -> None:
    """Draw a slider, and beside it a box for the exact number; each moves the other."""
    kind: Any = float if isinstance(recorded[name], float) else int
    least, most, step = (kind(bound) for bound in bounds[name])

    def take(typed: float) -> None:
        turn_to({name: kind(typed)})

    # Beside each other on a phone too, where columns would stand below each other.
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.slider(plain(label), least, most, step=step, key=name, on_change=state.keep, args=(name,))
        number_box(
            f"{name}-exact", f"{label}, exactly", st.session_state[name],
            least=least, most=most, step=step, on_type=take,
        )  # fmt: skip


def plain(label: str) -> str:
    r"""Return a label that Streamlit shows as it is: names of sources and signals are not Markdown.

    An underscore within a word is no Markdown, and would be read aloud with its backslash.

    Example:
        >>> print(plain("a_b *c*"), plain("_d_"))
        a_b \*c\* \_d\_
    """
    return _MARKDOWN.sub(r"\\\g<0>", label)
