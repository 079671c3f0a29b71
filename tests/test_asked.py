"""What a question asks about, without the words that make it one."""

from __future__ import annotations

import pytest

from langchain_context_engine.ranking.answerability import holds
from langchain_context_engine.ranking.asked import asked_terms
from langchain_context_engine.text.words import query_terms
from tests.builders import a_candidate

NOTES = [a_candidate(id=f"n{i}", text=f"Note {i}: retries of a client wait {i} seconds") for i in range(60)]


@pytest.mark.parametrize(
    "query",
    [
        "how many retries does the client wait for?",
        "How often does a client wait?",
        "how much do the retries wait",
        "what kind of retries wait?",
        "which version of the client retries?",
        "is it possible that a client waits?",
        "Is there a way for retries to wait?",
        "what happens if retries of a client wait?",
        "tell me how long the client waits, please",
        "What's the easiest way to wait for a client",
        "do you know which sort of client retries?",
    ],
)
def test_words_that_only_make_a_question_one_raise_no_doubt(query):
    held = holds(NOTES, query)
    assert held.missing == ()
    assert held.parts["missing"] == 0
    assert held.confidence is not None
    assert held.confidence > 0.8


@pytest.mark.parametrize("query", ["Which version?", "how many", "What kind of?", "is it possible?"])
def test_a_question_of_nothing_else_keeps_them(query):
    assert asked_terms(query) == tuple(query_terms(query))


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("many hands make light work", ("mani", "hand", "make", "light", "work")),
        ("the version of the protocol", ("version", "protocol")),
        ("a long wait", ("long", "wait")),
    ],
)
def test_the_same_words_count_where_they_ask_nothing(query, asked):
    assert asked_terms(query) == asked


def test_what_is_missing_beside_them_is_told():
    held = holds(NOTES, "how many eggs go into a lasagna?")
    assert held.missing == ("eggs", "go", "lasagna")


def test_a_trace_of_the_rules_before_keeps_its_doubt():
    """Promise 9."""
    assert holds(NOTES, "how many retries wait?", 4).missing == ("many",)
