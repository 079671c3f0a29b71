from __future__ import annotations

import json

import pytest

from langchain_context_engine.evaluation.evaluate import load_questions
from langchain_context_engine.models.errors import ConfigError


def a_file(tmp_path, *lines) -> str:
    path = tmp_path / "questions.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return str(path)


def test_a_file_of_questions_is_read_in_order(tmp_path):
    path = a_file(
        tmp_path,
        {"query": "first?", "gold": ["a", 7, {"id": "b"}, {"text": "Some text."}], "category": "x"},
        "",
        {"id": "two", "query": "second?", "gold_spans": ["a span"], "gold_equivalents": {"a": ["b"]}},
        {"query": "third?", "unanswerable": True, "whatever": 1},
    )
    first, second, third = load_questions(path)
    assert (first.id, first.gold, first.texts, first.category) == ("1", ("a", "7", "b"), ("Some text.",), "x")
    assert (second.id, second.spans, second.equivalents) == ("two", ("a span",), {"a": ("b",)})
    assert (third.id, third.is_unanswerable, third.fields) == ("4", True, {})


def test_a_line_separator_inside_a_text_does_not_end_the_line(tmp_path):
    path = a_file(tmp_path, json.dumps({"query": "a\u2028b", "gold": ["x"]}, ensure_ascii=False))
    assert load_questions(path)[0].query == "a\u2028b"


BAD_LINES = [
    "not json",
    [],
    {"gold": ["a"]},
    {"query": 5},
    {"query": "q", "gold": "a"},
    {"query": "q", "gold": [None]},
    {"query": "q", "gold_spans": [5]},
    {"query": "q", "gold_texts": "text"},
    {"query": "q", "gold_equivalents": ["a"]},
]


@pytest.mark.parametrize("line", BAD_LINES, ids=str)
def test_a_bad_line_is_an_error_that_names_file_and_line(tmp_path, line):
    path = a_file(tmp_path, {"query": "fine", "gold": ["a"]}, line)
    with pytest.raises(ConfigError, match=r"questions\.jsonl, line 2"):
        load_questions(path)


def test_an_id_that_comes_twice_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match="twice"):
        load_questions(a_file(tmp_path, {"id": "a", "query": "q"}, {"id": "a", "query": "p"}))


def test_a_file_that_is_not_there_or_empty_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere\.jsonl"):
        load_questions(tmp_path / "nowhere.jsonl")
    with pytest.raises(ConfigError, match="no question"):
        load_questions(a_file(tmp_path, "", "  "))
