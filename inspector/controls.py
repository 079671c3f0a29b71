"""The knobs of the Tune page as widgets. Their values live in the address, so a setting can be shared."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import streamlit as st

from inspector.tuning import FULL, PRESETS, SHARE, WEIGHT, Knobs, choices, largest_budget, turned_by
from inspector.tuning import recorded as recorded_knobs
from langchain_context_engine import Context

_MARKDOWN = re.compile(r"[\\`*{}\[\]<>()#+!|$~:]|(?<![^\W_])_|_(?![^\W_])")

__all__ = ["draw", "forget", "open_in_tune", "plain", "turn_to", "turned"]


def turned(recorded: Knobs) -> Knobs:
    """Return the knobs as they stand; those not drawn yet are as recorded."""
    return {name: st.session_state.get(name, value) for name, value in recorded.items()}


def turn_to(knobs: Knobs) -> None:
    """Turn every knob to a value."""
    for name, value in knobs.items():
        st.session_state[name] = value


def forget(knobs: Knobs) -> None:
    """Let every knob be read from the address again, or be as recorded."""
    for name in knobs:
        st.session_state.pop(name, None)


def open_in_tune(name: str, context: Context, settings: Mapping[str, Any]) -> None:
    """Go to the Tune page of a trace with the knobs turned to some settings of a replay."""
    before = recorded_knobs(context)
    turned = turned_by(before, settings)
    forget(before)
    # By the address, where the knobs are read and validated.
    address = {knob: str(value) for knob, value in turned.items() if value != before[knob]}
    st.switch_page("views/tune.py", query_params={"trace": name, **address})


def draw(context: Context, recorded: Knobs) -> None:
    """Draw every knob. A number that is 0 in the recorded weights is folded away.

    Args:
        context: The trace.
        recorded: The knobs as the trace has them, their defaults.
    """
    presets(recorded)
    with st.expander("Weights", expanded=True):
        weights(context, recorded)
    with st.expander("Budget and caps", expanded=True):
        budgets(context, recorded)
    with st.expander("Selection, order and form", expanded=True):
        forms(recorded)


def presets(recorded: Knobs) -> None:
    """Draw the settings to start from."""

    def take() -> None:
        name = str(st.session_state.get("preset"))
        if name in PRESETS:
            turn_to(PRESETS[name](recorded))

    st.selectbox(
        "Start from", list(PRESETS), index=None, key="preset", on_change=take, placeholder="a preset"
    )


def weights(context: Context, recorded: Knobs) -> None:
    """Draw one slider a signal, those without a weight folded."""
    if context.settings.get("weights") is None:
        st.caption(
            "This trace has the default weights: relevance alone, and recency where the question asks "
            "for the latest. A turned weight replaces them."
        )
    names = [name for name in recorded if name.startswith(WEIGHT)]
    # One that the address names must be drawn to be read and validated.
    used = [
        name
        for name in names
        if recorded[name] > 0 or st.session_state.get(name, 0.0) > 0 or name in st.query_params
    ]
    for name in used:
        slider(name, name.removeprefix(WEIGHT), recorded, 1.0, step=0.01)
    more = st.popover("More signals", key="more-signals", on_change="rerun")
    if more.open:
        for name in names:
            if name not in used:
                with more:
                    slider(name, name.removeprefix(WEIGHT), recorded, 1.0, step=0.01)


def budgets(context: Context, recorded: Knobs) -> None:
    """Draw budget, reserve, caps, shares."""
    slider("budget", "Budget, tokens", recorded, largest_budget(context))
    slider("k", "Most passages (0: as many as fit)", recorded, max(50, recorded["k"]))
    slider("item_cap", "One passage may take, %", recorded, FULL, least=1)
    slider("source_cap", "One source may take, %", recorded, FULL, least=1)
    with st.popover("Shares and reserve"):
        slider("reserve", "Kept free, tokens", recorded, largest_budget(context))
        st.caption("Shares by weight; a group with 0 takes from what the others leave.")
        for name in recorded:
            if name.startswith(SHARE):
                most = max(5.0, recorded[name])
                slider(name, name.removeprefix(SHARE), recorded, most, step=0.25)


def forms(recorded: Knobs) -> None:
    """Draw thresholds and choices."""
    least = min(50, recorded["threshold"])
    slider("threshold", "Duplicates from, % alike (100: equal)", recorded, FULL, least=least)
    slider("min_score", "Least score", recorded, 1.0, step=0.01)
    for name, label in (
        ("selection", "Selection"),
        ("order", "Order in the text"),
        ("truncator", "Cutting"),
        ("template", "Template"),
    ):
        options = choices(name, recorded[name])
        st.selectbox(
            label,
            options,
            index=options.index(recorded[name]),
            key=name,
            bind="query-params",
        )


def slider(
    name: str,
    label: str,
    recorded: Knobs,
    most: float,
    *,
    least: float = 0,
    step: float = 1,
) -> None:
    """Draw one slider whose value stands in the address where it is not as recorded."""
    kind: Any = float if isinstance(recorded[name], float) else int
    st.slider(
        plain(label),
        kind(least),
        kind(most),
        recorded[name],
        kind(step),
        key=name,
        bind="query-params",
    )


def plain(label: str) -> str:
    r"""Return a label that Streamlit shows as it is: names of sources and signals are not Markdown.

    An underscore within a word is no Markdown, and would be read aloud with its backslash.

    Example:
        >>> print(plain("a_b *c*"), plain("_d_"))
        a_b \*c\* \_d\_
    """
    return _MARKDOWN.sub(r"\\\g<0>", label)
