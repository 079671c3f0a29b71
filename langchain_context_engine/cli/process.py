"""The process of a command: what ends it, in one line with a next step, and what memory it keeps."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import platform
from contextvars import ContextVar
from pathlib import Path

from langchain_context_engine.errors import ConfigError, ContextEngineError
from langchain_context_engine.models.redact import NO_RIGHT, READ_ONLY, disk_trouble

DONE, FAILED, MISUSED, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: done; could not be done; asked in a way that cannot be understood; interrupted."""

EXTRA_OF = {
    **dict.fromkeys(("rich", "typer"), "cli"),
    **dict.fromkeys(("charset_normalizer", "html_to_markdown", "markdown_it", "pygit2"), "ingest"),
    **dict.fromkeys(("pygments", "tree_sitter"), "code"),
    **dict.fromkeys(("kreuzberg", "pypdfium2", "python_calamine"), "documents"),
    **dict.fromkeys(("fastapi", "starlette", "uvicorn"), "server"),
    "langchain": "agents",
    "mcp": "mcp",
    "openai": "openai",
    "streamlit": "inspector",
    "wordllama": "local",
}
"""Modules that a command may lack: the extra that holds each."""

_ARENAS = "MALLOC_ARENA_MAX"
_M_ARENA_MAX = -8  # as glibc's malloc.h has it
_STORE: ContextVar[Path | None] = ContextVar("store", default=None)


class CommandFailedError(ContextEngineError):
    """A command could not do what it was asked; the message names the next step."""

    def __init__(self, message: str, exit_code: int = FAILED) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def exit_code_of(error: BaseException) -> int:
    """Return the exit code for an error: what the user wrote is wrong, or what they asked failed."""
    code = getattr(error, "exit_code", None)
    if isinstance(code, int):
        return code
    return MISUSED if isinstance(error, ConfigError) and not disk_trouble(error) else FAILED


def working_on(folder: Path | None) -> None:
    """Note the store that a command works on, None at its beginning, so that an error can name its disk."""
    _STORE.set(folder)


def told(error: Exception) -> str:
    """Return an error as one line with a next step, in our own words; "" where all is said."""
    if isinstance(error, ContextEngineError):
        return one_line(str(error))
    if hasattr(error, "format_message"):  # the command line could not be parsed
        message = one_line(error.format_message())
        command = getattr(getattr(error, "ctx", None), "command_path", "context-engine")
        if " " in getattr(error, "option_name", ""):  # a question that begins with a dash
            return f"{message.rstrip('.')}; what is no option stands after --: {command} -- …"
        # Without a message the help has been shown instead: no command was given.
        return message and f"{message.rstrip('.')}; see: {command} --help"
    if isinstance(error, ModuleNotFoundError) and error.name:
        module = error.name.partition(".")[0]
        return f'this needs {module}: pip install "langchain-context-engine[{EXTRA_OF.get(module, "all")}]"'
    store = _STORE.get()
    if refused := disk_trouble(error, None if isinstance(error, OSError) else store):
        # Of an error of the system that names no file, it is what standard output is written to.
        place = error.filename if isinstance(error, OSError) else store
        step = "free some space and run this again; what was written before stands"
        if refused in {READ_ONLY, NO_RIGHT}:
            step = "give a folder that may be written: --store"
        return f"{refused}{f' ({place})' if place else ''}: {step}"
    step = "set CONTEXT_ENGINE_TRACEBACK=1 to see where, and please report it"
    return f"unexpected {type(error).__name__}; {step}"


def require(*modules: str) -> None:
    """Raise before anything is begun where a module is not installed that is used later."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)


def one_line(text: str) -> str:
    """Return a message as one line."""
    return " ".join(text.split())


def share_memory(pools: int = 2) -> None:
    """Let the threads of this process take memory from so few pools.

    Else each of up to eight pools a processor keeps what its threads once needed at most: 407 MB in place
    of 324 after five hundred questions by four threads. To be called before threads start; who sets
    MALLOC_ARENA_MAX has chosen.
    """
    if platform.libc_ver()[0] == "glibc" and not os.environ.get(_ARENAS):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, pools)


def shared_memory_environment() -> dict[str, str]:
    """Return the variable that lets another process do the same, if nobody has set it."""
    return {} if os.environ.get(_ARENAS) else {_ARENAS: "2"}


def give_back() -> None:
    """Return to the system what is free: what one phase needed, the next one does not."""
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).malloc_trim(0)
