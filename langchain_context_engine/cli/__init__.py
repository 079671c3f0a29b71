"""The command line: `context-engine`, a command a file.

Results go to standard output, everything about them to standard error. Exit codes: 0 done, 1 it could
not be done, 2 it was asked in a way that cannot be understood, 130 it was interrupted. An error is one
line with a next step; with CONTEXT_ENGINE_TRACEBACK=1 it is a traceback.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from langchain_context_engine.cli import output
from langchain_context_engine.cli.failure import DONE, FAILED, INTERRUPTED, exit_code_of, told, working_on

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Args:
        arguments: What stands after `context-engine`; None is the process's own.

    Example:
        >>> main(["ask", ""])  # an empty question: one line on standard error
        2
    """
    os.environ.setdefault("ANONYMIZED_TELEMETRY", "False")
    warnings.showwarning = _show_warning
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
    except Exception as error:
        if os.environ.get("CONTEXT_ENGINE_TRACEBACK"):
            raise
        if message := told(error):
            output.note(f"error: {message}")
        return exit_code_of(error)
    finally:
        os.umask(mask)
    if code == INTERRUPTED:
        output.note("interrupted")
    return code if isinstance(code, int) else DONE


def _run(arguments: list[str] | None) -> Any:
    from langchain_context_engine.cli.app import app  # needs what the extra cli holds

    return app(arguments, prog_name="context-engine", standalone_mode=False)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    output.warn(message)
