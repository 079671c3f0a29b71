"""Replay, diff, explain and what-would-it-take: all on stored candidates."""

from __future__ import annotations

import json
import re

import pytest

from langchain_context_engine import ConfigError, ContextEngine, diff, replay
from langchain_context_engine.models.types import Verdict
from langchain_context_engine.trace.replay import ranking, replay_ranked
from langchain_context_engine.trace.what_if import what_would_it_take
from tests.builders import ListSource, a_candidate, count_words


def a_context(**settings):
    sure = {"confidence": 0.9}
    found = [
        a_candidate(id="best", text="alpha " * 20, relevance=0.9, created_at="2020-01-01"),
        a_candidate(id="good", text="beta " * 20, relevance=0.8, created_at="2025-12-30", metadata=sure),
        a_candidate(id="same", text="BETA " * 20, relevance=0.7),
        a_candidate(id="weak", text="gamma " * 20, relevance=0.1, created_at="2025-12-31",
                    metadata={"confidence": 1.0}),
    ]  # fmt: skip
    engine = ContextEngine(
        sources=[ListSource(found)],
        **{"truncator": "none", "weights": {"relevance": 1, "recency": 0}, **settings},
    )
    return engine.build("what of beta?", budget=60, now="2026-01-01")


def test_replay_reads_a_trace_from_json_without_a_store():
    context = a_context()
    trace = json.loads(json.dumps(context.to_dict()))
    assert replay(trace).text == context.text
    assert replay(trace, budget=1000).text != context.text
    assert replay(trace, k=1).passages[0].key[1] == "best"


@pytest.mark.parametrize(
    "changed", [{}, {"weights": {"keyword": 1, "confidence": 2}}, {"k": 0}, {"budget": 0}]
)
def test_a_ranked_replay_is_the_replay_and_its_ranking(changed):
    context, ranked = replay_ranked(a_context(), **changed)
    alone = replay(a_context(), **changed)
    assert (context.text, context.decisions) == (alone.text, alone.decisions)
    assert ranked == ranking(alone)
    assert ranked


def test_a_trace_with_a_function_replays_only_with_an_engine_that_has_it():
    found = ListSource([a_candidate(text="one two three")])
    engine = ContextEngine(sources=[found], tokenizer=count_words)
    trace = engine.build("x").to_dict()
    with pytest.raises(ConfigError, match="count_words"):
        replay(trace)
    assert replay(trace, engine).tokens == engine.build("x").tokens


def test_a_diff_says_what_entered_left_moved_and_was_recut():
    before = a_context()
    after = replay(before, weights={"confidence": 1})
    found = diff(before, after)
    assert [key[1] for key in found.entered] == ["weak"]
    assert [key[1] for key in found.left] == ["best"]
    assert found.moved == {("memories", "good"): (2, 2)} or ("memories", "good") not in found.moved
    assert found.settings["weights"][1] == {"confidence": 1}
    assert "1 entered, 1 left" in str(found)
    same = diff(before, before)
    assert (same.entered, same.left, same.moved, same.recut, same.tokens, same.overlap, same.kept_prefix) == (
        (),
        (),
        {},
        (),
        0,
        1.0,
        1.0,
    )


def test_explain_tells_every_candidate_its_fate_with_numbers():
    told = a_context().explain()
    assert "in, whole" in told
    assert "says what another passage says: [2] memories/good" in told
    assert "no room in the budget" in told
    assert re.search(r"needs \d+ tokens, \d+ were left at its turn", told)
    assert "were left at its turn" in told


def test_explain_one_tells_its_signals_and_refuses_strangers():
    context = a_context()
    told = context.explain("good")
    assert "rank 2, score 0.800" in told
    assert "relevance: 0.800" in told
    assert context.explain(("memories", "good")) == told
    with pytest.raises(ConfigError, match="nobody"):
        context.explain("nobody")


def test_nothing_is_offered_for_what_is_in_or_was_never_ranked():
    context = a_context()
    assert not what_would_it_take(context, ("memories", "best"))
    with pytest.raises(ConfigError):
        what_would_it_take(context, ("memories", "nobody"))
    empty = ContextEngine(sources=[ListSource([a_candidate(id="e", text="")])]).build("x")
    assert not what_would_it_take(empty, ("memories", "e"))


def test_of_a_cut_passage_what_keeps_it_whole_is_told_and_a_larger_number_that_does_not():
    text = " ".join(f"Paragraph {n} tells of the invoices of month {n}." for n in range(12))
    engine = ContextEngine([ListSource([a_candidate(id="long", text=text)])], tokenizer="estimate")
    context = engine.build("invoices of month 3", budget=60)
    assert context.passages[0].is_truncated
    changes = {change.setting: change for change in what_would_it_take(context, ("memories", "long"))}
    assert not changes["budget"].context.passages[0].is_truncated
    assert changes["budget"].undone_at is None
    smaller = replay(context, budget=changes["budget"].after - 1).passages
    assert smaller[0].is_truncated or not changes["budget"].is_smallest


def test_a_budget_that_admits_only_a_while_says_where_it_is_out_again():
    """3,312 let it in and 3,314 did not: who turned the knob a little further saw it leave."""
    found = [
        a_candidate(id="b", text="word " * 10, relevance=0.5),
        a_candidate(id="a", text="term " * 60, relevance=0.9),
        a_candidate(id="c", text="name " * 30, relevance=0.4),
    ]
    engine = ContextEngine([ListSource(found)], tokenizer="estimate", truncator="none", selection="score")
    proved = 0
    for budget in range(10, 60, 5):
        context = engine.build("q", budget=budget)
        for key, decision in context.final_decisions().items():
            if decision.verdict is Verdict.DROPPED:
                for change in what_would_it_take(context, key):
                    if change.undone_at is not None:
                        again = replay(context, budget=change.undone_at)
                        assert key not in {passage.key for passage in again.passages}
                        assert f"and {change.undone_at:,} does not either" in change.least
                        proved += 1
    assert proved


def test_a_weight_that_replaces_the_preference_for_the_latest_is_told_as_that():
    old, new = "Paddle takes the payments, we decided. ", "The decision is for Stripe and direct debit. "
    found = [
        a_candidate(id="old", text=old * 3, relevance=0.8, created_at="2024-01-01"),
        a_candidate(id="new", text=new * 3, relevance=0.7, created_at="2025-12-01"),
    ]
    engine = ContextEngine(sources=[ListSource(found)], truncator="none", tokenizer="estimate")
    context = engine.build("What is our latest decision?", budget=50, now="2026-01-01")
    assert [passage.key[1] for passage in context.passages] == ["new"]
    changes = what_would_it_take(context, ("memories", "old"))
    told = [change.sentence for change in changes if change.setting.startswith("weights")]
    assert told == [
        "weights from those that prefer the latest to relevance alone; [1] memories/new would leave"
    ]
    assert changes[-1].context.passages[0].key[1] == "old"


def test_a_trace_of_another_version_is_replayed_by_todays_rules_and_says_so():
    """Promise 9."""
    context = a_context()
    trace = context.to_dict()
    assert not any("made by version" in warning for warning in replay(trace).warnings)
    trace["made_by"] = "9.9.9"
    trace["settings"]["a_setting_to_come"] = 1
    trace["settings"]["fusion"]["a_weight_to_come"] = 1
    again = replay(trace)
    assert again.text == context.text
    assert [w for w in again.warnings if "made by version 9.9.9 of langchain-context-engine" in w]
    trace["made_by"] = context.made_by
    with pytest.raises(ConfigError, match="a_setting_to_come"):
        replay(trace)


@pytest.mark.parametrize("setting", [{"limit": 3}, {"timeout_seconds": 1.0}, {"index_dir": "/nowhere"}])
def test_a_setting_that_cannot_act_is_refused(setting):
    """It was accepted, told and ignored."""
    with pytest.raises(ConfigError, match=next(iter(setting))):
        replay(a_context(), **setting)
    engine = ContextEngine([ListSource([])])
    if "index_dir" in setting:
        with pytest.raises(ConfigError, match="index_dir"):
            engine.with_settings(**setting)
