"""What a journal withstands: copies, backups moved over it, a cap, slow disks and forks."""

from __future__ import annotations

import base64
import multiprocessing
import os
import random
import shutil
import sqlite3
import threading
import time

import pytest

from langchain_context_engine import ContextEngine
from langchain_context_engine.journal import Journal
from langchain_context_engine.trace.context import Context
from tests.builders import ListSource, a_candidate
from tests.growth import least_seconds

KEY = ("memories", "a")


def noise(length):
    return base64.b64encode(random.randbytes(length))[:length].decode()


def a_context(text="hello", size=0):
    return Context(text=text, tokens=1, budget=10, candidates=(a_candidate(text=noise(size) or "x"),))


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


def test_a_journal_at_rest_is_whole(tmp_path):
    """S3."""
    path = tmp_path / "journal.db"
    with Journal(path) as journal:
        journal.record(a_context())
        journal.flush()
        until = time.monotonic() + 20
        while (tmp_path / "journal.db-wal").stat().st_size and time.monotonic() < until:
            time.sleep(0.1)
        assert count_in_copy(path, tmp_path) == 1


def test_a_backup_moved_over_an_open_journal_stays_what_it_is(tmp_path):
    """Point 7: the old side file overwrote it."""
    path, backup = tmp_path / "journal.db", tmp_path / "backup.db"
    with Journal(backup) as kept:
        kept.record(a_context("of the backup"))
    journal = Journal(path)
    for number in range(30):
        journal.record(a_context(f"old {number}", size=2000))
    journal.flush()
    journal.count()
    backup.replace(path)
    assert journal.count() == 1
    journal.record(a_context("new"))
    assert journal.count() == 2
    journal.close()
    with Journal(path) as read:
        assert sorted(str(read.trace(row.id)) for row in read.traces()) == ["new", "of the backup"]
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_the_file_keeps_below_its_cap(tmp_path):
    """Point 7: one page was given back of 200 MB."""
    path = tmp_path / "journal.db"
    with Journal(path, max_bytes=2_000_000, capacity=10_000) as journal:
        for _ in range(100):
            journal.record(a_context(size=100_000))
        journal.flush(60)
        assert 0 < journal.count() < 100
        assert path.stat().st_size + (tmp_path / "journal.db-wal").stat().st_size < 3_000_000
    assert path.stat().st_size < 2_100_000
    assert journal.failed == journal.dropped == 0


def test_a_trace_larger_than_the_cap_is_counted_and_costs_no_other(tmp_path):
    """Point 7."""
    with Journal(tmp_path / "journal.db", max_bytes=1_000_000) as journal:
        journal.record(a_context("small"))
        journal.record(a_context("large", size=3_000_000))
        assert (journal.count(), journal.failed) == (1, 1)


def test_usage_never_waits_for_a_write(tmp_path):
    """Point 7: 5 ms became 105 ms."""
    with Journal(tmp_path / "journal.db") as journal:
        journal.touch([KEY, KEY])
        journal.flush()
        begun, ends = threading.Event(), threading.Event()
        write = journal._writer._write

        def slowly(batch):
            write(batch)
            begun.set()
            ends.wait(20)

        journal._writer._write = slowly
        journal.touch([KEY])
        assert begun.wait(20)
        journal.touch([KEY])
        assert least_seconds(lambda: journal.usage([KEY]), 0.05) < 0.05
        assert journal.usage([KEY]) == {KEY: 4}
        ends.set()


def test_uses_are_counted_once_while_they_are_written(tmp_path):
    with Journal(tmp_path / "journal.db") as journal:
        for number in range(1, 300):
            journal.touch([KEY])
            assert journal.usage([KEY]) == {KEY: number}
        journal.flush()
        assert journal.usage([KEY]) == {KEY: 299}


@pytest.mark.unmeasured
def test_a_burst_of_answers_is_kept(tmp_path):
    """Point 7: at 70 answers a second a tenth was dropped."""
    with Journal(tmp_path / "journal.db") as journal:
        for _ in range(700):
            journal.record(a_context(size=20_000))
        journal.flush(60)
        assert (journal.count(), journal.dropped) == (700, 0)


def ask_in_child(engine, answers):
    context = engine.build("invoices")
    engine.journal.touch([KEY])
    engine.journal.feedback(KEY, useful=True)
    answers.put((os.getpid(), context.text, context.status, engine.journal.usage([KEY])[KEY]))
    engine.journal.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process")
def test_an_engine_with_a_journal_works_after_a_fork(tmp_path):
    """Point 6: also where a lock was held at that moment."""
    engine = ContextEngine([ListSource([a_candidate(text="Invoices go out.")])], journal=tmp_path / "j.db")
    engine.build("invoices")
    engine.journal.touch([KEY])
    engine.journal.flush()
    fork = multiprocessing.get_context("fork")
    answers = fork.Queue()
    held = (
        engine.journal._writer._lock,
        engine.journal._file._writer.lock,
        engine.journal._file._reader.lock,
    )
    for lock in held:
        lock.acquire()
    children = [fork.Process(target=ask_in_child, args=(engine, answers)) for _ in range(2)]
    for child in children:
        child.start()
    for lock in held:
        lock.release()
    told = [answers.get(timeout=60) for _ in children]
    for child in children:
        child.join(60)
        assert child.exitcode == 0
    assert all(text == "[1] Invoices go out." and uses >= 2 for _, text, _, uses in told)
    assert (engine.journal.count(), engine.journal.usage([KEY])[KEY]) == (3, 3)
    assert engine.journal.opinions([KEY])[KEY].useful == 2
    engine.journal.close()
