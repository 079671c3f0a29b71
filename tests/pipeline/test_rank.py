"""Rank: what is weighed, how it is told, who wins a tie."""

from __future__ import annotations

import pytest

from langchain_context_engine import ConfigError, ContextEngine
from langchain_context_engine.models.types import Reason
from langchain_context_engine.pipeline.rank import rank
from langchain_context_engine.ranking.signals import SIGNALS
from tests.builders import ListSource, SlowSource, a_candidate, a_request


def ranked(candidates, weights=None, **request):
    return rank(candidates, a_request(**request), signals=SIGNALS, weights=weights)


def values(name, candidates, **request):
    return list(SIGNALS[name](candidates, a_request(**request)))


@pytest.mark.parametrize("date", [None, "", "not a date", "99999999999999999999", float("nan"), True])
def test_an_undated_candidate_has_recency_one_half_and_one_warning(date):
    """E40."""
    found = [a_candidate(created_at=date), a_candidate(created_at=date), a_candidate(created_at="2025-12-31")]
    ranking = ranked(found, {"recency": 1.0})
    assert [item.signals["recency"] for item in ranking.items] == [0.5, 0.5, 0.5]
    assert len([w for w in ranking.warnings if "date" in w]) == 1


def test_epoch_seconds_milliseconds_and_iso_strings_are_one_instant():
    """E41."""
    dates = [
        1714550400,
        1714550400000,
        "1714550400",
        "2024-05-01T08:00:00Z",
        "2024-05-01T10:00:00+02:00",
        "2024-05-01 08:00",
    ]
    assert len({a_candidate(created_at=date).created_at for date in dates}) == 1
    assert len(set(values("recency", [a_candidate(created_at=date) for date in dates]))) == 1


@pytest.mark.parametrize(
    ("weights", "named"),
    [
        ({"relevance": 0, "recency": 0}, "weights"),
        ({"relevance": -1}, "relevance"),
        ({"relevance": float("nan")}, "relevance"),
        ({"relevance": float("inf")}, "relevance"),
        ({"recncy": 1}, "recency"),
        ({"relevance": "high"}, "relevance"),
        ({"relevance": True}, "relevance"),
        ({}, "weights"),
    ],
)
def test_bad_weights_are_refused_at_construction_naming_the_field(weights, named):
    """E42."""
    with pytest.raises(ConfigError, match=named):
        ContextEngine(sources=[ListSource([])], weights=weights)


def test_weights_replace_the_defaults_and_are_scaled_to_one():
    engine = ContextEngine(
        sources=[ListSource([a_candidate(relevance=0.5, created_at="2026-01-01")])],
        weights={"recency": 3, "confidence": 1},
    )
    (item,) = engine.search("x", now="2026-01-01")
    assert item.contributions == {"recency": 0.75, "confidence": 0.125}


def test_ties_keep_one_order_whoever_answers_first():
    """E43."""
    engine = ContextEngine(
        sources=[
            SlowSource(
                [a_candidate(id="same", source=name, relevance=0.5, text=f"text of {name}")], name, seconds
            )
            for name, seconds in zip("abcd", (0.004, 0.0, 0.002, 0.001), strict=True)
        ]
    )
    orders = {tuple(item.key for item in engine.search("x")) for _ in range(12)}
    assert orders == {(("a", "same"), ("b", "same"), ("c", "same"), ("d", "same"))}


def test_zero_is_a_value_and_not_missing():
    """E44."""
    zero, low, missing = (a_candidate(metadata=m) for m in ({"confidence": 0}, {"confidence": 0.1}, {}))
    assert values("confidence", [zero, low, missing]) == [0.0, 0.1, 0.5]
    engine = ContextEngine(sources=[ListSource([a_candidate(relevance=0.0)])], min_score=0.0)
    assert len(engine.search("x")) == 1


def test_a_minimum_score_drops_what_is_below_and_says_so():
    context = ContextEngine(sources=[ListSource([a_candidate(relevance=0.2)])], min_score=0.3).build("x")
    assert [d.reason for d in context.decisions] == [Reason.BELOW_THRESHOLD]
    assert context.decisions[0].details == {"score": pytest.approx(0.2), "threshold": 0.3}


@pytest.mark.parametrize(
    ("given", "read"), [(85, 1.0), ("0.9", 0.9), (7, 1.0), (-3, 0.0), ("high", 0.5), (None, 0.5)]
)
def test_confidence_on_another_scale_is_clamped_with_a_warning(given, read):
    """E46."""
    ranking = ranked([a_candidate(metadata={"confidence": given})], {"confidence": 1.0})
    assert ranking.items[0].score == read
    assert bool(ranking.warnings) == (given in {85, 7, -3})


@pytest.mark.parametrize(
    ("query", "text", "score"),
    [
        ("art", "start the party", 0.0),
        ("art", "art for the party", 1.0),
        ("C++ (beta", "the beta of C++", 1.0),
        ("", "anything", 0.0),
        ("???", "anything", 0.0),
    ],
)
def test_keywords_are_words_and_never_patterns(query, text, score):
    """E47."""
    assert values("keyword", [a_candidate(text=text)], query=query) == [score]


def test_keywords_of_unspaced_scripts_match():
    """E47."""
    assert values("keyword", [a_candidate(text="認証システムはJWTを使う")], query="認証")[0] > 0


@pytest.mark.parametrize(
    "claims", [{}, {"dense": 0.8}, {"dense": 0.8, "lexical": 3.0}, {"dense": None, "lexical": 3.0}]
)
@pytest.mark.parametrize("number", [1, 3])
def test_scaling_never_erases_equal_claims(claims, number):
    """E48."""
    items = ranked([a_candidate(relevance=0.8, claims=claims) for _ in range(number)]).items
    assert [item.score for item in items] == [0.8] * number


def test_recency_enters_only_when_the_question_asks_for_the_latest():
    old = a_candidate(id="old", text="Router.mount changed its path", relevance=0.9, created_at="2020-01-01")
    new = a_candidate(id="new", text="Router.mount lost an argument", relevance=0.8, created_at="2025-01-01")
    assert [i.key[1] for i in ranked([old, new], query="how does Router.mount work?").items] == ["old", "new"]
    latest = ranked([old, new], query="What was the most recent change to Router.mount?")
    assert [i.key[1] for i in latest.items] == ["new", "old"]
    assert {"relevance", "latest"} == set(latest.items[0].contributions)
