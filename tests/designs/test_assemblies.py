"""What holds for every design: promises, settings, mapped metadata, traces that replay, cuts, the README."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine import (
    ChromaSource,
    ConfigError,
    Context,
    ContextEngine,
    EngineConfig,
    LocalEmbeddings,
    designs,
    diff,
    replay,
)
from langchain_context_engine.cli import main
from langchain_context_engine.config import is_function
from langchain_context_engine.designs import (
    LearningMemoryAssembler,
    MemoryEngine,
    PrimeContextService,
    TokenBudget,
)
from langchain_context_engine.designs.prime import ENGINE
from langchain_context_engine.designs.workspace import _divided
from langchain_context_engine.evaluation.tune import tune
from langchain_context_engine.models.types import Verdict
from langchain_context_engine.trace.explain import rows
from langchain_context_engine.trace.replay import ranking, replay_ranked
from langchain_context_engine.trace.what_if import what_would_it_take
from tests import promises
from tests.builders import ListSource, WordEmbeddings, a_collection, count_words
from tests.conftest import ROOT
from tests.designs.learning_builders import NOW as LEARNT
from tests.designs.learning_builders import a_memory as a_fact
from tests.designs.learning_builders import a_searcher, an_assembler, an_experience, assemble
from tests.designs.memory_builders import TIMELINE, a_memory
from tests.designs.plan_builders import ASKED, SYSTEM, USER, a_pack, a_plan, an_engine, budget
from tests.designs.prime_builders import FILES, a_service, ask, owned
from tests.designs.workspace_builders import (
    ANN,
    NOW,
    PARAGRAPHS,
    a_block,
    a_builder,
    a_page,
    build,
    relevances,
)
from tests.strategies import BUDGETS, COUNTERS, QUERIES, candidates
from tests.test_examples import PRINTED

ASSEMBLER, SOFT = an_assembler(), an_assembler(soft_limit=True)
ASSEMBLIES = {
    "memory": (a_memory([]).engine.config.changed(scope_keys=()), ("memories", "b", "c")),
    "workspace": (
        a_builder([]).engine.config.changed(**_divided(TokenBudget(), ("history",))),
        ("focus", "semantic", "history"),
    ),
    "learning": (ASSEMBLER.engine.config, ("memories", "code", "commits")),
    "premortem": (ASSEMBLER.premortem_engine.config, ("full", "strategy", "values")),
    "prime": (EngineConfig(**ENGINE), ("full_text", "recent", "thread")),
    "soft": (SOFT.engine.config, ("memories", "code", "commits")),
}
HARD = sorted(set(ASSEMBLIES) - {"soft"})
DESIGNS = ["memory", "workspace", "learning", "premortem", "prime", "plan"]
KEYS = [
    {}, {"ghap_id": "g1"}, {"file_path": "a.py", "symbol": "f"}, {"files_changed": "a.py,b.py"},
    {"tree_distance": 3},
]  # fmt: skip
KINDS = ["memory", "code", "commit", "experience", "value", "todo", "file", "message"]


@st.composite
def cases(draw, assemblies=HARD):
    """Return (engine, a query, a budget) over generated candidates of the design's own kinds and keys."""
    config, names = ASSEMBLIES[draw(st.sampled_from(sorted(assemblies)))]
    found = [
        replace(
            candidate,
            kind=draw(st.sampled_from(KINDS)),
            metadata={**candidate.metadata, **draw(st.sampled_from(KEYS)), "tenant": "mine"},
        )
        for candidate in draw(candidates())
    ]
    theirs = [
        replace(c, id=f"SECRET{c.id}", text=f"SECRET {c.text}", metadata={"tenant": "theirs"})
        for c in found[:3]
    ]
    cut = draw(st.integers(0, len(found)))
    offered = ([*theirs, *found[:cut]], found[cut:], [])
    config = config.changed(tokenizer=COUNTERS[draw(st.sampled_from(sorted(COUNTERS)))])
    engine = ContextEngine(
        [ListSource(own, name) for own, name in zip(offered, names, strict=True)],
        **{name: getattr(config, name) for name in type(config).model_fields},
    )
    return engine, draw(QUERIES), draw(BUDGETS)


def built(case):
    engine, query, budget = case
    return engine.build(query, budget=budget, now="2026-01-01", scope={"tenant": "mine"})


@pytest.mark.unmeasured
@given(case=cases())
@settings(deadline=None, max_examples=40)
def test_the_promises_hold_for_every_assembly(case):
    """Promises 1, 2, 4, 5, 7, 9 and 10."""
    context, (engine, query, budget_) = built(case), case
    fell = {decision.key for decision in context.decisions if decision.stage == "collect"}
    promises.hold(context, engine, {candidate.key for candidate in context.candidates} | fell, budget_)
    assert "SECRET" not in str(context.to_dict())
    asked = {"budget": budget_, "now": "2026-01-01", "scope": {"tenant": "mine"}}
    promises.async_gives_the_same(context, engine, query, **asked)


@pytest.mark.unmeasured
@given(case=cases(("soft",)))
@settings(deadline=None, max_examples=20)
def test_a_soft_limit_is_exceeded_only_with_a_warning(case):
    """Promise 2, L9."""
    context = built(case)
    is_told = any("soft budget" in warning for warning in context.warnings)
    assert is_told == (context.tokens > context.budget)


def test_every_design_takes_settings_of_the_engine():
    """Issue 26: workspace and learning did not."""
    given = {"tokenizer": count_words, "timeout_seconds": 9.0, "min_score": 0.01}
    engines = [
        a_memory(**given).engine,
        an_assembler(**given).engine,
        an_assembler(**given).premortem_engine,
        a_builder([], **given).engine,
        a_service(**given).engine,
        a_plan([a_pack(), USER], packs={"kb": lambda request: "Tea."}, **given).engines["kb"],
    ]
    for engine in engines:
        assert engine.config.parts().packing.count("one two") == 2
        assert (engine.config.timeout_seconds, engine.config.min_score) == (9.0, 0.01)
    for make in (a_memory, an_assembler, a_service, a_plan):
        with pytest.raises(ConfigError, match="min_scor"):
            make(min_scor=0.1, **({"packs": {"kb": lambda request: ""}} if make is a_plan else {}))
    assert a_plan(**given).assemble(ASKED).token_count == 10


def test_metadata_under_other_names_are_mapped():
    """Issue 26: `timestamp`, `parent`, … of one's own store."""
    embeddings = WordEmbeddings()
    fields = {"created_at": "timestamp", "confidence": "trust"}
    record = {"id": "a", "text": "tea", "timestamp": "2026-01-05", "trust": 0.9, "workspace_id": "acme"}
    collection = a_collection([record], embeddings=embeddings)
    (found,) = MemoryEngine(collection, embeddings, fields=fields).search("tea", "acme", min_confidence=0.8)
    assert (found.memory.created_at.isoformat()[:10], found.memory.confidence) == ("2026-01-05", 0.9)
    source = ChromaSource(collection, embeddings=embeddings, fields=fields)
    (kept,) = ContextEngine([source]).search("tea", since="2026-01-01")
    assert kept.candidate.created_at.year == 2026
    assert not ContextEngine([source]).search("tea", since="2026-02-01")
    with pytest.raises(ConfigError, match="fields"):
        ChromaSource(collection, fields={"created_at": 3})

    blocks = [a_block("top", "Harbor"), a_block("low", "Quay", parent="top", edited=NOW, editor="ann")]
    builder = a_builder(
        blocks, fields={"parent_id": "parent", "updated_at": "edited", "updated_by": "editor"}
    )
    payload = build([], "harbor", builder=builder, focus={"block_id": "top"}, user=ANN)
    assert relevances(payload, "focus") == {"top": 1.0, "low": 0.85}
    assert relevances(payload, "activity") == {"low": 0.85}

    moved = [{**f, "source": f["path"], "path": ""} for f in FILES]
    context = ask(
        a_service(owned(moved), messages=None, fields={"path": "source"}), references=["docs/refunds.md"]
    )
    assert {item.source for item in context.items} >= {"docs/billing.md", "docs/refunds.md"}

    searcher = a_searcher(memories=[a_fact(topic="rule")], experiences=[an_experience(area="x", domain="")])
    assembler = LearningMemoryAssembler(searcher, fields={"category": "topic", "domain": "area"})
    assert "Category: rule" in assembler.assemble_context_sync("login", ["memories"]).markdown
    assert "## Common Failures" in assembler.get_premortem_context_sync("x").markdown


def replayed(design):
    """Return a trace of a design in which something did not fit, and the engine behind it."""
    if design == "memory":
        engine = a_memory()
        return engine.build_context(TIMELINE, "acme", token_budget=30).trace, engine.engine
    if design == "workspace":
        builder, focus = a_builder(a_page()), {"block_id": "p1"}
        asked = {"builder": builder, "focus": focus, "budget": TokenBudget(total=150)}
        return build([], "Where are lost keys kept?", **asked).context, builder.engine
    if design == "learning":
        return assemble(assembler=ASSEMBLER, max_tokens=160).context, ASSEMBLER.engine
    if design == "premortem":
        found = ASSEMBLER.get_premortem_context_sync("debugging", max_tokens=40, now=LEARNT)
        return found.context, ASSEMBLER.premortem_engine
    if design == "prime":
        service = a_service()
        return ask(service, budget=40).trace, service.engine
    made = a_plan(
        [SYSTEM, a_pack("faq"), USER], packs={"faq": an_engine()}, policy=budget(24), tokenizer="auto"
    )
    return made.assemble(ASKED, now="2026-01-01").trace, made.engine


@pytest.mark.parametrize("design", DESIGNS)
def test_a_trace_of_a_design_replays_tunes_and_says_what_it_would_take(design):
    """B2, B3, B9: without the design, the store or a function."""
    given, engine = replayed(design)
    assert isinstance(engine, ContextEngine)
    trace = Context.from_dict(json.loads(given.to_json()))
    assert not is_function(trace.settings)
    again, ranked = replay_ranked(trace)
    assert (again.text, again.decisions) == (trace.text, trace.decisions)
    assert replay(trace, engine).text == trace.text
    assert rows(trace, ranked)
    assert ranking(trace) == ranked
    assert str(diff(trace, replay(trace, budget=2 * trace.budget)))
    lost = [key for key, d in trace.final_decisions().items() if d.verdict is Verdict.DROPPED]
    assert lost, trace.explain()
    changes = [change for key in lost for change in what_would_it_take(trace, key)]
    assert changes
    for change in changes:
        assert replay(trace, **change.settings).text == change.context.text
    assert tune([trace], {trace.request.query: {lost[0]: 3}}, min_queries=2).queries == 1


LOCAL = LocalEmbeddings()
QUESTION, ANSWER = "Where are lost keys kept?", "Lost keys are kept in the blue cabinet downstairs."
LONG = " ".join(
    [*[f"{text} Case {i}." for i in range(6) for text in PARAGRAPHS[:6]], ANSWER, *PARAGRAPHS[7:] * 9]
)


@pytest.mark.parametrize("tokens", [160, 300])
def test_a_cut_keeps_what_answers_in_every_design(tokens):
    """W9, M12, P5"""
    record = {"id": "long", "text": LONG, "workspace_id": "acme", "workspace": "acme", "user_id": "ann"}
    store = a_collection([record], embeddings=LOCAL)
    plans = [
        a_plan(
            [a_pack(), USER],
            packs={"kb": lambda request: [LONG][request.offset :]},
            policy=policy,
            tokenizer="auto",
        )
        for policy in (budget(tokens), budget(tokens, compactor={"type": "extractive"}))
    ]
    for text in (
        build([record], QUESTION, token_budget=tokens, embeddings=LOCAL).serialized,
        MemoryEngine(store, LOCAL).build_context(QUESTION, "acme", token_budget=tokens).context,
        ask(PrimeContextService(store), QUESTION, references=["long"], budget=tokens).text,
        *(made.assemble({"question": QUESTION}).system_prompt for made in plans),
    ):
        assert ANSWER in text


def test_what_the_readme_names_is_there(capsys):
    home = ROOT / "langchain_context_engine" / "designs" / "README.md"
    readme = home.read_text(encoding="utf-8")
    main(["serve", "--help"])
    told = capsys.readouterr().out
    assert all(option in told for option in re.findall(r"(?<=\s)--[a-z]+", readme))
    assert all(f"examples/{name}.py" in readme for name in PRINTED)
    named = set(re.findall(r"`([A-Z][A-Za-z]+)(?:\(|`)", readme))
    assert {"RankingOptions", "CustomRanker", "TokenBudget", "PrimeSettings"} <= named & {*vars(designs)}
    assert all((home.parent / target).exists() for target in re.findall(r"\]\(([^)#:\s]+)\)", readme))
