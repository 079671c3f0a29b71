"""The journal's file: whose it is, what it withstands, who may work on it at once, and processes that fork."""

from __future__ import annotations

import base64
import contextlib
import os
import random
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading

import pytest

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.journal import Journal, Usage
from tests.journal_builders import KEY, a_context


def test_the_file_is_its_owners_alone(journal, path):
    journal.record(a_context())
    journal.flush()
    for file in path.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


def test_a_reader_sees_what_a_writer_adds_and_writes_nothing(journal, path):
    journal.record(a_context("first"))
    journal.flush()
    with Journal(path, read_only=True) as reader:
        assert reader.count() == 1
        journal.record(a_context("second"))
        journal.flush()
        assert [row.query for row in reader.traces()] == ["second", "first"]
        with pytest.raises(ConfigError, match="read only"):
            reader.judge("q", KEY, 1)
        reader.record(a_context())
        reader.flush()
        assert reader.failed == 1
    assert journal.count() == 2


def test_another_programs_database_is_refused_and_untouched(path):
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE users (name TEXT)")
    with pytest.raises(ConfigError, match="another program"):
        Journal(path)
    with sqlite3.connect(path) as other:
        assert [name for (name,) in other.execute("SELECT name FROM sqlite_master")] == ["users"]


@pytest.mark.parametrize("read_only", [False, True])
def test_another_version_is_refused_and_says_so(path, read_only):
    Journal(path).close()
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA user_version = 99")
    with pytest.raises(ConfigError, match=r"version 99.*reads \d+"):
        Journal(path, read_only=read_only)


WRITE_MANY = """
import sys
from langchain_context_engine.journal import Journal
from langchain_context_engine.trace.context import Context
from langchain_context_engine.models.request import ContextRequest
with Journal(sys.argv[1]) as journal:
    for number in range(40):
        journal.record(Context(request=ContextRequest(query=f"{sys.argv[2]} {number}")))
        journal.feedback(("s", "i"), True)
        journal.touch([("s", "i")])
assert not journal.dropped and not journal.failed
"""


def test_several_processes_write_one_new_journal_at_once(path):
    writers = [subprocess.Popen([sys.executable, "-c", WRITE_MANY, path, str(n)]) for n in range(3)]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    with Journal(path, read_only=True) as journal:
        assert journal.count() == len({row.query for row in journal.traces(limit=200)}) == 120
        assert journal.usage([("s", "i")]) == {("s", "i"): Usage(uses=120, useful=120)}


def test_a_journal_that_another_process_has_only_begun_to_make_is_made_whole(path):
    """Setting auto_vacuum writes a page before there is a table: a writer took it for another program's."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA auto_vacuum = FULL")
    assert path.stat().st_size
    with pytest.raises(ConfigError, match="is empty"):
        Journal(path, read_only=True)
    with Journal(path) as journal:
        journal.record(a_context("whole"))
        assert journal.count() == 1


def test_what_a_killed_writer_had_half_written_is_taken_back_by_whoever_reads(path):
    with Journal(path) as journal:
        journal.record(a_context("whole"))
    killed = (
        "import os, sqlite3, sys; connection = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "connection.execute('PRAGMA cache_size = 1'); connection.execute('BEGIN IMMEDIATE');"
        "connection.execute('UPDATE bodies SET body = zeroblob(1000000)'); os._exit(1)"
    )
    subprocess.run([sys.executable, "-c", killed, path], check=False)
    assert len(list(path.parent.iterdir())) == 2  # SQLite's own journal of what is to be taken back
    with Journal(path, read_only=True) as journal:
        assert str(journal.trace(journal.traces()[0].id)) == "hello"


def noise(length):
    return base64.b64encode(random.randbytes(length))[:length].decode()


def count_in_copy(path, tmp_path):
    copy = shutil.copy(path, tmp_path / "copy.db")
    with sqlite3.connect(copy) as connection:
        return connection.execute("SELECT count(*) FROM traces").fetchone()[0]


def test_after_closing_the_file_is_whole(tmp_path):
    """S3: all of it stood in the side file, and a copy was empty."""
    path = tmp_path / "journal.db"
    with Journal(path) as journal:
        for _ in range(20):
            journal.record(a_context())
        journal.count()
    assert [p.name for p in tmp_path.iterdir()] == ["journal.db"]
    assert count_in_copy(path, tmp_path) == 20


def test_a_backup_moved_over_an_open_journal_stays_what_it_is(tmp_path):
    """Point 7: the old side file overwrote it."""
    path, backup = tmp_path / "journal.db", tmp_path / "backup.db"
    with Journal(backup) as kept:
        kept.record(a_context(text="of the backup"))
    journal = Journal(path)
    for number in range(30):
        journal.record(a_context(f"old {number}", text=noise(2000)))
    journal.flush()
    journal.count()
    backup.replace(path)
    assert journal.count() == 1
    journal.record(a_context(text="new"))
    assert journal.count() == 2
    journal.close()
    with Journal(path) as read:
        assert sorted(str(read.trace(row.id)) for row in read.traces()) == ["new", "of the backup"]
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_the_file_keeps_below_its_cap(tmp_path):
    """Point 7: one page was given back of 200 MB."""
    path = tmp_path / "journal.db"
    with Journal(path, max_bytes=2_000_000) as journal:
        for number in range(100):
            journal.record(a_context(str(number), text=noise(100_000)))
        journal.flush(60)
        assert 0 < journal.count() < 100
        queries = [row.query for row in journal.traces(limit=1000)]
        assert queries[-1] != "0"
    assert path.stat().st_size < 2_100_000
    assert journal.failed == journal.dropped == 0


def test_a_trace_larger_than_the_cap_is_counted_and_costs_no_other(tmp_path):
    """Point 7."""
    with Journal(tmp_path / "journal.db", max_bytes=1_000_000) as journal:
        journal.record(a_context("small"))
        journal.record(a_context("large", text=noise(3_000_000)))
        assert (journal.count(), journal.failed) == (1, 1)


@pytest.mark.unmeasured
def test_a_fork_while_threads_are_inside_the_file_leaves_a_child_that_writes(journal):
    """A child waited for ever for what a thread of its parent held within SQLite."""
    stop = threading.Event()

    def read_again_and_again() -> None:
        while not stop.is_set():
            journal.traces(limit=1)

    thread = threading.Thread(target=read_again_and_again)
    thread.start()
    try:
        for _ in range(15):
            child = os.fork()
            if child == 0:
                journal.record(a_context("child"))
                os._exit(0 if journal.flush() and not journal.failed else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        thread.join()
    assert journal.count("child") == 15
