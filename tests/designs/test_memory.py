"""The memory design, row by row, on real Chroma collections."""

from __future__ import annotations

import asyncio
import inspect
import logging
import runpy

import pytest

from langchain_context_engine import (
    AllSourcesFailedError,
    ConfigError,
    EmbeddingError,
    LocalEmbeddings,
    ScopeError,
    UnknownNameError,
)
from langchain_context_engine.designs import (
    MemoryEngine,
)
from langchain_context_engine.text.tokens import resolve_tokenizer
from tests.builders import FailingSource, WordEmbeddings, a_collection
from tests.conftest import ROOT
from tests.designs.memory_builders import NOW, RECORDS, TIMELINE, a_memory, ids


def test_the_documents_basic_search():
    """M1, M3."""
    memories = a_memory().search(TIMELINE, "acme", {"limit": 5, "memory_types": ["fact", "decision"]})
    assert ids(memories) == ["m1", "m2"]
    assert [m.rank for m in memories] == [1, 2]
    assert 0 < memories[0].score <= 1


def test_the_documents_context_for_a_prompt():
    """M1, M10."""
    user_message = "what about the project timeline?"
    result = a_memory().build_context(
        user_message,
        "acme",
        template="chat",
        token_budget=1500,
        include_relationships=True,
        relationship_depth=1,
    )
    prompt = f"{result.context}\n\nUser: {user_message}\nAssistant:"
    assert prompt.startswith(
        "Relevant context from past conversations:\n\n- The project timeline ends in May.\n- "
    )
    assert result.context.endswith("\n")
    assert (result.template, result.truncated) == ("chat", False)
    assert result.token_count == resolve_tokenizer("auto")(result.context)


def test_a_preview_is_the_context_with_ids_scores_and_the_share_of_the_budget():
    """M1."""
    engine = a_memory()
    options = {"template": "detailed", "token_budget": 2000, "now": NOW}
    preview = engine.preview_context("project timeline", "acme", options)
    built = engine.build_context("project timeline", "acme", options)
    assert (preview.context, preview.token_count, preview.memories) == (
        built.context,
        built.token_count,
        built.memories,
    )
    assert preview.memory_ids == tuple(ids(built.memories))
    assert preview.budget_used == pytest.approx(100 * built.token_count / 2000)
    assert preview.ranking_scores == {m.memory.id: m.rank_score for m in built.memories}


def test_a_question_and_its_vector_find_and_build_the_same():
    """M1."""
    embeddings = WordEmbeddings()
    engine = a_memory(embeddings=embeddings)
    vector = embeddings.embed_query(TIMELINE)
    assert engine.search_by_vector(vector, "acme", now=NOW) == engine.search(TIMELINE, "acme", now=NOW)
    for budget in (20, 2000):
        by_vector = engine.build_context_by_vector(vector, "acme", token_budget=budget)
        assert by_vector.context == engine.build_context(TIMELINE, "acme", token_budget=budget).context


async def test_async_gives_the_same():
    """M1."""
    embeddings = WordEmbeddings()
    engine = a_memory(embeddings=embeddings)
    vector = embeddings.embed_query(TIMELINE)
    found = engine.search(TIMELINE, "acme", now=NOW)
    assert await engine.asearch(TIMELINE, "acme", now=NOW) == found
    assert await engine.asearch_by_vector(vector, "acme", now=NOW) == found
    built = engine.build_context(TIMELINE, "acme")
    assert (await engine.abuild_context(TIMELINE, "acme")).context == built.context
    assert (await engine.abuild_context_by_vector(vector, "acme")).context == built.context
    assert (await engine.apreview_context(TIMELINE, "acme")).memory_ids == tuple(ids(built.memories))
    assert (await engine.abuild_or_empty(TIMELINE, "acme")).context == built.context


@pytest.mark.parametrize("workspace", ["", None, ["acme", "other"], True])
def test_a_call_without_one_workspace_is_refused(workspace):
    """M2."""
    engine = a_memory()
    for call in (engine.search, engine.build_context, engine.preview_context):
        with pytest.raises(ScopeError, match="workspace_id"):
            call(TIMELINE, workspace)
    with pytest.raises(ScopeError):
        engine.search_by_vector([1.0] * 64, workspace)


def test_no_call_has_a_default_workspace():
    """M2."""
    names = ["search", "search_by_vector", "build_context", "build_context_by_vector", "preview_context"]
    for name in [*names, *(f"a{n}" for n in names), "build_or_empty", "search_batch", "search_analytics"]:
        parameters = inspect.signature(getattr(MemoryEngine, name)).parameters
        assert parameters["workspace_id"].default is inspect.Parameter.empty


def test_nothing_of_another_workspace_shows():
    """M2."""
    engine = a_memory([{**RECORDS[0], "links": "x1"}])
    result = engine.build_context(TIMELINE, "acme", include_relationships=True)
    assert "secret" not in repr(result)
    assert ids(engine.search(TIMELINE, "other")) == ["x1"]
    assert engine.search(TIMELINE, "nobody") == ()


def test_defaults_are_the_documents():
    """M5."""
    engine = a_memory()
    result = engine.build_context(TIMELINE, "acme")
    assert result.template == "chat"
    assert result.trace.budget == 2000
    own = a_memory(default_template="summary", default_token_budget=30)
    assert own.build_context(TIMELINE, "acme").template == "summary"
    assert own.build_context(TIMELINE, "acme").token_count <= 30


def test_other_dimensions_than_expected_are_told_at_construction():
    """M5."""
    with pytest.raises(ConfigError, match=r"1536.*64"):
        a_memory(expected_embedding_dimensions=1536)
    a_memory(expected_embedding_dimensions=64)


def test_dimensions_that_embeddings_do_not_tell_are_measured():
    """M5."""

    class Silent(WordEmbeddings):
        dimensions = property(lambda self: None, lambda self, value: None)

        def _vector(self, text):
            return [1.0, 2.0, 3.0]

    with pytest.raises(ConfigError, match=r"1536.*gives 3"):
        MemoryEngine(a_collection([]), Silent(), expected_embedding_dimensions=1536)


def test_any_langchain_embeddings_serve_and_the_local_ones_are_offline():
    """M6."""
    engine = a_memory(embeddings=LocalEmbeddings(), expected_embedding_dimensions=256)
    assert ids(engine.search("When does the project end?", "acme", limit=1)) == ["m1"]


def test_errors_are_typed_and_tell_what_exists():
    """M14."""

    class Broken(WordEmbeddings):
        def embed_query(self, text):
            raise RuntimeError("401 for api_key=sk-test-123456")

    collection = a_collection([{"id": "a", "text": "x", "workspace_id": "acme"}])
    with pytest.raises(EmbeddingError) as caught:
        MemoryEngine(collection, Broken()).search("x", "acme")
    assert "sk-test" not in str(caught.value)
    with pytest.raises(AllSourcesFailedError):
        a_memory().search_by_vector([1.0, 2.0], "acme")
    with pytest.raises(EmbeddingError):
        a_memory().search_by_vector([float("nan")] * 64, "acme")
    with pytest.raises(UnknownNameError) as unknown:
        a_memory().build_context("x", "acme", template="nope")
    assert {"chat", "detailed", "summary"} <= set(unknown.value.known)
    with pytest.raises(AllSourcesFailedError):
        MemoryEngine(FailingSource(OSError("disk")), WordEmbeddings()).build_context("x", "acme")


def test_build_or_empty_degrades_and_says_so(caplog):
    """M14."""
    engine = MemoryEngine(FailingSource(OSError("disk")), WordEmbeddings())
    with caplog.at_level(logging.WARNING):
        result = engine.build_or_empty("how much?", "acme")
        again = asyncio.run(engine.abuild_or_empty("how much?", "acme"))
    assert (str(result), result.memories, str(again)) == ("", (), "")
    assert isinstance(result.error, AllSourcesFailedError)
    assert result.warnings[0].startswith("no context: AllSourcesFailedError")
    assert "how much?" in caplog.text
    assert "disk" not in caplog.text


def test_a_logger_of_ones_own_is_told():
    """M5, M14."""
    told = []

    class Logger:
        def warning(self, message, *arguments):
            told.append(message % arguments)

    engine = a_memory(logger=Logger())
    engine.build_or_empty("x", "acme", template="nope")
    assert told == ["memory build_context failed for 'x': UnknownNameError"]


def test_a_batch_is_searched_in_order():
    """M15."""
    engine = a_memory()
    queries = [TIMELINE, "budget", "short meetings", ""]
    wanted = [engine.search(query, "acme", now=NOW) for query in queries]
    assert list(engine.search_batch(queries, "acme", now=NOW)) == wanted
    assert list(asyncio.run(engine.asearch_batch(queries, "acme", now=NOW))) == wanted
    assert wanted[-1] == ()


def test_analytics_count_what_was_asked_in_one_workspace(tmp_path):
    """M15."""
    engine = a_memory(journal=tmp_path / "journal.db")
    for query in ("timeline", "timeline", "budget"):
        engine.search(query, "acme")
    engine.build_context("secret", "other")
    engine.preview_context("timeline", "acme")
    figures = engine.search_analytics("acme")
    assert figures.searches == 3
    assert figures.top_queries == (("timeline", 2), ("budget", 1))
    assert figures.mean_milliseconds > 0
    assert engine.search_analytics("other").top_queries == (("secret", 1),)
    assert engine.search_analytics("nobody").searches == 0
    with pytest.raises(ConfigError, match="journal"):
        a_memory().search_analytics("acme")


def test_several_collections_are_one_memory():
    embeddings = WordEmbeddings()
    parts = [
        a_collection([{"id": "1", "text": text, "workspace_id": "acme"}], embeddings=embeddings)
        for text in ("the timeline of spring", "the timeline of autumn leaves")
    ]
    assert len(MemoryEngine(parts, embeddings).search("timeline", "acme")) == 2


def test_the_example_runs(capsys):
    name = "memory_engine"
    runpy.run_path(str(ROOT / "examples" / f"{name}.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert printed.startswith("1. We moved the launch")
    assert "[decision] The beta stays open until May 4" in printed
    assert "newest: The beta stays open" in printed
