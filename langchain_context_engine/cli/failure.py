"""What ends a command: one line that says what went wrong and what to do next."""

from __future__ import annotations

from contextvars import ContextVar
from pathlib import Path

from langchain_context_engine.models.disk import NO_RIGHT, READ_ONLY, disk_trouble, is_used_up
from langchain_context_engine.models.errors import ConfigError, ContextEngineError

DONE, FAILED, MISUSED, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: done; could not be done; asked in a way that cannot be understood; interrupted."""

_STORE: ContextVar[Path | None] = ContextVar("store", default=None)
# What fails for want of room gives back what it had taken, and Chroma does not always say why it failed.
_LITTLE = 16 * 2**20
_FREE_SOME = "free some space and run this again; what was written before stands"
_ELSEWHERE = "give a folder that may be written: --store"
_NEXT_STEPS = {READ_ONLY: _ELSEWHERE, NO_RIGHT: _ELSEWHERE}


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
    if disk_trouble(error):
        return FAILED
    return MISUSED if isinstance(error, ConfigError) else FAILED


def working_on(folder: Path | None) -> None:
    """Note the store that a command works on, None at its beginning, so that an error can name its disk."""
    _STORE.set(folder)


def told_of_disk(error: BaseException) -> str:
    """Return what a person should know and do where the disk refuses to be written, or "".

    Example:
        >>> told_of_disk(OSError(28, "No space left on device"))
        'the disk is full: free some space and run this again; what was written before stands'
        >>> told_of_disk(ValueError("no"))
        ''
    """
    is_ours = isinstance(error, ContextEngineError) or hasattr(error, "format_message")
    store = _STORE.get()
    # What we raise says itself what is wrong; what a library raises without a reason may be the disk.
    told = disk_trouble(error)
    if not isinstance(error, OSError) and (told or not is_ours):
        told = disk_trouble(error, store)
    if not told and not is_ours and store is not None and is_used_up(store, _LITTLE):
        told = f"the disk is nearly full, and {type(error).__name__} may come of it"
    if not told or (is_ours and (told in _NEXT_STEPS or told in str(error))):
        return ""
    # Of an error of the system that names no file, it is what standard output is written to.
    place = error.filename if isinstance(error, OSError) else store
    return f"{told}{f' ({place})' if place else ''}: {_NEXT_STEPS.get(told, _FREE_SOME)}"


def one_line(text: str) -> str:
    r"""Return a message as one line.

    Example:
        >>> one_line("first\n  second")
        'first second'
    """
    return " ".join(text.split())
