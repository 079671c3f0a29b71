"""What a journal keeps and tells: traces and how they are found, answers, use, feedback, judgments, activity."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from langchain_context_engine import Context, ContextEngine, Journal
from langchain_context_engine.errors import AllSourcesFailedError, ConfigError
from langchain_context_engine.journal import Usage
from langchain_context_engine.models.types import Status
from tests.builders import FailingSource, HangingSource, ListSource, a_candidate, a_request
from tests.journal_builders import KEY, a_context


def test_a_row_tells_the_figures_of_its_trace(journal):
    at = datetime(2026, 5, 1, 12, tzinfo=UTC)
    trace_id = journal.record(a_context(), at=at)
    (row,) = journal.traces()
    assert (row.id, row.time, row.query) == (trace_id, at, "what about billing?")
    assert row.sources == ("chat", "notes")
    assert (row.candidates, row.kept, row.tokens, row.budget, row.duplicates) == (3, 1, 7, 50, 1)
    assert (row.milliseconds, row.warnings, row.status) == (3.5, 1, "ok")


@pytest.mark.parametrize("search", ["BILLING", "billing", "100%", "straße", "STRASSE", "notes"])
def test_search_finds_text_in_questions_and_sources_whatever_its_case(journal, search):
    journal.record(a_context("Billing rose 100% in the Straße"))
    journal.record(a_context("something else", candidates=(), passages=()))
    assert len(journal.traces(search=search)) == journal.count(search=search) == 1


@pytest.mark.parametrize(
    "search", ["ELEVES", "élèves", "e\u0301leve", "Ãngström", "roads/naïve.py:3", "41f", "paves"]
)
def test_search_finds_passages_ids_and_places_whatever_their_accents(journal, search):
    found = a_candidate(
        id="41f7", text="Élèves and Ångström pavés", metadata={"path": "roads/naive.py", "start_line": 3}
    )
    left_out = a_candidate(id="53b", text="elsewhere")
    ContextEngine([ListSource([found])], journal=journal).build("who?")
    ContextEngine([ListSource([left_out])], journal=journal).build("who else?")
    assert [row.query for row in journal.traces(search=search)] == ["who?"]
    assert journal.count(search="who else 53b") == 1


def test_search_finds_the_answers_that_waited_for_a_source_in_vain(journal):
    """`slow-wiki` found nothing though two answers waited for it."""
    sources = [ListSource([a_candidate()]), hanging := HangingSource("slow-wiki")]
    ContextEngine(sources, journal=journal, timeout_seconds=1).build("late?")
    hanging.is_over.set()
    broken = [ListSource([a_candidate()]), FailingSource(RuntimeError("quota"), name="wiki-mirror")]
    ContextEngine(broken, journal=journal).build("broken?")
    assert [row.query for row in journal.traces(search="slow-wiki")] == ["late?"]
    assert [row.query for row in journal.traces(search="Wiki-Mirror FAILED")] == ["broken?"]


def test_a_note_and_its_tags_stand_in_the_list_are_found_and_go_with_their_trace(journal):
    first, second = journal.record(a_context("first")), journal.record(a_context("second"))
    journal.note(first, "Wrong price,\n ask Zoë ", ["to do", " to  do ", "billing", ""])
    rows = {row.id: row for row in journal.traces()}
    assert (rows[first].note, rows[first].tags) == ("Wrong price,\n ask Zoë", ("to do", "billing"))
    assert (rows[second].note, rows[second].tags) == ("", ())
    assert [row.id for row in journal.traces(search="zoe BILL")] == [first]
    journal.note(first)
    assert journal.count(search="zoe") == 0
    assert journal.traces(search="first")[0].tags == ()
    with pytest.raises(ConfigError, match="no trace"):
        journal.note("nothing", "told")


def test_a_view_is_kept_by_its_name_over_an_earlier_one_and_removed_when_empty(journal):
    journal.keep_view(" slow ones ", {"only": "Slow"})
    journal.keep_view("slow ones", {"only": "Slow", "q": "wiki"})
    journal.keep_view("mine", {"q": "ann"})
    assert journal.views() == {"mine": {"q": "ann"}, "slow ones": {"only": "Slow", "q": "wiki"}}
    journal.keep_view("mine", {})
    assert set(journal.views()) == {"slow ones"}
    with pytest.raises(ConfigError, match="name of a view"):
        journal.keep_view("", {"q": "ann"})


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


def test_what_the_usage_signal_reads_is_told_for_used_and_judged_keys_only(journal):
    journal.touch([KEY] * 3)
    for useful in (True, True, True, False):
        journal.feedback(("chat", "c1"), useful)
    assert journal.usage_metadata([KEY, ("chat", "c1"), ("chat", "c2")]) == {
        KEY: {"usage_count": 3.0, "usage_feedback": 0.0},
        ("chat", "c1"): {"usage_count": 0.0, "usage_feedback": 0.4},
    }


def test_usage_that_cannot_be_read_is_missing_and_fails_no_answer(journal, path):
    with sqlite3.connect(path) as other:
        other.execute("DROP TABLE counts")
    assert journal.usage_metadata([KEY]) == {}


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
    with pytest.raises(ConfigError, match="kind"):
        journal.view("ann", KEY, kind="sniff")


def test_hostile_text_is_kept_as_text(journal):
    query = "a\ud83d'; DROP TABLE traces; --\x00 <b>"
    journal.record(a_context(query))
    journal.touch([("s\ud83d", "i\ud83d")])
    assert journal.traces()[0].query == query.replace("\ud83d", "�")
    assert journal.usage([("s\ud83d", "i\ud83d")]) == {("s\ud83d", "i\ud83d"): Usage(uses=1)}


def test_what_is_slow_within_a_scope_is_told_from_what_that_scope_took_alone(journal):
    """Another tenant's slow question said that none of one's own was slow."""
    for user, took in (("ann", 5.0), ("ann", 7.0), ("bob", 900.0)):
        context = a_context(f"{user} {took:g}", timings={"collect": took})
        journal.record(replace(context, request=replace(context.request, scope={"user": user})))
    ann = journal.scope_digest({"user": "ann"})
    assert [row.query for row in journal.traces(is_slow=True, scope=ann)] == ["ann 7"]
    assert journal.count(is_slow=True, scope=ann, search="ann") == 1
    assert [row.query for row in journal.traces(is_slow=True)] == ["bob 900"]
    bob = journal.scope_digest({"user": "bob"})
    assert not journal.count(is_slow=True, scope=bob), "what took as long as all is not slow"
    assert journal.traces(id_prefix=journal.traces()[0].id[:8]) == journal.traces(1)


def test_the_grades_of_two_people_stand_beside_each_other(journal):
    journal.judge("q", KEY, 3, rater="ann")
    journal.judge("q", KEY, 1, rater="bob")
    journal.judge("q", KEY, 2, rater="bob")
    assert [(j.rater, j.grade) for j in journal.judgments("q")] == [("ann", 3), ("bob", 2)]
    journal.judge("q", KEY, None, rater="ann")
    assert [(j.rater, j.grade) for j in journal.judgments("q")] == [("bob", 2)]


def test_a_named_set_is_kept_over_an_earlier_one_and_removed_when_empty(journal):
    journal.keep_set("release", {"why?": "1", "when?": "2"})
    journal.keep_set("release", {"why?": "3"})
    journal.keep_set("other", {"who?": "4"})
    assert journal.sets() == {"other": {"who?": "4"}, "release": {"why?": "3"}}
    journal.keep_set("other", {})
    assert set(journal.sets()) == {"release"}
    with pytest.raises(ConfigError, match="name of a set"):
        journal.keep_set("  ", {"why?": "3"})


def test_a_question_that_every_source_failed_to_answer_is_recorded_and_raised(journal):
    engine = ContextEngine([FailingSource(RuntimeError("no answer with token"))], journal=journal)
    with pytest.raises(AllSourcesFailedError):
        engine.build("why is it down?")
    (row,) = journal.traces(status="failed")
    assert (row.query, row.candidates) == ("why is it down?", 0)
    (warning,) = journal.trace(row.id).warnings
    assert warning.startswith("source 'failing' failed")
    assert list(row.source_timings) == ["failing"]


def an_engine(journal):
    candidates = [
        a_candidate(id="card", text="Invoices are paid by card.", relevance=0.9),
        a_candidate(id="bank", text="Invoices are paid by bank transfer too.", relevance=0.8),
    ]
    return ContextEngine([ListSource(candidates)], journal=journal)


def test_a_models_answer_stands_beside_its_context_with_what_it_cites_and_what_it_never_used(journal):
    """B23."""
    context = an_engine(journal).build("How are invoices paid?")
    kept = journal.record_answer(context.trace_id, "By card, voilà [1].")
    assert journal.count(search="voila") == 1
    assert kept.cited == (context.citations["[1]"],)
    assert kept.unused == (context.citations["[2]"],)
    assert journal.answers(context.trace_id) == journal.answers() == [kept]
    assert (kept.query, kept.text) == ("How are invoices paid?", "By card, voilà [1].")
    again = journal.record_answer(context.trace_id, "Both ways [1, 2].")
    assert journal.answers() == [again]
    assert again.unused == ()
    with pytest.raises(ConfigError, match="no trace"):
        journal.record_answer("nothing", "By card [1].")


def test_answers_are_usable_as_judgments_beside_those_of_people(journal):
    """B23: what one answer to a question cites and another does not is cited."""
    engine = an_engine(journal)
    for text in ("By card [1].", "By bank transfer [2]."):
        journal.record_answer(engine.build("How are invoices paid?").trace_id, text)
    journal.record_answer(engine.build("Are invoices paid?").trace_id, "Yes [1].")
    journal.judge("Are invoices paid?", KEY, 3, rater="ann")
    assert journal.judge_by_answers() == 4
    assert [(j.query, j.key[1], j.grade, j.rater) for j in journal.judgments()] == [
        ("Are invoices paid?", "bank", 0, "answers"), ("Are invoices paid?", "card", 2, "answers"),
        ("Are invoices paid?", "m1", 3, "ann"),
        ("How are invoices paid?", "bank", 2, "answers"), ("How are invoices paid?", "card", 2, "answers"),
    ]  # fmt: skip


def test_an_answer_that_may_hold_a_part_of_the_question_is_listed_as_unsure(tmp_path):
    """It was listed as ok, and the list's doubtful ones missed it."""
    warnings = ("what was found may hold only a part of the question (confidence 0.27): nowhere in it: 'x'",)
    with Journal(tmp_path / "j.db") as journal:
        journal.record(Context(warnings=warnings))
        journal.record(Context())
        assert [row.status for row in journal.traces()] == ["ok", "unsure"]
        assert journal.count(status="unsure") == 1
