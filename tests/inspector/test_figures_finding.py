"""Candidates of an answer found again, and a recorded question asked again."""

from __future__ import annotations

from inspector.figures.budget_usage import near_misses
from inspector.figures.fates import meant_by, rows_like
from inspector.figures.settings import asked_again, scope_within
from langchain_context_engine.models.request import ContextRequest
from langchain_context_engine.models.types import Verdict
from tests.inspector.builders import a_context, rows_of


def test_rows_are_narrowed_by_fate_and_by_every_word():
    rows = rows_of(a_context(budget=50, truncator="none"))
    assert all(row.verdict is Verdict.KEPT for row in rows_like(rows, "In the context"))
    assert [row.key[1] for row in rows_like(rows, "All", "EYES refunds")] == ["c"]
    assert rows_like(rows, "Near misses") == near_misses(rows, 99)
    assert len(rows_like(rows, "Left out")) + len(rows_like(rows, "In the context")) == len(rows)
    assert rows_like(rows, "All", "a.py", {rows[0].key: "src/a.py:1-3"}) == rows[:1]


def test_asking_why_something_is_missing_leads_to_what_was_left_out_before_what_stands_in_the_context():
    rows = rows_of(a_context(budget=60, truncator="none"))
    assert meant_by(rows, "office PLANTS").key == ("memories", "d")
    assert meant_by(rows, "memories") == next(row for row in rows if row.verdict is Verdict.DROPPED)
    assert meant_by(rows, "Invoices first").key in {("memories", "a"), ("memories", "b")}
    assert meant_by(rows, "nothing like it") is None
    assert meant_by(rows, " ") is None


def test_a_question_asked_again_is_of_now_and_of_the_store_that_is_asked():
    recorded = ContextRequest(
        query="why?", k=8, budget=400, template="chat", sources=("notes",), vector=(0.1,), now="2026-01-01"
    )
    settings, fields = asked_again(recorded, {"k": 3, "order": "stable"})
    assert settings == {"order": "stable"}
    assert fields == {"k": 3, "budget": 400, "now": None, "vector": None, "sources": None}


def test_what_is_changed_goes_before_what_the_request_said():
    recorded = ContextRequest(query="why?", budget=400, template="chat")
    settings, fields = asked_again(recorded, {"budget": 900, "template": "xml"})
    assert settings == {"budget": 900, "template": "xml"}
    assert (fields["budget"], fields["template"]) == (None, None)
    assert asked_again(None, {"budget": 900, "k": 2}) == ({"budget": 900}, {"k": 2})


def test_nobody_asks_beyond_the_scope_that_may_be_seen():
    assert scope_within({"tenant": "umbra", "user": "ann"}, {"tenant": "acme"})["tenant"] == "acme"
