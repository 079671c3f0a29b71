"""Whether what was found holds the question at all."""

from __future__ import annotations

import pytest

from langchain_context_engine import Context, ContextEngine, replay
from langchain_context_engine.models.types import Reason, Status, Verdict
from langchain_context_engine.ranking.answerability import answerability
from tests.builders import ListSource, a_candidate

LASAGNA = "best recipe for lasagna with spinach"


def notes(number: int = 60):
    return [
        a_candidate(id=f"n{i}", text=f"Note {i}: retries of a client wait {i} seconds") for i in range(number)
    ]


def an_engine(number: int = 60, **settings) -> ContextEngine:
    return ContextEngine(sources=[ListSource(notes(number))], **settings)


def test_what_nothing_answers_is_doubtful_and_the_warning_names_the_missing_words():
    context = an_engine().build(LASAGNA)
    assert context.status is Status.DOUBTFUL
    assert context.confidence is not None
    assert context.confidence < 0.2
    assert any("'lasagna', 'spinach'" in warning for warning in context.warnings)
    assert context.doubt["missing_words"] == ["best", "recipe", "lasagna", "spinach"]
    assert context.passages, "it is kept unless a setting empties it"


def test_what_is_there_is_not_doubted():
    context = an_engine().build("do retries of a client wait some seconds?")
    assert context.status is Status.OK
    assert context.confidence is not None
    assert context.confidence > 0.8
    assert not context.warnings


def test_a_doubtful_context_is_empty_where_that_is_wanted():
    context = an_engine(when_doubtful="empty").build(LASAGNA)
    assert (context.text, context.tokens, context.passages) == ("", 0, ())
    assert context.status is Status.DOUBTFUL
    final = [d for d in context.decisions if d.verdict is not Verdict.CHANGED]
    assert len(final) == 60
    assert {d.reason for d in final} == {Reason.DOUBTFUL}


@pytest.mark.parametrize("number", [1, 2, 5, 10])
def test_of_a_few_records_hardly_anything_is_said(number):
    assert an_engine(number).build(LASAGNA).status is Status.OK


def test_a_question_without_words_to_go_by_is_not_doubted():
    for query in ("", "???", "the of and"):
        context = an_engine().build(query)
        assert context.confidence is None
        assert context.status is Status.OK


def test_a_bound_of_zero_measures_nothing():
    context = an_engine(doubtful_below=0).build(LASAGNA)
    assert (context.status, context.confidence, dict(context.doubt)) == (Status.OK, None, {})


def test_a_replay_says_the_same_and_another_bound_says_another_thing():
    context = an_engine().build(LASAGNA)
    assert Context.from_dict(context.to_dict()) == context
    again = replay(context)
    assert (again.confidence, again.status, again.warnings) == (
        context.confidence,
        context.status,
        context.warnings,
    )
    sure = replay(context, doubtful_below=0.0)
    assert (sure.status, sure.warnings, sure.confidence) == (Status.OK, (), None)


def test_legs_that_disagree_are_doubted_more():
    def found(dense):
        return [
            a_candidate(text=f"tides and {word}", claims={"dense": d, "lexical": score})
            for (word, score), d in zip(
                [("berths", 4.0), ("fees", 3.0), *[("fog", 0.0)] * 40], dense, strict=True
            )
        ]

    agreeing = answerability(found([0.9, 0.8, *[0.2] * 40]), "what do berths cost?")
    apart = answerability(found([0.1, 0.1, *[0.5] * 40]), "what do berths cost?")
    assert agreeing.confidence > apart.confidence


PLACES = [
    "gate",
    "pier",
    "berth",
    "ledger",
    "invoice",
    "crane",
    "lamp",
    "buoy",
    "rope",
    "harbour",
    "ferry",
    "sluice",
    "jetty",
    "winch",
    "anchor",
    "chart",
]
DEEDS = [
    "is painted",
    "is rented",
    "is closed",
    "was mended",
    "is paid",
    "was counted",
    "is lit",
    "was moved",
]


def english(number: int = 120, dense=lambda i: 0.2, lexical=lambda i: 0.0):
    return [
        a_candidate(
            text=f"The {PLACES[i % 16]} of dock{i} {DEEDS[i % 8]} by the keeper{i % 60} in the week of storm{i}.",
            claims={"dense": dense(i), "lexical": lexical(i)},
        )
        for i in range(number)
    ]


GERMAN = "Wer bezahlt die Miete für einen Liegeplatz am Ufer?"


def standing_out(best: float):
    return lambda i: best if i == 0 else 0.15 + i % 7 / 100


@pytest.mark.parametrize(
    "query", [GERMAN, "係留料は誰が支払いますか", "Кто платит за стоянку у причала зимой?"]
)
def test_a_question_in_another_language_is_judged_by_the_vectors_alone(query):
    found = answerability(english(dense=standing_out(0.55)), query)
    assert found.parts["missing"] == 1
    assert found.confidence > 0.8
    lost = answerability(english(dense=standing_out(0.23)), query)
    assert lost.confidence < 0.1


def test_a_paraphrase_that_shares_a_word_and_stands_out_is_not_doubted():
    """One telling word of three occurs; what the vectors find stands far out and holds it."""
    found = english(dense=standing_out(0.75), lexical=lambda i: 2.0 if i == 0 else 0.0)
    assert answerability(found, "who looks after the gate nowadays?").confidence > 0.25


def test_words_that_never_stand_together_say_less():
    apart = [a_candidate(text="A mole was seen."), a_candidate(text="The fee is due."), *english()]
    together = [a_candidate(text="A fee for the mole was seen."), a_candidate(text="It is due."), *english()]
    query = "is there a fee for the mole?"
    assert (
        answerability(apart, query).parts["missing"] == answerability(together, query).parts["missing"] == 0
    )
    assert answerability(apart, query).parts["together"] == 0
    assert answerability(together, query).parts["together"] == 1
    assert answerability(apart, query).confidence < answerability(together, query).confidence


def test_confidence_does_not_depend_on_the_lowest_cosine_of_an_embedder():
    query = "what is paid by the keeper?"
    wide = answerability(english(dense=standing_out(0.6)), query)
    narrow = answerability(english(dense=lambda i: 0.7 + 0.3 * standing_out(0.6)(i)), query)
    assert narrow.confidence == pytest.approx(wide.confidence)


@pytest.mark.parametrize("number", [2, 5, 10])
@pytest.mark.parametrize("query", [LASAGNA, GERMAN, "who looks after the gate nowadays?"])
def test_with_two_legs_little_is_said_of_a_few_records(number, query):
    assert answerability(english(number, dense=standing_out(0.3)), query).confidence > 0.25


def test_a_question_as_long_as_a_log_is_measured_by_its_rarest_words():
    log = " ".join(f"word{i}" for i in range(3000))
    found = answerability([a_candidate(text=log), *english(30)], log)
    assert found.parts["together"] == 1
    assert 0 <= found.confidence <= 1


def test_a_missing_word_is_named_whatever_the_confidence():
    """18 questions that nothing answers: 8 had no warning though a word of theirs occurred nowhere."""
    context = an_engine().build("do retries of a client wait some seconds for protobuf?")
    assert context.status is Status.OK
    assert context.warnings == ("nowhere in what was found: 'protobuf'",)


PARTLY = "how many seconds do retries of a client wait before telemetry is exported to Prometheus?"


def test_a_context_that_is_more_likely_not_to_hold_the_question_says_what_is_missing():
    context = an_engine(doubtful_below=0.01, unsure_below=0.99).build(PARTLY)
    assert context.status is Status.OK
    assert 0.01 <= context.confidence < 0.99
    (warning,) = context.warnings
    assert warning.startswith("what was found may hold only a part of the question")
    for word in ("telemetry", "exported", "prometheus"):
        assert f"'{word}'" in warning
        assert word not in context.text.lower()
    sure = replay(context, unsure_below=context.confidence)
    assert sure.text == context.text
    assert sure.warnings[0].startswith("nowhere in what was found")
