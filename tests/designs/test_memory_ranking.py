"""The memory design's ranking and texts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from langchain_context_engine import (
    ConfigError,
    TemplateError,
    UnknownNameError,
    replay,
)
from langchain_context_engine.designs import (
    ContextTemplate,
    MemoryEngine,
    RankingOptions,
)
from langchain_context_engine.designs import CustomRanker
from langchain_context_engine.models.types import Verdict
from langchain_context_engine.text.tokens import resolve_tokenizer
from tests.builders import ListSource, WordEmbeddings
from tests.designs.memory_builders import RECORDS, TIMELINE, a_memory, days_ago, ids
from tests.strategies import BUDGETS, QUERIES, candidates


def test_rank_is_the_weighed_sum_of_similarity_recency_and_confidence():
    """M8."""
    preview = a_memory().preview_context(TIMELINE, "acme")
    by_id = {m.memory.id: m for m in preview.memories}
    days = {"m1": 1, "m2": 40, "m3": 10}
    confidence = {"m1": 0.9, "m2": 0.4, "m3": 0.5}
    for id_, result in by_id.items():
        expected = result.score * 0.5 + 1 / (1 + days[id_]) * 0.3 + confidence[id_] * 0.2
        assert result.rank_score == pytest.approx(expected, abs=1e-3)
        assert preview.ranking_scores[id_] == result.rank_score


def test_a_memory_from_the_future_counts_as_new():
    """M8."""
    records = [{**RECORDS[0], "id": f"f{days}", "created_at": days_ago(-days)} for days in (0, 1, 400)]
    scores = [m.rank_score for m in a_memory(records).search(TIMELINE, "acme")]
    assert all(score == pytest.approx(scores[0], abs=1e-6) for score in scores)


def test_weights_of_the_default_ranker_can_be_set():
    """M8."""
    ranking = RankingOptions(similarity_weight=0, recency_weight=0, confidence_weight=2)
    assert ids(a_memory(ranking=ranking).search(TIMELINE, "acme")) == ["m1", "m3", "m2"]
    with pytest.raises(ConfigError):
        a_memory(ranking=RankingOptions(recency_weight=-1))


def test_rankers_by_one_measure():
    """M9."""
    engine = a_memory(
        [*RECORDS, {"id": "old", "text": TIMELINE, "created_at": days_ago(900), "confidence": 0.0}]
    )
    assert ids(engine.search(TIMELINE, "acme", ranker="by_similarity"))[0] == "old"
    assert ids(engine.search(TIMELINE, "acme", ranker="by_recency"))[0] == "m1"
    assert ids(engine.search(TIMELINE, "acme", ranker="recency"))[-1] == "old"
    assert ids(engine.search(TIMELINE, "acme", ranker="by_confidence")) == ["m1", "m3", "m2", "old"]


def test_the_documents_recent_only_ranker():
    """M9."""
    engine = a_memory()
    engine.register_ranker(
        "recent-only", lambda results: sorted(results, key=lambda r: r.memory.created_at, reverse=True)
    )
    result = engine.build_context(TIMELINE, "acme", ranker="recent-only")
    assert ids(result.memories) == ["m1", "m3", "m2"]
    scores = [m.rank_score for m in result.memories]
    assert scores == sorted(scores, reverse=True)


def test_a_ranker_is_a_function_with_or_without_options_or_a_score():
    """M9."""
    engine = a_memory()

    def shortest(results, options):
        assert options == RankingOptions()
        return sorted(results, key=lambda r: len(r.memory.content))

    assert ids(engine.search(TIMELINE, "acme", ranker=shortest)) == ["m2", "m1", "m3"]
    longest = CustomRanker(lambda result: len(result.memory.content))
    assert ids(engine.search(TIMELINE, "acme", ranker=longest)) == ["m3", "m1", "m2"]
    assert ids(engine.search(TIMELINE, "acme", ranker=lambda results: results[:1])) == ["m2"]


def test_built_in_names_are_reserved_and_rankers_are_checked():
    """M9."""
    engine = a_memory()
    with pytest.raises(ConfigError, match="built-in"):
        engine.register_ranker("default", lambda results: results)
    with pytest.raises(ConfigError, match="built-in"):
        engine.register_template("chat", ContextTemplate(name="chat", memory_format="{{content}}"))
    with pytest.raises(UnknownNameError, match="by_recency"):
        engine.search(TIMELINE, "acme", ranker="recencyy")
    with pytest.raises(ConfigError, match="ranker"):
        engine.search(TIMELINE, "acme", ranker=lambda results: 1 / 0)


def test_the_documents_templates_to_the_letter():
    """M10."""
    records = [
        {"id": "a", "text": "Tea it is.", "type": "fact", "confidence": 0.75, "created_at": "2024-05-01"},
        {"id": "b", "text": "Bob left.", "type": "event", "confidence": 1, "created_at": "2024-05-02"},
    ]
    engine = a_memory(records)

    def text(name):
        return engine.build_context("tea", "acme", template=name, ranker="by_similarity").context

    assert text("chat") == "Relevant context from past conversations:\n\n- Tea it is.\n- Bob left.\n"
    assert text("detailed") == (
        "Relevant memories:\n\n"
        "[fact] Tea it is. (confidence: 0.75, 2024-05-01T00:00:00Z)\n\n"
        "[event] Bob left. (confidence: 1.00, 2024-05-02T00:00:00Z)\n"
    )
    assert text("summary") == "Key information:\nTea it is. | Bob left."


def test_the_documents_code_focused_template():
    """M10."""
    engine = a_memory([{"id": "a", "text": "def f(): ...", "type": "code"}])
    engine.register_template(
        "code-focused",
        ContextTemplate(
            name="code-focused",
            header="# Relevant Code Context\n\n",
            memory_format="## {{type}}\n```\n{{content}}\n```\n",
            separator="\n",
            footer="\n---\n",
            include_metadata=True,
        ),
    )
    result = engine.build_context("f", "acme", template="code-focused")
    assert result.context == "# Relevant Code Context\n\n## code\n```\ndef f(): ...\n```\n\n---\n"


def test_a_score_in_a_template_is_the_similarity_and_content_never_expands():
    """M10."""
    engine = a_memory([{"id": "a", "text": "secret {{type}} {{score}}", "type": "fact"}])
    template = ContextTemplate(name="scored", memory_format="{{content}} = {{score}}")
    result = engine.build_context("secret", "acme", template=template)
    assert result.context == f"secret {{{{type}}}} {{{{score}}}} = {result.memories[0].score:.3f}"
    with pytest.raises(TemplateError):
        engine.register_template("bad", ContextTemplate(name="bad", memory_format="{{contnet}}"))


def test_tokens_are_the_models_or_an_estimate_that_never_undercounts():
    """M11."""
    text = "日本語のテキスト😀😀"
    exact = a_memory([{"id": "a", "text": text}], tokenizer="gpt-4").build_context(text, "acme")
    estimate = a_memory([{"id": "a", "text": text}], tokenizer="estimate").build_context(text, "acme")
    assert exact.token_count == resolve_tokenizer("gpt-4")(exact.context)
    assert estimate.token_count >= exact.token_count > len(exact.context) // 4
    counter = resolve_tokenizer("gpt-4")
    assert counter.decode(counter.encode(text)) == text


def test_the_highest_ranked_are_kept_when_the_budget_is_short():
    """M12."""
    records = [
        {"id": f"n{i}", "text": f"Invoice {i} was paid late by customer {i}.", "confidence": 1 - i / 10}
        for i in range(8)
    ]
    engine = a_memory(records)
    result = engine.build_context("invoice paid late", "acme", token_budget=45, ranker="by_confidence")
    assert result.truncated
    assert result.token_count <= 45
    kept = ids(result.memories)
    assert kept == [f"n{i}" for i in range(len(kept))]
    assert 0 < len(kept) < 8


@given(found=candidates(), query=QUERIES, budget=BUDGETS)
@settings(deadline=None, max_examples=30)
def test_the_promises_hold_for_this_assembly(found, query, budget):
    """Promises 1, 2, 6 and 9."""
    mine = [replace(c, metadata={**c.metadata, "workspace_id": "acme"}) for c in found]
    engine = MemoryEngine(ListSource(mine, "offered"), WordEmbeddings())
    trace = engine.build_context(query, "acme", token_budget=budget, limit=50, now="2026-01-01").trace
    final = [d.key for d in trace.decisions if d.verdict is not Verdict.CHANGED]
    assert len(final) == len(set(final))
    assert trace.tokens == (engine.engine.config.parts().packing.count(trace.text) if trace.text else 0)
    assert trace.tokens <= trace.budget == budget
    assert replay(trace, engine.engine).text == trace.text
