"""Two words that people also write as one are looked up as one too: `time out`, `timeout`."""

from __future__ import annotations

import pytest

from langchain_context_engine.filtering.filters import EVERYTHING, read_scope
from langchain_context_engine.search.collection import CollectionHandle
from langchain_context_engine.search.lexical import LexicalIndex
from langchain_context_engine.search.postings import LexicalQuery
from langchain_context_engine.text.words import closed_forms
from tests.builders import a_collection

RECORDS = [
    {"id": "one", "text": "Timeouts are five seconds by default.", "team": "a"},
    {"id": "name", "text": "The filename ends with its date.", "team": "a"},
    {"id": "call", "text": "Give a fileName to the writer.", "team": "b"},
    {"id": "other", "text": "What time is it at the quay?", "team": "b"},
]


@pytest.fixture(scope="module")
def index():
    made = LexicalIndex()
    return made, made.sync(CollectionHandle(a_collection(RECORDS)))


def found(index, query, **scope):
    lexical, shelf = index
    within = read_scope(scope)

    def admits(_id, metadata):
        return all(metadata.get(key) == value for key, value in scope.items())

    query = LexicalQuery.of(query)
    return [id_ for id_, _ in lexical.search(query, shelf, within, admits, 10, within)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("when do requests time out", {"one", "other"}),
        ("when do requests time-out", {"one", "other"}),
        ("Time Out!", {"one", "other"}),
        ("the file name", {"name", "call"}),
        ("out of time", {"other"}),
    ],
)
def test_what_is_written_as_one_word_is_found_by_two(index, query, expected):
    assert set(found(index, query)) == expected


def test_two_words_weigh_what_the_one_does_that_they_make(index):
    """It was found, and counted for nothing: the one word had no frequency of its own."""
    lexical, shelf = index

    def points(query):
        return lexical.scores(LexicalQuery.of(query), shelf, ["one"])["one"][0]

    assert points("when time out") == points("when timeout") > 0


def test_a_word_of_others_records_is_no_form_of_mine(index):
    """Promise 4: a form is looked for within the scope, so a score tells nothing of what lies outside."""
    lexical, _ = index
    query = LexicalQuery.of("time out")
    assert lexical.weighed(query, read_scope({"team": "b"})).words == ((("time", 1.0),),)
    assert ("timeout", 1.0) in lexical.weighed(query, EVERYTHING).words[0]


def test_forms_are_made_of_neighbours_of_which_the_first_tells_something():
    assert closed_forms("in time, at 5 a file") == {"time": ("timeat",)}
    assert closed_forms("how to") == {}
    assert closed_forms("") == {}
    assert closed_forms("größe name 3 d") == {}
