"""Writing to the terminal: results to standard output, everything about them to standard error."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from langchain_context_engine.commands.failure import one_line

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from langchain_context_engine.ingest.report import OnProgress

# What could move the cursor, rename the window or worse: everything but line ends and tabs.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_PIPED = 120


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
    if console.is_terminal or os.environ.get("COLUMNS", "").isdigit():
        return console
    # A pipe has no width.
    return Console(stderr=is_error, highlight=False, markup=False, emoji=False, width=_PIPED)


def width() -> int:
    """Return the columns of standard output: the terminal's, else `COLUMNS`, else 120."""
    return _console(is_error=False).width
