"""Writing to the terminal: results to standard output, everything about them to standard error."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from langchain_context_engine.cli.process import one_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from langchain_context_engine.trace.context import Context
    from langchain_context_engine.trace.explain import Row

# What could move the cursor, rename the window or worse: everything but line ends and tabs.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def without_controls(text: str) -> str:
    """Return a text that cannot command the terminal: control characters become U+FFFD."""
    return _CONTROLS.sub("\ufffd", text)


def counted(number: int, what: str) -> str:
    """Return a number of things in words."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def write_text(text: str) -> None:
    """Write a result as it is; where a person reads it, without what could command the terminal."""
    sys.stdout.write((without_controls(text) if sys.stdout.isatty() else text) + "\n")


def write_json(text: str) -> None:
    """Write JSON, and nothing else; where a person reads it, what could command the terminal is escaped."""
    if sys.stdout.isatty():
        text = _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    sys.stdout.write(text + "\n")


def note(text: str) -> None:
    """Say something about the work to standard error."""
    sys.stderr.write(without_controls(text) + "\n")


def warn(text: object) -> None:
    """Say in one line, on standard error, what a person should know."""
    note(f"warning: {one_line(str(text))}")


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[..., None]]:
    """Show a bar on standard error while something is done; silent where no person looks."""
    from rich.progress import Progress

    shown = console(is_error=True)
    with Progress(console=shown, transient=True, disable=not shown.is_terminal) as progress:
        task = progress.add_task(title, total=None)

        def show(done: int, total: int, label: str = "") -> None:
            progress.update(task, description=f"{title} {label}", completed=done, total=total)

        yield show


def fates(context: Context, near: int) -> tuple[list[Row], list[Row], int]:
    """Return the rows that are in, best first; the first `near` that nearly were; how many are left.

    Nearest come the duplicates of what is in, then the others by rank.
    """
    from langchain_context_engine.models.types import Reason, Verdict
    from langchain_context_engine.trace.explain import rows
    from langchain_context_engine.trace.replay import ranking

    found = rows(context, ranking(context))
    kept = [row for row in found if row.verdict is Verdict.KEPT]
    dropped = [row for row in found if row.verdict is not Verdict.KEPT]
    nearest = sorted(dropped, key=lambda row: row.reason is not Reason.DUPLICATE)
    return kept, nearest[:near], max(0, len(dropped) - near)


def fate_table(context: Context, near: int) -> Table:
    """Return the candidates that are in the context and `near` of those that nearly were, with the reason.

    A candidate's label is whole, since `explain` takes it.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    kept, missed, left = fates(context, near)
    table = Table("", "score", "candidate, and why", box=box.SIMPLE_HEAD, pad_edge=False)
    table.columns[2].overflow = "fold"
    for place, row in enumerate((*kept, *missed)):
        is_in = place < len(kept)
        score = "" if row.score is None else f"{row.score:.3f}"
        told = without_controls(f"{row.label}\n  {row.sentence}")
        mark = row.citation or ("·" if is_in else "✗")
        table.add_row(Text(mark), score, Text(told), style="" if is_in else "dim")
    if left:
        table.caption = f"and {left} more, further from it: context-engine explain"
        table.caption_justify = "left"
    return table


def figures(context: Context) -> str:
    """Return one line: tokens, passages, candidates, milliseconds, and how it went."""
    return (
        f"{context.tokens:,} of {counted(context.budget, 'token')}, {len(context.passages):,} of"
        f" {counted(len(context.candidates), 'candidate')}, {sum(context.timings.values()):,.0f} ms"
        f" ({context.status})"
    )


def console(*, is_error: bool = False) -> Console:
    """Return what draws tables and bars: as wide as `COLUMNS` says, else the terminal."""
    from rich.console import Console

    return Console(stderr=is_error, highlight=False, markup=False, emoji=False)
