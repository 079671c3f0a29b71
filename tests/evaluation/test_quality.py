"""How good a context is by people's grades, how far they agree, sets of questions, and grades in and out."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest

from langchain_context_engine import ConfigError
from langchain_context_engine.evaluation.quality import (
    Quality,
    quality,
    try_settings,
    verdict,
    worst_first,
)
from langchain_context_engine.evaluation.tune import (
    agreed_grades,
    agreement,
    judgments_as_lines,
    read_judgments,
)
from langchain_context_engine.journal import Judgment
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


def test_nothing_judged_gives_no_figure_rather_than_a_bad_one():
    context = a_context()
    figures = quality(context, rows_of(context), {})
    assert math.isnan(figures.ndcg)
    assert math.isnan(figures.recall)
    assert figures.coverage == 0.0


def a_judgment(rater, grade, name="a", query="q"):
    return Judgment(
        query=query, key=("notes", name), grade=grade, time=datetime(2026, 1, 1, tzinfo=UTC), rater=rater
    )


def test_raters_who_say_the_same_agree_and_those_who_say_the_opposite_do_not():
    alike = [a_judgment(rater, grade, str(grade)) for rater in ("ann", "bob") for grade in range(4)]
    opposite = [a_judgment("ann", g, str(g)) for g in range(4)]
    opposite += [a_judgment("bob", 3 - g, str(g)) for g in range(4)]
    assert agreement(alike).kappa == pytest.approx(1.0)
    assert agreement(alike).same == 1.0
    assert agreement(opposite).kappa == pytest.approx(-1.0)
    assert agreement(opposite).same == 0.0


def test_the_median_of_several_grades_stands_for_them_the_lower_of_an_even_number():
    three = [a_judgment(rater, grade) for rater, grade in (("a", 0), ("b", 3), ("c", 2))]
    assert agreed_grades(three) == {"q": {("notes", "a"): 2}}
    assert agreed_grades(three[:2]) == {"q": {("notes", "a"): 0}}


def test_settings_are_tried_on_each_question_of_a_set():
    contexts = [a_context(query=query, budget=60, truncator="none") for query in ("invoices?", "plants?")]
    grades = {"invoices?": {("memories", "a"): 3}, "plants?": {("memories", "d"): 3}}
    before, wide, narrow = (try_settings(contexts, grades, {"budget": b} if b else {}) for b in (0, 5000, 10))
    assert [one.quality.recall for one in before] == [1.0, 0.0]
    assert [one.quality.recall for one in wide] == [1.0, 1.0]
    assert [one.quality.recall for one in narrow] == [0.0, 0.0]
    assert {one.shared for one in before} == {1.0}


def test_judgments_go_out_and_come_back_equal():
    judgments = [("why?\nand how", ("a", "x/y"), "ann", 3), ("why?\nand how", ("b", "ü"), "", 0)]
    assert read_judgments(judgments_as_lines(judgments)) == judgments


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"query": "q"}', '{"query": "q", "source": "s", "id": "i", "grade": 4}', "7"]
)
def test_a_line_that_is_no_judgment_is_named_and_nothing_is_taken(line):
    good = '{"query": "q", "source": "s", "id": "i", "grade": 1}'
    with pytest.raises(ConfigError, match="line 2"):
        read_judgments(f"{good}\n{line}\n".encode())


def figures(ndcg):
    return Quality(ndcg=ndcg, precision=ndcg, recall=ndcg, utilisation=1.0, coverage=1.0)


def test_a_question_became_better_or_worse_only_beyond_noise_and_the_worse_ones_come_first():
    assert verdict(figures(0.5), figures(0.6)) == "better"
    assert verdict(figures(0.5), figures(0.4)) == "regression"
    assert verdict(figures(0.5), figures(0.501)) == "unchanged"
    assert verdict(figures(math.nan), figures(0.4)) == "unchanged"
    judged = [
        ("unknown", figures(math.nan), figures(math.nan)),
        ("good", figures(0.9), figures(0.95)),
        ("worse", figures(1.0), figures(0.97)),
        ("low", figures(0.1), figures(0.1)),
    ]
    assert [query for query, _, _ in worst_first(judged)] == ["worse", "low", "good", "unknown"]
