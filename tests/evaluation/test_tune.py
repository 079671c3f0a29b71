"""Weights learned from judgments: held out, refused, and from a journal (B6)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine import ContextEngine, Journal, replay
from langchain_context_engine.evaluation.tune import Search, judged_traces, suggest, tune, varying
from tests.builders import ListSource, a_candidate
from tests.evaluation.builders import judged


@pytest.fixture(scope="module")
def recent():
    return judged()


@pytest.fixture(scope="module")
def tuning(recent):
    return tune(*recent)


def test_where_recency_decides_the_weights_move_to_it_and_the_held_out_gain_is_real(tuning):
    assert tuning.is_worth_it
    assert tuning.present is None
    assert tuning.learned["recency"] > 0.5
    assert sum(tuning.learned.values()) == pytest.approx(1, abs=0.001)
    assert tuning.gain.low > 0.1
    assert tuning.after - tuning.before == pytest.approx(tuning.gain.difference)
    assert tuning.queries == tuning.gain.pairs == 60
    assert "beyond chance" in tuning.reason


def test_weights_that_are_right_already_stay(recent):
    traces, judgments = recent
    settled = [replay(trace, weights={"recency": 2}) for trace in traces]
    tuning = tune(settled, judgments)
    assert not tuning.is_worth_it
    assert tuning.gain is None
    assert tuning.present == tuning.learned == {"recency": 1.0}
    assert tuning.before == tuning.after > 0.9
    assert "no other weights" in tuning.reason


def test_too_few_judged_questions_are_refused_with_their_number(recent):
    traces, judgments = recent
    tuning = tune(traces[:49], judgments)
    assert not tuning.is_worth_it
    assert "only 49 judged questions" in tuning.reason
    assert "50 are needed" in tuning.reason
    assert 0 < tuning.before < 1
    assert tune(traces[:49], judgments, min_queries=40).is_worth_it


@settings(max_examples=25)
@given(st.lists(st.floats(0.01, 1), min_size=4, max_size=4))
def test_trial_weights_score_as_the_librarys_own_order_does(recent, weights):
    traces, judgments = recent
    found = judged_traces(traces[:10], judgments)
    names, raw = varying(found, ["relevance", "recency", "confidence", "importance"])
    present = np.array([trace.score() for trace in found])
    search = Search(found, names=names, raw=raw, weights={"relevance": 1})
    shares = [weight / sum(weights) for weight in weights]
    trial = search.scores(tuple(shares))
    truth = [trace.score(dict(zip(names, shares, strict=True))) for trace in found]
    assert list(trial) == pytest.approx(truth, abs=1e-9)
    assert list(search.scores((1.0, 0.0, 0.0, 0.0))) == pytest.approx(list(present), abs=1e-9)


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
