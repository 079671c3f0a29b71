"""The engine: what a request may ask, what the answer says, and how engines are made."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

from langchain_context_engine import (
    ChromaSource,
    ConfigError,
    ContextEngine,
    EngineConfig,
    ScopeError,
    UnknownNameError,
)
from langchain_context_engine.models.types import Status
from tests.builders import WordEmbeddings, a_collection

RECORDS = [
    {"id": "1", "text": "We decided to bill monthly, on the first.", "workspace_id": "acme",
     "created_at": "2025-03-01", "confidence": 0.9},
    {"id": "2", "text": "Billing was weekly before March.", "workspace_id": "acme",
     "created_at": "2024-03-01", "confidence": 0.4},
    {"id": "3", "text": "Globex pays in gold.", "workspace_id": "globex", "created_at": "2025-01-01"},
]  # fmt: skip


def an_engine(**settings):
    embeddings = WordEmbeddings()
    source = ChromaSource(
        a_collection(RECORDS, embeddings=embeddings), embeddings=embeddings, name="memories", kind="memory"
    )
    return ContextEngine(sources=[source], **settings)


def test_the_five_lines_of_the_design_run(tmp_path):
    engine = an_engine(
        budget=2000, weights={"relevance": 0.6, "recency": 0.2, "confidence": 0.2}, template="chat",
        tokenizer="auto", scope_keys=("workspace_id",), timeout_seconds=2.0, journal=tmp_path / "context.db",
    )  # fmt: skip
    context = engine.build("What did we decide about billing?", scope={"workspace_id": "acme"}, budget=1500)
    assert context.text.startswith("Relevant context from past conversations:\n\n- ")
    assert "monthly" in context.text
    assert "gold" not in context.text
    assert str(context) == context.text
    assert context.explain()
    assert context.status is Status.OK


@pytest.mark.parametrize("scope", [{}, {"workspace_id": None}, {"other": "acme"}, None])
def test_an_engine_with_scope_keys_refuses_a_request_without_them(scope):
    """M2."""
    engine = an_engine(scope_keys=("workspace_id",))
    with pytest.raises(ScopeError, match="workspace_id"):
        engine.build("x", scope=scope)
    with pytest.raises(ScopeError, match="workspace_id"):
        engine.search("x", scope=scope)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"template": "chta"}, "chat"),
        ({"truncator": "keep_strat"}, "keep_start"),
        ({"order": "relevanc"}, "relevance"),
        ({"selection": "best"}, "selection"),
        ({"dedupe_threshold": 400}, "dedupe_threshold"),
        ({"timeout_seconds": 0}, "timeout_seconds"),
        ({"timeout_seconds": float("nan")}, "timeout_seconds"),
        ({"limit": -1}, "limit"),
        ({"budgett": 3}, "budgett"),
        ({"compactor": "shorten"}, "compactor"),
        ({"citations": "roman"}, "number"),
    ],
)
def test_a_wrong_setting_is_refused_while_building_naming_it(settings, told):
    with pytest.raises(ConfigError, match=told):
        an_engine(**settings)


@pytest.mark.parametrize(
    "field",
    [
        {"budget": -1}, {"limit": 1.5}, {"offset": -2}, {"since": "not a date"}, {"min_confidence": "high"},
        {"min_confidence": 85}, {"min_confidence": -0.1},
        {"where": {"n": {"$betwen": [1, 2]}}}, {"scope": {"workspace_id": {"$ne": "acme"}}},
    ],
)  # fmt: skip
def test_a_wrong_field_of_a_request_is_refused_naming_it(field):
    with pytest.raises(ConfigError, match=r"\$betw|" + next(iter(field))):
        an_engine().build("x", **field)


@pytest.mark.parametrize(
    "query", ["", "   ", "a\ud83d", "🙂" * 500, "what " * 5000, "{{content}}", "C++ (beta ["]
)
def test_any_question_is_answered(query):
    """A2, I74."""
    context = an_engine().build(query)
    context.text.encode()
    context.to_json().encode()


def test_with_settings_gives_another_engine_over_the_same_sources():
    engine = an_engine()
    other = engine.with_settings(template="chat", budget=100)
    assert other.build("billing").text.startswith("Relevant context")
    assert not engine.build("billing").text.startswith("Relevant context")
    with pytest.raises(UnknownNameError, match="template"):
        engine.with_settings(templat="chat")


def test_a_configuration_survives_pickle_and_deepcopy():
    """H73."""
    config = EngineConfig(budget=500, weights={"relevance": 1, "recency": 1}, template="chat")
    assert pickle.loads(pickle.dumps(config)) == config
    assert copy.deepcopy(config) == config
    assert EngineConfig.read(config.described()) == config


@pytest.mark.unmeasured
def test_thirty_two_threads_get_what_one_gets():
    """G66."""
    engine = an_engine(timeout_seconds=60)  # about equality: a busy machine may take its time
    expected = engine.build("billing", now="2026-01-01").text
    with ThreadPoolExecutor(32) as pool:
        texts = list(pool.map(lambda _: engine.build("billing", now="2026-01-01").text, range(64)))
    assert set(texts) == {expected}


def test_a_pinned_key_out_of_scope_looks_like_one_that_is_not_there():
    engine = an_engine()
    name = engine.sources[0].collection_name
    told = []
    for id_ in ("3", "absent"):
        context = engine.build("gold", pinned=[(name, id_)], scope={"workspace_id": "acme"}, now="2026-01-01")
        told.append((context.text, [w.replace(id_, "?") for w in context.warnings], len(context.decisions)))
    assert told[0] == told[1]
