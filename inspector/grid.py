"""A table whose rows have ids: what is clicked, ticked or graded is told by its id, never by its place.

A place in a table is that of what was drawn last, while a person acts on what is on the screen. Streamlit's
own table tells places, and is chosen by a box on its left alone; this one by a click, Enter, J and K.
What is only read is drawn by `st.dataframe`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

import streamlit as st

from inspector import cards
from inspector.palette import FATE_COLOURS, FATE_MEANINGS

_FOLDER = Path(__file__).parent


class Column(TypedDict, total=False):
    """A column: its name in the cells, its label, its kind and its width in pixels (none: what is left).

    On a phone only those that are `narrow` are drawn, where any is.

    Kinds: text (a text, or pieces with whether they are marked), number (a text, to the right), fate, bar
    (colour, share, title), place (file, lines, end; the whole on hover), tick (a box).
    """

    name: str
    label: str
    kind: str
    width: int | None
    help: str
    sorts: bool
    narrow: bool


class GridRow(TypedDict, total=False):
    """A row: its id and cells; or a line of text over the whole width."""

    id: str
    label: str
    cells: Mapping[str, Any]
    line: str


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
    on_tick: Callable[[str, bool], None] | None = None,
    sort: tuple[str, bool] | None = None,
    on_sort: Callable[[str, bool], None] | None = None,
    on_grade: Callable[[str, int], None] | None = None,
    walks: bool = False,
    rests: bool = False,
    opens: bool = False,
    polls: bool = False,
) -> None:
    """Draw a table.

    Args:
        key: Its own in the page.
        columns: From left to right.
        rows: From top to bottom, each id once.
        label: What it is, for those who hear it.
        height: Pixels at most; 0 is down to the end of the window, but for `below`.
        below: Pixels that are left free there for what stands below the table.
        chosen: The id that is chosen.
        on_choose: Called with the id that was clicked, walked to or entered.
        ticks: Ids whose boxes are ticked.
        on_tick: Called with the id whose box was turned, and whether it is ticked.
        sort: Column and whether ascending.
        on_sort: Called with those.
        on_grade: Called with the id that was on the screen and the digit, 0 to 3, that was pressed.
        walks: J and K walk, wherever the focus is; where a row opens a page, Enter then opens it.
        rests: `st.session_state["walking"]` says whether a next key may come at once: what is slow waits.
        opens: A row opens a page, so that arrows only move the mark and Enter opens.
        polls: It is drawn anew every two seconds, but for some after a press.
    """
    ids = [row["id"] for row in rows if "id" in row]
    if len(set(ids)) != len(ids):
        raise ValueError(f"ids of a table's rows must differ, got {sorted(ids)!r:.200}")
    seen: dict[str, int] = st.session_state.setdefault(f"{key}-seen", {})
    data = {
        # A column that says nothing has no room.
        "columns": [
            column
            for column in columns
            if column.get("kind") == "tick"
            or any(row["cells"].get(column["name"]) for row in rows if "cells" in row)
        ],
        "rows": list(rows),
        "label": label,
        "height": height,
        "below": below,
        "chosen": chosen,
        "ticks": list(ticks),
        "sort": {"column": sort[0], "ascending": sort[1]} if sort else None,
        "grades": list("0123") if on_grade else [],
        "walks": walks,
        "rests": rests,
        "opens": opens,
        "polls": polls,
        "palette": dict(FATE_COLOURS),
        "meanings": dict(FATE_MEANINGS),
        "seen": dict(seen),
        "of": f"{key} {st.session_state.get('trace')}",
    }

    def handle(name: str, act: Callable[[str, Any], None] | None) -> Callable[[], None]:
        """Act on every event that was not acted on yet, since two within one run come together, as a log.

        What was seen is told back, so that the table knows which of its own a run is behind.
        """

        def take() -> None:
            told = st.session_state[key][name]
            for event in told if isinstance(told, list) else [told] if told else []:
                if event["at"] > seen.get(name, 0):
                    seen[name] = event["at"]
                    with cards.kept_guard():
                        if act is not None:
                            act(event["id"], event.get("value"))

        return take

    def choose(name: str, value: Any) -> None:
        if rests:
            st.session_state["walking"] = value != "rested"
        if on_choose is not None:
            on_choose(name)

    _mount(
        key=key,
        data=data,
        on_chosen_change=handle("chosen", choose),
        on_looked_change=handle("looked", None),
        on_sorted_change=handle("sorted", on_sort),
        on_ticked_change=handle("ticked", on_tick),
        on_graded_change=handle("graded", on_grade and (lambda name, digit: on_grade(name, int(digit)))),
    )
