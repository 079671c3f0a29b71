"""Fusion: one relevance from several claims, and what sentences, the best passages, neighbours and names add."""

from __future__ import annotations

import numpy as np
import pytest

from langchain_context_engine.models.types import Reason
from langchain_context_engine.pipeline.rank import rank
from langchain_context_engine.ranking.fusion import Fusion, fuse, name_of, pseudo_feedback
from langchain_context_engine.ranking.signals import SIGNALS
from tests.builders import a_candidate, a_request


def ranked(candidates, **request):
    return rank(candidates, a_request(**request), signals=SIGNALS)


def test_claims_are_fused_once_over_all_sources():
    found = [
        a_candidate(source="a", claims={"dense": 0.9, "lexical": 0.0}),
        a_candidate(source="b", claims={"dense": 0.1, "lexical": 10.0}),
        a_candidate(source="b", claims={"dense": 0.5, "lexical": 5.0}),
    ]
    first, second, third = (f.relevance for f in fuse(found, Fusion()))
    assert (first, second) == (pytest.approx(1.2 / 3.2), pytest.approx(2 / 3.2))
    assert third == pytest.approx(0.5)


def test_a_candidate_without_claims_keeps_its_relevance_among_fused_ones():
    found = [
        a_candidate(relevance=0.37),
        a_candidate(claims={"dense": 0.9, "lexical": 2.0}),
        a_candidate(claims={"dense": 0.1, "lexical": 0.0}),
    ]
    assert fuse(found, Fusion())[0].relevance == 0.37


def test_a_neighbour_lends_relevance_and_the_ledger_says_who():
    found = [
        a_candidate(id="1", claims={"dense": 0.9, "lexical": 9.0}, neighbours=("2",)),
        a_candidate(id="2", claims={"dense": 0.2, "lexical": 1.0}, neighbours=("1",)),
        a_candidate(id="3", claims={"dense": 0.2, "lexical": 1.0}),
        a_candidate(id="4", claims={"dense": 0.1, "lexical": 0.0}),
    ]
    ranking = ranked(found)
    score = {item.key[1]: item.score for item in ranking.items}
    assert score["2"] > score["3"]
    assert ("2", Reason.NEIGHBOUR, ("memories", "1")) in [
        (d.key[1], d.reason, d.details["other"]) for d in ranking.decisions
    ]


def test_the_better_neighbour_lends_more_than_the_other():
    found = [
        a_candidate(id=str(place), claims={"dense": own, "lexical": 10 * own}, neighbours=beside)
        for place, (own, beside) in enumerate([(0.9, ()), (0.1, ("0", "2")), (0.5, ()), (0.1, ("2",))])
    ]
    between, _, beside = (fused.parts["neighbour"] for fused in fuse(found, Fusion())[1:])
    assert between == pytest.approx(0.75 + 0.25 * 0.5)
    assert beside == pytest.approx(0.75 * 0.5)


def test_a_passage_that_the_best_one_names_is_lifted():
    found = [
        a_candidate(id="1", text="Moved into the Harbor Pilot guide.", claims={"dense": 0.9, "lexical": 9.0}),
        a_candidate(id="2", metadata={"title": "Harbor Pilot guide"}, claims={"dense": 0.2, "lexical": 1.0}),
        a_candidate(id="3", metadata={"title": "Another guide"}, claims={"dense": 0.2, "lexical": 1.0}),
        a_candidate(id="4", claims={"dense": 0.1, "lexical": 0.0}),
    ]
    score = {item.key[1]: item.score for item in ranked(found).items}
    assert score["2"] > score["3"]


def test_a_passage_that_holds_the_question_in_one_sentence_beats_one_that_scatters_it():
    claims = {"dense": 0.5, "lexical": 5.0}
    found = [
        a_candidate(id="1", text="The invoice is out. Nobody paid. The marina waits.", claims=claims),
        a_candidate(id="2", text="The marina paid the invoice. Nobody waits. It is out.", claims=claims),
        a_candidate(id="3", text="A berth is free. It rains.", claims={"dense": 0.1, "lexical": 0.0}),
    ]
    best = ranked(found, query="Which marina paid its invoice?").items[0]
    assert best.key[1] == "2"
    assert best.signals["sentence"] == 1.0


def told_by_the_best(text, **settings):
    """Return the relevance of a passage and of one about something else, both strangers to the question."""
    best, other = {"dense": 0.9, "lexical": 9.0}, {"dense": 0.2, "lexical": 0.0}
    found = [
        a_candidate(text="Billing goes through Stripe since the Paddle outage.", claims=best),
        a_candidate(text=text, claims=other),
        a_candidate(text="A berth for the winter costs less.", claims=other),
        a_candidate(text="Masts come down in October.", claims={"dense": 0.1, "lexical": 0.0}),
    ]
    fused = fuse(found, Fusion(**settings), "how does billing work?")
    return fused[1].relevance, fused[2].relevance


def test_what_the_best_passage_says_lifts_others_that_say_it():
    lifted, plain = told_by_the_best("The outage of Paddle took a day.")
    assert lifted > plain
    lifted, plain = told_by_the_best("The outage of Paddle took a day.", feedback=0.0)
    assert lifted == plain


def test_a_passage_is_not_lifted_by_its_own_words_nor_by_those_of_the_question():
    billing, stripe, fee, mast = range(4)
    said = [np.array(terms) for terms in ([billing, stripe, stripe], [billing, fee], [mast])]
    assert pseudo_feedback(said, [1.0, 0.5, 0.0], [billing]) == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("said", [[], [[]], [[], []], [[1]], [[1], []]])
def test_feedback_of_little_lifts_nothing(said):
    texts = [np.array(terms, dtype=np.uint32) for terms in said]
    assert pseudo_feedback(texts, [1.0] * len(said), [1]) == [0.0] * len(said)


def test_a_question_without_words_is_ranked_by_the_legs_alone():
    found = [
        a_candidate(claims={"dense": 0.9, "lexical": 0.0}),
        a_candidate(claims={"dense": 0.1, "lexical": 10.0}),
    ]
    assert [f.relevance for f in fuse(found, Fusion(), "what is it?")] == [
        f.relevance for f in fuse(found, Fusion())
    ]


def test_what_bears_the_question_in_its_name_comes_before_what_mentions_it():
    """As many words of the question stand in both; smart case is what the one of them is called."""
    claims = {"dense": 0.5, "lexical": 5.0}
    text = "if pattern: return smart and case"
    other = a_candidate(id="other", text="nothing of it", claims={"dense": 0.1, "lexical": 0.0})
    mention = a_candidate(
        id="mention", kind="code", text=text, claims=claims, metadata={"path": "a.py", "symbol": "run"}
    )
    thing = a_candidate(
        id="thing",
        kind="code",
        text=text,
        claims=claims,
        metadata={"path": "b.py", "symbol": "is_case_smart"},
    )
    found = [mention, thing, other]
    query = "how is smart case decided"
    with_names = [fused.relevance for fused in fuse(found, Fusion(), query)]
    assert with_names[1] > with_names[0]
    without = [fused.relevance for fused in fuse(found, Fusion(name=0), query)]
    assert without[1] == without[0]


def test_a_commit_is_called_by_its_subject_and_a_text_without_a_name_loses_nothing_among_its_like():
    assert name_of(a_candidate(kind="commit", text="Drop Curio\n\nNobody asked.")) == "Drop Curio"
    claims = [{"dense": 0.9, "lexical": 9.0}, {"dense": 0.2, "lexical": 1.0}]
    found = [a_candidate(id=str(i), text="we met at noon", claims=own) for i, own in enumerate(claims)]
    query = "when did we meet"
    assert [f.relevance for f in fuse(found, Fusion(), query)] == [
        f.relevance for f in fuse(found, Fusion(name=0), query)
    ]


def test_what_makes_no_claim_lends_its_own_relevance_whatever_words_it_shares():
    found = [
        a_candidate(
            id="best",
            text="Billing goes through Stripe since the outage.",
            claims={"dense": 0.9, "lexical": 9.0},
        ),
        a_candidate(id="own", text="The outage of Stripe took a day.", relevance=0.3),
        a_candidate(id="next", text="Berths.", claims={"dense": 0.2, "lexical": 1.0}, neighbours=("own",)),
        a_candidate(id="last", text="Masts.", claims={"dense": 0.1, "lexical": 0.0}),
    ]
    assert fuse(found, Fusion(), "how does billing work?")[2].parts["neighbour"] == pytest.approx(0.75 * 0.3)
