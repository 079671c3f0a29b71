"""Traces are written behind the answers' backs: in time, counted where they are lost, and never at an answer's cost."""

from __future__ import annotations

import logging
import sqlite3
import subprocess
import sys

from langchain_context_engine import ContextEngine
from langchain_context_engine.journal import Journal
from tests.builders import ListSource, a_candidate
from tests.conftest import ROOT
from tests.journal_builders import a_context

QUESTION = "when do invoices go out?"


def test_recording_does_not_wait_for_a_locked_file(journal, path):
    with sqlite3.connect(path) as other:
        other.execute("BEGIN IMMEDIATE")
        for _ in range(20):
            journal.record(a_context())
        assert journal.flush(0.1) is False
        other.execute("COMMIT")
    assert journal.flush()
    assert journal.count() == 20


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


EXIT_AT_ONCE = """
import sys
from langchain_context_engine.journal import Journal, traces
from langchain_context_engine.trace.context import Context
traces._EXIT_SECONDS = 60  # on a slow machine too
journal = Journal(sys.argv[1])
for _ in range(30):
    journal.record(Context(text="x"))
"""


def test_a_program_that_ends_writes_what_waits(path):
    subprocess.run([sys.executable, "-c", EXIT_AT_ONCE, path], check=True, timeout=60)
    with Journal(path, read_only=True) as journal:
        assert journal.count() == 30


def an_engine(journal):
    return ContextEngine([ListSource([a_candidate(text="Invoices go out monthly.")])], journal=journal)


FULL = """
import logging, resource, signal, sys
from langchain_context_engine.journal import Journal
from tests.journal.test_writer import QUESTION, an_engine

logging.basicConfig(format="%(message)s")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
allowed = resource.getrlimit(resource.RLIMIT_FSIZE)
with Journal(sys.argv[1]) as journal:
    engine = an_engine(journal)
    for is_full in (False, True, False):
        # What a file has is its own on a full disk; it only cannot grow.
        room = journal.path.stat().st_size + 10_000 if is_full else allowed[0]
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, allowed[1]))
        for number in range(20):
            engine.build(QUESTION + number * "?")
            journal.flush()
            print(journal.count())
"""


def test_a_disk_that_is_full_for_a_while_costs_what_came_meanwhile_and_says_so(path):
    """Point 7: 302 of 308 answers were not kept and the log said once that the journal does not work."""
    done = subprocess.run(
        [sys.executable, "-c", FULL, path], cwd=ROOT, capture_output=True, text=True, timeout=110, check=False
    )
    assert done.returncode == 0, done.stderr
    counts = list(map(int, done.stdout.split()))
    lost = 20 - (counts[39] - counts[19])
    assert lost > 10
    assert counts[40:] == [*range(40 - lost + 1, 60 - lost + 1)]
    with Journal(path, read_only=True) as journal:
        assert journal.lost() == lost
    said = [line for line in done.stderr.splitlines() if "could not be written" in line]
    assert len(said) == lost.bit_length()
