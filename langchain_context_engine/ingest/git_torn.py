"""Objects that a crash cut off in their first bytes: libgit2 would read them for ever."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pygit2

# Its header, "commit 1234" and a NUL, takes fewer bytes however it is packed.
_LONGEST_TORN = 256
_HEX = 2
_FIRST = 100


def guard(repository: pygit2.Repository, objects: Path) -> None:
    """Let objects that are cut off within their header fail when they are read."""
    torn = frozenset(_torn(objects))
    if torn:
        repository.odb.add_backend(_Refusing(torn), _FIRST)


def _torn(objects: Path) -> Iterator[str]:
    for folder in _entries(objects):
        if len(folder.name) != _HEX or not folder.is_dir(follow_symlinks=False):
            continue
        for entry in _entries(Path(folder.path)):
            try:
                if entry.stat().st_size < _LONGEST_TORN and _is_torn(Path(entry.path).read_bytes()):
                    yield folder.name + entry.name
            except OSError:
                continue


def _entries(folder: Path) -> Iterable[os.DirEntry[str]]:
    try:
        return list(os.scandir(folder))
    except OSError:
        return ()


def _is_torn(data: bytes) -> bool:
    try:
        return b"\0" not in zlib.decompressobj().decompress(data, _LONGEST_TORN)
    except zlib.error:
        return True


class _Refusing(pygit2.OdbBackend):
    """Stands before the other backends; what it does not know (KeyError) these are asked for."""

    def __init__(self, torn: frozenset[str]) -> None:
        super().__init__()
        self._torn = torn

    def read_cb(self, oid: Any) -> Any:
        raise self._answer(oid)

    def read_header_cb(self, oid: Any) -> Any:
        raise self._answer(oid)

    def read_prefix_cb(self, oid: Any) -> Any:
        raise self._answer(oid)

    def exists_cb(self, _oid: Any) -> bool:
        return False

    def exists_prefix_cb(self, oid: Any) -> Any:
        raise KeyError(str(oid))

    def refresh_cb(self) -> None:
        """Look for nothing new."""

    def _answer(self, oid: Any) -> Exception:
        name = str(oid)
        return OSError(f"{name} is cut off") if name in self._torn else KeyError(name)
