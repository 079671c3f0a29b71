"""The promises over the prime-context assembly, on generated candidates and budgets."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine import Budget, ContextEngine, replay
from langchain_context_engine.designs.prime import DEFAULTS, ENGINE
from langchain_context_engine.models.types import Verdict
from langchain_context_engine.text.truncate import pieces
from tests.builders import ListSource
from tests.strategies import BUDGETS, COUNTERS, QUERIES, candidates

cases = given(
    found=candidates(),
    tokenizer=st.sampled_from(sorted(COUNTERS)).map(COUNTERS.__getitem__),
    selection=st.sampled_from(["density", "knapsack"]),
    query=QUERIES,
    room=BUDGETS,
)
generated = settings(deadline=None, max_examples=60)


def build(found, tokenizer, selection, query, room):
    budget = Budget(tokens=DEFAULTS.max_tokens, reserve=DEFAULTS.system_prompt_tokens)
    own = {**ENGINE, "budget": budget, "tokenizer": tokenizer, "selection": selection}
    engine = ContextEngine([ListSource(found, "offered")], **own)
    return engine, engine.build(query, budget=budget.reserve + room, now="2026-01-01")


@cases
@generated
def test_every_candidate_has_one_final_decision_that_the_text_bears_out(
    found, tokenizer, selection, query, room
):
    """Promise 1."""
    _, context = build(found, tokenizer, selection, query, room)
    final = [d for d in context.decisions if d.verdict is not Verdict.CHANGED]
    assert sorted(d.key for d in final) == sorted({candidate.key for candidate in found})
    assert {d.key for d in final if d.verdict is Verdict.KEPT} == {p.key for p in context.passages}


@cases
@generated
def test_the_text_never_takes_what_is_kept_for_the_system_prompt(found, tokenizer, selection, query, room):
    """Promise 2, C7."""
    engine, context = build(found, tokenizer, selection, query, room)
    count = engine.config.parts().packing.count
    assert context.tokens == (count(context.text) if context.text else 0)
    assert context.tokens <= room


@cases
@generated
def test_passages_are_exact_and_markers_theirs_alone(found, tokenizer, selection, query, room):
    """Promises 5 and 6, C8."""
    _, context = build(found, tokenizer, selection, query, room)
    originals = {candidate.key: candidate.text for candidate in context.candidates}
    markers = [passage.citation for passage in context.passages]
    assert len(set(markers)) == len(markers)
    for passage in context.passages:
        original = originals[passage.key]
        assert passage.text == pieces(original, passage.spans)
        assert not any(marker in passage.text for marker in markers)


@cases
@generated
def test_scores_add_up_and_a_trace_replays_to_the_same_bytes(found, tokenizer, selection, query, room):
    """Promises 7 and 9, C4."""
    engine, context = build(found, tokenizer, selection, query, room)
    for passage in context.passages:
        signals = passage.ranked.signals
        expected = sum(weight * signals[name] for name, weight in ENGINE["weights"].items())
        assert passage.ranked.score == pytest.approx(expected)
        assert 0 <= passage.ranked.score <= 1 + 1e-9
    assert replay(context.to_dict(), engine).text == context.text
