"""Match marks and likeness of spelling."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine.sources.full_text import TrigramIndex, similarity, trigrams
from langchain_context_engine.text.matches import mark_matches
from langchain_context_engine.text.words import query_terms

ALPHABET = st.text(alphabet="ab cdé1_請求書.", max_size=30)


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        ("We bill monthly; Billing is done.", "bills", "We <<<bill>>> monthly; <<<Billing>>> is done."),
        ("the party started", "art", "the party started"),
        ("call parse_url(x)", "parse_url", "call <<<parse_url>>>(x)"),
        ("call parse_url(x)", "url", "call <<<parse_url>>>(x)"),
        ("請求書を毎月送ります", "請求書", "<<<請求書>>>を毎月送ります"),
        ("Café au lait", "café", "<<<Café>>> au lait"),
        ("nothing here", "the of", "nothing here"),
        ("", "bill", ""),
    ],
)
def test_words_are_marked_in_all_their_forms_and_never_parts_of_words(text, query, marked):
    assert mark_matches(text, query_terms(query)) == marked


@given(ALPHABET, ALPHABET)
@settings(max_examples=200)
def test_without_its_marks_a_text_is_what_it_was(text, query):
    assert mark_matches(text, query_terms(query)).replace("<<<", "").replace(">>>", "") == text


def test_the_similarity_is_that_of_pg_trgm():
    # PostgreSQL's documentation: similarity('word', 'two words') is 0.363636.
    assert similarity(trigrams("word"), trigrams("two words")) == pytest.approx(4 / 11)
    assert similarity(trigrams("Word!"), trigrams("word")) == 1
    assert similarity(trigrams(""), trigrams("")) == 0


@given(st.dictionaries(st.sampled_from("abcdef"), ALPHABET), ALPHABET, st.sampled_from([0.0, 0.3, 0.9]))
@settings(max_examples=200)
def test_the_index_finds_what_comparing_one_by_one_finds(texts, query, threshold):
    index = TrigramIndex()
    for key, text in texts.items():
        index.put(key, "something else entirely")
        index.put(key, text)
    alike = {key: similarity(trigrams(text), trigrams(query)) for key, text in texts.items()}
    found = index.search(query, threshold)
    assert dict(found) == pytest.approx({key: value for key, value in alike.items() if value > threshold})
    assert found == sorted(found, key=lambda hit: (-hit[1], hit[0]))
