"""Sources that answer from memory are asked in company: in one thread."""

from __future__ import annotations

import threading

from langchain_context_engine import ContextEngine
from langchain_context_engine.models.types import Status
from tests.builders import ListSource, a_candidate


class Thoughtful(ListSource):
    """A source that answers from memory, and notes in which thread it was asked."""

    def __init__(self, name: str, shared: object = "memory", error: Exception | None = None) -> None:
        super().__init__([a_candidate(id=name, source=name)], name)
        self.shared, self.error, self.thread = shared, error, None

    def company(self, request) -> object:
        return self.shared

    def fetch(self, request):
        self.thread = threading.current_thread()
        if self.error:
            raise self.error
        return super().fetch(request)


def test_sources_that_answer_from_memory_are_asked_in_one_thread():
    sources = [Thoughtful("a"), Thoughtful("b"), Thoughtful("c", None), Thoughtful("d", None)]
    context = ContextEngine(sources=sources).build("q")
    assert sources[0].thread is sources[1].thread
    assert len({source.thread for source in sources}) == 3
    assert [c.id for c in context.candidates] == ["a", "b", "c", "d"]


def test_one_of_them_that_fails_costs_only_itself():
    sources = [Thoughtful("a", error=ValueError("broken")), Thoughtful("b")]
    context = ContextEngine(sources=sources).build("q")
    assert [c.id for c in context.candidates] == ["b"]
    assert context.status is Status.PARTIAL


class Asked:
    """What some sources share: it is asked once for all of them."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error, self.times = error, 0

    def __call__(self, sources, request) -> list:
        self.times += 1
        if self.error:
            raise self.error
        return [source.fetch(request) for source in sources]


def test_sources_whose_company_can_be_asked_are_asked_through_it_at_once():
    company = Asked()
    sources = [Thoughtful("a", company), Thoughtful("b", company), Thoughtful("c", None)]
    context = ContextEngine(sources=sources).build("q")
    assert [c.id for c in context.candidates] == ["a", "b", "c"]
    assert company.times == 1


def test_a_company_that_fails_costs_only_its_own_sources():
    company = Asked(ValueError("broken"))
    sources = [Thoughtful("a", company), Thoughtful("b", company), Thoughtful("c", None)]
    context = ContextEngine(sources=sources).build("q")
    assert [c.id for c in context.candidates] == ["c"]
    assert context.status is Status.PARTIAL
    assert len([warning for warning in context.warnings if "broken" in warning]) == 2
