"""Grades as tables: the worst first, several raters beside each other."""

from __future__ import annotations

from datetime import UTC, datetime

from inspector.judging import UNJUDGED, grade_columns, grade_rows, quality_rows, tally
from langchain_context_engine import replay
from langchain_context_engine.evaluation.quality import quality
from langchain_context_engine.journal import Judgment
from tests.inspector.builders import a_context, rows_of

GRADES = {("memories", "a"): 3, ("memories", "c"): 2, ("memories", "d"): 0}


def by(rater):
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return [Judgment(query="q", key=key, grade=g, time=at, rater=rater) for key, g in GRADES.items()]


def test_the_worst_question_comes_first_and_a_regression_is_named():
    context = a_context(budget=5000)
    turned = replay(context, weights={"keyword": 1.0})
    good = quality(context, rows_of(context), GRADES)
    other = quality(turned, rows_of(turned), {("memories", "d"): 3, ("memories", "a"): 0})
    judged = [("fine?", good, good), ("worse?", good, other)]
    assert [row["id"] for row in quality_rows(judged)] == ["worse?", "fine?"]
    assert [row["cells"]["verdict"] for row in quality_rows(judged)] == ["regression", "unchanged"]
    assert tally(judged) == "0 better, 1 worse, 1 unchanged"
    again = quality_rows([("bad?", other, other), ("worse?", good, other)])
    assert [row["id"] for row in again] == ["worse?", "bad?"]


def test_only_the_unjudged_are_shown_where_that_is_wanted():
    rows = rows_of(a_context())
    assert len(grade_rows(rows, by("ann"), "ann", {})) == 4
    left = grade_rows(rows, by("ann"), "ann", {}, only_unjudged=True)
    assert [row["id"] for row in left] == ["memories/b"]
    assert len(grade_rows(rows, by("ann"), "bob", {}, only_unjudged=True)) == 4


def test_the_grades_of_two_people_stand_beside_each_other():
    rows = rows_of(a_context())
    table = {row["id"]: row["cells"] for row in grade_rows(rows, by("ann"), "bob", {})}
    assert table["memories/a"]["by ann"] == "3"
    assert table["memories/a"]["grade"] == UNJUDGED
    assert [c["label"] for c in grade_columns(["ann", "bob"], "bob")][:2] == ["Grade", "ann"]
