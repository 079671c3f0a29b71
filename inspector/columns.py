"""What a table of the inspector is made of: columns, and rows that have ids. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

__all__ = ["Column", "GridRow"]


class Column(TypedDict, total=False):
    """A column: its name in the cells, its label, its kind and its width in pixels (none: what is left).

    On a phone only those that are `narrow` are drawn, where any is.

    Kinds: text (a text, or pieces with whether they are marked), number (a text, to the right), fate, bar
    (colour, share, title), place (a text, of whose path the end is kept), share (share, text), tick (a box),
    pick (one of `options`).
    """

    name: str
    label: str
    kind: str
    width: int | None
    help: str
    sorts: bool
    narrow: bool
    options: Sequence[str]


class GridRow(TypedDict, total=False):
    """A row: its id and cells; or a line of text over the whole width."""

    id: str
    label: str
    cells: Mapping[str, Any]
    line: str
