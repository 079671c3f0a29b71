"""Suggested weights on the Judge page: refused with a reason, shown, taken only by a click."""

from __future__ import annotations

from langchain_context_engine import Journal
from tests.builders import a_candidate
from tests.inspector.builders import a_context, a_page, said


def test_too_few_judged_questions_suggest_nothing_and_say_why(monkeypatch, tmp_path):
    path = tmp_path / "j.db"
    with Journal(path) as journal:
        journal.record(a_context())
        journal.judge("When do invoices go out?", ("memories", "a"), 3)
    at = a_page("judge", journal=path, monkeypatch=monkeypatch, judging="All judged questions")
    at.button(key="suggest").click().run()
    assert "only 1 judged questions" in said(at).lower()
    assert not any(button.key == "take-weights" for button in at.button)


def test_enough_judged_questions_suggest_weights_that_are_taken_by_a_click_alone(monkeypatch, tmp_path):
    path = tmp_path / "j.db"
    with Journal(path) as journal:
        for number in range(52):
            query = f"harbour{number} lamps"
            noise = [
                a_candidate(id=f"n{i}", text=f"{word} and other matters", relevance=0.9)
                for i, word in enumerate(("ropes", "tides", "gulls"))
            ]
            found = a_candidate(id="found", text=f"{query} are lit at dusk", relevance=0.5)
            journal.record(a_context([*noise, found], query=query))
            journal.judge(query, ("memories", "found"), 3)
    at = a_page("judge", journal=path, monkeypatch=monkeypatch, judging="All judged questions")
    assert not any("learned" in frame.value.columns for frame in at.dataframe)
    at.button(key="suggest").click().run()
    assert not at.exception
    assert "beyond chance" in said(at)
    table = next(frame.value for frame in at.dataframe if "learned" in frame.value.columns)
    assert table.set_index("signal")["learned"]["keyword"] > 0
    at.button(key="take-weights").click().run()
    assert at.slider(key="w_keyword").value > 0
    with Journal(path) as journal:
        assert journal.count() == 52
