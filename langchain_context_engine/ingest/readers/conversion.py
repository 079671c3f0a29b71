"""A process of its own in which files are converted, bounded in time and memory."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from dataclasses import asdict, dataclass
from typing import IO, Any, cast

from langchain_context_engine.ingest.sections import Document, Section
from langchain_context_engine.ingest.skipped import Skipped, SkippedError
from langchain_context_engine.models.locks import ForkSafeLock

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
    with _LOCK:
        found = _CONVERTER.ask(json.dumps([name, path, chunk_size]).encode(), data)
    if "reason" in found:
        raise SkippedError(found["reason"], found["detail"])
    sections = (Section(**{**section, "titles": tuple(section["titles"])}) for section in found["sections"])
    skipped = (Skipped(**entry) for entry in found["skipped"])
    return Document(**{**found, "sections": tuple(sections), "skipped": tuple(skipped)})


@dataclass(slots=True)
class _Converter:
    """The process: started when first needed, and anew where it died, or in a fork of its owner."""

    process: subprocess.Popen[bytes] | None = None
    owner: int = 0

    def ask(self, head: bytes, data: bytes) -> dict[str, Any]:
        if self.process is None or self.owner != os.getpid() or self.process.poll() is not None:
            self._start()
        most = f"{MOST_SECONDS:g} seconds or {MOST_BYTES >> 20:,} MB of memory"
        return cast("dict[str, Any]", json.loads(self._exchange(MOST_SECONDS, most, head, data)))

    def stop(self) -> None:
        """End the process where it is this one's."""
        if self.process is not None and self.owner == os.getpid():
            self.process.kill()
            self.process.communicate()
        self.process = None

    def _start(self) -> None:
        self.process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-c", _PROGRAM.format(path=sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.owner = os.getpid()
        self._exchange(_STARTING_SECONDS, "what a process needs to start")

    def _exchange(self, seconds: float, most: str, *parts: bytes) -> bytes:
        """Send parts and return what comes back; a process that is too slow is ended, and nothing comes."""
        process = cast("subprocess.Popen[bytes]", self.process)
        clock = threading.Timer(seconds, process.kill)
        clock.start()
        try:
            _send(cast("IO[bytes]", process.stdin), *parts)
            return _receive(cast("IO[bytes]", process.stdout))
        except (OSError, EOFError):
            self.stop()
            raise SkippedError("too complex", f"its conversion takes more than {most}") from None
        finally:
            clock.cancel()


_LOCK = ForkSafeLock()
_CONVERTER = _Converter()
atexit.register(_CONVERTER.stop)


def answer() -> None:
    """Convert what standard input asks for, one file after another, until it ends."""
    from langchain_context_engine.ingest.formats import FORMATS

    asked, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a library that prints must not answer
    _bound_memory()
    _send(answers, b"{}")
    while True:
        try:
            (name, path, chunk_size), data = json.loads(_receive(asked)), _receive(asked)
        except EOFError:
            return
        try:
            found = asdict(cast("Any", FORMATS[name].read_bytes)(path, data, chunk_size))
        except SkippedError as error:
            found = {"reason": error.reason, "detail": error.detail}
        except MemoryError:
            os._exit(1)
        except Exception as error:  # noqa: BLE001 - malformed files raise anything from within
            found = {"reason": "invalid", "detail": f"{type(error).__name__}: {error}"[:200]}
        _send(answers, json.dumps(found).encode())


def _bound_memory() -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))


def _send(stream: IO[bytes], *parts: bytes) -> None:
    for part in parts:
        stream.write(len(part).to_bytes(8))
        stream.write(part)
    stream.flush()


def _receive(stream: IO[bytes]) -> bytes:
    length = int.from_bytes(_exactly(stream, 8))
    return _exactly(stream, length)


def _exactly(stream: IO[bytes], length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data
