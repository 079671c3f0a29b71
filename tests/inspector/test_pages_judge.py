"""The Judge and Sets pages: grades of several people, what they say of settings, and their ways in and out."""

from __future__ import annotations

import json
import sqlite3
from contextlib import contextmanager
from dataclasses import replace

import pytest

from langchain_context_engine import ConfigError, Journal
from langchain_context_engine.evaluation.tune import Tuning
from langchain_context_engine.journal import database
from langchain_context_engine.models.types import Status
from tests.inspector.builders import a_context, a_page, column, go_on, grids, said

QUESTION = "When do invoices go out?"


@pytest.fixture
def path(tmp_path, monkeypatch):
    with Journal(tmp_path / "j.db") as journal:
        journal.record(a_context())
    monkeypatch.setenv("CONTEXT_ENGINE_JOURNAL", str(tmp_path / "j.db"))
    return tmp_path / "j.db"


@pytest.fixture
def name(path):
    with Journal(path, read_only=True) as journal:
        return journal.traces()[0].id


def grades_in(path):
    with Journal(path, read_only=True) as journal:
        return {(j.key[1], j.rater): j.grade for j in journal.judgments()}


def test_a_grade_is_kept_counted_and_taken_back():
    at = a_page("judge", trace="sample-weighted")
    assert "Judged: 0 of" in said(at)
    first = grids(at)["grading"]["chosen"]
    at.button(key=f"grade3-{first}").click().run()
    second = grids(at)["grading"]["chosen"]
    assert second != first
    at.button(key=f"grade0-{second}").click().run()
    assert "Judged: 2 of" in said(at)
    at.session_state["reading"] = second
    at.run()
    at.button(key=f"gradeNone-{second}").click().run()
    assert "Judged: 1 of" in said(at)


def test_after_a_question_comes_one_that_nobody_judged(path, name):
    with Journal(path) as journal:
        journal.judge(QUESTION, ("memories", "a"), 3)
        other = journal.record(a_context(query="Who may refund?"))
    at = a_page("judge", trace=name)
    at.button(key="next").click().run()
    assert at.session_state["trace"] == other
    with Journal(path) as journal:
        journal.judge("Who may refund?", ("memories", "a"), 3)
    at.button(key="next").click().run()
    assert "every question of the latest" in said(at)


def test_a_queue_begins_with_its_first_whatever_was_read_before(path, name):
    at = a_page("judge", trace=name, reading="memories/a")
    assert grids(at)["grading"]["chosen"] == "memories/a"
    at.toggle(key="queue").set_value(True).run()
    drawn = grids(at)["grading"]
    assert drawn["chosen"] == drawn["rows"][0]["id"] != "memories/a"


def test_the_next_question_is_what_its_help_says(path):
    """The newest doubtful answer that nobody judged, else the newest."""
    asked = (("first?", "doubtful"), ("second?", "doubtful"), ("third?", "ok"))
    with Journal(path) as journal:
        names = {q: journal.record(replace(a_context(query=q), status=Status(s))) for q, s in asked}
    at = a_page("judge", trace=names["first?"])
    assert "the newest doubtful one, else the newest" in at.button(key="next").help
    for query in ("second?", "first?", "third?"):
        at.button(key="next").click().run()
        assert at.session_state["trace"] == names[query]
        with Journal(path) as journal:
            journal.judge(query, ("memories", "a"), 3)


def test_the_grades_of_two_people_stand_beside_each_other_with_their_agreement(path, name):
    with Journal(path) as journal:
        journal.judge(QUESTION, ("memories", "a"), 1, rater="ann")
    at = a_page("judge", trace=name)
    at.text_input(key="rater").set_value("bob").run()
    at.button(key="grade3-memories/a").click().run()
    assert grades_in(path) == {("a", "ann"): 1, ("a", "bob"): 3}
    assert grids(at)["grading"]["rows"][0]["cells"]["by ann"] == "1"
    assert "Raters agree on 0 % of 1 grade that" in said(at)


@pytest.mark.parametrize("harm", ["deleted", "read-only", "replaced", "locked"])
def test_a_grade_that_the_journal_does_not_take_is_said_and_taken_when_it_is_given_again(
    path, name, monkeypatch, harm
):
    at = a_page("judge", trace=name)
    with harmed(path, harm, monkeypatch):
        at.button(key="grade3-memories/a").click().run()
        assert not at.exception
        assert "This did not work" in said(at)
        assert harm == "replaced" or "The grade was not kept" in said(at)
    at = a_page("judge", trace=name)
    at.button(key="grade3-memories/a").click().run()
    assert grades_in(path) == {("a", ""): 3}
    assert "not kept" not in said(at)


@contextmanager
def harmed(path, harm, monkeypatch):
    """Do something to a journal while it is open, and mend it after."""
    kept = path.read_bytes()
    with monkeypatch.context() as patched:
        if harm in {"deleted", "replaced"}:
            for part in path.parent.glob("j.db*"):
                part.unlink()
            if harm == "replaced":
                path.write_text("no database, but a text that is long enough to look like something" * 40)
            yield
            path.write_bytes(kept)
        elif harm == "read-only":
            # Whoever runs the tests may be root, whom no mode keeps out.
            patched.setattr(database.Database, "writing", _denied)
            yield
        else:
            other = sqlite3.connect(path, isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            patched.setattr(database, "_BUSY_SECONDS", 0.2)
            yield
            other.close()


def _denied(self, *_):
    raise ConfigError(f"journal {self.path} cannot be written: it may not be written")


def test_all_judged_questions_are_told_worst_first_and_against_what_was_tried_last(path, monkeypatch):
    with Journal(path) as journal:
        journal.record(a_context(query="Who may refund?"))
        journal.judge(QUESTION, ("memories", "a"), 3)
        journal.judge("Who may refund?", ("memories", "d"), 3)
    at = a_page("sets")
    assert "2 questions. Turn knobs" in said(at)
    assert "The worst first." in said(at)
    assert list(at.dataframe[0].value["question"]) == ["Who may refund?", QUESTION]
    assert "2 of 2 are judged." in said(at)
    assert "From 50 judged questions on: 48 more." in said(at)
    with Journal(path, read_only=True) as journal:
        of = {row.query: row.id[:8] for row in journal.traces()}
    assert list(at.dataframe[0].value["answer"]) == [of["Who may refund?"], of[QUESTION]]
    at = a_page("tune", trace="sample-weighted")
    at.slider(key="budget").set_value(100).run()
    go_on(at, "sets")
    assert column(at, 0, "try")[1].startswith("try 1: budget: 100")
    assert "verdict" in at.dataframe[0].value


def brought(data):
    at = a_page("judge")
    at.file_uploader[0].upload("judgments.jsonl", data, "application/jsonl").run()
    return at


def test_judgments_of_a_file_are_taken_in_by_a_press_alone_counted_and_given_out(path):
    lines = [
        json.dumps({"query": QUESTION, "source": "memories", "id": i, "grade": g})
        for i, g in (("a", 3), ("c", 0))
    ]
    at = brought("\n".join(lines).encode())
    at.session_state["export"] = True
    assert not at.run().download_button
    assert grades_in(path) == {}
    at.button(key="take-in").click().run()
    assert "2 judgments were taken in" in at.success[0].value
    assert "2 judgments of 1 question, kept in the journal" in said(at)
    assert grades_in(path) == {("a", ""): 3, ("c", ""): 0}
    assert at.run().download_button[0].label == "2 judgments, JSON Lines"


def test_of_several_answers_to_a_question_the_judged_one_stands_for_it(path, name):
    """Sets told of the newest, which had another budget."""
    with Journal(path) as journal:
        journal.record(a_context(budget=60))
    at = a_page("judge", trace=name)
    at.button(key="grade3-memories/a").click().run()
    assert "1 question judged in all, 49 more and weights are suggested." in said(at)
    at = a_page("sets")
    assert list(at.dataframe[0].value["answer"]) == [name[:8]]
    assert at.selectbox(key="set").options == ["all judged questions"]


def test_weights_that_are_learned_of_the_judgments_are_told_before_they_are_taken(path, monkeypatch):
    learned = Tuning(
        present={"relevance": 1.0}, learned={"relevance": 0.8, "keyword": 0.2}, before=0.5, after=0.6, gain=None,
        queries=50, is_worth_it=True, reason="better",
    )  # fmt: skip
    monkeypatch.setattr("inspector.views.sets.MIN_QUERIES", 1)
    monkeypatch.setattr("inspector.grading.suggest", lambda journal: learned)
    with Journal(path) as journal:
        journal.judge(QUESTION, ("memories", "a"), 3)
        trace = journal.traces()[0].id
    at = a_page("sets", trace=trace)
    next(button for button in at.button if button.label == "Suggest weights").click().run()
    assert column(at, 1, "suggested") == ["0.8", "0.2"]
    next(button for button in at.button if button.label == "Try them in Tune").click().run()
    assert at.slider(key="w_keyword").value == 0.2


@pytest.mark.parametrize("data", [b"", b"not json", b'{"query": "q", "source": "s", "id": "i", "grade": 9}'])
def test_a_file_without_usable_judgments_is_a_card_and_takes_nothing_in(path, data):
    at = brought(data)
    at.button(key="take-in").click().run()
    assert "This did not work" in said(at)
    assert grades_in(path) == {}
