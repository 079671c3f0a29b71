from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.evaluation.metrics import (
    Evidence,
    contains_words,
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


def test_a_word_counts_only_whole():
    assert recall("the mills opened in 19100", "mill opened in 1910") == 0
    assert recall("the mill opened in 1910", "mill opened in 1910") == 1


def test_a_span_that_is_not_whole_counts_by_its_sentences():
    span = "The mill opened in 1910. It burnt down twice."
    assert recall("It burnt down twice. The mill opened in 1910.", span) == 1
    assert recall("It burnt down twice.", span) == 0.5


def test_a_document_counts_by_its_sentences_of_three_words_or_more():
    assert recall("It burnt down twice.", DOCUMENT) == pytest.approx(1 / 3)
    assert recall("Yes.", DOCUMENT) == 0
    assert recall(DOCUMENT, DOCUMENT) == 1


def test_lines_are_sentences_so_that_code_counts_by_its_lines():
    code = "def f(a, b):\n    total = a + b\n    return total / 2\n"
    assert recall("def f(a, b):", code) == pytest.approx(1 / 3)


def test_chinese_and_japanese_sentences_count_one_by_one():
    span = "認証にはJWTを使う。期限は五月三日。"
    assert recall("決定：認証にはJWTを使う。", span) == 0.5


def test_of_texts_that_say_the_same_the_best_counts():
    evidence = Evidence.of([["Ann signs it off. Bob reads it.", "Ann approves everything."]])
    assert score_evidence("Ann signs it off.", evidence).recall == 0.5
    assert score_evidence("Ann approves everything.", evidence).recall == 1


def test_precision_is_the_share_of_words_that_are_evidence():
    assert precision("It burnt down twice. I like green tea", "It burnt down twice.") == 0.5
    assert precision("nothing of it here", "It burnt down twice.") == 0


def test_a_word_in_two_pieces_of_gold_counts_once_in_precision():
    assert precision("a b c d e f", "a b c d", "c d e f") == 1
    assert precision("a b c a b c x y z", "a b c") == pytest.approx(6 / 9)


@pytest.mark.parametrize("text", ["", "  ", "…!?"])
def test_no_text_scores_0(text):
    score = score_evidence(text, Evidence.of([["a b c"]]))
    assert (score.recall, score.precision) == (0, 0)


WORDS = st.lists(st.sampled_from(["a", "b", "c", "dd", "e.", "f!\n"]), max_size=30).map(" ".join)


@settings(deadline=None, max_examples=100)
@given(WORDS, WORDS, WORDS)
def test_scores_lie_between_0_and_1_and_more_text_never_costs_recall(text, more, gold):
    before, after = (score_evidence(t, Evidence.of([[gold]])) for t in (text, f"{text} {more}"))
    assert 0 <= before.recall <= after.recall <= 1
    assert 0 <= before.precision <= 1


def test_contains_words_needs_words():
    assert not contains_words("anything", "")
    assert not contains_words("anything", "?!")


def test_ndcg_is_1_for_the_best_order_and_falls_with_the_place():
    assert ndcg([3, 2, 0], k=3) == 1
    assert ndcg([0, 1], [1], k=2) == pytest.approx(0.6309, abs=1e-4)
    assert ndcg([0, 0, 1], [1], k=2) == 0


def test_ndcg_against_all_that_exists_is_lower_than_against_what_was_found():
    assert ndcg([1], [1, 1]) < 1
    assert ndcg([], [1]) == 0
    assert ndcg([0, 0]) == 0


def test_a_steady_gain_is_real_and_noise_is_not():
    steady = paired_bootstrap([0.2, 0.5, 0.7] * 10, [0.3, 0.6, 0.8] * 10)
    assert steady.is_real
    assert steady.low <= steady.difference <= steady.high
    assert steady.difference == pytest.approx(0.1)
    assert not paired_bootstrap([0.1, 0.9] * 10, [0.9, 0.1] * 10).is_real
    assert not paired_bootstrap([0.5] * 9, [0.5] * 9).is_real


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    import numpy as np

    generator = np.random.default_rng(0)
    hits = 0
    for _ in range(100):
        pairs = generator.normal(0.1, 0.3, 60)
        interval = paired_bootstrap([0.0] * 60, list(pairs), samples=500)
        hits += interval.low <= 0.1 <= interval.high
    assert 86 <= hits <= 100


@pytest.mark.parametrize("pair", [([], []), ([1.0], [1.0, 2.0])])
def test_scores_that_are_no_pairs_are_refused(pair):
    with pytest.raises(ConfigError, match="as many scores"):
        paired_bootstrap(*pair)


@pytest.mark.parametrize("settings_", [{"confidence": 1.0}, {"confidence": 0}, {"samples": 0}])
def test_a_bootstrap_that_cannot_be_drawn_is_refused(settings_):
    with pytest.raises(ConfigError):
        paired_bootstrap([1.0], [2.0], **settings_)
