"""The promises, on generated candidates, over the assemblies of the workspace and the learning design."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine import Context, ContextEngine, replay
from langchain_context_engine.designs import TokenBudget
from langchain_context_engine.models.types import Reason, Verdict
from langchain_context_engine.text.truncate import pieces
from tests.builders import ListSource
from tests.designs.learning_builders import an_assembler
from tests.designs.workspace_builders import a_builder
from tests.strategies import BUDGETS, COUNTERS, QUERIES, candidates

pytestmark = pytest.mark.unmeasured

WORKSPACE = a_builder([])._engine(TokenBudget(), ("history",)).config
ASSEMBLER = an_assembler()
SOFT = an_assembler(soft_limit=True)
ASSEMBLIES = {
    "workspace": (WORKSPACE, ("focus", "semantic", "history")),
    "learning": (ASSEMBLER.engine.config, ("memories", "code", "commits")),
    "premortem": (ASSEMBLER.premortem_engine.config, ("full", "strategy", "values")),
    "soft": (SOFT.engine.config, ("memories", "code", "commits")),
}
HARD = ("workspace", "learning", "premortem")

KEYS = [
    {},
    {"ghap_id": "g1"},
    {"file_path": "a.py", "symbol": "f"},
    {"files_changed": "a.py,b.py"},
    {"tree_distance": 3},
]
KINDS = ["memory", "code", "commit", "experience", "value", "todo"]


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
    sources = [
        ListSource([*theirs, *found[:cut]], names[0]),
        ListSource(found[cut:], names[1]),
        ListSource([], names[2]),
    ]
    config = config.changed(tokenizer=COUNTERS[draw(st.sampled_from(sorted(COUNTERS)))])
    engine = ContextEngine(
        sources=sources, **{name: getattr(config, name) for name in type(config).model_fields}
    )
    return engine, draw(QUERIES), draw(BUDGETS)


def build(case, **fields):
    engine, query, budget = case
    return engine.build(query, budget=budget, now="2026-01-01", scope={"tenant": "mine"}, **fields)


@given(case=cases())
@settings(deadline=None, max_examples=80)
def test_the_ledger_is_whole_and_reconciled_to_the_text(case):
    """Promise 1."""
    context = build(case)
    final = {d.key: d for d in context.decisions if d.verdict is not Verdict.CHANGED}
    assert len(final) == sum(d.verdict is not Verdict.CHANGED for d in context.decisions)
    passages = {passage.key: passage for passage in context.passages}
    assert {key for key, d in final.items() if d.verdict is Verdict.KEPT} == set(passages)
    assert bool(context.text) == bool(passages)
    for decision in final.values():
        if decision.reason is Reason.DUPLICATE:
            assert decision.key in passages[tuple(decision.details["winner"])].also_in


@given(case=cases())
@settings(deadline=None, max_examples=100)
def test_the_text_never_exceeds_the_budget_and_its_count_is_told(case):
    """Promise 2: headings, notes, the closing question and the footer included."""
    context = build(case)
    count = case[0].config.parts().packing.count
    assert context.tokens == (count(context.text) if context.text else 0)
    assert context.tokens <= context.budget == case[2]


@given(case=cases(("soft",)))
@settings(deadline=None, max_examples=40)
def test_a_soft_limit_is_exceeded_only_with_a_warning(case):
    """Promise 2, L9."""
    context = build(case)
    is_told = any("soft budget" in warning for warning in context.warnings)
    assert is_told == (context.tokens > context.budget)


@given(case=cases())
@settings(deadline=None, max_examples=40)
def test_nothing_from_outside_the_scope_appears(case):
    """Promise 4."""
    assert "SECRET" not in str(build(case).to_dict())


@given(case=cases())
@settings(deadline=None, max_examples=60)
def test_passages_are_exact_pieces_and_scores_sort(case):
    """Promises 5 and 7."""
    context = build(case)
    originals = {candidate.key: candidate.text for candidate in context.candidates}
    for passage in context.passages:
        original = originals[passage.key]
        assert passage.text == pieces(original, passage.spans)
        assert passage.ranked.score == pytest.approx(sum(passage.ranked.contributions.values()))
    engine, query, _ = case
    scores = [item.score for item in engine.search(query, now="2026-01-01", scope={"tenant": "mine"})]
    assert scores == sorted(scores, reverse=True)


@given(case=cases())
@settings(deadline=None, max_examples=40)
def test_replay_and_async_give_the_same_bytes(case):
    """Promises 9 and 10."""
    context = build(case)
    again = replay(Context.from_dict(context.to_dict()), case[0])
    assert (again.text, again.decisions) == (context.text, context.decisions)
    engine, query, budget = case
    scope = {"tenant": "mine"}
    later = asyncio.run(engine.abuild(query, budget=budget, now="2026-01-01", scope=scope))
    assert (later.text, later.decisions) == (context.text, context.decisions)
