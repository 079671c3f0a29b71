"""Where the index of a collection is kept, beside Chroma's files or in the user's cache; when it is stale."""

from __future__ import annotations

import hashlib
import itertools
import os
import stat
import time
from pathlib import Path

from langchain_context_engine.search.collection import CollectionHandle, settings_of

INDEX_DIR = "CONTEXT_ENGINE_INDEX_DIR"
"""The environment variable that names another folder for the indexes."""

_NAME = "context-engine-index"
_TICK_NANOSECONDS = 50_000_000
_moments = itertools.count()


def folder_of(handle: CollectionHandle, given: str | Path | None = None) -> Path | None:
    """Return the folder of a collection's index, which need not exist; None keeps it in memory.

    Args:
        handle: The collection.
        given: A folder for all indexes, in place of what the environment or the client says.
    """
    settings, collection = settings_of(handle.collection), handle.collection
    store = Path(handle.files[0]).parent if handle.files else None
    host = getattr(settings, "chroma_server_host", None)
    if store is None and not host:
        return None
    place = str(store.absolute()) if store else f"{host}:{getattr(settings, 'chroma_server_http_port', None)}"
    home = "\n".join([place, str(collection.tenant), str(collection.database)])
    digest = hashlib.blake2b(home.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
    if chosen := given or os.environ.get(INDEX_DIR):
        return Path(chosen).expanduser() / digest / str(collection.id)
    if store is not None:
        inside = store / _NAME
        if os.access(inside if inside.is_dir() else store, os.W_OK | os.X_OK):
            return inside / str(collection.id)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    return cache / "langchain-context-engine" / "indexes" / digest / str(collection.id)


def make(folder: Path) -> None:
    """Make a folder that whoever may enter the store may enter, and nobody else.

    Raises:
        OSError: It cannot be made.
    """
    if folder.is_dir():
        return
    parent = folder.parent
    mode = stat.S_IMODE(parent.parent.stat().st_mode) if parent.name == _NAME else 0o700
    parent.mkdir(parents=True, exist_ok=True, mode=mode)
    folder.mkdir(exist_ok=True)
    folder.chmod(mode)


def store_stamp(handle: CollectionHandle, *, is_settled: bool = False) -> list[int] | None:
    """Return what is the same as long as nothing is written to a store in files; None for any other store.

    It is the age and size of Chroma's files. What was written a moment ago may be written again within a tick
    of the file system's clock, so its stamp is equal to none.

    Args:
        handle: A collection of the store.
        is_settled: Wait until the moment is over.
    """
    while handle.files:
        found: list[int] = []
        for path in handle.files:
            try:
                told = os.stat(path)  # noqa: PTH116 - of every question
            except OSError:
                continue
            # Who sets a file's age back cannot set back when it was changed.
            found += [max(told.st_mtime_ns, told.st_ctime_ns), told.st_mtime_ns, told.st_size]
        age = time.time_ns() - max(found[::3], default=0)
        if not 0 <= age < _TICK_NANOSECONDS:
            return found or None
        if not is_settled:
            return [*found, next(_moments)]
        time.sleep((_TICK_NANOSECONDS - age) / 1e9)
    return None
