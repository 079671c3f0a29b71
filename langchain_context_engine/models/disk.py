"""Refusals of a disk, whichever library tells of them, in a few words."""

from __future__ import annotations

import errno
import shutil
import sqlite3
from pathlib import Path

from langchain_context_engine.models.redact import safe_message

READ_ONLY = "the disk is read-only"
NO_RIGHT = "it may not be written"
_FULL = "the disk is full"
_OVER_QUOTA = "the quota on this disk is used up"
_REFUSED = "the disk refuses to be written"

_NUMBERS = {errno.ENOSPC: _FULL, getattr(errno, "EDQUOT", 122): _OVER_QUOTA, errno.EROFS: READ_ONLY}
_SAID = {
    "disk is full": _FULL, "no space left on device": _FULL, "sqlite_full": _FULL, "not enough space": _FULL,
    "disk quota exceeded": _OVER_QUOTA, "read-only file system": READ_ONLY, "readonly database": NO_RIGHT,
    "file too large": "no file may grow further here",
}  # fmt: skip
# Of SQLite's input and output errors those of writing; one of reading says that the file is damaged.
_NOT_WRITTEN = {sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_TRUNCATE}
_LEAST_BYTES = 64 * 1024


def disk_trouble(error: BaseException | None, folder: Path | None = None) -> str:
    """Return what the disk refuses, in a few words; "" where an error has nothing to do with it.

    Args:
        error: What was raised; what led to it is looked at as well.
        folder: Where something was to be written: a library that gives no reason is right to have failed
            where next to nothing is left there.
    """
    led, seen = error, set[int]()
    while led is not None and id(led) not in seen:
        if told := _told_by(led):
            return told
        seen.add(id(led))
        led = led.__cause__ or led.__context__
    return _FULL if error is not None and folder is not None and _is_used_up(folder) else ""


def refusal(error: BaseException, folder: Path | None = None) -> str:
    """Return why something could not be written: what the disk refuses, else the error in safe words."""
    return disk_trouble(error, folder) or safe_message(error)


def _told_by(error: BaseException) -> str:
    if (number := getattr(error, "errno", None)) in _NUMBERS:
        return _NUMBERS[number]
    text = str(error).lower()
    said = next((told for sign, told in _SAID.items() if sign in text), "")
    return said or (_REFUSED if getattr(error, "sqlite_errorcode", None) in _NOT_WRITTEN else "")


def _is_used_up(folder: Path) -> bool:
    """Tell whether next to nothing can be written where a folder is, or is to be."""
    try:
        there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        return shutil.disk_usage(there).free < _LEAST_BYTES
    except (OSError, StopIteration):
        return False
