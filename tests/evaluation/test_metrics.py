from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine.evaluation.metrics import (
    Evidence,
    ndcg,
    paired_bootstrap,
    score_evidence,
)

DOCUMENT = "The mill opened in 1910. It burnt down twice. Yes. Nobody rebuilt it after that."


def recall(text: str, *golds: str) -> float:
    return score_evidence(text, Evidence.of([gold] for gold in golds)).recall


def precision(text: str, *golds: str) -> float:
    return score_evidence(text, Evidence.of([gold] for gold in golds)).precision


def test_a_span_counts_whatever_its_case_spaces_and_punctuation():
    assert recall("As said: “THE MILL   opened\nin 1910!”", "The mill opened in 1910.") == 1


def test_a_document_counts_by_its_sentences_of_three_words_or_more():
    assert recall("It burnt down twice.", DOCUMENT) == pytest.approx(1 / 3)
    assert recall("Yes.", DOCUMENT) == 0
    assert recall(DOCUMENT, DOCUMENT) == 1


def test_of_texts_that_say_the_same_the_best_counts():
    evidence = Evidence.of([["Ann signs it off. Bob reads it.", "Ann approves everything."]])
    assert score_evidence("Ann signs it off.", evidence).recall == 0.5
    assert score_evidence("Ann approves everything.", evidence).recall == 1


def test_a_word_in_two_pieces_of_gold_counts_once_in_precision():
    assert precision("a b c d e f", "a b c d", "c d e f") == 1
    assert precision("a b c a b c x y z", "a b c") == pytest.approx(6 / 9)


WORDS = st.lists(st.sampled_from(["a", "b", "c", "dd", "e.", "f!\n"]), max_size=30).map(" ".join)


@settings(deadline=None, max_examples=100)
@given(WORDS, WORDS, WORDS)
def test_scores_lie_between_0_and_1_and_more_text_never_costs_recall(text, more, gold):
    before, after = (score_evidence(t, Evidence.of([[gold]])) for t in (text, f"{text} {more}"))
    assert 0 <= before.recall <= after.recall <= 1
    assert 0 <= before.precision <= 1


def test_ndcg_is_1_for_the_best_order_and_falls_with_the_place():
    assert ndcg([3, 2, 0], k=3) == 1
    assert ndcg([0, 1], [1], k=2) == pytest.approx(0.6309, abs=1e-4)
    assert ndcg([0, 0, 1], [1], k=2) == 0


def test_a_steady_gain_is_real_and_noise_is_not():
    steady = paired_bootstrap([0.2, 0.5, 0.7] * 10, [0.3, 0.6, 0.8] * 10)
    assert steady.is_real
    assert steady.low <= steady.difference <= steady.high
    assert steady.difference == pytest.approx(0.1)
    assert not paired_bootstrap([0.1, 0.9] * 10, [0.9, 0.1] * 10).is_real
    assert not paired_bootstrap([0.5] * 9, [0.5] * 9).is_real
