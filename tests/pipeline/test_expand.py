"""Expand: links, neighbours and names, within scope, in a bounded number of calls."""

from __future__ import annotations

import time

from langchain_context_engine import ChromaSource, ContextEngine
from langchain_context_engine.models.types import Reason, Verdict
from tests.builders import ListSource, WordEmbeddings, a_candidate, a_collection


class LinkedSource(ListSource):
    """A source over records that offers only the first and gives the others by id."""

    def __init__(self, records):
        super().__init__(records[:1])
        self.records = {candidate.id: candidate for candidate in records}
        self.calls = []

    def get(self, ids, request):
        self.calls.append(tuple(ids))
        return [self.records[i] for i in ids if i in self.records]


def linked(id_, *links, **fields):
    return a_candidate(
        id=id_,
        text=f"the unlike record {id_ * 9}",
        relevance=1.0 if id_ == "A" else 0.0,
        metadata={"links": list(links), **fields.pop("metadata", {})},
        **fields,
    )


def distances(context):
    return {
        d.key[1]: d.details["depth"]
        for d in context.decisions
        if d.reason is Reason.EXPANDED and d.verdict is Verdict.CHANGED
    }


def test_each_record_comes_once_at_its_shortest_distance_and_cycles_end():
    """K86."""
    source = LinkedSource(
        [linked("A", "B", "A", "C"), linked("B", "A", "C"), linked("C", "D"), linked("D", "A")]
    )
    start = time.thread_time()
    context = ContextEngine(sources=[source]).build("x", depth=5)
    assert time.thread_time() - start < 1
    assert distances(context) == {"B": 1, "C": 1, "D": 2}
    assert len(context.passages) == 4


def test_thousands_of_links_bring_no_more_than_the_limit_in_one_call_a_step():
    """K87."""
    ids = [f"n{i}" for i in range(5000)]
    source = LinkedSource([linked("A", *ids), *(linked(i) for i in ids)])
    context = ContextEngine(sources=[source], limit=10).build("x", depth=3)
    assert len(distances(context)) <= 10
    assert len(source.calls) <= 4


def test_a_limit_of_one_gives_one_start_and_all_that_it_leads_to_in_the_order_of_its_links():
    """G62, K86."""
    embeddings = WordEmbeddings()
    records = [
        {"id": "s", "text": "start here", "links": ["c", "gone", "a"]},
        {"id": "a", "text": "apples", "links": ["s", "d"]},
        {"id": "c", "text": "cherries", "links": ["a"]},
        {"id": "d", "text": "dates"},
    ]
    source = ChromaSource(a_collection(records, embeddings=embeddings), embeddings=embeddings)
    context = ContextEngine([source]).build("start here", limit=1, depth=5)
    assert distances(context) == {"c": 1, "a": 1, "d": 2}
    assert [p.key[1] for p in context.passages] == ["s", "c", "a", "d"]


def test_a_dangling_link_is_skipped_and_told():
    """K88."""
    source = LinkedSource([linked("A", "gone", "B"), linked("B")])
    context = ContextEngine(sources=[source]).build("x", depth=1)
    assert {p.key[1] for p in context.passages} == {"A", "B"}
    assert any("1 links" in warning for warning in context.warnings)


def test_a_link_out_of_scope_looks_exactly_like_a_link_to_nothing():
    mine = {"tenant": "mine"}
    contexts = []
    for others in ([linked("B", metadata={"tenant": "theirs"})], []):
        source = LinkedSource([linked("A", "B", metadata=mine), *others])
        contexts.append(ContextEngine(sources=[source]).build("x", depth=2, scope=mine, now="2026-01-01"))
    first, second = contexts
    assert (first.text, first.decisions, first.warnings, first.candidates) == (
        second.text,
        second.decisions,
        second.warnings,
        second.candidates,
    )


def test_a_link_to_a_deleted_record_leads_nowhere():
    """G67."""
    source = LinkedSource([linked("A", "B"), linked("B", metadata={"deleted": True})])
    assert len(ContextEngine(sources=[source]).build("x", depth=1).passages) == 1


def test_a_source_that_fails_to_expand_costs_a_warning():
    class Broken(LinkedSource):
        def get(self, ids, request):
            raise OSError("gone")

    context = ContextEngine(sources=[Broken([linked("A", "B")])]).build("x", depth=1)
    assert len(context.passages) == 1
    assert any("expanded" in warning for warning in context.warnings)


def test_neighbours_of_a_strong_hit_enter_the_pool():
    embeddings = WordEmbeddings()
    records = [
        {"id": f"p{i}", "text": f"part {i} speaks of topic{i}", "document": "d", "start": i}
        for i in range(60)
    ]
    source = ChromaSource(
        a_collection(records, embeddings=embeddings), embeddings=embeddings, sequence=("document", "start")
    )
    context = ContextEngine(sources=[source]).build("topic30", limit=3)
    assert {"p29", "p30", "p31"} <= {c.id for c in context.candidates}
