"""The prime-context design: how it weighs, chooses and learns (FEATURES C4–C6, C11, C13)."""

from __future__ import annotations

import math

import pytest

from langchain_context_engine import replay
from langchain_context_engine.designs.prime import ENGINE
from langchain_context_engine.models.types import Reason
from tests.builders import count_words
from tests.designs.prime_builders import NOW, a_service, ask, item, ranked
from tests.test_telemetry import points, reader

__all__ = ["reader"]


def reasons(context):
    return {
        decision.key[1]: decision.reason for decision in context.trace.decisions if decision.stage == "pack"
    }


def twins(n, **fields):
    """Return files that differ in a number only."""
    return [{"id": f"f{i:02}", "path": f"{i}", "text": f"invoices part {i:02}", **fields} for i in range(n)]


def test_the_score_is_the_weighted_sum_of_the_signals():
    """C4."""
    context = ask(a_service(), references=["refunds"])
    for passage in context.trace.passages:
        signals = passage.ranked.signals
        expected = math.fsum(weight * signals[name] for name, weight in ENGINE["weights"].items())
        assert passage.ranked.score == pytest.approx(expected)
    assert [i.relevance for i in context.items] == [p.ranked.score for p in context.trace.passages]


def test_text_similarity_is_the_cosine_of_tf_idf():
    """C4."""
    files = [
        {"id": "a", "path": "1", "text": "alpha beta"},
        {"id": "b", "path": "2", "text": "alpha gamma gamma"},
    ]
    context = ask(a_service(files, messages=None), "alpha beta")
    alpha, rare = math.log(1 + 2 / 2), math.log(1 + 2 / 1)
    query = math.hypot(alpha, rare)
    assert ranked(context, "a").signals["term_similarity"] == pytest.approx(1)
    assert ranked(context, "b").signals["term_similarity"] == pytest.approx(
        alpha * alpha / (query * math.hypot(alpha, 2 * rare))
    )


def test_keywords_match_words_and_not_parts_of_words():
    """C4: in the document `art` is found in `party`."""
    files = [
        {"id": "part", "path": "1", "text": "many billings and cards are here"},
        {"id": "word", "path": "2", "text": "the billing of the card"},
    ]
    context = ask(a_service(files, messages=None), "billing card policy rule")
    assert ranked(context, "word").signals["keyword_match"] == pytest.approx(2 / 4)
    assert ranked(context, "part").signals["keyword_match"] == 0
    other = ask(a_service(files, messages=None), "what is the billing of it, ann?")
    assert ranked(other, "word").signals["keyword_match"] == 1


@pytest.mark.parametrize(
    ("created_at", "recency"),
    [
        (NOW, 1.0),
        ("2026-03-09T12:00:00Z", math.exp(-0.24)),
        ("2026-02-28T12:00:00Z", math.exp(-2.4)),
        ("2027-01-01", 1.0),
        ("unreadable", 0.5),
    ],
)
def test_recency_is_e_to_minus_a_hundredth_per_hour(created_at, recency):
    """C4."""
    context = ask(a_service(twins(1, created_at=created_at)))
    assert ranked(context, "f00").signals["recency_exponential"] == pytest.approx(recency)


def test_priorities_are_reference_1_file_7_chunk_6_message_5_other_3():
    """C4."""
    files = [
        {"id": "ref", "path": "ref", "text": "invoices one"},
        {"id": "file", "path": "b", "text": "invoices two beta"},
        {"id": "chunk", "path": "c", "text": "invoices three gamma", "kind": "chunk"},
        {"id": "other", "path": "d", "text": "invoices four delta", "kind": "picture"},
    ]
    context = ask(a_service(files), references=["ref"])
    priority = {
        i: ranked(context, i).signals["source_priority"] for i in ("ref", "file", "chunk", "m1", "other")
    }
    assert priority == {"ref": 1.0, "file": 0.7, "chunk": 0.6, "m1": 0.5, "other": 0.3}


def test_an_explicit_reference_scores_above_a_file_that_says_the_same():
    """C4: the document's own test."""
    files = [{"id": "a", "path": "1", "text": "test part 1"}, {"id": "b", "path": "2", "text": "test part 2"}]
    context = ask(a_service(files, messages=None), "test", references=["b"])
    assert item(context, "b").relevance > item(context, "a").relevance
    assert context.items[0].id == "b"


def test_usage_is_a_tenth_for_each_use_and_1_at_most(tmp_path):
    """C4."""
    service = a_service(twins(3), journal=tmp_path / "journal.db")
    source = service.engine.sources[0].collection_name
    service.engine.journal.touch([(source, "f01")] * 3 + [(source, "f02")] * 40)
    context = ask(service)
    assert [ranked(context, f"f0{n}").signals["usage"] for n in range(3)] == pytest.approx([0, 0.3, 1])
    service.close()


def test_what_costs_less_for_the_same_worth_is_chosen_first():
    """C5: value density."""
    files = [
        {"id": "short", "path": "1", "text": "invoices go out"},
        {"id": "long", "path": "2", "text": "invoices are sent monthly " + "by mail as agreed " * 5},
    ]
    settings = {"messages": None, "tokenizer": count_words, "truncator": "none", "budget": 28}
    message = "are invoices sent monthly?"
    best_first = ask(a_service(files, selection="score", **settings), message)
    assert [i.id for i in best_first.items] == ["long"]
    assert [i.id for i in ask(a_service(files, **settings), message).items] == ["short"]


def test_a_kind_above_70_percent_of_more_than_five_makes_room_for_others():
    """C5."""
    messages = [
        {"id": f"m{n}", "thread_id": "t1", "text": f"the garden has {word} in it {n} of the year"}
        for n, word in enumerate(("benches", "roses", "snails", "a pond"))
    ]
    settings = {"dedupe_threshold": None, "tokenizer": count_words, "budget": 80}
    context = ask(a_service(twins(20), messages, **settings))
    kinds = [i.type for i in context.items]
    alone = ask(a_service(twins(20), messages, **settings, diversity=None))
    assert kinds.count("message") > [i.type for i in alone.items].count("message")
    assert kinds.count("file") <= 0.75 * len(kinds)


def test_the_rule_of_kinds_is_none_where_there_is_one_kind():
    """C5: four of ten were left out of an empty budget."""
    context = ask(a_service(twins(10), messages=None, dedupe_threshold=None))
    assert len(context.items) == 10
    assert set(reasons(context).values()) == {Reason.WHOLE}


def test_what_other_kinds_leave_over_goes_to_those_that_were_skipped():
    """C5, promise 11."""
    messages = [{"id": "m0", "thread_id": "t1", "text": "a message about invoices"}]
    context = ask(a_service(twins(9), messages, dedupe_threshold=None))
    assert len(context.items) == 10


def test_it_stops_above_90_percent_with_ten_chosen():
    """C5."""
    files = twins(10)
    messages = [
        {"id": f"m{n:02}", "thread_id": "t1", "text": f"invoices message {n:02} of the thread"}
        for n in range(10)
    ]
    wide = ask(a_service(files, messages, dedupe_threshold=None, tokenizer=count_words))
    cost = sum(i.tokens for i in wide.items[:12])
    context = ask(a_service(files, messages, dedupe_threshold=None, tokenizer=count_words, budget=cost))
    assert Reason.ENOUGH in reasons(context).values()
    assert len(context.items) >= 10
    assert context.total_tokens > 0.9 * cost


@pytest.mark.parametrize("tokens", [20, 60, 200])
def test_where_nothing_fits_whole_one_item_is_cut(tokens):
    """C5: the document exceeds the budget here."""
    files = [{"id": "a", "path": "1", "text": "Invoices are sent monthly to every customer. " * 100}]
    context = ask(a_service(files, messages=None, budget=tokens), references=["a"])
    assert [i.id for i in context.items] == ["a"]
    assert 0 < context.total_tokens <= tokens
    assert context.trace.is_truncated


def test_the_budget_is_never_exceeded():
    """C5: the document's own test: 20 items of 100 tokens each in 500."""
    files = [{"id": f"f{n}", "path": f"{n}", "text": f"invoices w{n} " + f"x{n} " * 98} for n in range(20)]
    for budget in (0, 1, 7, 100, 500):
        context = ask(a_service(files, messages=None, tokenizer=count_words, budget=budget))
        assert context.total_tokens == count_words(context.text) <= budget


def test_the_optimal_selection_is_at_least_as_good_and_the_gap_says_by_how_much():
    """C6."""
    files = [
        {"id": f"f{n}", "path": f"{n}", "text": f"invoices sent part{n} " + f"filler{n} " * size}
        for n, size in enumerate((1, 20, 21, 22))
    ]
    settings = {"messages": None, "tokenizer": count_words, "truncator": "none", "diversity": None}
    greedy, best = (
        a_service(files, budget=60, selection=selection, **settings) for selection in ("density", "knapsack")
    )
    by_density, by_worth = ask(greedy), ask(best)

    def worth(context):
        return sum(i.relevance for i in context.items)

    assert worth(by_worth) >= worth(by_density)
    assert best.optimality_gap(by_worth) == pytest.approx(0)
    assert greedy.optimality_gap(by_density) == pytest.approx(1 - worth(by_density) / worth(by_worth))


def test_the_gap_of_a_greedy_choice_that_is_far_off_is_told():
    """C6."""
    long = {"id": "long", "path": "l", "text": "invoices are sent " + "by mail as agreed " * 8}
    short = {"id": "short", "path": "s", "text": "invoices"}
    settings = {"messages": None, "tokenizer": count_words, "truncator": "none", "budget": 41}
    service = a_service([long, short], **settings)
    context = ask(service, "are invoices sent by mail as agreed?")
    assert [i.id for i in context.items] == ["short"]
    assert service.optimality_gap(context) == pytest.approx(0.59, abs=0.02)
    empty = a_service(messages=None, files=twins(1))
    assert empty.optimality_gap(ask(empty, user="nobody")) == 0


def test_feedback_is_felt_at_once_although_answers_are_kept(tmp_path):
    """C10, C11."""
    service = a_service(twins(2), messages=None, journal=tmp_path / "journal.db")
    first = service.build_prime_context("t1", "invoices", "ann")
    source = first.trace.candidates[0].source
    service.record_feedback(f"{source}/f01", True, "ann")
    second = service.build_prime_context("t1", "invoices", "ann")
    assert not second.metrics.is_cached
    assert second.items[0].id == "f01"
    service.close()


def test_a_trace_replays_without_the_service():
    """Promise 9."""
    context = ask(a_service(), references=["refunds"])
    assert replay(context.trace.to_dict()).text == context.text


def test_instruments_tell_times_items_tokens_and_cache_hits(reader):
    """C13: from end to end."""
    service = a_service()
    for _ in range(3):
        context = service.build_prime_context("t1", "When are invoices sent?", "ann")
    told = points(reader)
    assert told["context_engine.assembly.duration"][0].count == 3
    for phase in ("search", "scoring", "optimisation"):
        (point,) = told[f"context_engine.{phase}.duration"]
        assert point.count == 1
        assert point.sum > 0
    assert told["context_engine.items.retrieved"][0].max == context.metrics.items_retrieved
    assert told["context_engine.items.selected"][0].max == len(context.items)
    assert told["context_engine.tokens"][0].max == context.total_tokens
    hits = {p.attributes["hit"]: p.value for p in told["context_engine.cache.lookups"]}
    assert hits == {True: 2, False: 1}
    assert service.engine.cache.hit_rate == pytest.approx(2 / 3)
