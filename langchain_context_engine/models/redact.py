"""Messages of errors, without secrets: of a foreign one its class, of a disk's refusal a few words."""

from __future__ import annotations

import errno
import logging
import re
import shutil
import sqlite3
from pathlib import Path

from langchain_context_engine.errors import ContextEngineError

_log = logging.getLogger(__name__)

_LONGEST = 300
# Bounded, so that masking is linear in the text's length.
_NAMED = re.compile(
    r"((?:key|secret|token|passw|passphrase|pwd|credential|auth(?!ors?\b)|cookie|bearer|\bpass\b|\bsig\b)"
    r"[\w-]{0,40}[\"']?\s{0,3}[=:]\s{0,3}(?:bearer )?[\"']?)[^\s&;,\"']+",
    re.IGNORECASE,
)
_LOGIN = re.compile(r"(://)[^\s/@]{1,200}@")
_LONG_RUN = re.compile(r"\b[\w-]{32,}")


def redact(text: str) -> str:
    """Return a text of our own without what is named as a secret, or is as long and mixed as one."""
    return _LONG_RUN.sub(_masked, _LOGIN.sub(r"\1***@", _NAMED.sub(r"\1***", text)))


def _masked(run: re.Match[str]) -> str:
    """Mask a run that is mixed, as random ones are; a long word, or a long number, stays."""
    is_mixed = re.search(r"\d", run[0]) and re.search("[a-zA-Z]", run[0])
    return "***" if is_mixed else run[0]


def safe_message(error: BaseException) -> str:
    """Return what may be told of an error: `Type: message`, on one line of at most 300 characters.

    The message is that of our own errors, or what the operating system or SQLite says. Another library's
    may quote a key or a stranger's text: it goes to the log of this module, level debug, only.
    """
    kind = type(error).__name__
    if isinstance(error, ContextEngineError):
        message = redact(str(error)[: 20 * _LONGEST])
    elif isinstance(error, OSError) and error.strerror:
        message = str(error.strerror)
    elif isinstance(error, sqlite3.Error):
        message = str(error)  # names tables and columns, never a value
    else:
        _log.debug("an error from outside", exc_info=error)
        return kind
    line = " ".join(message.split())
    return f"{kind}: {line if len(line) <= _LONGEST else line[: _LONGEST - 1] + '…'}"


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
        if told := _disk_reason(led):
            return told
        seen.add(id(led))
        led = led.__cause__ or led.__context__
    return _FULL if error is not None and folder is not None and _is_used_up(folder) else ""


def refusal(error: BaseException, folder: Path | None = None) -> str:
    """Return why something could not be written: what the disk refuses, else the error in safe words."""
    return disk_trouble(error, folder) or safe_message(error)


def _disk_reason(error: BaseException) -> str:
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
