"""Reading files below a folder, and never what lies outside of it."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path

from langchain_context_engine.ingest.readers.decoding import BYTE_ORDER_MARKS, HEAD_BYTES
from langchain_context_engine.ingest.skipped import SkippedError, refuse_huge

ALWAYS_IGNORED = frozenset({".git", ".hg", ".svn", ".context-engine"})
"""Folders, and links in place of them, that are never read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file's bytes and when it was last written (epoch seconds), None where nothing says it."""

    data: bytes
    modified_at: int | None


def is_wanted(path: str) -> bool:
    """Say whether a path lies outside of folders that are never read."""
    return ALWAYS_IGNORED.isdisjoint(path.split("/"))


@dataclass(frozen=True, slots=True)
class FolderFiles:
    """Reads files below a folder, and never what lies outside of it.

    Attributes:
        root: The folder, without links in its own path.
    """

    root: Path
    _folders: dict[str, bool] = field(default_factory=dict)

    def head(self, path: str) -> bytes:
        """Return a file's first 8 KiB.

        Raises:
            SkippedError: It is a link or stands behind one, is no regular file, or cannot be read.
        """
        self._status(path)
        return self._bytes(path, HEAD_BYTES)

    def read(self, path: str, max_bytes: int) -> SourceFile:
        """Return a file.

        Raises:
            SkippedError: As `head`, or it is larger than `max_bytes`.
        """
        status = self._status(path)
        refuse_huge(status.st_size, max_bytes)
        data = self._bytes(path, max_bytes + 1)
        refuse_huge(len(data), max_bytes)  # it grew, or its size is a lie as in /proc
        return SourceFile(data=data, modified_at=int(status.st_mtime))

    def _status(self, path: str) -> os.stat_result:
        try:
            status = (self.root / path).lstat()
        except (OSError, ValueError) as error:
            raise SkippedError("unreadable", getattr(error, "strerror", "") or "") from None
        if stat.S_ISLNK(status.st_mode) or self._is_behind_a_link(path.rpartition("/")[0]):
            raise SkippedError("symlink")
        if not stat.S_ISREG(status.st_mode):
            raise SkippedError("special")
        return status

    def _is_behind_a_link(self, folder: str) -> bool:
        """An index may name `a/b` where `a` has become a link to anywhere."""
        if folder not in self._folders:
            above = folder.rpartition("/")[0]
            is_link = (self.root / folder).is_symlink() if folder else False
            self._folders[folder] = is_link or (bool(folder) and self._is_behind_a_link(above))
        return self._folders[folder]

    def _bytes(self, path: str, most: int) -> bytes:
        try:
            with (self.root / path).open("rb") as file:
                return file.read(most)
        except OSError as error:
            raise SkippedError("unreadable", error.strerror or "") from None


def is_binary(head: bytes) -> bool:
    """Say whether a file's first bytes are those of no text."""
    return b"\0" in head[:HEAD_BYTES] and not head.startswith(BYTE_ORDER_MARKS)


_ESCAPED = re.compile(r"[\ud800-\udfff]")


def display_path(path: str) -> str:
    """Return a path as text that encodes as UTF-8; undecodable bytes of its name are written as escapes."""
    return _ESCAPED.sub(lambda match: f"\\x{ord(match[0]) & 0xFF:02x}", path)
