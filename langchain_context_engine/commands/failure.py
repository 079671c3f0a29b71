"""What ends a command: one line that says what went wrong and what to do next."""

from __future__ import annotations

from langchain_context_engine.values.errors import ConfigError, ContextEngineError

DONE, FAILED, MISUSED, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: done; could not be done; asked in a way that cannot be understood; interrupted."""


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


def one_line(text: str) -> str:
    r"""Return a message as one line.

    Example:
        >>> one_line("first\n  second")
        'first second'
    """
    return " ".join(text.split())
