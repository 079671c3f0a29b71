"""The command line: `context-engine`, a command a function.

Results go to standard output, everything about them to standard error. Exit codes: 0 done, 1 it could
not be done, 2 it was asked in a way that cannot be understood, 130 it was interrupted. An error is one
line with a next step; with CONTEXT_ENGINE_TRACEBACK=1 it is a traceback.
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from langchain_context_engine.cli import output
from langchain_context_engine.cli.process import DONE, FAILED, INTERRUPTED, exit_code_of, told, working_on

if TYPE_CHECKING:
    import typer

__all__ = ["main"]

_MODULE_OF = {
    **dict.fromkeys(("index", "prepare", "ls", "rm"), "contents"),
    **dict.fromkeys(("ask", "explain"), "ask"),
    **dict.fromkeys(("evaluate", "tune"), "figures"),
    **dict.fromkeys(("serve", "mcp"), "serve"),
    **{name: name for name in ("demo", "inspect", "doctor")},
}
"""The commands in the order of the help: the module of each."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Args:
        arguments: What stands after `context-engine`; None is the process's own.

    Example:
        >>> main(["ask", ""])  # an empty question: one line on standard error
        2
    """
    is_own = arguments is None
    if is_own:
        # Until the store is open nothing is garbage: looking for some is a tenth of the time to start.
        gc.disable()
    os.environ.setdefault("ANONYMIZED_TELEMETRY", "False")
    warnings.showwarning = lambda message, *_, **__: output.warn(message)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")
    # What is made here (stores, indexes, journals) holds texts of its owner, and is nobody else's to read.
    mask = os.umask(0o077)
    working_on(None)
    try:
        code = _run(None if arguments is None else list(arguments))
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read us has seen enough; what is still buffered must not complain at exit.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as error:  # whatever it is, a command ends with one line
        if os.environ.get("CONTEXT_ENGINE_TRACEBACK"):
            raise
        if message := told(error):
            output.note(f"error: {message}")
        return exit_code_of(error)
    finally:
        os.umask(mask)
        if is_own:
            gc.freeze()  # the process ends: its memory goes whole
    if code == INTERRUPTED:
        output.note("interrupted")
    return code if isinstance(code, int) else DONE


def _run(arguments: list[str] | None) -> Any:
    asked = next(iter(sys.argv[1:] if arguments is None else arguments), "")
    return _app(asked)(arguments, prog_name="context-engine", standalone_mode=False)


def _app(asked: str) -> typer.Typer:
    """Return the command that is asked for, or all of them: what it does not use is not loaded."""
    import typer

    app = typer.Typer(
        name="context-engine",
        help="One question, one context that fits the token budget, and a reason for every candidate's fate.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()
    def options(
        version: bool = typer.Option(
            False, "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ) -> None:
        del version

    for name in (asked,) if asked in _MODULE_OF else _MODULE_OF:
        app.command()(getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name))
    return app


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        import typer

        output.write_text(version("langchain-context-engine"))
        raise typer.Exit
