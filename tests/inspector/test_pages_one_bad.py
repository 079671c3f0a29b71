"""One trace that cannot be read or replayed costs its own question, and is counted: promise 13 on the pages."""

from __future__ import annotations

import json
import sqlite3

import pytest

from langchain_context_engine import Context, Journal
from tests.inspector.builders import a_context, a_page, cells, grids, said

GOOD, MADE_BY_A_FUNCTION, DAMAGED = "When do invoices go out?", "Who waters the plants?", "Who may refund?"


def without_numbers(data):
    for decision in data["decisions"]:
        decision["details"] = {}


def with_words_for_numbers(data):
    for decision in data["decisions"]:
        decision["details"] = dict.fromkeys((*decision["details"], "needed", "left"), "many")


HARMS = {
    "no numbers": without_numbers,
    "words for numbers": with_words_for_numbers,
    "a weight of a leg": lambda data: data["settings"]["fusion"].update(lexical=None),
    "weights": lambda data: data["settings"].update(weights=-1),
    "a signal": lambda data: data["settings"].update(signals={"mine": {"signal": {"part": "stated"}}}),
    "a threshold": lambda data: data["settings"].update(dedupe_threshold=["a"]),
    "a threshold next to none": lambda data: data["settings"].update(dedupe_threshold=1e-320),
    "a score beyond 1": lambda data: data["settings"].update(min_score=1e308),
    "a share": lambda data: data["settings"]["budget"].update(shares={"memories": "much"}),
    "a share below 0": lambda data: data["settings"]["budget"].update(shares={"memories": -2.0}),
}


@pytest.fixture
def journal(tmp_path):
    path = tmp_path / "j.db"
    with Journal(path) as journal:
        names = [journal.record(a_context(query=query)) for query in (GOOD, DAMAGED)]
        names.append(
            journal.record(
                a_context(query=MADE_BY_A_FUNCTION, order=lambda passages: tuple(reversed(passages)))
            )
        )
        for query in (GOOD, DAMAGED, MADE_BY_A_FUNCTION):
            journal.judge(query, ("memories", "a"), 3)
        journal.keep_set("all", dict(zip((GOOD, DAMAGED, MADE_BY_A_FUNCTION), names, strict=True)))
    with sqlite3.connect(path) as connection:
        connection.execute(
            "UPDATE bodies SET body = x'00' WHERE id = (SELECT id FROM traces WHERE number = 2)"
        )
    return path


def test_the_judged_questions_are_told_without_the_one_that_cannot_be_replayed(journal, monkeypatch):
    """One trace whose compactor was a function took the figures of all judged questions with it."""
    at = a_page("judge", journal=journal, judging="All judged questions", monkeypatch=monkeypatch)
    assert cells(at, "judged", "question") == [GOOD]
    assert "Without a trace that can be read here: 1 judged question." in said(at)
    assert "Not replayed, since a part of the engine was a function" in said(at)
    assert "This did not work" not in said(at)


def test_a_set_is_told_without_the_questions_that_cannot_be_replayed(journal, monkeypatch):
    at = a_page("sets", journal=journal, monkeypatch=monkeypatch)
    assert cells(at, "set-figures", "recall") == ["100 %"]
    told = said(at)
    assert "1 question. Turn knobs" in told
    assert "Without a trace that can be read here: 1." in told
    assert "the trace is damaged: 1." in told


def test_where_no_judged_question_can_be_replayed_the_page_says_why(tmp_path, monkeypatch):
    path = tmp_path / "j.db"
    with Journal(path) as journal:
        journal.record(a_context(query=GOOD, order=lambda passages: tuple(reversed(passages))))
        journal.judge(GOOD, ("memories", "a"), 3)
    told = said(a_page("judge", journal=path, judging="All judged questions", monkeypatch=monkeypatch))
    assert "This did not work" in told
    assert "given as a function" in told


@pytest.mark.parametrize("page", ["explain", "tune", "judge"])
@pytest.mark.parametrize("harm", HARMS)
def test_what_is_damaged_in_a_trace_is_said_of_the_trace_and_costs_no_more(page, harm):
    """One decision without its numbers took the table of all candidates, as "a mistake of the inspector"."""
    data = json.loads(a_context(budget=120, weights={"relevance": 1, "keyword": 1}).to_json())
    HARMS[harm](data)
    context = Context.from_dict(data)
    at = a_page(page, trace="upload-1", opened={"upload-1": context})
    assert not at.exception
    told = said(at)
    assert "mistake of the inspector" not in told
    if page != "tune":
        assert len(grids(at)["ranked" if page == "explain" else "grading"]["rows"]) >= len(context.candidates)
