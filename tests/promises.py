"""What the promises say of one answer, whatever it was made of."""

from __future__ import annotations

import asyncio

import pytest

from langchain_context_engine import Context, replay
from langchain_context_engine.models.types import Reason, Verdict
from langchain_context_engine.text.truncate import pieces


def hold(context, engine, keys, budget):
    """Promises 1, 2, 5, 6, 7 and 9."""
    one_final_decision(context, keys)
    duplicates_name_who_keeps_them(context)
    kept_is_what_stands_there(context)
    within_budget(context, engine, budget)
    exact_pieces(context)
    markers_are_unique(context)
    contributions_add_up(passage.ranked for passage in context.passages)
    replays_to_the_same_bytes(context, engine)


def one_final_decision(context, keys):
    """Promise 1."""
    final = [d.key for d in context.decisions if d.verdict is not Verdict.CHANGED]
    assert len(final) == len(set(final))
    if context.budget:
        assert set(final) == set(keys)


def duplicates_name_who_keeps_them(context):
    """Promise 1."""
    passages = {passage.key: passage for passage in context.passages}
    for decision in context.decisions:
        if decision.reason is Reason.DUPLICATE:
            assert decision.key in passages[tuple(decision.details["winner"])].also_in


def kept_is_what_stands_there(context):
    """Promise 1: the ledger is reconciled to the text."""
    kept = {d.key for d in context.decisions if d.verdict is Verdict.KEPT}
    assert kept == {passage.key for passage in context.passages}
    assert bool(context.text) == bool(context.passages)


def within_budget(context, engine, budget):
    """Promise 2."""
    count = engine.config.parts().packing.count
    assert context.tokens == (count(context.text) if context.text else 0)
    assert context.tokens <= context.budget == budget


def exact_pieces(context):
    """Promise 5."""
    originals = {candidate.key: candidate.text for candidate in context.candidates}
    for passage in context.passages:
        original = originals[passage.key]
        assert passage.text == pieces(original, passage.spans)
        assert all(a[1] <= b[0] for a, b in zip(passage.spans, passage.spans[1:], strict=False))
        assert passage.is_truncated == (passage.text != original)
        passage.text.encode()


def markers_are_unique(context):
    """Promise 6."""
    markers = [passage.citation for passage in context.passages]
    assert len(markers) == len(set(markers))
    for marker in markers:
        assert not any(marker in passage.text for passage in context.passages)
    assert context.citations == {p.citation: p.key for p in context.passages}


def scores_sort_and_add_up(ranked):
    """Promise 7."""
    scores = [item.score for item in ranked]
    assert scores == sorted(scores, reverse=True)
    contributions_add_up(ranked)


def contributions_add_up(ranked):
    """Promise 7."""
    for item in ranked:
        assert item.score == pytest.approx(sum(item.contributions.values()), abs=1e-9)
        assert 0 <= item.score <= 1 + 1e-9


def replays_to_the_same_bytes(context, engine):
    """Promise 9."""
    again = replay(Context.from_dict(context.to_dict()), engine)
    assert again.text == context.text
    assert again.passages == context.passages
    assert again.decisions == context.decisions


def async_gives_the_same(context, engine, query, **fields):
    """Promise 10."""
    again = asyncio.run(engine.abuild(query, **fields))
    assert (again.text, again.passages, again.decisions) == (
        context.text,
        context.passages,
        context.decisions,
    )
