"""What a source says with its candidates stands in the context, however its answer comes."""

from __future__ import annotations

import asyncio

import pytest

from langchain_context_engine import Candidate, ContextEngine
from langchain_context_engine.models.types import Offer, Status
from tests.builders import a_candidate


class Saying:
    """A source that answers one thing."""

    name = "saying"

    def __init__(self, answer: list[Candidate]) -> None:
        self.answer = answer

    def fetch(self, request):
        return self.answer


class Breaking(Offer):
    """An offer that ends in an error."""

    def __iter__(self):
        yield from super().__iter__()
        raise OSError("cable pulled")


class Own(Offer):
    """An offer of one's own class."""


@pytest.mark.parametrize("kind", [Offer, Own])
@pytest.mark.parametrize("asks", [lambda e: e.build("x"), lambda e: asyncio.run(e.abuild("x"))])
def test_what_a_source_says_stands_in_the_context_and_is_no_failure(kind, asks):
    answer = kind([a_candidate()], warnings=["saying: half of it is read"])
    context = asks(ContextEngine(sources=[Saying(answer)]))
    assert context.warnings == ("saying: half of it is read",)
    assert (context.status, len(context.passages)) == ("ok", 1)


def test_what_a_source_says_stands_in_the_context_though_its_answer_breaks_off():
    context = ContextEngine(sources=[Saying(Breaking([a_candidate()], warnings=["half is read"]))]).build("x")
    assert context.status is Status.PARTIAL
    assert [w for w in context.warnings if "broke off" in w]
    assert "half is read" in context.warnings
