"""A box for the exact number that a slider shows: what is typed is told once, and never again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from inspector import cards

__all__ = ["number_box"]

_WIDTH = 88

_mount = st.components.v2.component(
    "context_inspector_number",
    js=(Path(__file__).parent / "number.js").read_text(encoding="utf-8"),
    isolate_styles=False,
)


def number_box(
    key: str,
    label: str,
    value: float,
    *,
    least: float,
    most: float,
    step: float,
    on_type: Callable[[float], None],
) -> None:
    """Draw the box.

    Streamlit's own tells its value with each press of a key anywhere. Told by a browser that is a moment
    behind, a number from before the last turn of the slider looked like one typed just now: the slider
    turned back.

    Args:
        key: Its own in the page.
        label: What it is, for those who hear it.
        value: What it shows.
        least: What it takes at least.
        most: What it takes at most.
        step: What an arrow adds.
        on_type: Called with a number that was typed, once.
    """

    def take() -> None:
        typed = st.session_state[key]["typed"]
        if isinstance(typed, (int, float)):
            with cards.kept_guard():
                on_type(min(most, max(least, typed)))

    data = {"label": label, "value": value, "least": least, "most": most, "step": step}
    _mount(key=key, data=data, width=_WIDTH, on_typed_change=take)
