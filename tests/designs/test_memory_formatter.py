"""The memory design's formatter, cache key and rankers as its document names them (FEATURES M5, M7, M9, M12)."""

from __future__ import annotations

import pytest

from langchain_context_engine import CachedEmbeddings, ConfigError, replay
from langchain_context_engine.config import functions_in
from langchain_context_engine.designs import ContextFormatter, ContextTemplate
from tests.builders import WordEmbeddings, count_words
from tests.designs.memory_builders import TIMELINE, a_memory


def test_a_formatter_writes_memories_in_their_order_within_a_budget():
    """M10, M12."""
    found = a_memory().search(TIMELINE, "acme")
    formatter = ContextFormatter(count_words)
    backwards = found[::-1]
    result = formatter.format(backwards, "chat", 500)
    assert result.context.splitlines()[2:5] == [f"- {r.memory.content}" for r in backwards]
    assert result.token_count == count_words(result.context) == formatter.estimate_tokens(str(result))
    tight = formatter.format(found, "chat", 14)
    assert tight.truncated
    assert tight.token_count <= 14
    assert formatter.truncate_to_fit(found, "chat", 14) == tight.memories
    own = ContextTemplate(name="own", memory_format="{{score}} {{content}}")
    assert formatter.format(found[:1], own, 50).context.startswith(f"{found[0].score:.3f} ")
    assert formatter.format(found, "chat", 0).context == ""


def test_the_cache_key_is_of_the_model_and_the_text():
    """M7."""
    cache = a_memory().embedding_cache
    assert cache.key("a") == cache.key("a") != cache.key("b")
    assert cache.key("a") != cache.key("a", is_query=False)
    other = CachedEmbeddings(WordEmbeddings(), model="another model")
    assert cache.key("a") != a_memory(embeddings=other).embedding_cache.key("a")
    assert "a text" not in cache.key("a text")


def test_only_a_ranker_of_ones_own_makes_a_trace_that_needs_its_engine():
    """M9, B2, B3."""
    engine = a_memory()
    assert functions_in(engine.build_context(TIMELINE, "acme", ranker="by_recency").trace.settings) == ()
    engine.register_ranker("backwards", lambda results: list(results)[::-1])
    assert functions_in(engine.build_context(TIMELINE, "acme").trace.settings) == ()
    trace = engine.build_context(TIMELINE, "acme", ranker="backwards").trace
    assert functions_in(trace.settings) == ("signals",)
    with pytest.raises(ConfigError, match="pass the engine that has it"):
        replay(trace)
    assert replay(trace, engine.engine).text == trace.text
    shortest = lambda results: sorted(results, key=lambda r: len(r.memory.content))  # noqa: E731
    own = engine.build_context(TIMELINE, "acme", ranker=shortest).trace
    assert replay(own, engine.engine_for(shortest)).text == own.text
