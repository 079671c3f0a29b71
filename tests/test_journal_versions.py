"""A journal's file of another version, half brought up to date, or held by another process meanwhile."""

from __future__ import annotations

import sqlite3
import threading

import pytest

from langchain_context_engine.journal import Journal, schema
from langchain_context_engine.values.errors import ConfigError
from tests.journal_builders import a_context


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.db"


def test_a_step_to_a_newer_version_that_fails_changes_nothing(path, monkeypatch):
    with Journal(path) as journal:
        journal.record(a_context())
    steps = ("CREATE TABLE later (x INTEGER)", "INSERT INTO nowhere VALUES (1)")
    with monkeypatch.context() as newer:
        newer.setattr(schema, "_MIGRATIONS", (*schema._MIGRATIONS, steps))
        newer.setattr(schema, "VERSION", schema.VERSION + 1)
        with pytest.raises(ConfigError, match="nowhere"):
            Journal(path)
    with sqlite3.connect(path) as other:
        assert other.execute("SELECT count(*) FROM sqlite_master WHERE name = 'later'").fetchone() == (0,)
    with Journal(path) as journal:
        assert journal.count() == 1


def test_a_journal_that_another_process_holds_for_a_moment_is_waited_for(path):
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    release = threading.Timer(0.2, other.close)
    release.start()
    try:
        with Journal(path) as journal:
            journal.record(a_context())
            journal.flush()
            assert journal.count() == 1
    finally:
        release.join()


def test_an_empty_file_has_nothing_to_read_and_says_how_to_record(path):
    path.touch()
    with pytest.raises(ConfigError, match="empty"):
        Journal(path, read_only=True)
