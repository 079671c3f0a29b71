"""What is printed about a candidate is true when replayed: every sentence, on 200 generated traces."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from langchain_context_engine import replay
from langchain_context_engine.answering.explain import final_decisions, rows
from langchain_context_engine.answering.traces import ranking
from langchain_context_engine.values.types import Reason, Verdict
from tests.test_whatif import TRACES, a_generated_context

pytestmark = pytest.mark.unmeasured

PROMISE = re.compile(r"with (\d+) (?:tokens )?more|(\d+) more tokens")
"""A number of tokens that would let the candidate in."""


@pytest.fixture(scope="module")
def told():
    """Return (context, its replay, its passages by key, row) of every candidate of every trace."""
    found = []
    for seed in range(TRACES):
        context = a_generated_context(seed)
        again = replay(context)
        passages = {passage.key: passage for passage in again.passages}
        found += [(context, again, passages, row) for row in rows(context, ranking(context))]
    return found


def test_a_trace_replays_to_the_fates_and_sentences_that_were_told(told):
    for context, again, _, row in told:
        decision = final_decisions(again)[row.key]
        assert (decision.verdict, decision.reason) == (row.verdict, row.reason), row.sentence
        assert dict(decision.details) == dict(final_decisions(context)[row.key].details)


def test_what_is_said_to_be_in_is_in_as_said(told):
    kinds = Counter()
    for _, _, passages, row in told:
        assert (row.key in passages) == (row.verdict is Verdict.KEPT), row.sentence
        assert row.sentence.startswith("in") == (row.key in passages)
        if row.key not in passages:
            continue
        passage = passages[row.key]
        kinds[row.reason] += 1
        assert f"{passage.tokens} tokens" in row.sentence
        assert (row.reason is Reason.WHOLE) == (not passage.is_truncated), row.sentence
        if row.reason is Reason.EXTRACTED:
            chosen, of = map(int, re.findall(r"in, (\d+) of its (\d+) sentences", row.sentence)[0])
            assert 0 < chosen < of
    assert set(kinds) >= {Reason.WHOLE, Reason.EXTRACTED, Reason.CUT}


def test_what_is_said_to_repeat_another_repeats_one_that_is_there(told):
    count = 0
    for context, _, passages, row in told:
        winner = final_decisions(context)[row.key].repeats
        if row.reason is Reason.DUPLICATE:
            count += 1
            assert row.key in passages[winner].also_in, row.sentence
        elif winner is not None:
            assert "which fell too" in row.sentence
            assert winner not in passages
    assert count > TRACES / 8


def test_what_is_said_of_room_and_thresholds_adds_up(told):
    for _, _, _, row in told:
        room = re.search(r"needs (\d+) tokens, (\d+) were left", row.sentence)
        if room:
            assert int(room[1]) > int(room[2]), row.sentence
        if row.reason is Reason.BELOW_THRESHOLD:
            assert row.details["score"] < row.details["threshold"]


def test_so_many_tokens_more_is_only_said_where_a_replay_proves_it(told):
    for context, _, _, row in told:
        for number in PROMISE.findall(row.sentence):
            more = int(next(filter(None, number)))
            wider = replay(context, budget=context.budget + more)
            assert row.key in {passage.key for passage in wider.passages}, row.sentence
