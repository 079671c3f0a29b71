"""Questions with known answers, and how much of the evidence a budget buys (B5)."""

from __future__ import annotations

import json

import pytest

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.evaluation.evaluate import (
    Question,
    compare,
    evaluate,
    load_questions,
)
from langchain_context_engine.models.types import Candidate, Ranked
from langchain_context_engine.trace.context import Context
from tests.builders import count_words

RECORDS = {
    "r1": "Invoices go out on the first of the month.",
    "r2": "Refunds take five working days.",
    "r3": "Ann signs every contract.",
}


class Shelf:
    """A source over fixed records."""

    name = "shelf"

    def get(self, ids, request):
        chosen = [i for i in ids if i in RECORDS and request.scope.get("team") in (None, "acme")]
        return [Candidate(id=i, text=RECORDS[i], source=self.name) for i in chosen]


class FixedEngine:
    """Answers with as many records as fit, always in the same order."""

    def __init__(self, order=("r1", "r2", "r3"), also_in=()) -> None:
        self.sources = (Shelf(),)
        self.order = order
        self.also_in = also_in
        self.asked = []

    def build(self, query, budget, **fields) -> Context:
        self.asked.append({"query": query, "budget": budget, **fields})
        text, left_out = "", False
        for name in self.order:
            longer = f"{text}\n{RECORDS[name]}".strip()
            if count_words(longer) <= budget:
                text = longer
            else:
                left_out = True
        return Context(text=text, tokens=count_words(text), budget=budget, is_truncated=left_out)

    def search(self, query, **fields):
        return tuple(
            Ranked(candidate=Candidate(id=i, source="shelf", text=RECORDS[i]), also_in=self.also_in)
            for i in self.order
        )


INVOICES = Question(id="invoices", query="when do invoices go out?", gold=("r1",))
REFUNDS = Question(id="refunds", query="how long do refunds take?", gold=("r2",))
SIGNING = Question(id="signing", query="who signs?", gold=("r3",))
QUESTIONS = [INVOICES, REFUNDS, SIGNING]


def test_recall_grows_with_what_fits_the_budget():
    report = evaluate(FixedEngine(), QUESTIONS, budgets=[9, 14, 100])
    assert [report.recall(b) for b in (9, 14, 100)] == pytest.approx([1 / 3, 2 / 3, 1])
    assert report.scores(9) == {"invoices": 1, "refunds": 0, "signing": 0}


def test_a_text_over_its_budget_is_a_violation():
    def four_words(query, budget):
        return "one two three four"

    report = evaluate(four_words, QUESTIONS, budgets=[3, 4], count=count_words, texts=RECORDS)
    assert report.figures(3)["violations"] == 3
    assert report.figures(4)["violations"] == 0


def test_an_equivalent_counts_as_the_gold_it_equals():
    question = INVOICES.model_copy(update={"gold": ("gone",), "equivalents": {"gone": ("r1",)}})
    report = evaluate(FixedEngine(), [question], budgets=[9])
    assert report.recall(9) == 1
    assert report.rankings[0].ndcg == 1


def test_gold_that_no_source_has_in_scope_is_an_error_that_names_it():
    for question in (
        INVOICES.model_copy(update={"gold": ("r9",)}),
        INVOICES.model_copy(update={"fields": {"scope": {"team": "other"}}}),
    ):
        with pytest.raises(ConfigError, match=r"'r[19]' of question invoices"):
            evaluate(FixedEngine(), [question])


def test_a_question_without_gold_is_an_error():
    with pytest.raises(ConfigError, match="q7 has no gold"):
        evaluate(FixedEngine(), [Question(id="q7", query="anything?")])


def test_a_ranking_is_scored_by_where_the_gold_stands():
    report = evaluate(FixedEngine(order=("r3", "r1")), [INVOICES, SIGNING], budgets=[9])
    assert {r.question: round(r.ndcg, 3) for r in report.rankings} == {"invoices": 0.631, "signing": 1.0}
    beyond_ten = FixedEngine(order=("r3",) * 10 + ("r1",))
    assert evaluate(beyond_ten, [INVOICES], budgets=[9]).ranking() == {"ndcg": 0.0, "recall": 0.0}


def test_two_settings_are_compared_on_the_questions_they_share():
    better, worse = FixedEngine(), FixedEngine(order=("r2",))
    first = evaluate(worse, QUESTIONS, budgets=[100])
    second = evaluate(better, QUESTIONS[:2], budgets=[100])
    interval = compare(first, second, 100)
    assert interval.pairs == 2
    assert interval.difference == 0.5
    with pytest.raises(ConfigError, match="share no"):
        compare(first, second, 999)


def test_the_table_shows_budgets_and_the_ranking():
    text = evaluate(FixedEngine(), QUESTIONS, budgets=[9, 100]).table()
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line]
    assert lines[0][:3] == ["budget", "asked", "recall"]
    assert lines[2][:5] == ["9", "3", "0.333", "0.333", "1.000"]
    assert lines[3][4] == "–"
    assert lines[-1] == ["ranking, before any is packed: ndcg@10 0.710, recall@10 1.000"]


def a_file(tmp_path, *lines) -> str:
    path = tmp_path / "questions.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return str(path)


def test_a_file_of_questions_is_read_in_order(tmp_path):
    path = a_file(
        tmp_path,
        {"query": "first?", "gold": ["a", 7], "scope": {"team": "acme"}},
        "",
        {"id": "two", "query": "second?", "gold_spans": ["a span"], "gold_equivalents": {"a": ["b"]}},
        {"query": "third?", "whatever": 1},
    )
    first, second, third = load_questions(path)
    assert (first.id, first.gold, first.fields) == ("1", ("a", "7"), {"scope": {"team": "acme"}})
    assert (second.id, second.spans, second.equivalents) == ("two", ("a span",), {"a": ("b",)})
    assert (third.id, third.fields) == ("4", {})


BAD_LINES = [
    "not json", [], {"gold": ["a"]}, {"query": 5}, {"query": "q", "gold": "a"}, {"query": "q", "gold": [None]},
    {"query": "q", "gold_spans": "text"},
    {"query": "q", "gold_equivalents": ["a"]},
]  # fmt: skip


@pytest.mark.parametrize("line", BAD_LINES, ids=str)
def test_a_bad_line_is_an_error_that_names_file_and_line(tmp_path, line):
    path = a_file(tmp_path, {"query": "fine", "gold": ["a"]}, line)
    with pytest.raises(ConfigError, match=r"questions\.jsonl, line 2"):
        load_questions(path)
