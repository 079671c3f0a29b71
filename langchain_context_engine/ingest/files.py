"""Which files a folder offers, and what they say as text."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from langchain_context_engine.ingest.skipped import SkippedError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_ALWAYS_IGNORED = frozenset({".git", ".hg", ".svn", ".context-engine"})
# Where nothing says what to ignore, these hold what nobody wrote by hand.
_IGNORED_OUTSIDE_GIT = frozenset({"node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache"})
_HEAD_BYTES = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file's bytes and when it was last written (epoch seconds)."""

    data: bytes
    modified_at: int


def is_wanted(path: str) -> bool:
    """Say whether a path lies outside of folders that are never read."""
    return _ALWAYS_IGNORED.isdisjoint(path.split("/"))


def list_folder(root: Path) -> list[str]:
    """Return the files below a folder, as sorted relative paths, by its `.gitignore` files.

    Linked folders are not followed.
    """
    return sorted(_walk(root))


def _walk(root: Path) -> Iterator[str]:
    specs: dict[str, GitIgnoreSpec] = {}
    for folder, names, files in os.walk(root, followlinks=False):
        relative = Path(folder).relative_to(root).as_posix()
        prefix = "" if relative == "." else f"{relative}/"
        if ".gitignore" in files:
            specs[prefix] = _read_ignore(Path(folder) / ".gitignore")
        names[:] = [
            name
            for name in names
            if name not in _ALWAYS_IGNORED | _IGNORED_OUTSIDE_GIT
            and not _is_ignored(f"{prefix}{name}/", specs)
            and not (Path(folder) / name).is_symlink()
        ]
        for name in files:
            if not _is_ignored(f"{prefix}{name}", specs):
                yield f"{prefix}{name}"


def _read_ignore(path: Path) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    try:
        text = path.read_bytes().decode("utf-8", "replace")
    except OSError:
        text = ""
    return GitIgnoreSpec.from_lines(text.splitlines())


def _is_ignored(path: str, specs: dict[str, GitIgnoreSpec]) -> bool:
    """The deepest `.gitignore` that says anything of the path decides, as in git."""
    for prefix in sorted(specs, key=len, reverse=True):
        if path.startswith(prefix):
            verdict = specs[prefix].check_file(path[len(prefix) :]).include
            if verdict is not None:
                return verdict
    return False


def read_file(path: Path, *, max_bytes: int, is_supported: bool) -> SourceFile:
    """Return what a file holds.

    Raises:
        SkippedError: It is a symlink, no regular file, unreadable, huge, binary or of an
            unsupported type; of the last only the first bytes are read.
    """
    try:
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            raise SkippedError("symlink")
        if not stat.S_ISREG(status.st_mode):
            raise SkippedError("special")
        if status.st_size > max_bytes:
            raise SkippedError("huge")
        with path.open("rb") as file:
            data = file.read() if is_supported else file.read(_HEAD_BYTES)
    except OSError:
        raise SkippedError("unreadable") from None
    if not is_supported and b"\0" in data[:_HEAD_BYTES]:
        raise SkippedError("binary")
    if not is_supported:
        raise SkippedError("unsupported")
    return SourceFile(data=data, modified_at=int(status.st_mtime))


_ESCAPED = re.compile(r"[\ud800-\udfff]")


def display_path(path: str) -> str:
    """Return a path as text that encodes as UTF-8; undecodable bytes of its name are written as escapes."""
    return _ESCAPED.sub(lambda match: f"\\x{ord(match[0]) & 0xFF:02x}", path)
