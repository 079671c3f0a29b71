from __future__ import annotations

import logging
import sqlite3
import stat
import subprocess
import sys
import threading
import time

import pytest

from langchain_context_engine.journal import Journal, schema, writer
from langchain_context_engine.models.errors import ConfigError, ContextEngineError
from tests.journal_builders import KEY, a_context


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.db"


@pytest.fixture
def journal(path):
    with Journal(path) as opened:
        yield opened


def test_the_file_is_its_owners_alone(journal, path):
    journal.record(a_context())
    journal.flush()
    for file in path.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


def test_recording_does_not_wait_for_a_locked_file(journal, path):
    with sqlite3.connect(path) as other:
        other.execute("BEGIN IMMEDIATE")
        started = time.perf_counter()
        for _ in range(20):
            journal.record(a_context())
        assert time.perf_counter() - started < 2  # it would be kept for five seconds
        assert journal.flush(0.1) is False
        other.execute("COMMIT")
    assert journal.flush()
    assert journal.count() == 20


def test_when_too_many_wait_the_new_ones_are_dropped_counted_and_told(path, caplog):
    with Journal(path, capacity=5) as journal, sqlite3.connect(path) as other:
        other.execute("BEGIN IMMEDIATE")
        with caplog.at_level(logging.WARNING):
            for _ in range(100):
                journal.record(a_context())
        other.execute("COMMIT")
        journal.flush()
        assert journal.dropped + journal.count() == 100
        assert journal.dropped > 50
    messages = [r.message for r in caplog.records if "dropped" in r.message]
    assert 1 <= len(messages) < 10


def test_a_disk_error_is_logged_as_it_grows_and_never_reaches_the_answer(journal, path, caplog):
    with sqlite3.connect(path) as other:
        other.execute("DROP TABLE bodies")
    with caplog.at_level(logging.WARNING):
        for _ in range(20):
            journal.record(a_context())
            journal.touch([KEY])
            journal.flush()
    assert journal.failed >= 20
    told = [r.message for r in caplog.records if str(path) in r.message]
    # The 1st, 2nd, 4th, 8th, …: an operator sees it go on, and no log is flooded.
    assert 2 <= len([message for message in told if "does not work" in message]) <= 6


def test_an_odd_context_costs_itself_alone_and_its_text_is_not_logged(journal, caplog):
    class Odd:
        def __getattr__(self, name):
            msg = "api_key=sk-test"
            raise ValueError(msg)

    with caplog.at_level(logging.WARNING):
        journal.record(a_context())
        journal.record(Odd())
        journal.record(a_context())
    assert journal.count() == 2
    assert journal.failed == 1
    assert "sk-test" not in caplog.text


def test_a_judgment_that_cannot_be_written_is_an_error(journal, path):
    with sqlite3.connect(path) as other:
        other.execute("DROP TABLE judgments")
    with pytest.raises(ContextEngineError, match=r"cannot be written"):
        journal.judge("q", KEY, 1)


def test_a_closed_journal_drops_traces_and_refuses_to_be_read(path):
    journal = Journal(path)
    journal.close()
    journal.close()
    assert journal.record(a_context())
    assert journal.dropped == 1
    with pytest.raises(ConfigError, match="closed"):
        journal.count()


def test_closing_writes_what_waits(path):
    with Journal(path) as journal:
        for _ in range(50):
            journal.record(a_context())
    with Journal(path, read_only=True) as reader:
        assert reader.count() == 50


def test_a_journal_whose_file_was_deleted_starts_a_new_one(journal, path):
    journal.record(a_context())
    journal.flush()
    for file in path.parent.iterdir():
        file.unlink()
    journal.record(a_context("after"))
    assert [row.query for row in journal.traces()] == ["after"]


def test_a_reader_makes_nothing(path):
    with pytest.raises(ConfigError, match="no journal"):
        Journal(path, read_only=True)
    with pytest.raises(ConfigError, match="no journal"):
        Journal(path, must_exist=True)
    assert not path.exists()


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


@pytest.mark.parametrize("where", ["no/such/folder/j.db", "."])
def test_a_path_that_cannot_be_written_fails_when_the_journal_is_made(tmp_path, where):
    with pytest.raises(ConfigError, match="folder"):
        Journal(tmp_path / where)


def test_a_file_that_is_no_database_is_refused_and_untouched(path):
    path.write_text("dear diary " * 500)
    with pytest.raises(ConfigError, match="not a database"):
        Journal(path)
    assert path.read_text() == "dear diary " * 500


def test_another_programs_database_is_refused_and_untouched(path):
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE users (name TEXT)")
    with pytest.raises(ConfigError, match="another program"):
        Journal(path)
    with sqlite3.connect(path) as other:
        assert [name for (name,) in other.execute("SELECT name FROM sqlite_master")] == ["users"]


@pytest.mark.parametrize("read_only", [False, True])
def test_a_newer_version_is_refused_and_says_so(path, read_only):
    Journal(path).close()
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA user_version = 99")
    with pytest.raises(ConfigError, match=r"version 99, newer than \d+.*upgrade"):
        Journal(path, read_only=read_only)


def test_an_older_version_is_brought_up_to_date(path, monkeypatch):
    with Journal(path) as journal:
        journal.record(a_context())
    monkeypatch.setattr(schema, "_MIGRATIONS", (*schema._MIGRATIONS, ("CREATE TABLE later (x INTEGER)",)))
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    with Journal(path) as journal:
        assert journal.count() == 1
    with sqlite3.connect(path) as other:
        assert other.execute("PRAGMA user_version").fetchone()[0] == schema.VERSION
        assert other.execute("SELECT count(*) FROM later").fetchone() == (0,)


@pytest.mark.parametrize("size", [0, 10, "big", 1.5e9])
def test_a_cap_that_holds_nothing_is_refused(path, size):
    with pytest.raises(ConfigError, match="max_bytes"):
        Journal(path, max_bytes=size)


WRITE_MANY = """
import sys
from langchain_context_engine.journal import Journal
from langchain_context_engine.trace.context import Context
from langchain_context_engine.models.types import ContextRequest
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
        assert journal.opinions([("s", "i")])[("s", "i")].useful == 120
        assert journal.usage([("s", "i")]) == {("s", "i"): 120}


EXIT_AT_ONCE = """
import sys
from langchain_context_engine.journal import Journal
from langchain_context_engine.trace.context import Context
journal = Journal(sys.argv[1])
for _ in range(30):
    journal.record(Context(text="x"))
"""


def test_a_program_that_ends_writes_what_waits(path):
    subprocess.run([sys.executable, "-c", EXIT_AT_ONCE, path], check=True, timeout=60)
    with Journal(path, read_only=True) as journal:
        assert journal.count() == 30


EXIT_WHILE_LOCKED = """
import sqlite3, sys
from langchain_context_engine.journal import Journal
from langchain_context_engine.trace.context import Context
journal = Journal(sys.argv[1])
other = sqlite3.connect(sys.argv[1])
other.execute("BEGIN IMMEDIATE")
journal.record(Context(text="x"))
"""


def test_a_locked_journal_does_not_keep_a_program_from_ending(path):
    started = time.monotonic()
    subprocess.run([sys.executable, "-c", EXIT_WHILE_LOCKED, path], check=True, timeout=60)
    assert time.monotonic() - started < 10


def test_many_threads_record_and_read_without_loss(journal):
    def work(number: int) -> None:
        for turn in range(10):
            journal.record(a_context(f"{number} {turn}"))
            journal.usage([KEY])
            journal.traces(limit=5)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert journal.count() == 80


def test_the_thread_ends_when_idle_and_starts_again(journal, monkeypatch):
    monkeypatch.setattr("langchain_context_engine.journal.writer._IDLE_SECONDS", 0.05)
    journal.record(a_context())
    journal.flush()
    for _ in range(100):
        if not any(t.name == "context-journal" for t in threading.enumerate()):
            break
        time.sleep(0.05)
    else:
        pytest.fail("the idle thread goes on")
    journal.record(a_context())
    assert journal.count() == 2


def test_a_journal_that_is_closed_and_rests_is_in_no_trouble(path, caplog, monkeypatch):
    """Two seconds after the last answer its thread found the file closed, and said that it does not work."""
    monkeypatch.setattr(writer, "_IDLE_SECONDS", 0.05)
    with caplog.at_level(logging.WARNING), Journal(path) as journal:
        journal.record(a_context())
        journal.flush()
        journal.close()
        thread = journal._writer._thread
        if thread is not None:
            thread.join(5)
    assert not [r.message for r in caplog.records if str(path) in r.message]
