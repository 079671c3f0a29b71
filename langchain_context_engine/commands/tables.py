"""Tables for the terminal: what is in a context and what nearly was, what indexing wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from langchain_context_engine.answering.context import Context
from langchain_context_engine.answering.explain import Row, name, rows
from langchain_context_engine.commands.output import without_controls
from langchain_context_engine.values.types import Candidate, Key, Reason, Verdict

if TYPE_CHECKING:
    from langchain_context_engine.ingest.report import IndexReport

_LONGEST_PLACE = 44


def fates(context: Context, near: int) -> tuple[list[Row], list[Row], int]:
    """Return the rows that are in, best first; the first `near` that nearly were; how many are left.

    Nearest come the duplicates of what is in, then the others by rank.
    """
    from langchain_context_engine.answering.traces import ranking

    found = rows(context, ranking(context))
    kept = [row for row in found if row.verdict is Verdict.KEPT]
    dropped = [row for row in found if row.verdict is not Verdict.KEPT]
    in_order = sorted(dropped, key=_is_no_duplicate)
    return kept, in_order[:near], max(0, len(dropped) - near)


def _is_no_duplicate(row: Row) -> bool:
    return row.reason is not Reason.DUPLICATE


def label(key: Key, context: Context) -> str:
    """Return what a person knows a candidate by: its path and symbol, its title, or its source and id."""
    candidate = next((c for c in context.candidates if c.key == key), Candidate(id=key[1], source=key[0]))
    place = place_of(candidate)
    shown = place if len(place) <= _LONGEST_PLACE else f"…{place[1 - _LONGEST_PLACE :]}"
    return without_controls(f"{key[0]}/{shown}")


def place_of(candidate: Candidate) -> str:
    """Return the path and symbol of a candidate, else its path, its title or its id."""
    path, symbol, title = (str(candidate.metadata.get(name) or "") for name in ("path", "symbol", "title"))
    return f"{path}:{symbol}" if path and symbol else path or title or candidate.id


def fate_table(context: Context, near: int) -> Table:
    """Return the candidates that are in the context and those that nearly were, with the reason."""
    kept, missed, left = fates(context, near)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, expand=False)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("candidate", no_wrap=True)
    table.add_column("why", overflow="fold")
    for row in (*kept, *missed):
        mark = row.citation or ("·" if row.verdict is Verdict.KEPT else "✗")
        score = "" if row.score is None else f"{row.score:.3f}"
        style = "" if row.verdict is Verdict.KEPT else "dim"
        table.add_row(Text(mark), score, Text(label(row.key, context)), Text(told(row, context)), style=style)
    if left:
        table.caption = f"and {left} more, further from it: context-engine explain"
        table.caption_justify = "left"
    return table


def told(row: Row, context: Context) -> str:
    """Return a row's reason, the winner of a duplicate by what a person knows it by."""
    sentence = row.sentence
    winner = row.details.get("winner")
    if winner is not None:
        key = (winner[0], winner[1])
        sentence = sentence.replace(name(key, context), _marked(key, context))
    return without_controls(sentence)


def _marked(key: Key, context: Context) -> str:
    marker = next((m for m, cited in context.citations.items() if tuple(cited) == key), "")
    return f"{marker} {label(key, context)}".strip()


def figures(context: Context) -> str:
    """Return one line: tokens, passages, candidates, milliseconds, and how it went."""
    return (
        f"{context.tokens} of {context.budget} tokens, {len(context.passages)} of"
        f" {len(context.candidates)} candidates, {sum(context.timings.values()):.0f} ms ({context.status})"
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
