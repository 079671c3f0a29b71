"""What comes in and goes out by the pages: judgments, saved traces, a chosen row, settings to copy."""

from __future__ import annotations

import json

import pytest

from langchain_context_engine import Journal
from tests.inspector.builders import a_context, a_page, cells, grids, said

QUESTION = "When do invoices go out?"
EXCHANGE = "Import and export"


def judgments(*grades):
    return "\n".join(
        json.dumps({"query": QUESTION, "source": "memories", "id": name, "grade": grade})
        for name, grade in grades
    ).encode()


def brought(at, data, name="judgments.jsonl"):
    at.file_uploader[0].upload(name, data, "application/jsonl").run()
    return at


@pytest.fixture
def journal_path(tmp_path, monkeypatch):
    path = tmp_path / "j.db"
    with Journal(path) as journal:
        journal.record(a_context())
    monkeypatch.setenv("CONTEXT_ENGINE_JOURNAL", str(path))
    return path


def test_judgments_of_a_file_are_taken_in_by_a_press_alone(journal_path):
    at = brought(a_page("judge", judging=EXCHANGE), judgments(("a", 3), ("c", 0)))
    with Journal(journal_path, read_only=True) as journal:
        assert journal.judgments() == []
    at.button(key="take-in").click().run()
    assert "2 judgments were taken in" in "".join(s.value for s in at.success)
    with Journal(journal_path, read_only=True) as journal:
        assert {(j.key[1], j.grade) for j in journal.judgments()} == {("a", 3), ("c", 0)}


@pytest.mark.parametrize("data", [b"", b"not json", b'{"query": "q", "source": "s", "id": "i", "grade": 9}'])
def test_a_file_without_usable_judgments_is_a_card_and_takes_nothing_in(journal_path, data):
    at = brought(a_page("judge", judging=EXCHANGE), data)
    at.button(key="take-in").click().run()
    assert not at.exception
    assert "This did not work" in said(at)
    with Journal(journal_path, read_only=True) as journal:
        assert journal.judgments() == []


def test_judgments_can_only_be_exported_where_there_are_some(journal_path):
    assert a_page("judge", judging=EXCHANGE).download_button[0].disabled
    with Journal(journal_path) as journal:
        journal.judge(QUESTION, ("memories", "a"), 3)
    at = a_page("judge", judging=EXCHANGE)
    assert not at.download_button[0].disabled
    assert "1 judgment of 1 question, kept in the journal" in said(at)


def test_a_trace_that_is_dropped_in_is_opened_and_explained():
    data = json.dumps(a_context().to_dict()).encode()
    at = brought(a_page("traces"), data, "trace.json")
    assert not at.exception
    assert at.session_state["trace"].startswith("upload-")
    assert QUESTION in said(at)


def test_a_trace_that_was_dropped_in_before_is_opened_again():
    """The second time nothing happened."""
    data = a_context(query="dropped?").to_json().encode()
    at = a_page("traces")
    for _ in range(2):
        at.file_uploader[0].upload("trace.json", data, "application/json").run()
        assert at.session_state["trace"].startswith("upload-")
        at.query_params.clear()
        at.switch_page("views/traces.py").run()
        at.session_state["trace"] = "sample-latest"
        at.run()


def test_a_file_that_is_no_trace_is_a_card():
    at = brought(a_page("traces"), b'{"neither": "nor"}', "trace.json")
    assert not at.exception
    assert "This did not work" in said(at)
    assert "uploaded" not in at.session_state


def test_a_chosen_row_of_the_recorded_questions_is_explained(journal_path):
    at = a_page("traces")
    at.session_state["opens"] = grids(at)["traces"]["rows"][0]["id"]
    at.run()
    assert "ranked" in grids(at)
    assert QUESTION in said(at)


def test_a_search_that_finds_nothing_says_so(journal_path):
    assert "No recorded question is like that" in said(a_page("traces", q="volcano"))


def test_what_was_tried_on_a_judged_question_is_set_against_what_was_recorded():
    at = a_page("tune", trace="sample-weighted")
    at.slider(key="w_relevance").set_value(0.0).run()
    at.switch_page("views/judge.py").run()
    at.button(key=f"grade3-{grids(at)['grading']['chosen']}").click().run()
    at.segmented_control(key="judging").set_value("All judged questions").run()
    assert not at.exception
    assert "what you tried last" in said(at)
    assert "change" in {column["name"] for column in grids(at)["judged"]["columns"]}


def test_what_is_tuned_is_given_back_or_taken_away_as_code():
    at = a_page("tune", trace="sample-weighted", view="Text, before and after")
    at.slider(key="w_relevance").set_value(0.0).run()
    at.session_state["copy"] = True
    at.run()
    data = next(json.loads(code.value) for code in at.code if code.value.startswith("{"))
    assert set(data["weights"]) == {"recency_half_life", "confidence", "keyword"}
    assert any(code.value.startswith("engine = engine.with_settings(") for code in at.code)
    at.button(key="reset").click().run()
    assert at.slider(key="w_relevance").value == 0.5


def test_the_judged_questions_are_listed_worst_first(tmp_path, monkeypatch):
    path = tmp_path / "j.db"
    with Journal(path) as journal:
        for query in ("When do invoices go out?", "Who may refund?"):
            journal.record(a_context(query=query))
            journal.judge(query, ("memories", "a" if "invoices" in query else "d"), 3)
    at = a_page("judge", journal=path, monkeypatch=monkeypatch, judging="All judged questions")
    assert cells(at, "judged", "question") == ["Who may refund?", "When do invoices go out?"]


def test_what_can_be_saved_keeps_its_name_while_a_page_is_drawn_again():
    at = a_page("explain", trace="sample-duplicates", section="Export")
    before = [button.proto.url for button in at.download_button]
    assert [button.proto.url for button in at.run().download_button] == before
    assert len(before) == 5
    assert "" not in before
