"""Tuning on a journal: `suggest`."""

from __future__ import annotations

import pytest

from langchain_context_engine import ContextEngine, Journal
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
