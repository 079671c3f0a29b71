"""A journal's file of another version, half brought up to date, or held by another process meanwhile."""

from __future__ import annotations

import sqlite3
import threading

import pytest

from langchain_context_engine.journal import Journal, schema
from langchain_context_engine.models.errors import ConfigError
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


def a_file_of_version_1(path):
    """Write what version 1 wrote: its tables, a trace's row and a grade."""
    with sqlite3.connect(path) as old:
        for statement in schema._MIGRATIONS[0]:
            old.execute(statement)
        old.execute(f"PRAGMA application_id = {schema._APPLICATION_ID}")
        old.execute("PRAGMA user_version = 1")
        old.execute(
            "INSERT INTO traces VALUES (1, 'one', 5.0, 'Why?', 'why?', '[]', 3, 2, 9, 10, 0, 7.5, 0, 'ok', '')"
        )
        old.execute("INSERT INTO judgments VALUES ('Why?', 'notes', 'a', 2, 5.0)")


def test_a_file_of_the_first_version_is_read_as_it_is(path):
    a_file_of_version_1(path)
    with Journal(path, read_only=True) as journal:
        (row,) = journal.traces()
        assert (row.id, row.cut, row.timings, row.offered) == ("one", 0, {}, {})
        assert row.source_timings == {}
        assert journal.count(is_cut=True) == len(journal.traces(is_cut=True)) == 0
        assert [(j.grade, j.rater) for j in journal.judgments()] == [(2, "")]
        assert journal.sets() == {}


def test_a_file_of_the_first_version_keeps_all_it_has_when_it_is_written_to(path):
    a_file_of_version_1(path)
    with Journal(path) as journal:
        journal.record(a_context())
        journal.judge("Why?", ("notes", "a"), 0, rater="ann")
        assert [row.query for row in journal.traces()] == ["what about billing?", "Why?"]
        assert [(j.grade, j.rater) for j in journal.judgments("Why?")] == [(2, ""), (0, "ann")]
    with sqlite3.connect(path) as file:
        assert file.execute("PRAGMA user_version").fetchone() == (schema.VERSION,)


def test_a_file_of_the_second_version_is_read_as_it_is_and_written_to(path):
    with Journal(path) as journal:
        journal.record(a_context(source_timings={"notes": 4.0}))
    with sqlite3.connect(path) as file:
        file.execute("ALTER TABLE traces DROP COLUMN source_timings")
        file.execute("PRAGMA user_version = 2")
    with Journal(path, read_only=True) as journal:
        (row,) = journal.traces()
        assert (row.timings, row.source_timings) == ({"collect": 2.0, "rank": 1.5}, {})
    with Journal(path) as journal:
        journal.record(a_context(source_timings={"notes": 4.0}))
        assert [dict(row.source_timings) for row in journal.traces()] == [{"notes": 4.0}, {}]
