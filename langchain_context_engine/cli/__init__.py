"""The command line: `context-engine`, a command a file.

Results go to standard output, everything about them to standard error. Exit codes: 0 done, 1 it could
not be done, 2 it was asked in a way that cannot be understood. An error is one line with a next step;
with CONTEXT_ENGINE_TRACEBACK=1 it is a traceback.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from langchain_context_engine.cli import output
from langchain_context_engine.cli.ask import ask
from langchain_context_engine.cli.demo import demo
from langchain_context_engine.cli.doctor import doctor
from langchain_context_engine.cli.evaluate import evaluate
from langchain_context_engine.cli.explain import explain
from langchain_context_engine.cli.failure import (
    DONE,
    FAILED,
    exit_code_of,
    one_line,
    told_of_disk,
    working_on,
)
from langchain_context_engine.cli.index import index
from langchain_context_engine.cli.inspect import inspect
from langchain_context_engine.cli.journal import journal
from langchain_context_engine.cli.ls import ls
from langchain_context_engine.cli.mcp import mcp
from langchain_context_engine.cli.prepare import prepare
from langchain_context_engine.cli.rm import rm
from langchain_context_engine.cli.serve import serve
from langchain_context_engine.cli.tune import tune
from langchain_context_engine.models.errors import ContextEngineError

app = typer.Typer(
    name="context-engine",
    help="One question, one context that fits the token budget, and a reason for every candidate's fate.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for _command in (demo, index, prepare, ls, rm, ask, explain, inspect, evaluate, tune, serve, mcp, doctor):
    app.command()(_command)
app.add_typer(journal)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        from importlib.metadata import version

        output.write_text(version("langchain-context-engine"))
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Args:
        arguments: What stands after `context-engine`; None is the process's own.

    Example:
        >>> main(["ask", ""])  # an empty question: one line on standard error
        2
    """
    _prepare()
    # What is made here (stores, indexes, journals) holds texts of its owner, and is nobody else's to read.
    mask = os.umask(0o077)
    working_on(None)
    try:
        code = app(
            None if arguments is None else list(arguments), prog_name="context-engine", standalone_mode=False
        )
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read us has seen enough; what is still buffered must not complain at exit.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as error:
        if os.environ.get("CONTEXT_ENGINE_TRACEBACK"):
            raise
        message = _told(error)
        if message:
            output.note(f"error: {message}")
        return exit_code_of(error)
    finally:
        os.umask(mask)
    return code if isinstance(code, int) else DONE


def _prepare() -> None:
    os.environ.setdefault("ANONYMIZED_TELEMETRY", "False")
    warnings.showwarning = _show_warning
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    output.warn(message)


def _told(error: Exception) -> str:
    """Return an error as one line with a next step; "" where all has been said."""
    if told := told_of_disk(error):
        return told
    if isinstance(error, ContextEngineError):
        return one_line(str(error))
    if hasattr(error, "format_message"):
        message = one_line(error.format_message())
        command = getattr(getattr(error, "ctx", None), "command_path", "context-engine")
        # Without a message the help has been shown instead: no command was given.
        return message and f"{message.rstrip('.')}; see: {command} --help"
    from langchain_context_engine.models.redact import safe_message

    return (
        f"unexpected {type(error).__name__}: {one_line(safe_message(error))};"
        " set CONTEXT_ENGINE_TRACEBACK=1 to see where, and please report it"
    )
