"""Every design is as explainable as the engine: its traces replay, tune and say what it would take (B2, B3, B9)."""

from __future__ import annotations

import json

import pytest

from langchain_context_engine import Context, ContextEngine, diff, replay
from langchain_context_engine.config import is_function
from langchain_context_engine.evaluation.tune import tune
from langchain_context_engine.models.types import Verdict
from langchain_context_engine.trace.explain import final_decisions, rows
from langchain_context_engine.trace.replay import ranking, replay_ranked
from langchain_context_engine.trace.what_if import what_would_it_take
from tests.designs import (
    learning_builders,
    memory_builders,
    plan_builders,
    prime_builders,
    workspace_builders,
)


def memory():
    engine = memory_builders.a_memory()
    return engine.build_context(memory_builders.TIMELINE, "acme", token_budget=30).trace, engine.engine


def workspace():
    builder = workspace_builders.a_builder(workspace_builders.a_page())
    payload = workspace_builders.build(
        [], "Where are lost keys kept?", builder=builder, focus={"block_id": "p1"},
        budget=workspace_builders.TokenBudget(total=150),
    )  # fmt: skip
    return payload.context, builder.engine


def learning():
    assembler = learning_builders.an_assembler()
    return learning_builders.assemble(assembler=assembler, max_tokens=160).context, assembler.engine


def premortem():
    assembler = learning_builders.an_assembler()
    found = assembler.get_premortem_context_sync("debugging", max_tokens=40, now=learning_builders.NOW)
    return found.context, assembler.premortem_engine


def prime():
    service = prime_builders.a_service()
    return prime_builders.ask(service, budget=40).trace, service.engine


def plan():
    made = plan_builders.ContextPlan(
        [plan_builders.SYSTEM, plan_builders.a_pack("faq"), plan_builders.USER],
        packs={"faq": plan_builders.an_engine()}, policy=plan_builders.budget(24),
    )  # fmt: skip
    return made.assemble(plan_builders.ASKED, now="2026-01-01").trace, made.engine


DESIGNS = [memory, workspace, learning, premortem, prime, plan]


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.__name__)
def test_a_trace_of_a_design_replays_tunes_and_says_what_it_would_take(design):
    """B2, B3, B9: without the design, the store or a function."""
    given, engine = design()
    assert isinstance(engine, ContextEngine)
    trace = Context.from_dict(json.loads(given.to_json()))
    assert not is_function(trace.settings)
    again, ranked = replay_ranked(trace)
    assert again.text == trace.text
    assert again.decisions == trace.decisions
    assert replay(trace, engine).text == trace.text
    assert rows(trace, ranked)
    assert ranking(trace) == ranked
    assert str(diff(trace, replay(trace, budget=2 * trace.budget)))
    lost = [key for key, d in final_decisions(trace).items() if d.verdict is Verdict.DROPPED]
    assert lost, trace.explain()
    changes = [change for key in lost for change in what_would_it_take(trace, key)]
    assert changes
    for change in changes:
        assert replay(trace, **change.settings).text == change.context.text
    told = tune([trace], {trace.request.query: {lost[0]: 3}}, min_queries=2)
    assert told.queries == 1
