"""Words and search terms of a text."""

from __future__ import annotations

import pytest

from langchain_context_engine.text.words import query_terms, terms, words
from tests.growth import assert_linear, repeated


def matches(query: str, text: str) -> set[str]:
    return set(query_terms(query)) & set(terms(text))


def test_a_word_does_not_match_inside_another():
    """E47 a."""
    assert not matches("art", "start the party")
    assert matches("art", "modern art in Rome")
    assert not set(words("art")) & set(words("start the party"))


@pytest.mark.parametrize("query", ["C++ (beta", "[a-z]+(", "a|b*c?", "\\d{2,", "(((", "$^.*"])
def test_a_query_is_never_a_regular_expression(query):
    """E47 b."""
    query_terms(query)
    assert query_terms("C++ (beta") == ["c++", "beta"]
    assert not matches("C++", "the letter C")


@pytest.mark.parametrize("query", ["the of and", "", "   ", "what is it?", "don't you", "!?…"])
def test_a_query_of_stop_words_has_no_terms(query):
    """E47 c."""
    assert query_terms(query) == []


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("認証", "認証システムはJWTを使う"),
        ("JWT", "認証システムはJWTを使う"),
        ("猫", "黒猫が好き"),
        ("사과", "나는 사과를 좋아한다"),
        ("ภาษา", "ภาษาไทย"),
        ("भाषा", "हिन्दी भाषा"),
        ("CAFÉ", "un cafe\u0301 noir"),
        ("ＡＰＩ", "the api"),
        ("straße", "STRASSE"),
    ],
)
def test_every_script_can_be_searched(query, text):
    """E47 d."""
    assert matches(query, text)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("send_handling_auth", "def _send_handling_auth(self):"),
        ("handling", "def _send_handling_auth(self):"),
        ("AsyncClient", "use httpx.AsyncClient here"),
        ("client", "use httpx.AsyncClient here"),
        ("HTTPServer", "the HTTP server"),
        ("3.12", "supports Python 3.12"),
        ("__init__", "def __init__(self)"),
    ],
)
def test_an_identifier_is_found_whole_and_by_its_parts(query, text):
    assert matches(query, text)


def test_long_texts_and_long_words_take_linear_time():
    """A3, B16: a blob of a million characters neither hangs nor fills the cache."""
    for shape in ("x", "漢", "a_", "1.", "e\u0301", "'"):
        for read in (terms, words):
            assert_linear(read, repeated(shape), 100_000)
    assert all(len(word) <= 100 for word in words("x" * 10**6))
