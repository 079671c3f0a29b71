"""The engine: what a request may ask, what the answer says, and how engines are made."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

from langchain_context_engine import (
    ChromaSource,
    ConfigError,
    Context,
    ContextEngine,
    ContextRequest,
    EngineConfig,
    ScopeError,
    Template,
    TemplateError,
    UnknownNameError,
)
from langchain_context_engine.models.types import Status
from tests.builders import ListSource, WordEmbeddings, a_candidate, a_collection

RECORDS = [
    {
        "id": "1",
        "text": "We decided to bill monthly, on the first.",
        "workspace_id": "acme",
        "created_at": "2025-03-01",
        "confidence": 0.9,
    },
    {
        "id": "2",
        "text": "Billing was weekly before March.",
        "workspace_id": "acme",
        "created_at": "2024-03-01",
        "confidence": 0.4,
    },
    {"id": "3", "text": "Globex pays in gold.", "workspace_id": "globex", "created_at": "2025-01-01"},
]


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
        {"budget": -1},
        {"k": -1},
        {"limit": 1.5},
        {"offset": -2},
        {"since": "not a date"},
        {"min_confidence": "high"},
        {"where": {"n": {"$betwen": [1, 2]}}},
        {"scope": {"workspace_id": {"$ne": "acme"}}},
    ],
)
def test_a_wrong_field_of_a_request_is_refused_naming_it(field):
    with pytest.raises(ConfigError, match=r"\$betw|" + next(iter(field))):
        an_engine().build("x", **field)


def test_an_unknown_field_of_a_request_is_a_type_error():
    """H69."""
    with pytest.raises(TypeError, match="token_budgett"):
        an_engine().build("x", token_budgett=50)


def test_a_template_that_a_request_names_wrongly_is_refused_with_the_nearest():
    with pytest.raises(UnknownNameError, match="chat"):
        an_engine().build("x", template="chatt")


def test_a_template_of_ones_own_is_named_in_the_engine_or_given():
    brief = Template(name="brief", passage="* {{content}}")
    engine = an_engine(templates={"brief": brief})
    assert engine.build("billing", template="brief").text == engine.build("billing", template=brief).text
    with pytest.raises(ConfigError, match="built-in"):
        an_engine(templates={"chat": brief})
    with pytest.raises(TemplateError, match="content"):
        Template(name="bad", passage="{{content.__class__}}")


def test_search_honours_k_and_leaves_duplicates_out():
    found = [a_candidate(text="same text"), a_candidate(text="Same  text"), a_candidate(text="other")]
    engine = ContextEngine(sources=[ListSource(found)])
    assert len(engine.search("x")) == 2
    assert len(engine.search("x", k=1)) == 1
    assert engine.search("x", k=0) == ()


def test_a_request_value_may_be_given_instead_of_a_question():
    request = ContextRequest(query="billing", scope={"workspace_id": "acme"}, k=1)
    assert len(an_engine().build(request).passages) == 1
    assert len(an_engine().build(request, k=2).passages) == 2


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


def test_the_trace_round_trips_and_explains_itself():
    context = an_engine().build("What did we decide about billing?", scope={"workspace_id": "acme"})
    again = Context.from_dict(context.to_dict())
    assert again == context
    assert again.explain() == context.explain()


def test_a_configuration_survives_pickle_and_deepcopy():
    """H73."""
    config = EngineConfig(budget=500, weights={"relevance": 1, "recency": 1}, template="chat")
    assert pickle.loads(pickle.dumps(config)) == config
    assert copy.deepcopy(config) == config
    assert EngineConfig.read(config.described()) == config


def test_contexts_and_errors_survive_pickle():
    context = an_engine().build("billing")
    assert pickle.loads(pickle.dumps(context)) == context
    error = UnknownNameError("template", "chta", ["chat"])
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.unmeasured
def test_thirty_two_threads_get_what_one_gets():
    """G66."""
    engine = an_engine(timeout_seconds=60)  # about equality: a busy machine may take its time
    expected = engine.build("billing", now="2026-01-01").text
    with ThreadPoolExecutor(32) as pool:
        texts = list(pool.map(lambda _: engine.build("billing", now="2026-01-01").text, range(160)))
    assert set(texts) == {expected}


@pytest.mark.unmeasured
def test_concurrent_calls_with_different_options_do_not_mix():
    """H69."""
    engine = an_engine()
    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(lambda k: len(engine.build("billing", k=k).passages), [1, 2, 3] * 10))
    assert numbers == [1, 2, 3] * 10


def test_pinned_texts_candidates_and_keys_come_first():
    engine = an_engine()
    name = engine.sources[0].collection_name
    context = engine.build(
        "gold", pinned=["Always answer politely.", (name, "2")], budget=30, scope={"workspace_id": "acme"}
    )
    assert "politely" in context.text
    assert (name, "2") in {p.key for p in context.passages}


def test_a_pinned_key_out_of_scope_looks_like_one_that_is_not_there():
    engine = an_engine()
    name = engine.sources[0].collection_name
    told = []
    for id_ in ("3", "absent"):
        context = engine.build("gold", pinned=[(name, id_)], scope={"workspace_id": "acme"}, now="2026-01-01")
        told.append((context.text, [w.replace(id_, "?") for w in context.warnings], len(context.decisions)))
    assert told[0] == told[1]


def test_timings_name_every_stage():
    assert {"collect", "rank", "dedupe", "pack", "render"} <= set(an_engine().build("billing").timings)


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"template": "chta"}, UnknownNameError),
        ({"truncator": "keep_strat"}, UnknownNameError),
        ({"weights": {"recncy": 1}}, UnknownNameError),
        ({"signals": {"own": 5}}, ConfigError),
        ({"templates": {"own": "{{content}}"}}, ConfigError),
        ({"min_score": float("nan")}, ConfigError),
        ({"scope_keys": ("",)}, ConfigError),
    ],
)
def test_a_wrong_setting_raises_the_error_of_its_kind(settings, error):
    with pytest.raises(error):
        ContextEngine([ListSource([])], **settings)


@pytest.mark.parametrize("weights", [{"relevance": 1.7e308, "recency": 1.7e308}, {"relevance": 5e-324}])
def test_weights_of_any_size_are_scaled(weights):
    (item,) = ContextEngine([ListSource([a_candidate(relevance=1.0)])], weights=weights).search("q")
    assert item.score == pytest.approx(1.0 if len(weights) == 1 else 0.75)


@pytest.mark.parametrize("gives", [None, 5])
def test_a_truncator_that_gives_no_text_costs_a_warning(gives):
    engine = ContextEngine([ListSource([a_candidate(text="word " * 300)])], truncator=lambda t, a, c: gives)
    context = engine.build("q", budget=50)
    assert context.passages
    assert len(context.warnings) == 1


@pytest.mark.parametrize("query", [None, 5, b"a", {"query": "a"}])
def test_a_question_that_is_no_text_is_named_as_that(query):
    with pytest.raises(ConfigError, match=f"query must be a string, got {type(query).__name__}"):
        ContextEngine(sources=[]).build(query)
