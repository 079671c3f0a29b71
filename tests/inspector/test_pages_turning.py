"""The Tune, Compare and Judge pages: what a turned knob, a choice and a grade do."""

from __future__ import annotations

import pytest

from langchain_context_engine import Journal
from tests.inspector.builders import a_context, a_page, said


@pytest.fixture(autouse=True)
def _no_journal(monkeypatch):
    monkeypatch.delenv("CONTEXT_ENGINE_JOURNAL", raising=False)
    monkeypatch.delenv("CONTEXT_ENGINE_TRACE", raising=False)


def test_a_turned_weight_gives_another_order_and_can_be_undone():
    at = a_page("tune", trace="sample-weighted")
    before = at.code[0].value, list(at.dataframe[0].value["candidate"])
    at.slider(key="w_relevance").set_value(0.0).run()
    assert list(at.dataframe[0].value["candidate"]) != before[1]
    assert list(at.dataframe[1].value["changed"])[-1] == "as recorded"
    at.button(key="undo").click().run()
    assert at.slider(key="w_relevance").value == 0.5
    assert list(at.dataframe[0].value["candidate"]) == before[1]


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
    assert list(at.dataframe[0].value[""]) == ["A", "B"]
    assert {"A", "B"} <= set(at.dataframe[1].value.columns)


def test_a_grade_is_kept_counted_and_taken_back():
    at = a_page("judge", trace="sample-weighted")
    assert at.metric[0].value.startswith("0 of")
    at.button(key="grade3").click().run()
    at.button(key="up").click().run()
    assert at.metric[0].value.startswith("2 of")
    at.button(key="jprevious").click().run()
    at.button(key="ungrade").click().run()
    assert at.metric[0].value.startswith("1 of")


def test_grades_go_to_the_journal_where_there_is_one(tmp_path, monkeypatch):
    path = tmp_path / "j.db"
    with Journal(path) as journal:
        name = journal.record(a_context())
    at = a_page("judge", trace=name, journal=path, monkeypatch=monkeypatch)
    at.button(key="grade2").click().run()
    with Journal(path) as journal:
        assert [(j.key, j.grade) for j in journal.judgments()] == [(("memories", "a"), 2)]
    over = a_page("judge", journal=path, monkeypatch=monkeypatch, judging="All judged questions")
    assert [metric.label for metric in over.metric] == [
        "Judged questions",
        "nDCG@10 · 33% judged",
        "Precision@10 · 33% judged",
        "Evidence · 33% judged",
        "Budget used",
    ]
    assert list(over.dataframe[0].value["question"]) == ["When do invoices go out?"]
    assert "The worst first." in said(over)
