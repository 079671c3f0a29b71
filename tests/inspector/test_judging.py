from __future__ import annotations

import math

import pytest

from inspector.judging import (
    grade_table,
    judgments_as_lines,
    means,
    quality,
    quality_table,
    read_judgments,
    tally,
)
from langchain_context_engine import ConfigError, replay
from tests.inspector.builders import a_context, rows_of

GRADES = {("memories", "a"): 3, ("memories", "c"): 2, ("memories", "d"): 0}


def test_a_perfect_order_has_an_ndcg_of_one_and_coverage_is_beside_it():
    context = a_context(budget=5000)
    figures = quality(context, rows_of(context), GRADES)
    assert figures.ndcg == pytest.approx(1.0)
    assert figures.coverage == 1.0
    assert figures.recall == 1.0
    assert figures.precision == pytest.approx(2 / 3)


def test_the_grade_of_a_duplicate_counts_for_its_survivor():
    context = a_context(budget=5000)
    by_duplicate = {("memories", "b"): 3, ("memories", "c"): 2, ("memories", "d"): 0}
    assert quality(context, rows_of(context), by_duplicate).ndcg == pytest.approx(1.0)


def test_evidence_falls_with_what_the_budget_leaves_out():
    context = a_context(budget=60, truncator="none")
    assert quality(context, rows_of(context), GRADES).recall == pytest.approx(0.5)


def test_nothing_judged_gives_no_figure_rather_than_a_bad_one():
    context = a_context()
    figures = quality(context, rows_of(context), {})
    assert math.isnan(figures.ndcg)
    assert math.isnan(figures.recall)
    assert figures.coverage == 0.0


def test_the_worst_question_comes_first_and_a_regression_is_named():
    context = a_context(budget=5000)
    turned = replay(context, weights={"keyword": 1.0})
    good = quality(context, rows_of(context), GRADES)
    other = quality(turned, rows_of(turned), {("memories", "d"): 3, ("memories", "a"): 0})
    table = quality_table([("fine?", good, good), ("worse?", good, other)])
    assert [row["question"] for row in table] == ["worse?", "fine?"]
    assert [row["verdict"] for row in table] == ["regression", "unchanged"]
    assert tally(table) == "0 better, 1 worse, 1 unchanged"
    assert [row["question"] for row in quality_table([("bad?", other, other), ("worse?", good, other)])] == [
        "worse?",
        "bad?",
    ]
    assert means([good, other]).ndcg == pytest.approx((good.ndcg + other.ndcg) / 2)


def test_only_the_unjudged_are_shown_where_that_is_wanted():
    rows = rows_of(a_context())
    assert len(grade_table(rows, GRADES)) == 4
    assert [row["option"] for row in grade_table(rows, GRADES, only_unjudged=True)] == ["memories/b"]


def test_judgments_go_out_and_come_back_equal():
    judgments = {"why?\nand how": {("a", "x/y"): 3, ("b", "ü"): 0}, "q": {("a", "1"): 1}}
    assert read_judgments(judgments_as_lines(judgments)) == judgments


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"query": "q"}', '{"query": "q", "source": "s", "id": "i", "grade": 4}', "7"]
)
def test_a_line_that_is_no_judgment_is_named_and_nothing_is_taken(line):
    good = '{"query": "q", "source": "s", "id": "i", "grade": 1}'
    with pytest.raises(ConfigError, match="line 2"):
        read_judgments(f"{good}\n{line}\n".encode())
