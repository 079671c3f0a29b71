"""The memory design's options and links."""

from __future__ import annotations

import time

import pytest
from langchain_core.stores import BaseStore

from langchain_context_engine import (
    CachedEmbeddings,
    ConfigError,
)
from langchain_context_engine.designs import (
    CacheConfig,
    ContextOptions,
)
from tests.builders import WordEmbeddings
from tests.designs.memory_builders import TIMELINE, a_memory, days_ago, ids


def test_options_narrow_a_search():
    """M3."""
    engine = a_memory()
    assert ids(engine.search(TIMELINE, "acme", conversation_id="c1")) == ["m1"]
    assert set(ids(engine.search(TIMELINE, "acme", min_confidence=0.5))) == {"m1", "m3"}
    assert ids(engine.search(TIMELINE, "acme", date_to=days_ago(20))) == ["m2"]
    assert set(ids(engine.search(TIMELINE, "acme", date_from=days_ago(20)))) == {"m1", "m3"}
    assert engine.search(TIMELINE, "acme", memory_types=[]) == ()


def test_a_search_gives_ten_memories_unless_told_otherwise():
    """M3."""
    engine = a_memory([{"id": f"n{i}", "text": f"meeting number {i}"} for i in range(15)])
    assert len(engine.search("meeting number", "acme")) == 10
    assert len(engine.search("meeting number", "acme", limit=12)) == 12


def test_a_limit_of_nothing_asks_nobody():
    """M3, C24."""
    embeddings = WordEmbeddings()
    engine = a_memory(embeddings=embeddings)
    embeddings.calls.clear()
    assert engine.search(TIMELINE, "acme", limit=0) == ()
    assert engine.build_context(TIMELINE, "acme", token_budget=0).context == ""
    assert embeddings.calls == []


@pytest.mark.parametrize(
    "options",
    [
        {"limit": -1},
        {"limit": "ten"},
        {"min_confidence": 1.5},
        {"date_from": "someday"},
        {"lmit": 3},
        ["limit"],
    ],
)
def test_a_wrong_option_is_refused_by_name(options):
    """M3, M14."""
    with pytest.raises(ConfigError):
        a_memory().search(TIMELINE, "acme", options)


def test_depth_is_clamped_to_one_to_ten():
    """M3."""
    depths = [ContextOptions(relationship_depth=depth).relationship_depth for depth in (0, -5, 3, 99)]
    assert depths == [1, 1, 3, 10]
    assert ContextOptions() == ContextOptions(
        limit=10, include_relationships=False, relationship_depth=1, template=None, token_budget=None
    )


def test_metadata_is_shown_where_asked_and_hidden_where_not():
    """M4."""
    engine = a_memory()
    shown = engine.build_context(TIMELINE, "acme", include_metadata=True).context
    assert "- The project timeline ends in May. (decision, confidence: 0.90, 20" in shown
    hidden = engine.build_context(TIMELINE, "acme", template="detailed", include_metadata=False).context
    assert hidden.startswith("Relevant memories:\n\nThe project timeline ends in May.\n\n")


def test_options_come_as_keywords_a_mapping_or_a_value():
    """M4."""
    engine = a_memory()
    wanted = engine.build_context(TIMELINE, "acme", template="summary", memory_types="decision").context
    assert wanted == "Key information:\nThe project timeline ends in May."
    assert (
        engine.build_context(TIMELINE, "acme", {"template": "summary", "memory_types": "decision"}).context
        == wanted
    )
    options = ContextOptions(template="summary", memory_types=("fact",))
    assert engine.build_context(TIMELINE, "acme", options, memory_types="decision").context == wanted


def test_links_are_followed_breadth_first_each_memory_once_at_its_shortest_depth():
    """M13, K86."""
    links = {"A": "B,A,C", "B": "A,C", "C": "D", "D": "m"}
    ring = [{"id": k, "text": f"{k * 3} alone", "links": v} for k, v in links.items()]
    near = [{"id": f"t{i}", "text": f"timeline {i} of the project"} for i in range(9)]
    engine = a_memory([{"id": "m", "text": TIMELINE, "links": "A,m"}, *near, *ring])
    start = time.thread_time()
    found = engine.search(TIMELINE, "acme", include_relationships=True, relationship_depth=5)
    assert time.thread_time() - start < 1
    depths = {r.memory.id: r.depth for result in found for r in result.relationships}
    assert depths == {"A": 1, "B": 2, "C": 2, "D": 3}
    assert sum(len(result.relationships) for result in found) == 4


def test_related_memories_stand_with_the_memory_that_leads_to_them():
    """M13."""
    far = [{"id": f"n{i}", "text": "apple pear plum", "links": f"n{i + 1}"} for i in range(4)]
    many = [{"id": f"t{i}", "text": f"timeline {i} of the project", "confidence": 0.0} for i in range(9)]
    start = {"id": "m", "text": TIMELINE, "links": "n0,gone", "confidence": 1.0}
    engine = a_memory([start, *many, *far])
    found = engine.search(TIMELINE, "acme", limit=10, include_relationships=True, relationship_depth=3)
    related = [(r.memory.id, r.depth, r.relationship.source_id) for r in found[0].relationships]
    assert related == [("n0", 1, "m"), ("n1", 2, "n0"), ("n2", 3, "n1")]
    assert found[0].skipped_links == ("gone",)
    assert all(not result.relationships for result in found[1:])
    context = engine.build_context(TIMELINE, "acme", include_relationships=True, relationship_depth=3)
    assert "apple pear plum" in context.context
    assert any("1 links" in warning for warning in context.warnings)


def test_thousands_of_links_bring_a_bounded_number():
    """M13, K87."""
    hub = {"id": "hub", "text": TIMELINE, "links": ",".join(f"n{i}" for i in range(5000))}
    spokes = [{"id": f"n{i}", "text": f"apple {i}"} for i in range(300)]
    found = a_memory([hub, *spokes]).search(
        TIMELINE, "acme", include_relationships=True, relationship_depth=10
    )
    assert len(found) <= 10
    assert sum(len(result.relationships) for result in found) <= 10


class TinyRedis(BaseStore[str, bytes]):
    """As much of a Redis as a `ByteStore` needs; it outlives the engines that use it."""

    def __init__(self):
        self.data = {}

    def mget(self, keys):
        return [self.data.get(key) for key in keys]

    def mset(self, pairs):
        self.data.update(pairs)

    def mdelete(self, keys):
        for key in keys:
            self.data.pop(key, None)

    def yield_keys(self, *, prefix=None):
        yield from [key for key in self.data if key.startswith(prefix or "")]


class NamedEmbeddings(WordEmbeddings):
    model = "bag-of-words"


def test_a_question_is_embedded_once():
    """M7."""
    embeddings = WordEmbeddings()
    engine = a_memory(embeddings=embeddings, cache=CacheConfig(max_size=2, ttl=60))
    embeddings.calls.clear()
    for _ in range(3):
        engine.search(TIMELINE, "acme")
        engine.build_context(TIMELINE, "acme")
    assert embeddings.calls == [(TIMELINE,)]
    cache = engine.embedding_cache
    assert isinstance(cache, CachedEmbeddings)
    assert cache.get(TIMELINE) == embeddings.embed_query(TIMELINE)
    cache.clear()
    assert cache.get(TIMELINE) is None
    for query in ("one", "two", "three"):
        engine.search(query, "acme")
    assert len(cache) == 2


def test_a_persistent_cache_serves_the_next_process():
    """M7, M15."""
    redis, first, second = TinyRedis(), NamedEmbeddings(), NamedEmbeddings()
    a_memory(embeddings=first, cache=CacheConfig(store=redis)).search(TIMELINE, "acme")
    engine = a_memory(embeddings=second, cache=CacheConfig(store=redis))
    second.calls.clear()
    assert engine.search(TIMELINE, "acme")
    assert second.calls == []
