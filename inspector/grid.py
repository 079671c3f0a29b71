"""A table whose rows have ids: what is clicked, ticked or graded is told by its id, never by its place.

A place in a table is that of what was drawn last, while a person acts on what is on the screen. Streamlit's
own table tells places, and is chosen by a box on its left alone; this one by a click anywhere, and by Enter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from inspector import cards
from inspector.columns import Column, GridRow
from inspector.palette import FATE_COLOURS

__all__ = ["Column", "GridRow", "draw"]

_FOLDER = Path(__file__).parent

_mount = st.components.v2.component(
    "context_inspector_grid",
    js=(_FOLDER / "grid.js").read_text(encoding="utf-8"),
    css=(_FOLDER / "grid.css").read_text(encoding="utf-8"),
    isolate_styles=False,
)


def draw(
    key: str,
    columns: Sequence[Column],
    rows: Sequence[GridRow],
    *,
    label: str,
    height: int = 0,
    below: int = 0,
    chosen: str | None = None,
    on_choose: Callable[[str], None] | None = None,
    ticks: Sequence[str] = (),
    on_tick: Callable[[list[str]], None] | None = None,
    sort: tuple[str, bool] | None = None,
    on_sort: Callable[[str, bool], None] | None = None,
    on_grade: Callable[[str, int], None] | None = None,
    on_pick: Callable[[str, str], None] | None = None,
    walks: bool = False,
    opens: bool = False,
) -> None:
    """Draw a table.

    Args:
        key: Its own in the page.
        columns: From left to right.
        rows: From top to bottom, each id once.
        label: What it is, for those who hear it.
        height: Pixels at most; 0 is down to the end of the window.
        below: Pixels that are left free there for what stands below the table.
        chosen: The id that is chosen.
        on_choose: Called with the id that was clicked, walked to or entered.
        ticks: Ids whose boxes are ticked.
        on_tick: Called with all ticked ids.
        sort: Column and whether ascending.
        on_sort: Called with those.
        on_grade: Called with the id that was on the screen and the digit, 0 to 3, that was pressed.
        on_pick: Called with an id and what was picked in its row.
        walks: J and K walk, wherever the focus is.
        opens: A row opens a page, so that arrows only move the mark and Enter opens.
    """
    ids = [row["id"] for row in rows if "id" in row]
    if len(set(ids)) != len(ids):
        raise ValueError(f"ids of a table's rows must differ, got {sorted(ids)!r:.200}")
    data = {
        "columns": list(columns),
        "rows": list(rows),
        "label": label,
        "height": height,
        "below": below,
        "chosen": chosen,
        "ticks": list(ticks),
        "sort": {"column": sort[0], "ascending": sort[1]} if sort else None,
        "grades": list("0123") if on_grade else [],
        "walks": walks,
        "opens": opens,
        "palette": dict(FATE_COLOURS),
    }

    def handle(name: str, act: Callable[[Any], None] | None) -> Callable[[], None]:
        def run() -> None:
            value = st.session_state[key][name]
            if act is not None and value is not None:
                with cards.kept_guard():
                    act(value)

        return run

    _mount(
        key=key,
        data=data,
        on_chosen_change=handle("chosen", on_choose and (lambda v: on_choose(v["id"]))),
        on_ticked_change=handle("ticked", on_tick),
        on_sorted_change=handle("sorted", on_sort and (lambda v: on_sort(v["column"], v["ascending"]))),
        on_graded_change=handle("graded", on_grade and _each_once(key, on_grade)),
        on_picked_change=handle("picked", on_pick and (lambda v: on_pick(v["id"], v["value"]))),
    )


def _each_once(key: str, act: Callable[[str, int], None]) -> Callable[[list[dict[str, Any]]], None]:
    """Return what acts on every press of a log once: two within one run come together."""

    def run(log: list[dict[str, Any]]) -> None:
        seen = st.session_state.get(f"{key}-seen", 0)
        for press in log:
            if press["at"] > seen:
                st.session_state[f"{key}-seen"] = seen = press["at"]
                act(press["id"], int(press["grade"]))

    return run
