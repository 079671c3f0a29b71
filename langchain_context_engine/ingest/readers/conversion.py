"""A process of its own in which files are converted, bounded in time and memory."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import IO, Any, cast

from langchain_context_engine.ingest.report import SkippedError
from langchain_context_engine.ingest.sections import Document

MOST_SECONDS = 10.0
"""How long the conversion of one file may take."""
MOST_BYTES = 1 << 30
"""How much memory it may take, on systems that can hold a process to it."""

_STARTING_SECONDS = 60.0
_PROGRAM = """import sys
sys.path[:] = {path!r}
from langchain_context_engine.ingest.readers.conversion import answer
answer()
"""
_OF_THREAD = threading.local()
"""Each thread's process and its owner: started when first needed, and anew where it died, or in a fork."""


def convert(name: str, path: str, data: bytes, chunk_size: int) -> Document:
    """Return a file of a format of `FORMATS` as a document, read in another process.

    No bomb and no crash reaches this one.

    Raises:
        SkippedError: As the reader; `too complex` past `MOST_SECONDS` or `MOST_BYTES`.
    """
    process, owner = getattr(_OF_THREAD, "started", (None, 0))
    if process is None or owner != os.getpid() or process.poll() is not None:
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-c", _PROGRAM.format(path=sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        _OF_THREAD.started = process, os.getpid()
        weakref.finalize(threading.current_thread(), _end, process, os.getpid())
        _exchange(process, _STARTING_SECONDS, None)
    found = _exchange(process, MOST_SECONDS, (name, path, data, chunk_size))
    if isinstance(found, Document):
        return found
    raise SkippedError(*found)


def _exchange(process: subprocess.Popen[bytes], seconds: float, what: object) -> Any:
    """Send something and return what comes back; a process that is too slow is ended."""
    clock = threading.Timer(seconds, process.kill)
    clock.start()
    try:
        _send(cast("IO[bytes]", process.stdin), what)
        return pickle.load(cast("IO[bytes]", process.stdout))  # noqa: S301 - what `answer` sends
    except (OSError, EOFError, pickle.UnpicklingError):
        _end(process, os.getpid())
        most = f"{seconds:g} seconds or {MOST_BYTES >> 20:,} MB of memory"
        raise SkippedError("too complex", f"its conversion takes more than {most}") from None
    finally:
        clock.cancel()


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    if owner == os.getpid():
        process.kill()
        process.communicate()


def library(name: str) -> Any:
    """Return a library of the extra `documents`; without it what it reads is unsupported (SkippedError)."""
    try:
        return import_module(name)
    except ImportError:
        raise SkippedError("unsupported", 'pip install "langchain-context-engine[documents]"') from None


def answer() -> None:
    """Convert what standard input asks for, one file after another, until it ends."""
    asked, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a library that prints must not answer
    with suppress(ImportError):  # not on Windows
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
    _send(answers, pickle.load(asked))  # noqa: S301 - what `convert` sends
    with suppress(EOFError):
        while True:
            try:
                found: object = converted(*pickle.load(asked))  # noqa: S301
            except SkippedError as error:
                found = error.reason, error.detail
            except MemoryError:
                os._exit(1)
            _send(answers, found)


def converted(name: str, path: str, data: bytes, chunk_size: int) -> Document:
    """Return a file as a document, read in this process; raises SkippedError."""
    from langchain_context_engine.ingest.reading import FORMATS

    try:
        return cast("Callable[..., Document]", FORMATS[name].read_bytes)(path, data, chunk_size)
    except (SkippedError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - malformed files raise anything from within
        raise SkippedError("invalid", f"{type(error).__name__}: {error}"[:200]) from None


def _send(stream: IO[bytes], what: object) -> None:
    pickle.dump(what, stream)
    stream.flush()
