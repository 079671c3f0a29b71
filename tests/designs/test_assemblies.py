"""What holds for every design: the promises on generated candidates, typed arguments, mapped metadata."""

from __future__ import annotations

import asyncio
import inspect
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
    designs,
    replay,
)
from langchain_context_engine.designs import (
    EngineSettings,
    LearningMemoryAssembler,
    MemoryEngine,
    TokenBudget,
)
from langchain_context_engine.designs.prime import ENGINE
from langchain_context_engine.designs.workspace import _divided
from langchain_context_engine.models.types import Reason, Verdict
from langchain_context_engine.text.truncate import pieces
from tests.builders import ListSource, WordEmbeddings, a_collection, count_words
from tests.designs.learning_builders import a_memory as a_fact
from tests.designs.learning_builders import a_searcher, an_assembler, an_experience
from tests.designs.memory_builders import a_memory
from tests.designs.plan_builders import ASKED, USER, a_pack, a_plan
from tests.designs.prime_builders import FILES, a_service, ask, owned
from tests.designs.workspace_builders import ANN, NOW, a_block, a_builder, build, relevances
from tests.strategies import BUDGETS, COUNTERS, QUERIES, candidates

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
@settings(deadline=None, max_examples=60)
def test_the_promises_hold_for_every_assembly(case):
    """Promises 1, 2, 4, 5, 7, 9 and 10."""
    context, engine = built(case), case[0]
    final = {d.key: d for d in context.decisions if d.verdict is not Verdict.CHANGED}
    assert len(final) == sum(d.verdict is not Verdict.CHANGED for d in context.decisions)
    passages = {passage.key: passage for passage in context.passages}
    assert {key for key, d in final.items() if d.verdict is Verdict.KEPT} == set(passages)
    for decision in final.values():
        if decision.reason is Reason.DUPLICATE:
            assert decision.key in passages[tuple(decision.details["winner"])].also_in
    count = engine.config.parts().packing.count
    assert context.tokens == (count(context.text) if context.text else 0) <= case[2]
    assert "SECRET" not in str(context.to_dict())
    originals = {candidate.key: candidate.text for candidate in context.candidates}
    for passage in context.passages:
        assert passage.text == pieces(originals[passage.key], passage.spans)
        assert passage.ranked.score == pytest.approx(sum(passage.ranked.contributions.values()))
    again = replay(Context.from_dict(context.to_dict()), engine)
    later = asyncio.run(engine.abuild(case[1], budget=case[2], now="2026-01-01", scope={"tenant": "mine"}))
    assert (again.text, again.decisions) == (later.text, later.decisions) == (context.text, context.decisions)


@pytest.mark.unmeasured
@given(case=cases(("soft",)))
@settings(deadline=None, max_examples=20)
def test_a_soft_limit_is_exceeded_only_with_a_warning(case):
    """Promise 2, L9."""
    context = built(case)
    is_told = any("soft budget" in warning for warning in context.warnings)
    assert is_told == (context.tokens > context.budget)


def test_the_settings_that_are_typed_are_those_of_the_engine():
    """L11"""
    own = {"rerank", "rerank_best", "rerank_seconds"}
    assert set(EngineSettings.__annotations__) == {*EngineConfig.model_fields, *own}


def test_settings_of_the_engine_are_typed_in_every_design():
    """L11: all public names were Any to a type checker, and `MemoryEngine(1, 2, nonsense=3)` passed."""
    for maker in (
        "MemoryEngine",
        "LearningMemoryAssembler",
        "ContextPlan",
        "PrimeContextService",
        "WorkspaceContextBuilder",
    ):
        *_, last = inspect.signature(getattr(designs, maker)).parameters.values()
        assert last.annotation == "Unpack[EngineSettings]"


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
