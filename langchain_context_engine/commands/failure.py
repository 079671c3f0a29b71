"""What ends a command: one line that says what went wrong and what to do next."""

from __future__ import annotations

import errno

from langchain_context_engine.values.errors import ConfigError, ContextEngineError

DONE, FAILED, MISUSED, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: done; could not be done; asked in a way that cannot be understood; interrupted."""

_DISK_FULL = ("disk is full", "no space left on device", "sqlite_full")


class CommandFailedError(ContextEngineError):
    """A command could not do what it was asked; the message names the next step."""


def exit_code_of(error: BaseException) -> int:
    """Return the exit code for an error: what the user wrote is wrong, or what they asked failed.

    Example:
        >>> exit_code_of(ConfigError("unknown template")), exit_code_of(CommandFailedError("no store"))
        (2, 1)
    """
    code = getattr(error, "exit_code", None)
    if isinstance(code, int):
        return code
    return MISUSED if isinstance(error, ConfigError) else FAILED


def is_disk_full(error: BaseException | None) -> bool:
    """Tell whether an error, or what led to it, is that the disk is full, whichever library says so.

    Example:
        >>> is_disk_full(OSError(28, "No space left on device")), is_disk_full(ValueError())
        (True, False)
    """
    for _ in range(20):
        if error is None:
            return False
        text = str(error).lower()
        if getattr(error, "errno", None) == errno.ENOSPC or any(sign in text for sign in _DISK_FULL):
            return True
        error = error.__cause__ or error.__context__
    return False


def one_line(text: str) -> str:
    r"""Return a message as one line.

    Example:
        >>> one_line("first\n  second")
        'first second'
    """
    return " ".join(text.split())
