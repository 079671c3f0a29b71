"""Sources that answer from memory are asked in company: in one thread."""

from __future__ import annotations

import threading

import chromadb
import pytest

from langchain_context_engine import ChromaSource, ContextEngine, ContextRequest
from langchain_context_engine.models.errors import SourceError
from langchain_context_engine.models.types import Status
from langchain_context_engine.sources import chroma
from tests.builders import ListSource, a_candidate, a_collection
from tests.chroma_builders import EMBEDDINGS, notes


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


@pytest.mark.parametrize("query", ["billing", "item 3", "zzz", ""])
def test_asked_together_sources_find_what_each_finds_alone(tmp_path, query):
    client = chromadb.PersistentClient(str(tmp_path))
    kept = [
        a_collection(notes(20 + i), name=f"notes{i}", embeddings=EMBEDDINGS, client=client) for i in range(3)
    ]
    sources = ContextEngine(sources=[ChromaSource(c, embeddings=EMBEDDINGS) for c in kept]).sources
    vector = EMBEDDINGS.embed_query("billing item 2")
    request = ContextRequest(query=query, vector=vector, limit=5, offset=1, excluded=("n003",))
    for source in sources:
        source.prepare()
    together = sources[0].company(request)
    assert together == sources[2].company(request)
    assert together(sources, request) == [source.fetch(request) for source in sources]


def test_asked_together_one_that_cannot_be_read_costs_only_itself(tmp_path):
    client = chromadb.PersistentClient(str(tmp_path))
    kept = [a_collection(notes(30), name=f"notes{i}", embeddings=EMBEDDINGS, client=client) for i in range(2)]
    sources = ContextEngine(sources=[ChromaSource(c, embeddings=EMBEDDINGS) for c in kept]).sources
    request = ContextRequest(query="billing", vector=EMBEDDINGS.embed_query("billing"), limit=5)
    for source in sources:
        source.prepare()
    together = sources[0].company(request)
    client.delete_collection("notes1")
    whole, broken = together(sources, request)
    assert [candidate.source for candidate in whole] == ["notes0"] * 5
    assert isinstance(broken, SourceError)


def test_a_large_store_that_was_asked_in_company_has_its_usual_deadline_from_then_on(tmp_path, monkeypatch):
    monkeypatch.setattr(chroma, "_COLD_FROM", 1)
    client = chromadb.PersistentClient(str(tmp_path))
    kept = [a_collection(notes(5), name=f"notes{i}", embeddings=EMBEDDINGS, client=client) for i in range(2)]
    engine = ContextEngine(sources=[ChromaSource(c, embeddings=EMBEDDINGS) for c in kept])
    for source in engine.sources:
        source.prepare()
    request = ContextRequest(query="billing", vector=EMBEDDINGS.embed_query("billing"))
    assert engine.sources[0].company(request)
    assert all(source.is_cold for source in engine.sources)
    engine.build(request)
    assert not any(source.is_cold for source in engine.sources)
