"""Writing to the terminal: results to standard output, everything about them to standard error."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from langchain_context_engine.cli.failure import one_line

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

    from langchain_context_engine.trace.context import Context
    from langchain_context_engine.trace.explain import Row

# What could move the cursor, rename the window or worse: everything but line ends and tabs.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_PIPED = 120
_NARROWEST = 24

_WIDE = 110
"""From so many columns on, what a candidate is and why it is in or out stand side by side."""

_BESIDE = 18
"""Columns that marker and score take, with the space between columns."""


def without_controls(text: str) -> str:
    r"""Return a text that cannot command the terminal: control characters become U+FFFD.

    Example:
        >>> without_controls("a\x1b[2Jb")
        'a�[2Jb'
    """
    return _CONTROLS.sub("\ufffd", text)


def counted(number: int, what: str) -> str:
    """Return a number of things in words.

    Example:
        >>> counted(1, "record"), counted(2000, "record")
        ('1 record', '2,000 records')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def write_text(text: str) -> None:
    """Write a result as it is; where a person reads it, without what could command the terminal."""
    sys.stdout.write((without_controls(text) if sys.stdout.isatty() else text) + "\n")


def write_json(text: str) -> None:
    """Write JSON, and nothing else; where a person reads it, what could command the terminal is escaped."""
    is_read = sys.stdout.isatty()
    sys.stdout.write(
        (_CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text) if is_read else text) + "\n"
    )


def write_table(table: RenderableType) -> None:
    """Write a table or other rich output to standard output, as wide as the terminal."""
    _console(is_error=False).print(table)


def write_lines(lines: Iterable[tuple[str, str]]) -> None:
    """Write what stands beside what: as wide as the terminal, broken between words, in a column of its own.

    Where no person looks and COLUMNS says nothing, each is one line.
    """
    found = [(without_controls(head), without_controls(text)) for head, text in lines]
    indent = max((len(head) for head, _ in found), default=0) + 2
    is_read = os.environ.get("COLUMNS", "").isdigit() or sys.stdout.isatty()
    room = max(_NARROWEST, width() - indent) if is_read else sys.maxsize
    for head, text in found:
        pieces = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False) or [""]
        for number, piece in enumerate(pieces):
            sys.stdout.write(f"{'' if number else head:<{indent}}{piece}".rstrip() + "\n")


def note(text: str) -> None:
    """Say something about the work to standard error."""
    sys.stderr.write(without_controls(text) + "\n")


def warn(text: object) -> None:
    """Say in one line, on standard error, what a person should know."""
    note(f"warning: {one_line(str(text))}")


def width() -> int:
    """Return the columns of standard output: `COLUMNS`, else those of a terminal that is read, else 120."""
    return _console(is_error=False).width


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[..., None]]:
    """Show a bar on standard error while something is done; silent where no person looks."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    console = _console(is_error=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
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


def fate_table(context: Context, near: int, columns: int) -> Table:
    """Return the candidates that are in the context and those that nearly were, with the reason.

    Args:
        context: What was built.
        near: How many of those that are not in it are shown.
        columns: What there are; where they are few, the reason stands below the candidate.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from langchain_context_engine.models.types import Verdict

    kept, missed, left = fates(context, near)
    is_wide = columns >= _WIDE
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, expand=False)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("candidate" if is_wide else "candidate, and why", overflow="fold", no_wrap=is_wide)
    if is_wide:
        table.add_column("why", overflow="fold")
    longest = columns - _BESIDE if not is_wide else (columns - _BESIDE) // 2
    for row in (*kept, *missed):
        is_in = row.verdict is Verdict.KEPT
        score = "" if row.score is None else f"{row.score:.3f}"
        label, why = _end_of(without_controls(row.label), longest), without_controls(row.sentence)
        cells = (Text(label), Text(why)) if is_wide else (Text(f"{label}\n  {why}"),)
        mark = Text(row.citation or ("·" if is_in else "✗"))
        table.add_row(mark, score, *cells, style="" if is_in else "dim")
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


def _end_of(label: str, longest: int) -> str:
    """Return a label that fits so many columns: its end, which tells it from others."""
    from rich.cells import cell_len

    if cell_len(label) <= longest:
        return label
    # A sign of some scripts takes two columns, some marks take none.
    while label and cell_len(label) >= longest:
        label = label[max(1, (cell_len(label) - longest) // 2) :]
    return f"…{label}"


def _console(*, is_error: bool) -> Console:
    from rich.console import Console

    is_wide = not os.environ.get("COLUMNS", "").isdigit() and not any(
        map(_is_terminal, (sys.stdin, sys.stdout, sys.stderr))
    )
    # A pipe has no width, unless somebody reads its end in a pager.
    columns = _PIPED if is_wide else None
    return Console(stderr=is_error, highlight=False, markup=False, emoji=False, width=columns)


def _is_terminal(stream: IO[str] | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # it is closed
        return False
