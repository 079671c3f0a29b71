"""Writing to the terminal: results to standard output, everything about them to standard error."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from langchain_context_engine.cli.failure import one_line

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

    from langchain_context_engine.ingest.report import OnProgress

# What could move the cursor, rename the window or worse: everything but line ends and tabs.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_PIPED = 120
_NARROWEST = 24
_WIDEST = 10_000


def without_controls(text: str) -> str:
    r"""Return a text that cannot command the terminal: control characters become U+FFFD.

    Example:
        >>> without_controls("a\x1b[2Jb")
        'a�[2Jb'
    """
    return _CONTROLS.sub("\ufffd", text)


def write_text(text: str) -> None:
    """Write a result as it is; where a person reads it, without what could command the terminal."""
    sys.stdout.write((without_controls(text) if sys.stdout.isatty() else text) + "\n")


def write_json(text: str) -> None:
    """Write JSON, and nothing else, to standard output.

    Where a person reads it, what could command the terminal is escaped, and it stays the same JSON.
    """
    sys.stdout.write((_escaped(text) if sys.stdout.isatty() else text) + "\n")


def _escaped(text: str) -> str:
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def write_table(table: RenderableType) -> None:
    """Write a table or other rich output to standard output, as wide as the terminal."""
    _console(is_error=False).print(table)


def fits(table: Table) -> bool:
    """Return whether a table has room on standard output without a cell being broken or shortened."""
    console = _console(is_error=False)
    return console.measure(table, options=console.options.update(max_width=_WIDEST)).maximum <= console.width


def note(text: str) -> None:
    """Say something about the work to standard error."""
    sys.stderr.write(without_controls(text) + "\n")


def warn(text: object) -> None:
    """Say in one line, on standard error, what a person should know."""
    note(f"warning: {one_line(str(text))}")


@contextmanager
def progress_bar(title: str) -> Iterator[OnProgress]:
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
        tasks = {"": progress.add_task(title, total=None)}

        def show(done: int, total: int, label: str) -> None:
            if label not in tasks:
                tasks[label] = tasks.pop("") if "" in tasks else progress.add_task(label)
                progress.update(tasks[label], description=f"{title} {label}")
            progress.update(tasks[label], completed=done, total=total)

        yield show


def _console(*, is_error: bool) -> Console:
    from rich.console import Console

    console = Console(stderr=is_error, highlight=False, markup=False, emoji=False)
    if os.environ.get("COLUMNS", "").isdigit() or any(map(_is_terminal, (sys.stdin, sys.stdout, sys.stderr))):
        return console
    # A pipe has no width, unless somebody reads its end in a pager.
    return Console(stderr=is_error, highlight=False, markup=False, emoji=False, width=_PIPED)


def _is_terminal(stream: IO[str] | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # it is closed
        return False


def width() -> int:
    """Return the columns of standard output: `COLUMNS`, else those of a terminal that is read, else 120."""
    return _console(is_error=False).width


def write_lines(lines: Iterable[tuple[str, str]]) -> None:
    """Write what stands beside what: as wide as the terminal, broken between words, in a column of its own.

    Where no person looks and COLUMNS says nothing, each is one line.
    """
    told = [(without_controls(head), without_controls(text)) for head, text in lines]
    indent = max((len(head) for head, _ in told), default=0) + 2
    is_read = os.environ.get("COLUMNS", "").isdigit() or sys.stdout.isatty()
    room = max(_NARROWEST, width() - indent) if is_read else sys.maxsize
    for head, text in told:
        pieces = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False) or [""]
        for number, piece in enumerate(pieces):
            sys.stdout.write(f"{'' if number else head:<{indent}}{piece}".rstrip() + "\n")
