"""A process of its own in which files are converted, bounded in time and memory."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
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


def convert(name: str, path: str, data: bytes, chunk_size: int) -> Document:
    """Return a file as a document, read in another process: no bomb and no crash reaches this one.

    Args:
        name: The format, as `FORMATS` names it.
        path: The file's path as shown.
        data: Its bytes.
        chunk_size: Most characters of a passage.

    Raises:
        SkippedError: As the reader; `too complex` past `MOST_SECONDS` or `MOST_BYTES`.
    """
    if not hasattr(_OF_THREAD, "converter"):
        _OF_THREAD.converter = _Converter()
    found = _OF_THREAD.converter.ask((name, path, data, chunk_size))
    if isinstance(found, Document):
        return found
    raise SkippedError(*found)


class _Converter:
    """A thread's process: started when first needed, and anew where it died, or in a fork of its owner."""

    process: subprocess.Popen[bytes] | None = None
    owner = 0

    def ask(self, what: tuple[Any, ...]) -> Any:
        if self.process is None or self.owner != os.getpid() or self.process.poll() is not None:
            self._start()
        return self._exchange(MOST_SECONDS, what)

    def stop(self) -> None:
        """End the process where it is this one's."""
        if self.process is not None and self.owner == os.getpid():
            self.process.kill()
            self.process.communicate()
        self.process = None

    __del__ = stop

    def _start(self) -> None:
        self.process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-c", _PROGRAM.format(path=sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.owner = os.getpid()
        self._exchange(_STARTING_SECONDS, None)

    def _exchange(self, seconds: float, what: object) -> Any:
        """Send something and return what comes back; a process that is too slow is ended."""
        process = cast("subprocess.Popen[bytes]", self.process)
        clock = threading.Timer(seconds, process.kill)
        clock.start()
        try:
            _send(cast("IO[bytes]", process.stdin), what)
            return pickle.load(cast("IO[bytes]", process.stdout))  # noqa: S301 - what `answer` sends
        except (OSError, EOFError, pickle.UnpicklingError):
            self.stop()
            most = f"{seconds:g} seconds or {MOST_BYTES >> 20:,} MB of memory"
            raise SkippedError("too complex", f"its conversion takes more than {most}") from None
        finally:
            clock.cancel()


_OF_THREAD = threading.local()


def library(name: str) -> Any:
    """Return a library of the extra `documents`.

    Raises:
        SkippedError: unsupported, where it is not installed.
    """
    try:
        return import_module(name)
    except ImportError:
        raise SkippedError("unsupported", 'pip install "langchain-context-engine[documents]"') from None


def answer() -> None:
    """Convert what standard input asks for, one file after another, until it ends."""
    from langchain_context_engine.ingest.reading import FORMATS

    asked, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a library that prints must not answer
    with suppress(ImportError):  # not on Windows
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
    _send(answers, pickle.load(asked))  # noqa: S301 - what `_Converter` sends
    while True:
        try:
            name, path, data, chunk_size = pickle.load(asked)  # noqa: S301
        except EOFError:
            return
        try:
            found: object = cast("Any", FORMATS[name].read_bytes)(path, data, chunk_size)
        except SkippedError as error:
            found = error.reason, error.detail
        except MemoryError:
            os._exit(1)
        except Exception as error:  # noqa: BLE001 - malformed files raise anything from within
            found = "invalid", f"{type(error).__name__}: {error}"[:200]
        _send(answers, found)


def _send(stream: IO[bytes], what: object) -> None:
    pickle.dump(what, stream)
    stream.flush()
