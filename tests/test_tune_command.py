"""Tuning on a journal: `suggest`, and `context-engine tune`."""

from __future__ import annotations

import json

import pytest

from langchain_context_engine import ContextEngine, Journal
from langchain_context_engine.cli import main
from langchain_context_engine.evaluation.tune import suggest, tune
from tests.builders import ListSource, a_candidate
from tests.tune_builders import judged


@pytest.fixture(scope="module")
def recent():
    return judged()


@pytest.fixture(scope="module")
def tuning(recent):
    return tune(*recent)


@pytest.fixture(scope="module")
def journal_path(recent, tmp_path_factory):
    path = tmp_path_factory.mktemp("tune") / "journal.db"
    traces, judgments = recent
    with Journal(path) as journal:
        for trace in traces:
            journal.record(trace)
        # The same question, later and in another scope: nothing of it is judged.
        _record_elsewhere(journal, traces[0])
        for query, grades in judgments.items():
            for key, grade in grades.items():
                journal.judge(query, key, grade)
    return path


def _record_elsewhere(journal, trace):
    others = [a_candidate(id=f"other{i}") for i in range(3)]
    engine = ContextEngine(sources=[ListSource(others)], tokenizer="estimate")
    journal.record(engine.build(trace.request.query))


def test_a_journal_suggests_what_its_own_traces_and_judgments_teach(journal_path, tuning):
    before = journal_path.read_bytes()
    with Journal(journal_path, read_only=True) as journal:
        assert suggest(journal) == tuning
    assert journal_path.read_bytes() == before


def test_the_command_prints_the_table_and_the_settings_to_copy(journal_path, tuning, capsys):
    assert main(["tune", "--journal", str(journal_path)]) == 0
    printed = capsys.readouterr().out
    assert tuning.table() in printed
    assert f"engine = engine.with_settings(weights={tuning.learned!r})" in printed
    assert json.loads(printed.splitlines()[-1]) == {"weights": tuning.learned}
    assert main(["tune", "--journal", str(journal_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == tuning.to_dict()


def test_the_command_refuses_in_one_line_with_exit_code_1(recent, tmp_path, capsys):
    traces, judgments = recent
    path = tmp_path / "few.db"
    assert main(["tune", "--journal", str(path)]) == 1
    assert "no journal" in capsys.readouterr().err
    with Journal(path) as journal:
        journal.record(traces[0])
        query = traces[0].request.query
        journal.judge(query, *next(iter(judgments[query].items())))
    assert main(["tune", "--journal", str(path)]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: only 1 judged questions")
    assert len(printed.err.splitlines()) == 1
    assert main(["tune", "--journal", str(path), "--metric", "mrr"]) == 2
