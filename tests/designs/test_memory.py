"""The memory design (rows M1 to M15), on real Chroma collections."""

from __future__ import annotations

import asyncio
import inspect
from datetime import UTC, datetime, timedelta

import pytest
from langchain_core.stores import InMemoryByteStore

from langchain_context_engine import (
    AllSourcesFailedError,
    CachedEmbeddings,
    ConfigError,
    EmbeddingError,
    LocalEmbeddings,
    ScopeError,
    TemplateError,
    UnknownNameError,
    replay,
)
from langchain_context_engine.config import is_function
from langchain_context_engine.designs import (
    CacheConfig,
    ContextOptions,
    ContextTemplate,
    CustomRanker,
    MemoryEngine,
    RankingOptions,
)
from langchain_context_engine.models.types import Verdict
from langchain_context_engine.text.tokens import resolve_tokenizer
from langchain_context_engine.trace.replay import ranking
from langchain_context_engine.trace.what_if import what_would_it_take
from tests.builders import FailingSource, WordEmbeddings, a_collection
from tests.designs.memory_builders import NOW, RECORDS, TIMELINE, a_memory, days_ago, ids


def test_the_documents_search_and_context_for_a_prompt():
    """M1, M3, M5, M10"""
    engine = a_memory()
    found = engine.search(TIMELINE, "acme", {"limit": 5, "memory_types": ["fact", "decision"]})
    assert [(m.memory.id, m.rank) for m in found] == [("m1", 1), ("m2", 2)]
    assert 0 < found[0].score <= 1
    result = engine.build_context(TIMELINE, "acme", include_relationships=True, relationship_depth=1)
    assert str(result).startswith(
        "Relevant context from past conversations:\n\n- The project timeline ends in May.\n- "
    )
    assert (result.template, result.truncated, result.trace.budget) == ("chat", False, 2000)
    assert result.token_count == resolve_tokenizer("auto")(result.context)
    own = a_memory(default_template="summary", default_token_budget=30).build_context(TIMELINE, "acme")
    assert (own.template, own.token_count <= 30) == ("summary", True)


async def test_a_preview_a_vector_and_async_give_the_same():
    """M1"""
    embeddings = WordEmbeddings()
    engine, asked, now = a_memory(embeddings=embeddings), (TIMELINE, "acme"), {"now": NOW}
    vector = embeddings.embed_query(TIMELINE)
    found = engine.search(*asked, now=NOW)
    assert found == engine.search_by_vector(vector, "acme", **now) == await engine.asearch(*asked, **now)
    assert found == await engine.asearch_by_vector(vector, "acme", now=NOW)
    options = {"template": "detailed", "token_budget": 2000, "now": NOW}
    built, preview = engine.build_context(*asked, options), engine.preview_context(*asked, options)
    for same in (
        preview,
        engine.build_context_by_vector(vector, "acme", options),
        await engine.abuild_context(*asked, options),
        await engine.abuild_context_by_vector(vector, "acme", options),
        await engine.abuild_or_empty(*asked, options),
        await engine.apreview_context(*asked, options),
    ):
        assert (same.context, same.memories) == (built.context, built.memories)
    assert preview.memory_ids == tuple(ids(built.memories))
    assert preview.budget_used == pytest.approx(100 * built.token_count / 2000)
    assert preview.ranking_scores == {m.memory.id: m.rank_score for m in built.memories}


def test_a_call_without_one_workspace_is_refused_and_nothing_of_another_shows():
    """M2"""
    engine = a_memory([{**RECORDS[0], "links": "x1"}])
    for workspace in ("", None, ["acme", "other"], True):
        for call in (engine.search, engine.build_context, engine.preview_context):
            with pytest.raises(ScopeError, match="workspace_id"):
                call(TIMELINE, workspace)
    for name in ("search", "search_by_vector", "build_context", "asearch_batch", "search_analytics"):
        parameter = inspect.signature(getattr(MemoryEngine, name)).parameters["workspace_id"]
        assert parameter.default is inspect.Parameter.empty
    assert "secret" not in repr(engine.build_context(TIMELINE, "acme", include_relationships=True))
    assert (ids(engine.search(TIMELINE, "other")), engine.search(TIMELINE, "nobody")) == (["x1"], ())


def test_options_narrow_a_search():
    """M3, C24"""
    embeddings = WordEmbeddings()
    engine = a_memory(embeddings=embeddings)
    embeddings.calls.clear()
    assert engine.search(TIMELINE, "acme", limit=0) == engine.search(TIMELINE, "acme", memory_types=[]) == ()
    assert engine.build_context(TIMELINE, "acme", token_budget=0).context == ""
    assert embeddings.calls == []
    assert ids(engine.search(TIMELINE, "acme", conversation_id="c1")) == ["m1"]
    assert set(ids(engine.search(TIMELINE, "acme", min_confidence=0.5))) == {"m1", "m3"}
    assert ids(engine.search(TIMELINE, "acme", date_to=days_ago(20))) == ["m2"]
    assert set(ids(engine.search(TIMELINE, "acme", date_from=days_ago(20)))) == {"m1", "m3"}
    many = a_memory([{"id": f"n{i}", "text": f"meeting number {i}"} for i in range(15)])
    assert [len(many.search("meeting number", "acme", **given)) for given in ({}, {"limit": 12})] == [10, 12]
    followed = [{"include_relationships": True, "relationship_depth": depth} for depth in (0, -5, 3, 99)]
    depths = [engine.build_context(TIMELINE, "acme", options).trace.request.depth for options in followed]
    assert depths == [1, 1, 3, 10]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"limit": "ten"}, "limit"), ({"min_confidence": "high"}, "min_confidence"),
        ({"date_from": "someday"}, "someday"), ({"memory_types": 3}, "kinds"),
        ({"include_relationships": True, "relationship_depth": "two"}, "depth"),
        ({"lmit": 3}, "Did you mean 'limit'"),
    ],
)  # fmt: skip
def test_a_wrong_option_is_refused(options, named):
    """M3, M14"""
    with pytest.raises(ConfigError, match=named):
        a_memory().search(TIMELINE, "acme", options)


def test_metadata_is_shown_where_asked_and_hidden_where_not():
    """M4"""
    engine = a_memory()
    shown = engine.build_context(TIMELINE, "acme", include_metadata=True).context
    assert "- The project timeline ends in May. (decision, confidence: 0.90, 20" in shown
    hidden = engine.build_context(TIMELINE, "acme", template="detailed", include_metadata=False).context
    assert hidden.startswith("Relevant memories:\n\nThe project timeline ends in May.\n\n")
    options = ContextOptions(template="summary", memory_types=("fact",))
    both = engine.build_context(TIMELINE, "acme", options, memory_types="decision").context
    assert both == "Key information:\nThe project timeline ends in May."


def test_any_langchain_embeddings_serve_and_other_dimensions_than_expected_are_told():
    """M5, M6"""
    engine = a_memory(embeddings=LocalEmbeddings(), expected_embedding_dimensions=256)
    assert ids(engine.search("When does the project end?", "acme", limit=1)) == ["m1"]
    with pytest.raises(ConfigError, match=r"1536.*64"):
        a_memory(expected_embedding_dimensions=1536)


class NamedEmbeddings(WordEmbeddings):
    model = "bag-of-words"


def test_a_question_is_embedded_once_and_a_persistent_cache_serves_the_next_process():
    """M7, M15"""
    embeddings = WordEmbeddings()
    engine = a_memory(embeddings=embeddings, cache=CacheConfig(max_size=2, ttl=60))
    embeddings.calls.clear()
    for _ in range(3):
        engine.build_context(TIMELINE, "acme")
    assert embeddings.calls == [(TIMELINE,)]
    cache = engine.embedding_cache
    assert cache.get(TIMELINE) == embeddings.embed_query(TIMELINE)
    for query in ("one", "two", "three"):
        engine.search(query, "acme")
    assert len(cache) == 2
    cache.clear()
    assert cache.get("three") is None
    assert cache.key("a") == cache.key("a") != cache.key("b")
    assert cache.key("a") != CachedEmbeddings(WordEmbeddings(), model="another").key("a")
    redis, first, second = InMemoryByteStore(), NamedEmbeddings(), NamedEmbeddings()
    a_memory(embeddings=first, cache=CacheConfig(store=redis)).search(TIMELINE, "acme")
    engine = a_memory(embeddings=second, cache=CacheConfig(store=redis))
    second.calls.clear()
    assert engine.search(TIMELINE, "acme")
    assert second.calls == []


def test_rank_is_the_weighed_sum_of_similarity_recency_and_confidence():
    """M8"""
    preview = a_memory().preview_context(TIMELINE, "acme")
    told = {"m1": (1, 0.9), "m2": (40, 0.4), "m3": (10, 0.5)}
    since = (datetime.now(UTC) - NOW) / timedelta(days=1)  # these tests were imported
    for result in preview.memories:
        days, confidence = told[result.memory.id]
        expected = result.score * 0.5 + 1 / (1 + days + since) * 0.3 + confidence * 0.2
        assert result.rank_score == pytest.approx(expected, abs=1e-3)
    records = [{**RECORDS[0], "id": f"f{days}", "created_at": days_ago(-days)} for days in (0, 1, 400)]
    scores = [m.rank_score for m in a_memory(records).search(TIMELINE, "acme")]
    assert scores == pytest.approx([scores[0]] * len(scores), abs=1e-6)  # the future counts as now


def test_rankers_by_one_measure_or_a_function_with_or_without_options_or_a_score():
    """M9"""
    old = {"id": "old", "text": TIMELINE, "created_at": days_ago(900), "confidence": 0.0}
    engine = a_memory([*RECORDS, old])
    assert ids(engine.search(TIMELINE, "acme", ranker="by_similarity"))[0] == "old"
    assert ids(engine.search(TIMELINE, "acme", ranker="by_recency"))[::3] == ["m1", "old"]
    assert ids(engine.search(TIMELINE, "acme", ranker="by_confidence")) == ["m1", "m3", "m2", "old"]

    def shortest(results, options):
        assert options == RankingOptions()
        return sorted(results, key=lambda r: len(r.memory.content))

    engine = a_memory()
    assert ids(engine.search(TIMELINE, "acme", ranker=shortest)) == ["m2", "m1", "m3"]
    longest = CustomRanker(lambda result: len(result.memory.content))
    assert ids(engine.search(TIMELINE, "acme", ranker=longest)) == ["m3", "m1", "m2"]
    assert ids(engine.search(TIMELINE, "acme", ranker=lambda results: results[:1])) == ["m2"]


def test_built_in_names_are_reserved_and_parts_are_checked():
    """M9, M10"""
    engine = a_memory()
    with pytest.raises(ConfigError, match="built-in"):
        engine.register_ranker("default", lambda results: results)
    for name, shown, error in (("chat", "{{content}}", ConfigError), ("bad", "{{contnet}}", TemplateError)):
        with pytest.raises(error):
            engine.register_template(name, ContextTemplate(name=name, memory_format=shown))
    failing, foreign = (lambda results: 1 / 0), (lambda results: ["another"])
    for ranker, told in (
        ("recencyy", "by_recency"),
        (3, "a ranker is"),
        (failing, "failed"),
        (foreign, "gave"),
    ):
        with pytest.raises(ConfigError, match=told):
            engine.search(TIMELINE, "acme", ranker=ranker)


def test_the_trace_of_a_ranking_function_replays_and_is_ranked_without_it():
    """M9, B2, B3"""
    engine = a_memory()
    engine.register_ranker("backwards", lambda results: list(results)[::-1])
    trace = engine.build_context(TIMELINE, "acme", ranker="backwards", token_budget=30).trace
    assert not is_function(trace.settings)
    assert replay(trace).text == trace.text
    assert [item.key for item in ranking(trace)] == [c.key for c in trace.candidates][::-1]
    assert what_would_it_take(trace, next(d.key for d in trace.decisions if d.verdict is Verdict.DROPPED))


def test_the_documents_templates_to_the_letter():
    """M10"""
    records = [
        {"id": "a", "text": "Tea it is.", "type": "fact", "confidence": 0.75, "created_at": "2024-05-01"},
        {"id": "b", "text": "Bob left.", "type": "event", "confidence": 1, "created_at": "2024-05-02"},
    ]
    engine = a_memory(records)
    for name, text in {
        "chat": "Relevant context from past conversations:\n\n- Tea it is.\n- Bob left.\n",
        "detailed": "Relevant memories:\n\n"
        "[fact] Tea it is. (confidence: 0.75, 2024-05-01T00:00:00Z)\n\n"
        "[event] Bob left. (confidence: 1.00, 2024-05-02T00:00:00Z)\n",
        "summary": "Key information:\nTea it is. | Bob left.",
    }.items():
        assert engine.build_context("tea", "acme", template=name, ranker="by_similarity").context == text
    engine = a_memory([{"id": "a", "text": "secret {{type}} {{score}}", "type": "fact"}])
    template = ContextTemplate(name="scored", memory_format="{{content}} = {{score}}")
    result = engine.build_context("secret", "acme", template=template)
    assert result.context == f"secret {{{{type}}}} {{{{score}}}} = {result.memories[0].score:.3f}"


def test_tokens_are_the_models_or_an_estimate_that_never_undercounts():
    """M11"""
    text, counter = "日本語のテキスト😀😀", resolve_tokenizer("gpt-4")
    exact, estimate = (
        a_memory([{"id": "a", "text": text}], tokenizer=name).build_context(text, "acme")
        for name in ("gpt-4", "estimate")
    )
    assert exact.token_count == counter(exact.context)
    assert estimate.token_count >= exact.token_count > len(exact.context) // 4
    assert counter.decode(counter.encode(text)) == text


def test_the_highest_ranked_are_kept_when_the_budget_is_short():
    """M12"""
    said = [(f"Invoice {i} was paid late by customer {i}.", 1 - i / 10) for i in range(8)]
    records = [{"id": f"n{i}", "text": text, "confidence": sure} for i, (text, sure) in enumerate(said)]
    options = {"token_budget": 45, "ranker": "by_confidence"}
    result = a_memory(records).build_context("invoice paid late", "acme", options)
    kept = ids(result.memories)
    assert (result.truncated, result.token_count <= 45, 0 < len(kept) < 8) == (True, True, True)
    assert kept == [f"n{i}" for i in range(len(kept))]


def test_links_are_followed_breadth_first_each_memory_once_at_its_shortest_depth():
    """M13, K86"""
    links = {"A": "B,A,C", "B": "A,C", "C": "D", "D": "m"}
    ring = [{"id": k, "text": f"{k * 3} alone", "links": v} for k, v in links.items()]
    near = [{"id": f"t{i}", "text": f"timeline {i} of the project", "confidence": 0.0} for i in range(9)]
    engine = a_memory([{"id": "m", "text": TIMELINE, "links": "A,m,gone", "confidence": 1.0}, *near, *ring])
    first, *others = engine.search(TIMELINE, "acme", include_relationships=True, relationship_depth=5)
    told = {r.memory.id: (r.depth, r.relationship.source_id) for r in first.relationships}
    assert told == {"A": (1, "m"), "B": (2, "A"), "C": (2, "A"), "D": (3, "C")}
    assert first.skipped_links == ("gone",)
    assert not any(result.relationships for result in others)
    context = engine.build_context(TIMELINE, "acme", include_relationships=True, relationship_depth=3)
    assert "DDD alone" in context.context
    assert any("1 links" in warning for warning in context.warnings)


def test_thousands_of_links_bring_a_bounded_number():
    """M13, K87"""
    hub = {"id": "hub", "text": TIMELINE, "links": ",".join(f"n{i}" for i in range(5000))}
    engine = a_memory([hub, *({"id": f"n{i}", "text": f"apple {i}"} for i in range(300))])
    found = engine.search(TIMELINE, "acme", include_relationships=True, relationship_depth=10)
    assert len(found) <= 10
    assert sum(len(result.relationships) for result in found) <= 10


class Broken(WordEmbeddings):
    def embed_query(self, text):
        raise RuntimeError("401 for api_key=sk-test-123456")


def test_errors_are_typed_and_tell_what_exists():
    """M14: what is no question or vector was "no list of numbers"."""
    engine, collection = a_memory(), a_collection([{"id": "a", "text": "x", "workspace_id": "acme"}])
    with pytest.raises(EmbeddingError) as caught:
        MemoryEngine(collection, Broken()).search("x", "acme")
    assert "sk-test" not in str(caught.value)
    for vector, error, told in (
        ([1.0, 2.0], AllSourcesFailedError, "expected 64, got 2"),
        ([float("nan")] * 64, EmbeddingError, None),
        (None, ConfigError, "vector must be a list of numbers, got NoneType"),
    ):
        with pytest.raises(error, match=told):
            engine.search_by_vector(vector, "acme")
    with pytest.raises(UnknownNameError) as unknown:
        engine.build_context("x", "acme", template="nope")
    assert {"chat", "detailed", "summary"} <= set(unknown.value.known)
    with pytest.raises(ConfigError, match="query must be a string, got NoneType"):
        engine.search(None, "acme")


def test_build_or_empty_degrades_and_says_so(caplog):
    """M14"""
    engine = MemoryEngine(FailingSource(OSError("disk")), WordEmbeddings())
    with pytest.raises(AllSourcesFailedError):
        engine.build_context("how much?", "acme")
    result = engine.build_or_empty("how much?", "acme")
    assert (str(result), result.memories) == ("", ())
    assert isinstance(result.error, AllSourcesFailedError)
    assert result.warnings[0].startswith("no context: AllSourcesFailedError")
    assert ("how much?" in caplog.text, "disk" in caplog.text) == (True, False)


def test_a_batch_is_searched_in_order():
    """M15"""
    engine, queries = a_memory(), [TIMELINE, "budget", "short meetings", ""]
    wanted = [engine.search(query, "acme", now=NOW) for query in queries]
    assert list(engine.search_batch(queries, "acme", now=NOW)) == wanted
    assert list(asyncio.run(engine.asearch_batch(queries, "acme", now=NOW))) == wanted
    assert wanted[-1] == ()


def test_analytics_count_what_was_asked_in_one_workspace(tmp_path):
    """M15"""
    engine = a_memory(journal=tmp_path / "journal.db")
    for query in ("timeline", "timeline", "budget"):
        engine.search(query, "acme")
    engine.build_context("secret", "other")
    engine.preview_context("timeline", "acme")
    figures = engine.search_analytics("acme")
    assert (figures.searches, figures.top_queries) == (3, (("timeline", 2), ("budget", 1)))
    assert figures.mean_milliseconds > 0
    assert engine.search_analytics("other").top_queries == (("secret", 1),)
    assert engine.search_analytics("nobody").searches == 0
    with pytest.raises(ConfigError, match="journal"):
        a_memory().search_analytics("acme")
