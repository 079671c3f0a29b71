"""What the disk refuses is told as that, whichever library says so, and costs no index that was there."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

import pytest

from langchain_context_engine.models.disk import disk_trouble


def of_sqlite(code):
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = code
    return error


def caused(error, by):
    error.__cause__ = by
    return error


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "the disk is full"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "the quota on this disk is used up"),
        (OSError(errno.EROFS, "Read-only file system"), "the disk is read-only"),
        (sqlite3.OperationalError("database or disk is full"), "the disk is full"),
        (sqlite3.OperationalError("attempt to write a readonly database"), "it may not be written"),
        (of_sqlite(sqlite3.SQLITE_IOERR_WRITE), "the disk refuses to be written"),
        (ValueError("An IO error occurred: 'Disk quota exceeded (os error 122)'"), "the quota on this disk is used up"),
        (ValueError("An IO error occurred: 'File too large (os error 27)'"), "no file may grow further here"),
        (OSError("There is not enough space on the disk. (os error 112)"), "the disk is full"),
        (caused(RuntimeError("compaction"), OSError(errno.ENOSPC, "No space left on device")), "the disk is full"),
        (of_sqlite(sqlite3.SQLITE_IOERR_SHORT_READ), ""),
        (sqlite3.DatabaseError("file is not a database"), ""),
        (ValueError("your plan's quota exceeded: 300 records"), ""),
        (OSError(errno.ENOENT, "No such file or directory"), ""),
    ],
)  # fmt: skip
def test_whatever_says_that_the_disk_refuses_is_understood_and_damage_is_no_refusal(error, told):
    """S4."""
    assert disk_trouble(error) == told


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no disk that is always full")
def test_an_error_without_a_reason_is_of_the_disk_where_next_to_nothing_is_left():
    """S4: Chroma's compaction says nothing of why it failed."""
    assert disk_trouble(RuntimeError("Failed to apply logs"), Path("/proc")) == "the disk is full"
    assert (
        disk_trouble(RuntimeError("Failed to apply logs"), Path("/proc/not/there/yet")) == "the disk is full"
    )
    assert disk_trouble(RuntimeError("Failed to apply logs"), Path.home()) == ""
