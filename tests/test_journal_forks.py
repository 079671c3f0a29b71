"""A journal and processes that fork: nothing of SQLite crosses."""

from __future__ import annotations

import os
import threading

import pytest

from langchain_context_engine.journal import Journal
from tests.journal_builders import a_context


@pytest.fixture
def journal(tmp_path):
    with Journal(tmp_path / "journal.db") as opened:
        yield opened


def test_a_forked_child_writes_its_own_traces_once(journal):
    for number in range(20):
        journal.record(a_context(f"parent {number}"))
    child = os.fork()
    if child == 0:
        journal.record(a_context("child"))
        os._exit(0 if journal.flush() and not journal.failed else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert journal.count("parent") == 20
    assert journal.count("child") == 1


@pytest.mark.unmeasured
def test_a_fork_while_threads_are_inside_the_file_leaves_a_child_that_writes(journal):
    """A child waited for ever for what a thread of its parent held within SQLite."""
    stop = threading.Event()

    def open_again_and_again() -> None:
        while not stop.is_set():
            journal._file._let_go()
            journal.traces(limit=1)

    thread = threading.Thread(target=open_again_and_again)
    thread.start()
    try:
        for _ in range(30):
            child = os.fork()
            if child == 0:
                journal.record(a_context("child"))
                os._exit(0 if journal.flush() and not journal.failed else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        thread.join()
    assert journal.count("child") == 30
