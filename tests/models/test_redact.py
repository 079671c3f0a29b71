"""What is said of an error from outside, and what the disk refuses, whichever library says so."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

import pytest

from langchain_context_engine import SourceError
from langchain_context_engine.models.redact import disk_trouble, redact, safe_message


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-proj-SECRET99. Find it at", "{'OPENAI_API_KEY': 'SECRET99'}",
        "password: SECRET99", "postgres://user:SECRET99@db/x", "https://host/v1?token=SECRET99&a=1",
        "Authorization: Bearer SECRET99", "x-api-key: SECRET99", "aws_secret_access_key=SECRET99",
        "ghp_SECRET99SECRET99", "Authorization: ApiKey SECRET99", "curl --password SECRET99 https://host",
        "pass=SECRET99", "https://blob/x?sv=1&sig=SECRET99%2B&se=2",
        "-----BEGIN RSA PRIVATE KEY-----\nMIISECRET99\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nMIISECRET99 and cut",
    ],
)  # fmt: skip
def test_no_kind_of_secret_is_repeated(text):
    """L93."""
    assert "SECRET99" not in safe_message(RuntimeError(text))


def test_a_foreign_error_is_told_by_its_class_and_our_own_by_its_words():
    """L93: what a library quotes goes to the log only."""
    assert safe_message(ValueError("sid AC0123 of Twilio")) == "ValueError"
    assert safe_message(SourceError("the\ncollection is gone")) == "SourceError: the collection is gone"
    assert safe_message(OSError(28, "No space left on device")) == "OSError: No space left on device"
    assert redact("token 8192 is out of range of 9 tokens") == "token 8192 is out of range of 9 tokens"


def test_a_long_mixed_run_is_masked_wherever_its_digit_stands_and_a_long_word_is_not():
    mixed, word, number = "a" * 300 + "1", "long-" * 20 + "word", "7" * 40
    assert redact(f"{mixed} {word} {number}") == f"*** {word} {number}"


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
