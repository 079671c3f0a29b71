"""What is printed about a candidate is true of traces of every shape: templates, orders, filters, pins, rules."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from langchain_context_engine import replay
from langchain_context_engine.models.types import Reason, Verdict
from langchain_context_engine.trace.explain import FATES, explain, final_decisions, how_alike, rows
from langchain_context_engine.trace.replay import ranking
from langchain_context_engine.trace.what_if import what_would_it_take
from tests.sentence_builders import a_shaped_context, rare_contexts
from tests.sentence_proofs import Told
from tests.sentences_listed import HOW, LINES, OF_OTHERS, SEEN, SENTENCES, fits, would_admit
from tests.trace.test_what_if import TRACES

pytestmark = pytest.mark.unmeasured

ASKED_OF = 8
"""Of every so many traces one is asked what it would take: that costs more than all else here."""


@pytest.fixture(scope="module")
def told():
    """Return every candidate of every trace, with its row, and the trace's replay."""
    made = [(seed, a_shaped_context(seed), None) for seed in range(TRACES)]
    rare = [(-1 - i, context, engine) for i, (context, engine) in enumerate(rare_contexts())]
    found = []
    for seed, context, engine in (*made, *rare):
        again = replay(context, engine)
        assert again.text == context.text, seed
        replays = {}
        told_of = rows(context, ranking(context, engine) if engine else ranking(context))
        found += [Told(seed, context, again, row, engine, replays) for row in told_of]
    return found


def test_a_trace_of_any_shape_replays_to_the_fates_that_were_told(told):
    for one in told:
        decision = final_decisions(one.context)[one.row.key]
        if decision.stage != "collect":
            assert final_decisions(one.again)[one.row.key] == decision, (one.seed, one.row.sentence)
    assert {one.row.reason for one in told} == set(FATES)


def test_every_sentence_has_a_proof_and_none_is_untrue(told):
    """Issue 14: a new sentence without a proof in the list fails here."""
    for one in told:
        fits(SENTENCES, one, one.row.sentence)
        assert one.row.sentence.startswith("in") == (one.passage is not None), (one.seed, one.row.sentence)
    assert set(SEEN) >= {*SENTENCES, *HOW} - OF_OTHERS


def test_of_texts_that_a_trace_does_not_hold_no_more_is_said_than_that_their_words_are_the_same(told):
    counted = Counter()
    for one in told:
        decision = final_decisions(one.context)[one.row.key]
        if (
            one.row.reason is Reason.DUPLICATE
            and decision.stage != "pack"
            and "through" not in decision.details
        ):
            how = how_alike(decision, one.context)
            without = how_alike(decision, replace(one.context, candidates=()))
            is_keyed = isinstance(one.context.settings["dedupe_key"], str)
            equal = "the same words" if how.startswith("the same") else how
            assert without == ("" if is_keyed else equal)
            counted[without] += 1
    assert counted["the same words"]


def test_what_would_admit_a_candidate_does_so_as_it_is_printed(told):
    """min_score from 0.2 to 0.115321 was printed of a candidate that scores .11532051."""
    left_out = [one for one in told if one.row.verdict is Verdict.DROPPED and one.seed % ASKED_OF == 0]
    first = {one.seed: one for one in reversed(left_out)}
    count = 0
    for one in first.values():
        for change in what_would_it_take(one.context, one.row.key):
            would_admit(one, change)
            count += 1
    assert count > TRACES / ASKED_OF / 2


def test_every_line_that_explain_says_below_a_fate_has_a_proof(told):
    asked = {(one.seed, one.row.verdict): one for one in reversed(told) if one.seed % (5 * ASKED_OF) == 0}
    changed = next(
        one
        for one in told
        if any(d.key == one.row.key and d.verdict is Verdict.CHANGED for d in one.context.decisions)
    )
    for one in (*asked.values(), changed, *(one for one in told if one.seed < 0)):
        head, *lines = explain(one.context, one.row.key).splitlines()
        assert head == f"{one.row.label} is {one.row.sentence}"
        for line in lines:
            fits(LINES, one, line)
    assert set(SEEN) >= set(LINES)
