"""The Tune, Compare and Judge pages: what a turned knob, a choice and a grade do."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from inspector.opening import Settings, open_trace
from langchain_context_engine import ConfigError, Journal
from langchain_context_engine.journal import database
from tests.inspector.builders import a_context, a_page, cells, drawn, grids, said


@pytest.fixture(autouse=True)
def _no_journal(monkeypatch):
    monkeypatch.delenv("CONTEXT_ENGINE_JOURNAL", raising=False)
    monkeypatch.delenv("CONTEXT_ENGINE_TRACE", raising=False)


def test_a_turned_weight_gives_another_order_and_can_be_undone():
    at = a_page("tune", trace="sample-weighted")
    before = cells(at, "moves", "text")
    at.slider(key="w_relevance").set_value(0.0).run()
    assert cells(at, "moves", "text") != before
    assert cells(at, "history", "changed")[-1] == "as recorded"
    assert "Entered: " in said(at)
    at.button(key="undo").click().run()
    assert at.slider(key="w_relevance").value == 0.5
    assert cells(at, "moves", "text") == before


def test_the_box_beside_a_slider_shows_its_number():
    at = a_page("tune", trace="sample-weighted")
    at.slider(key="budget").set_value(444).run()
    box = drawn(at)["budget-exact"]
    assert (box["value"], box["least"]) == (444, 0)


def test_a_preset_can_be_chosen_again_after_a_knob_was_turned():
    at = a_page("tune", trace="sample-weighted")
    at.selectbox(key="preset").select("Half the budget").run()
    at.slider(key="budget").set_value(600).run()
    at.selectbox(key="preset").select("Half the budget").run()
    assert at.slider(key="budget").value == 350


def test_only_what_changed_is_shown_where_that_is_wanted():
    at = a_page("tune", trace="sample-weighted", budget="300")
    everyone = len(cells(at, "moves", "text"))
    at.toggle(key="changed-only").set_value(True).run()
    assert 0 < len(cells(at, "moves", "text")) < everyone
    assert all(
        c or f or m not in {"=", ""}
        for c, f, m in zip(*(cells(at, "moves", name) for name in ("change", "before", "moved")), strict=True)
    )


def test_settings_come_from_the_address_and_nonsense_in_it_is_dropped():
    at = a_page(
        "tune",
        trace="sample-weighted",
        budget="300",
        w_relevance="7",
        order="evil",
        w_nope="1",
        w_importance="0.3",
    )
    assert at.slider(key="budget").value == 300
    assert at.slider(key="w_relevance").value == 0.5
    assert at.selectbox(key="order").value == "relevance"
    assert at.slider(key="w_importance").value == 0.3
    assert not at.exception


def test_all_weights_at_zero_are_a_card_not_a_crash():
    at = a_page(
        "tune",
        trace="sample-weighted",
        w_relevance="0",
        w_recency_half_life="0",
        w_confidence="0",
        w_keyword="0",
    )
    assert not at.exception
    assert "at least one must be above 0" in said(at)


def test_a_preset_turns_the_knobs():
    at = a_page("tune", trace="sample-weighted")
    at.selectbox(key="preset").select("Half the budget").run()
    assert at.slider(key="budget").value == 350


def test_what_needs_a_new_question_is_said():
    assert "need a new question" in said(a_page("tune", trace="sample-latest"))


def test_a_part_given_as_a_function_is_explained_and_not_replayed():
    context = a_context(order=lambda passages: tuple(reversed(passages)))
    opened = {"upload-1": context}
    explained = a_page("explain", trace="upload-1", opened=opened)
    assert "This did not work" not in said(explained)
    assert "This did not work" in said(a_page("tune", trace="upload-1", opened=opened))


def test_two_samples_are_compared_by_candidate():
    at = a_page("compare", trace="sample-latest")
    at.multiselect(key="compare").set_value(["sample-latest", "sample-weighted"]).run()
    assert not at.exception
    assert cells(at, "letters", "letter") == ["A", "B"]
    columns = {column["name"] for column in grids(at)["aligned"]["columns"]}
    assert {"A fate", "A place", "A score", "B fate", "B place", "B score"} <= columns


def test_tries_are_in_the_address_and_compared_by_another_session():
    address = ["sample-weighted", "try-sample-weighted~budget=300"]
    at = a_page("compare", compare=address)
    assert not at.exception
    recorded = open_trace("sample-weighted", Settings())
    assert cells(at, "letters", "tokens")[0] == f"{recorded.tokens} of {recorded.budget}"
    assert cells(at, "letters", "tokens")[1].endswith("of 300")


def test_a_try_of_nonsense_in_the_address_is_a_card():
    at = a_page("compare", compare=["sample-weighted", "try-sample-weighted~evil=1"])
    assert not at.exception
    assert "This did not work" in said(at)


def test_two_questions_of_one_text_in_one_minute_are_compared_as_the_address_names_them(
    tmp_path, monkeypatch
):
    """Streamlit takes the first of equal labels: Compare showed another trace than the address named."""
    path = tmp_path / "j.db"
    at_once = datetime(2026, 3, 1, 9, 0, 5, tzinfo=UTC)
    with Journal(path) as journal:
        names = [journal.record(a_context(budget=b), at=at_once) for b in (900, 800, 700, 600)]
    at = a_page("compare", journal=path, monkeypatch=monkeypatch, compare=[names[2], names[3]])
    assert [told.rpartition(" of ")[2] for told in cells(at, "letters", "tokens")] == ["700", "600"]
    options = at.multiselect(key="compare").options
    assert len(set(options)) == len(options)


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
    at.button(key=f"ungrade-{second}").click().run()
    assert "Judged: 1 of" in said(at)


def test_the_grades_of_two_people_stand_beside_each_other_with_their_agreement(tmp_path, monkeypatch):
    path = tmp_path / "j.db"
    with Journal(path) as journal:
        name = journal.record(a_context())
        journal.judge("When do invoices go out?", ("memories", "a"), 1, rater="ann")
    at = a_page("judge", trace=name, journal=path, monkeypatch=monkeypatch)
    at.text_input(key="rater").set_value("bob").run()
    at.button(key="grade3-memories/a").click().run()
    with Journal(path) as journal:
        assert {(j.rater, j.grade) for j in journal.judgments()} == {("ann", 1), ("bob", 3)}
    assert grids(at)["grading"]["rows"][0]["cells"]["by ann"] == "1"
    assert "Raters agree on 0 % of 1 grade that" in said(at)


@pytest.mark.parametrize("harm", ["deleted", "read-only", "replaced", "locked"])
def test_a_grade_that_the_journal_does_not_take_is_kept_and_said_to_be_unsaved(tmp_path, monkeypatch, harm):
    path = tmp_path / "j.db"
    with Journal(path) as journal:
        name = journal.record(a_context())
    at = a_page("judge", trace=name, journal=path, monkeypatch=monkeypatch)
    with harmed(path, harm, monkeypatch):
        at.button(key="grade3-memories/a").click().run()
        assert not at.exception
        assert "This did not work" in said(at)
        assert "1 grade is kept here, unsaved" in said(at)
    at.button(key="save-again").click().run()
    with Journal(path) as journal:
        assert [(j.key, j.grade) for j in journal.judgments()] == [(("memories", "a"), 3)]
    assert "unsaved" not in said(at)


@contextmanager
def harmed(path, harm, monkeypatch):
    """Do something to a journal while it is open, and mend it after."""
    kept = path.read_bytes()
    if harm == "deleted":
        for part in path.parent.glob("j.db*"):
            part.unlink()
        yield
        path.write_bytes(kept)
    elif harm == "replaced":
        for part in path.parent.glob("j.db*"):
            part.unlink()
        path.write_text("no database, but a text that is long enough to look like something" * 40)
        yield
        path.write_bytes(kept)
    elif harm == "read-only":
        # Whoever runs the tests may be root, whom no mode keeps out.
        with monkeypatch.context() as patched:
            patched.setattr(database.Database, "writing", _denied)
            yield
    else:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with monkeypatch.context() as patched:
            patched.setattr(database, "_BUSY_SECONDS", 0.2)
            yield
        other.close()


def _denied(self, *_):
    raise ConfigError(f"journal {self.path} cannot be written: it may not be written")


def test_grades_go_to_the_journal_where_there_is_one(tmp_path, monkeypatch):
    path = tmp_path / "j.db"
    with Journal(path) as journal:
        name = journal.record(a_context())
    at = a_page("judge", trace=name, journal=path, monkeypatch=monkeypatch)
    at.button(key="grade2-memories/a").click().run()
    with Journal(path) as journal:
        assert [(j.key, j.grade) for j in journal.judgments()] == [(("memories", "a"), 2)]
    over = a_page("judge", journal=path, monkeypatch=monkeypatch, judging="All judged questions")
    assert "1 judged question " in said(over)
    assert "First ten judged  33 %" in said(over)
    assert cells(over, "judged", "question") == ["When do invoices go out?"]
    assert "The worst first." in said(over)
