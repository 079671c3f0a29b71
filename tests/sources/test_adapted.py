"""A source asked in another way."""

from __future__ import annotations

from dataclasses import replace

from langchain_context_engine import ContextEngine
from langchain_context_engine.models.types import Offer
from langchain_context_engine.sources.adapted import AdaptedSource
from tests.builders import ListSource, a_candidate, a_request


class LaterSource:
    """A source that only asyncio can ask."""

    name = "later"

    async def afetch(self, request):
        return [a_candidate(text="late but there")]


def test_the_question_is_changed_before_and_the_answer_shaped_after():
    inner = ListSource([a_candidate(text="keep", relevance=0.9), a_candidate(text="leave", relevance=0.1)])
    source = AdaptedSource(
        inner,
        name="adapted",
        ask=lambda request: replace(request, query="another"),
        keep=lambda candidate: candidate.relevance > 0.5,
        shape=lambda found, request: [replace(c, text=f"{c.text}: {request.query}") for c in found],
    )
    assert [c.text for c in source.fetch(a_request(query="mine"))] == ["keep: mine"]
    assert inner.requests[0].query == "another"


def test_what_the_source_tells_of_its_answer_is_handed_on_however_that_is_shaped():
    """The traces of the designs did not say how their collections were searched, and lost their warnings."""

    class TellingSource(ListSource):
        def fetch(self, request):
            return Offer(super().fetch(request), warnings=["one"], searched="vectors in memory")

    inner = TellingSource([a_candidate(text="keep", relevance=0.9), a_candidate(relevance=0.1)], "inner")
    adapted = AdaptedSource(
        inner,
        name="adapted",
        keep=lambda candidate: candidate.relevance > 0.5,
        shape=lambda found, request: Offer(found, warnings=["two"]),
    )
    context = ContextEngine([adapted]).build("what?")
    assert context.searched == {"adapted": "vectors in memory"}
    assert context.warnings[:2] == ("one", "two")
    assert [passage.text for passage in context.passages] == ["keep"]


async def test_it_can_be_asked_as_its_source_can_and_in_no_other_way():
    source = AdaptedSource(LaterSource(), name="adapted")
    assert not hasattr(source, "fetch")
    assert not hasattr(source, "get")
    engine = ContextEngine(sources=[source])
    assert (await engine.abuild("x")).text == "[1] late but there"
    assert engine.sources[0].name == "adapted"


def test_an_adaptation_cannot_widen_the_scope_or_the_limit():
    inner = ListSource(
        [a_candidate(text=f"number {name}", metadata={"t": t}) for name, t in ("ax", "by", "cx")]
    )
    source = AdaptedSource(inner, name="adapted", ask=lambda request: replace(request, scope={}, limit=99))
    context = ContextEngine(sources=[source]).build("x", scope={"t": "x"}, limit=1)
    assert context.text == "[1] number a"
