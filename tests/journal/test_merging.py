"""Journals of several machines brought together."""

from __future__ import annotations

import sqlite3

import pytest

from langchain_context_engine.cli import main
from langchain_context_engine.journal import Journal, Usage, merge_journals
from tests.builders import a_request
from tests.journal_builders import KEY, a_context

OTHER = ("memories", "m2")


def a_journal(path, *queries, uses=0, at="2026-01-01T10:00:00Z", scope=None):
    with Journal(path) as journal:
        for query in queries:
            journal.record(a_context(query, request=a_request(query=query, scope=scope or {})), at=at)
        journal.touch([KEY] * uses)
    return path


def queries(path, **conditions):
    with Journal(path) as journal:
        return [row.query for row in journal.traces(**conditions)]


def told(path):
    """Return everything a journal tells but for its numbers."""
    with Journal(path) as journal:
        return (
            sorted((row.id, row.time, row.query) for row in journal.traces(limit=1000)),
            dict(journal.usage([KEY, OTHER])),
            journal.judgments(),
            journal.recent("ann"),
            journal.sets(),
        )


@pytest.fixture
def machines(tmp_path):
    """Return two journals in which the same things were used, judged and viewed."""
    a = a_journal(tmp_path / "A.db", "one", "three", uses=2)
    b = a_journal(tmp_path / "B.db", "two", uses=5, at="2026-01-01T11:00:00Z")
    for path, useful, grade in ((a, True, 1), (b, False, 3)):
        with Journal(path) as journal:
            journal.feedback(KEY, useful)
            journal.feedback(OTHER, True)
            journal.judge("one", KEY, grade, rater="ann")
            journal.judge("one", OTHER, grade, rater="ann")
            journal.view("ann", KEY, "2026-01-02")
            journal.view("ann", KEY, "2026-01-03")
            journal.keep_set(f"set of {path.stem}", {"one": "t1"})
            journal.record_answer(journal.traces(1)[0].id, "So [1].")
            if path == b:
                journal.judge(
                    "one", OTHER, None, rater="ann"
                )  # taken back, later than it was given in the other
    return a, b


def test_a_merged_journal_has_the_traces_and_the_sums_of_all(machines, tmp_path):
    into = tmp_path / "C.db"
    first, second = merge_journals(machines, into)
    assert (first.traces, second.traces) == (2, 1)
    assert first.error == second.error == ""
    traces, usage, judgments, recent, sets = told(into)
    assert sorted(query for _, _, query in traces) == ["one", "three", "two"]
    assert usage == {KEY: Usage(uses=7, useful=1, useless=1), OTHER: Usage(useful=2)}
    assert [(each.key, each.grade, each.rater) for each in judgments] == [(KEY, 3, "ann")]
    assert [(view.key, view.times, view.time.day) for view in recent] == [(KEY, 4, 3)]
    assert set(sets) == {"set of A", "set of B"}
    with Journal(into) as journal:
        assert str(journal.trace(traces[0][0])) == "hello"
        assert len(journal.answers()) == 2


def test_merging_again_changes_nothing(machines, tmp_path):
    into = tmp_path / "C.db"
    merge_journals(machines, into)
    before = told(into)
    again = merge_journals([*machines, *machines], into)
    assert {(each.traces, each.counts, each.judgments) for each in again} == {(0, 0, 0)}
    assert told(into) == before


def test_the_order_and_the_way_do_not_matter(machines, tmp_path):
    """A journal that reaches another by two ways is counted once, and one merged back counts nothing."""
    a, b = machines
    c, d, e = (tmp_path / f"{name}.db" for name in "CDE")
    merge_journals([a, b], c)
    a_journal(c, "of c itself", uses=1)
    merge_journals([b, c, a], d)
    merge_journals([c], e)
    merge_journals([a], e)
    merge_journals([d], e)
    assert told(d) == told(e)
    assert told(d)[1][KEY].uses == 8
    merge_journals([d, e], c)
    assert told(c) == told(d)
    merge_journals([c], a)
    assert told(a)[1][KEY].uses == 8


def test_a_damaged_or_foreign_file_costs_itself(machines, tmp_path):
    into, foreign, text = tmp_path / "C.db", tmp_path / "foreign.db", tmp_path / "text.db"
    with sqlite3.connect(foreign) as other:
        other.execute("CREATE TABLE mine (x)")
    text.write_text("no database" * 100)
    torn = tmp_path / "torn.db"
    torn.write_bytes(machines[1].read_bytes()[:9000])
    merged = merge_journals([foreign, text, tmp_path / "nowhere.db", torn, machines[0]], into)
    assert "another program's database" in merged[0].error
    assert "not a database" in merged[1].error
    assert "no journal" in merged[2].error
    assert "torn.db" in merged[3].error
    assert merged[4].error == ""
    assert len(queries(into)) == 2
    with sqlite3.connect(foreign) as other:
        assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("mine",)]


def test_the_command_merges_and_says_what_came(machines, tmp_path, capsys):
    into = tmp_path / "C.db"
    arguments = ["journal", "merge", *map(str, machines), "--into", str(into)]
    assert main(arguments) == 0
    assert "A.db: 2 traces, 4 counts, 2 judgments are new" in capsys.readouterr().out
    (tmp_path / "broken.db").write_text("no database" * 100)
    assert main(["journal", "merge", str(tmp_path / "broken.db"), *arguments[2:]]) == 1
    said = capsys.readouterr()
    assert "broken.db" in said.err
    assert "1 of 3 journals" in said.err
    assert "B.db: 0 traces" in said.out
