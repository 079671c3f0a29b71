"""Choices of a page that its address holds: one of a few, or whether."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from inspector import state

__all__ = ["one_of", "whether"]


def one_of(
    key: str,
    options: Sequence[str],
    label: str,
    *,
    says: Callable[[str], str] = str,
    on_change: Callable[[], None] | None = None,
) -> str:
    """Draw a choice and return what is chosen: what the address says, else what was, else the first.

    Args:
        key: Of the widget, and in the address.
        options: From left to right.
        label: What it is, for those who hear it.
        says: Option → what is drawn for it.
        on_change: Called when another is chosen.
    """
    state.seed(key, options[0], options.__contains__)
    chosen = st.segmented_control(
        label,
        options,
        format_func=says,
        key=key,
        required=True,
        on_change=on_change,
        label_visibility="collapsed",
    )
    state.publish(key, chosen, options[0])
    return str(chosen)


def whether(key: str, label: str, told: str | None = None) -> bool:
    """Draw a switch, off at first, and return whether it is on; `told` is what it says on hover."""
    state.seed(key, False, {"True"}.__contains__, read=lambda _: True)
    is_on = st.toggle(label, key=key, help=told)
    state.publish(key, is_on, False)
    return bool(is_on)
