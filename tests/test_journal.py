from __future__ import annotations

import os
import sqlite3
from datetime import UTC, datetime, timedelta

import pytest

from langchain_context_engine.journal import Activity, Feedback, Journal, Judgment
from langchain_context_engine.models.errors import ConfigError
from langchain_context_engine.models.types import Status
from tests.builders import a_request
from tests.growth import least_seconds
from tests.journal_builders import KEY, a_context


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.db"


@pytest.fixture
def journal(path):
    with Journal(path) as opened:
        yield opened


def test_a_recorded_context_comes_back_whole(journal):
    context = a_context()
    assert journal.trace(journal.record(context)) == context


def test_a_row_tells_the_figures_of_its_trace(journal):
    at = datetime(2026, 5, 1, 12, tzinfo=UTC)
    trace_id = journal.record(a_context(), at=at)
    (row,) = journal.traces()
    assert (row.id, row.time, row.query) == (trace_id, at, "what about billing?")
    assert row.sources == ("chat", "notes")
    assert (row.candidates, row.kept, row.tokens, row.budget, row.duplicates) == (3, 1, 7, 50, 1)
    assert (row.milliseconds, row.warnings, row.status) == (3.5, 1, "ok")


def test_a_total_among_the_timings_is_the_time_taken(journal):
    journal.record(a_context(timings={"collect": 2.0, "total": 2.5}))
    assert journal.traces()[0].milliseconds == 2.5


def test_the_newest_trace_is_first_and_pages_neither_overlap_nor_skip(journal):
    for number in range(7):
        journal.record(a_context(f"question {number}"))
    pages = [journal.traces(limit=3, offset=offset) for offset in (0, 3, 6)]
    assert [row.query for page in pages for row in page] == [f"question {n}" for n in reversed(range(7))]
    assert journal.count() == 7


@pytest.mark.parametrize("search", ["BILLING", "billing", "100%", "straße", "STRASSE", "notes"])
def test_search_finds_text_in_questions_and_sources_whatever_its_case(journal, search):
    journal.record(a_context("Billing rose 100% in the Straße"))
    journal.record(a_context("something else", candidates=(), passages=()))
    assert len(journal.traces(search=search)) == journal.count(search=search) == 1


@pytest.mark.parametrize("search", ["%", "_", "'", '"; DROP TABLE traces; --'])
def test_search_text_is_no_pattern_and_no_statement(journal, search):
    journal.record(a_context("plain"))
    assert journal.traces(search=search) == []
    assert journal.count() == 1


def test_traces_are_filtered_by_status_time_and_what_is_new(journal):
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for day, status in enumerate([Status.OK, Status.PARTIAL, Status.EMPTY]):
        journal.record(a_context(f"day {day}", status=status), at=start + timedelta(days=day))
    first = journal.traces()[-1]

    def queries(**conditions):
        return [row.query for row in journal.traces(**conditions)]

    assert queries(status="partial") == ["day 1"]
    assert queries(since=start + timedelta(days=1)) == ["day 2", "day 1"]
    assert queries(until="2026-01-02") == ["day 1", "day 0"]
    assert queries(after=first.number) == ["day 2", "day 1"]
    with pytest.raises(ConfigError, match="colour"):
        journal.traces(colour="red")


def test_the_list_tells_equal_scopes_apart_from_others_without_a_value(journal, path):
    for scope in (
        {"tenant": "acme-corp", "n": [1, 2]},
        {"n": [2, 1], "tenant": "acme-corp"},
        {"tenant": "b"},
    ):
        journal.record(a_context(request=a_request(scope=scope)))
    journal.record(a_context())
    none, other, same, first = (row.scope for row in journal.traces())
    assert first == same != other
    assert none == ""
    assert journal.count(scope=first) == 2
    assert b"acme-corp" not in path.read_bytes()


def test_the_same_scope_has_another_digest_in_another_journal(journal, tmp_path):
    context = a_context(request=a_request(scope={"tenant": "acme"}))
    with Journal(tmp_path / "other.db") as other:
        journal.record(context)
        other.record(context)
        assert journal.traces()[0].scope != other.traces()[0].scope


def test_false_and_0_are_different_scopes(journal):
    for value in (False, 0, "0"):
        journal.record(a_context(request=a_request(scope={"deleted": value})))
    assert len({row.scope for row in journal.traces()}) == 3


def test_an_unknown_trace_is_an_error_that_names_it(journal):
    with pytest.raises(ConfigError, match="nothing-here"):
        journal.trace("nothing-here")


def test_usage_counts_each_use_once_while_it_is_being_written(journal):
    for number in range(1, 401):
        journal.touch([KEY])
        assert journal.usage([KEY]) == {KEY: number}
        if number % 100 == 0:
            assert journal.flush(timeout_seconds=30)  # more would wait than may, where writing is slow


def test_usage_counts_at_once_and_0_for_the_unknown(journal):
    journal.touch([KEY, KEY, ("chat", "c1")])
    assert journal.usage([KEY, ("chat", "c1"), ("chat", "c2")]) == {
        KEY: 2,
        ("chat", "c1"): 1,
        ("chat", "c2"): 0,
    }
    journal.flush()
    journal.touch([KEY])
    assert journal.usage([KEY]) == {KEY: 3}


def test_keys_are_not_joined_to_one_string(journal):
    journal.touch([("a:b", "c")])
    assert journal.usage([("a:b", "c"), ("a", "b:c")]) == {("a:b", "c"): 1, ("a", "b:c"): 0}


def test_feedback_adds_up_for_and_against(journal):
    for useful in (True, True, False):
        journal.feedback(KEY, useful)
    assert journal.opinions([KEY, ("x", "y")]) == {KEY: Feedback(useful=2, useless=1), ("x", "y"): Feedback()}


def test_what_the_usage_signal_reads_is_told_for_used_and_judged_keys_only(journal):
    journal.touch([KEY] * 3)
    for useful in (True, True, True, False):
        journal.feedback(("chat", "c1"), useful)
    assert journal.usage_metadata([KEY, ("chat", "c1"), ("chat", "c2")]) == {
        KEY: {"usage_count": 3.0, "usage_feedback": 0.0},
        ("chat", "c1"): {"usage_count": 0.0, "usage_feedback": 0.5},
    }


def test_usage_that_cannot_be_read_is_missing_and_fails_no_answer(journal, path):
    with sqlite3.connect(path) as other:
        other.execute("DROP TABLE usage")
    assert journal.usage_metadata([KEY]) == {}


def test_the_latest_grade_of_a_question_and_candidate_holds(journal):
    journal.judge("q1", KEY, 1)
    journal.judge("q1", KEY, 3)
    journal.judge("q0", KEY, 0)
    assert [(j.query, j.key, j.grade) for j in journal.judgments()] == [("q0", KEY, 0), ("q1", KEY, 3)]
    assert [j.grade for j in journal.judgments("q1")] == [3]
    assert isinstance(journal.judgments()[0], Judgment)


def test_a_grade_can_be_taken_back(journal):
    journal.judge("q", KEY, 2)
    journal.judge("q", KEY, None)
    assert journal.judgments() == []


@pytest.mark.parametrize("grade", [-1, 4, 1.5, True, "2"])
def test_a_grade_is_a_whole_number_from_0_to_3(journal, grade):
    with pytest.raises(ConfigError, match="grade"):
        journal.judge("q", KEY, grade)


def test_views_and_edits_are_told_latest_first_and_of_one_user(journal):
    start = datetime(2026, 1, 1, tzinfo=UTC)
    journal.view("ann", ("pages", "p1"), start)
    journal.view("ann", ("pages", "p2"), start + timedelta(hours=1))
    journal.view("ann", ("pages", "p1"), start + timedelta(hours=2))
    journal.view("ann", ("pages", "p3"), start + timedelta(hours=3), kind="edit")
    journal.view("bob", ("pages", "p9"), start)
    assert [(a.key[1], a.kind, a.times) for a in journal.recent("ann")] == [
        ("p3", "edit", 1),
        ("p1", "view", 2),
        ("p2", "view", 1),
    ]
    assert [a.key[1] for a in journal.recent("ann", kind="view", limit=1)] == ["p1"]
    assert [a.key[1] for a in journal.recent("ann", since=start + timedelta(hours=3))] == ["p3"]
    assert isinstance(journal.recent("bob")[0], Activity)
    with pytest.raises(ConfigError, match="kind"):
        journal.view("ann", KEY, kind="sniff")


def test_hostile_text_is_kept_as_text(journal):
    query = "a\ud83d'; DROP TABLE traces; --\x00 <b>"
    journal.record(a_context(query))
    journal.touch([("s\ud83d", "i\ud83d")])
    assert journal.traces()[0].query == query.replace("\ud83d", "�")
    assert journal.usage([("s\ud83d", "i\ud83d")]) == {("s\ud83d", "i\ud83d"): 1}


def test_the_journal_stays_below_its_cap_and_drops_the_oldest(path):
    noise = os.urandom(60_000).hex()
    with Journal(path, max_bytes=1_500_000) as journal:
        for number in range(60):
            journal.record(a_context(f"question {number}", text=noise))
            journal.flush()
        queries = [row.query for row in journal.traces(limit=100)]
        assert 5 < len(queries) < 40
        assert queries == [f"question {n}" for n in reversed(range(60))][: len(queries)]
        assert journal.trace(journal.traces()[-1].id).text == noise
    assert path.stat().st_size <= 1_600_000


def test_a_page_of_a_hundred_thousand_traces_comes_at_once(journal, path):
    journal.record(a_context("the needle"))
    journal.flush()
    with sqlite3.connect(path) as connection:
        connection.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) "
            "INSERT INTO traces (number, id, at, query, search, sources, candidates, kept, tokens, budget, "
            "duplicates, milliseconds, warnings, status, scope) SELECT NULL, 'id' || i, i, 'question ' || i, 'question ' || i, '[]', "
            "100, 10, 900, 1000, 3, 12.5, 0, 'ok', '' FROM n"
        )
    calls = {
        "first page": journal.traces,
        "last page": lambda: journal.traces(offset=99_900),
        "search": lambda: journal.traces(search="needle"),
        "count": journal.count,
        "count of a search": lambda: journal.count(search="question 9"),
    }
    for name, call in calls.items():
        assert call(), name
        assert least_seconds(call, 0.5) <= 0.5, name
