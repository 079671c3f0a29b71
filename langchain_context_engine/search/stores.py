"""Opening somebody's store to look at it: a server within a deadline, a folder as a copy."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any
from urllib.parse import urlsplit

from langchain_context_engine.errors import ConfigError

__all__ = ["chroma_folder", "is_server", "open_client"]

DEADLINE_SECONDS = 10.0
"""How long a server may take to answer."""

_FILE = "chroma.sqlite3"
_LARGEST_COPY = 4_000_000_000


def is_server(where: str) -> bool:
    """Return whether a place is a server's address rather than a folder.

    Example:
        >>> is_server("http://localhost:8000"), is_server("./chroma")
        (True, False)
    """
    return where.startswith(("http://", "https://"))


def chroma_folder(where: str) -> Path:
    """Return where Chroma's files are: in the folder, or in `chroma` in it, as `index` lays a store out.

    Raises:
        ConfigError: There is no store.
    """
    folder = Path(where).expanduser()
    for path in (folder, folder / "chroma"):
        if (path / _FILE).is_file():
            return path
    raise ConfigError(f"{where} holds no Chroma store (no {_FILE} in it, nor in its folder chroma)")


def open_client(where: str) -> Any:
    """Return a Chroma client over a server, or over a copy of a folder: opening one never writes to it.

    The copy lasts as long as this process. A folder that is larger than what is copied is refused.

    Raises:
        ConfigError: There is no store, it is too large to copy, or the server does not answer in time.
    """
    if is_server(where):
        return _within_deadline(lambda: _server(where), where)
    folder = chroma_folder(where)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    if size > _LARGEST_COPY:
        raise ConfigError(
            f"{where} has {size:,} bytes, more than the {_LARGEST_COPY:,} that are copied so that nothing "
            "writes to it; run a Chroma server there and give its address"
        )
    import chromadb

    copy = Path(tempfile.mkdtemp(prefix="context-inspector-"))
    atexit.register(shutil.rmtree, copy, ignore_errors=True)
    try:
        shutil.copytree(folder, copy / "chroma")
        return chromadb.PersistentClient(path=str(copy / "chroma"))
    except (OSError, shutil.Error) as error:
        raise ConfigError(f"{where} cannot be copied: {error}") from error


def _server(where: str) -> Any:
    import chromadb

    parts = urlsplit(where)
    return chromadb.HttpClient(
        host=parts.hostname or "localhost", port=parts.port or 8000, ssl=parts.scheme == "https"
    )


def _within_deadline(connect: Callable[[], Any], where: str) -> Any:
    """Return what connecting gives; a server that says nothing is left behind after the deadline."""
    answers: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()

    def run() -> None:
        try:
            answers.put((connect(), None))
        except BaseException as error:  # noqa: BLE001 - whatever Chroma raises, in a thread of its own
            answers.put((None, error))

    threading.Thread(target=run, daemon=True, name="open-store").start()
    try:
        client, error = answers.get(timeout=DEADLINE_SECONDS)
    except Empty:
        raise ConfigError(f"{where} did not answer within {DEADLINE_SECONDS:g} seconds") from None
    if error is not None:
        raise ConfigError(f"no Chroma server answers at {where}") from error
    return client
