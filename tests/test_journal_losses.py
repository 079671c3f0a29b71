"""What a journal could not keep is said where answers are read: the next one, the file, doctor, the inspector."""

from __future__ import annotations

import sqlite3
import subprocess
import sys

import pytest

from langchain_context_engine import ContextEngine, cli
from langchain_context_engine.journal import Journal, Losses
from tests.builders import ListSource, a_candidate
from tests.conftest import ROOT
from tests.inspector.builders import a_page
from tests.journal_builders import a_context

QUESTION = "when do invoices go out?"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.db"


def an_engine(journal):
    return ContextEngine([ListSource([a_candidate(text="Invoices go out monthly.")])], journal=journal)


def a_journal_that_dropped(path, number):
    """Return a journal that another process held for a while; so many traces and more came meanwhile."""
    journal = Journal(path, capacity=5)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    while journal.dropped < number:
        journal.record(a_context())
    other.execute("ROLLBACK")
    other.close()
    assert journal.flush(30)
    return journal


def test_the_next_answer_says_once_that_earlier_ones_were_not_kept(path):
    """Point 7: 10 % of the answers were dropped, and only a log said so."""
    with a_journal_that_dropped(path, 7) as journal:
        engine = an_engine(journal)
        (told,) = engine.build(QUESTION).warnings
        assert told.startswith("the journal could not keep 7 answers before this one")
        assert engine.build(QUESTION).warnings == ()


def test_the_file_says_it_to_every_other_process(path):
    with a_journal_that_dropped(path, 7) as journal:
        journal.record(a_context())  # what was lost is written with what comes next
        journal.flush()
    with Journal(path, read_only=True) as journal:
        lost = journal.losses()
    assert (lost.dropped, lost.failed, bool(lost)) == (7, 0, True)
    assert str(lost).startswith("7 answers are missing, the latest of 2")


@pytest.mark.unmeasured
def test_a_trace_that_is_too_large_is_said_too(path):
    import random

    text = "".join(chr(random.Random(1).randrange(0x4E00, 0x9000)) for _ in range(10))
    large = a_candidate(
        text=text + "".join(map(chr, random.Random(2).choices(range(0x4E00, 0x9000), k=400_000)))
    )
    with Journal(path, max_bytes=1_000_000) as journal:
        ContextEngine([ListSource([large])], journal=journal).build("x")
        journal.flush()
        assert journal.losses() == Losses(dropped=0, failed=1, last=journal.losses().last)
        assert any("could not keep 1 answer" in one for one in an_engine(journal).build(QUESTION).warnings)


FULL = """
import logging, resource, signal, sys
from langchain_context_engine.journal import Journal
from tests.test_journal_losses import QUESTION, an_engine

logging.basicConfig(format="%(message)s")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
allowed = resource.getrlimit(resource.RLIMIT_FSIZE)
with Journal(sys.argv[1]) as journal:
    engine = an_engine(journal)
    for room in (allowed[0], 100_000, allowed[0]):
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, allowed[1]))
        for number in range(20):
            said = engine.build(f"{QUESTION} {number}").warnings
            journal.flush()
            print(room == allowed[0], journal.count(), *said, sep="|")
"""


def test_a_disk_that_is_full_for_a_while_costs_what_came_meanwhile_and_says_so_everywhere(path):
    """Point 7: 302 of 308 answers were not kept and the log said once that the journal does not work."""
    done = subprocess.run(
        [sys.executable, "-c", FULL, path], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split("|") for line in done.stdout.splitlines()]
    before, meanwhile, after = lines[:20], lines[20:40], lines[40:]
    lost = 20 - (int(meanwhile[-1][1]) - int(before[-1][1]))
    assert lost > 10
    assert "could not keep 1 answer before this one" in meanwhile[-1][2]
    assert [int(line[1]) for line in after] == [*range(40 - lost + 1, 60 - lost + 1)]
    assert all(len(line) == 2 for line in after[1:])
    with Journal(path, read_only=True) as journal:
        assert journal.losses().failed == lost
    said = [line for line in done.stderr.splitlines() if "could not be written" in line]
    assert len(said) == lost.bit_length()


def test_nothing_is_said_of_a_journal_that_kept_everything(path):
    with Journal(path) as journal:
        assert an_engine(journal).build(QUESTION).warnings == ()
        assert not journal.losses()
        assert str(journal.losses()) == "no answer was lost"
    with Journal(path, read_only=True) as journal:
        assert journal.losses() == Losses()


def test_doctor_says_it(tmp_path, capsys):
    (tmp_path / "notes.md").write_text("# Billing\n\nInvoices go out monthly.\n")
    store = tmp_path / "store"
    assert cli.main(["index", str(tmp_path / "notes.md"), "--store", str(store)]) == 0
    a_journal_that_dropped(store / "journal.db", 3).close()
    with Journal(store / "journal.db") as journal:
        journal.record(a_context())
    cli.main(["doctor", "--store", str(store)])
    _, _, told = " ".join(capsys.readouterr().out.split()).partition(" journal ")
    assert "3 answers are missing" in told


def test_the_page_of_traces_says_it(path, monkeypatch):
    a_journal_that_dropped(path, 3).close()
    with Journal(path) as journal:
        journal.record(a_context())
    at = a_page("traces", journal=path, monkeypatch=monkeypatch)
    assert not at.exception
    assert ["3 answers are missing" in one.value for one in at.warning] == [True]
