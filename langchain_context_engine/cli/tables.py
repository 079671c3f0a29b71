"""Tables for the terminal: what is in a context and what nearly was, what indexing wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from langchain_context_engine.cli.output import without_controls
from langchain_context_engine.models.types import Reason, Verdict
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.explain import Row, rows

if TYPE_CHECKING:
    from langchain_context_engine.ingest.report import IndexReport

_WIDE = 110
"""From so many columns on, what a candidate is and why it is in or out stand side by side."""

_BESIDE = 18
"""Columns that marker and score take, with the space between columns."""


def fates(context: Context, near: int) -> tuple[list[Row], list[Row], int]:
    """Return the rows that are in, best first; the first `near` that nearly were; how many are left.

    Nearest come the duplicates of what is in, then the others by rank.
    """
    from langchain_context_engine.trace.traces import ranking

    found = rows(context, ranking(context))
    kept = [row for row in found if row.verdict is Verdict.KEPT]
    dropped = [row for row in found if row.verdict is not Verdict.KEPT]
    in_order = sorted(dropped, key=_is_no_duplicate)
    return kept, in_order[:near], max(0, len(dropped) - near)


def _is_no_duplicate(row: Row) -> bool:
    return row.reason is not Reason.DUPLICATE


def fate_table(context: Context, near: int, width: int) -> Table:
    """Return the candidates that are in the context and those that nearly were, with the reason.

    Args:
        context: What was built.
        near: How many of those that are not in it are shown.
        width: Columns there are; where they are few, the reason stands below the candidate.
    """
    kept, missed, left = fates(context, near)
    is_wide = width >= _WIDE
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, expand=False)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("candidate" if is_wide else "candidate, and why", overflow="fold", no_wrap=is_wide)
    if is_wide:
        table.add_column("why", overflow="fold")
    longest = width - _BESIDE if not is_wide else (width - _BESIDE) // 2
    for row in (*kept, *missed):
        mark = row.citation or ("·" if row.verdict is Verdict.KEPT else "✗")
        score = "" if row.score is None else f"{row.score:.3f}"
        style = "" if row.verdict is Verdict.KEPT else "dim"
        label, why = _shortened(without_controls(row.label), longest), without_controls(row.sentence)
        cells = (Text(label), Text(why)) if is_wide else (Text(f"{label}\n  {why}"),)
        table.add_row(Text(mark), score, *cells, style=style)
    if left:
        table.caption = f"and {left} more, further from it: context-engine explain"
        table.caption_justify = "left"
    return table


def _shortened(label: str, longest: int) -> str:
    """Return a label that fits so many columns: its end, which tells it from others."""
    if cell_len(label) <= longest:
        return label
    # A sign of some scripts takes two columns, some marks take none.
    while label and cell_len(label) >= longest:
        label = label[max(1, (cell_len(label) - longest) // 2) :]
    return f"…{label}"


def figures(context: Context) -> str:
    """Return one line: tokens, passages, candidates, milliseconds, and how it went."""
    return (
        f"{context.tokens:,} of {context.budget:,} tokens, {len(context.passages):,} of"
        f" {len(context.candidates):,} candidates, {sum(context.timings.values()):,.0f} ms ({context.status})"
    )


def index_table(report: IndexReport) -> Table:
    """Return what became of the records of each collection."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("collection")
    for head in ("added", "updated", "unchanged", "deleted"):
        table.add_column(head, justify="right")
    for collection, counts in report.collections.items():
        table.add_row(
            Text(collection), *map(str, (counts.added, counts.updated, counts.unchanged, counts.deleted))
        )
    return table
