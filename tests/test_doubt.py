"""Whether what was found holds the question at all."""

from __future__ import annotations

import pytest

from langchain_context_engine import Context, ContextEngine, replay
from langchain_context_engine.ranking.doubt import holds
from langchain_context_engine.values.types import Reason, Status, Verdict
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
    assert (sure.status, sure.warnings) == (Status.OK, ())


def test_a_trace_from_before_has_no_confidence():
    data = an_engine().build(LASAGNA).to_dict()
    for name in ("confidence", "doubt"):
        del data[name]
    assert Context.from_dict(data).confidence is None


def test_legs_that_disagree_are_doubted_more():
    def found(dense):
        return [
            a_candidate(text=f"tides and {word}", claims={"dense": d, "lexical": score})
            for (word, score), d in zip(
                [("berths", 4.0), ("fees", 3.0), *[("fog", 0.0)] * 40], dense, strict=True
            )
        ]

    agreeing = holds(found([0.9, 0.8, *[0.2] * 40]), "what do berths cost?")
    apart = holds(found([0.1, 0.1, *[0.5] * 40]), "what do berths cost?")
    assert agreeing.confidence > apart.confidence
