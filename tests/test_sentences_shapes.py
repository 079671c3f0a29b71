"""What is printed about a candidate is true of traces of every shape: templates, orders, filters, pins, rules."""

from __future__ import annotations

import math
import random
import re
from collections import Counter

import pytest

from langchain_context_engine import Budget, ContextEngine, replay
from langchain_context_engine.answering.explain import explain, final_decisions, how_alike, rows
from langchain_context_engine.answering.traces import ranking
from langchain_context_engine.answering.whatif import what_would_it_take
from langchain_context_engine.stages.select import Diversity
from langchain_context_engine.text.similarity import Wording, ratio
from langchain_context_engine.values.types import Reason, Verdict
from langchain_context_engine.writing.templates import TEMPLATES
from tests.builders import ListSource, a_candidate
from tests.test_whatif import TRACES, WORDS

TWICE = (
    "Invoices go out on the first of the month, by post. They are sent to every customer who owes us money."
)
ASKED_OF = 6
"""Of every so many traces one is asked what it would take: that costs more than all else here."""


def a_text(chance):
    kind = chance.random()
    if kind < 0.2:
        others = (
            TWICE.upper(),
            TWICE.partition(". ")[0],
            TWICE.replace("the first", "first"),
            f"> {TWICE} Bye.",
        )
        return chance.choice((TWICE, *others))
    if kind < 0.3:
        return "def close(self):\n    for one in self.open:\n        one.close()\n" * chance.randint(1, 3)
    if kind < 0.34:
        return ""
    sentences = [
        " ".join(chance.choices(WORDS, k=chance.randint(3, 14))) for _ in range(chance.randint(1, 5))
    ]
    return " ".join(f"{sentence.capitalize()}." for sentence in sentences)


def a_shaped_candidate(chance, source, number):
    metadata = (
        {"path": chance.choice(("a.md", "src/b.py")), "start_line": number} if chance.random() < 0.5 else {}
    )
    if chance.random() < 0.3:
        metadata |= {"title": "Same", "said": f"{chance.choice(WORDS)} said this and that of it today"}
    return a_candidate(
        id=f"{source}{number}",
        source=source,
        kind=chance.choice(("memory", "note", "code")),
        text=a_text(chance),
        metadata=metadata,
        relevance=chance.choice((None, *(round(chance.random(), 2) for _ in range(9)))),
        created_at=chance.choice((None, f"20{chance.randint(20, 25)}-0{chance.randint(1, 9)}-11")),
    )


def a_shaped_context(seed):
    """Return what an engine of some shape makes of a question of some shape: the same for the same seed."""
    chance = random.Random(seed)
    names = ("notes", "code", "mail", "chat")[: chance.randint(1, 4)]
    tokenizer = chance.choice(("estimate", "estimate", "utf8_bytes"))
    group_by = chance.choice(("source", "kind"))
    has_shares = group_by == "source" and chance.random() < 0.3
    engine = ContextEngine(
        [
            ListSource([a_shaped_candidate(chance, n, i) for i in range(chance.randint(2, 6))], name=n)
            for n in names
        ],
        tokenizer=tokenizer,
        template=chance.choice(sorted(TEMPLATES)),
        order=chance.choice(("relevance", "edges", "chronological", "stable")),
        truncator=chance.choice(("none", "extractive", "keep_start", "keep_end")),
        selection=chance.choice(("adaptive", "score", "density", "knapsack")),
        weights=chance.choice((None, {"relevance": 0.5, "recency": 0.3, "keyword": 0.2})),
        min_score=chance.choice((None, None, 0.2)),
        thresholds=chance.choice(({}, {}, {names[0]: 0.8})),
        dedupe_threshold=chance.choice((90.0, 75.0, 100.0, None)),
        dedupe_key=chance.choice((None, None, None, "said")),
        diversity=chance.choice((None, None, Diversity(kind_share=0.4, after=1))),
        group_by=group_by,
        when_doubtful=chance.choice(("keep", "keep", "keep", "empty")),
        doubtful_below=chance.choice((0, 0.25, 0.7)),
        rerank=chance.choice((None, None, None, lambda _, texts: [len(text) % 13 / 13 for text in texts])),
        budget=Budget(
            tokens=(4 if tokenizer == "utf8_bytes" else 1) * chance.randint(15, 220),
            reserve=chance.choice((0, 0, 10)),
            shares={name: chance.choice((0, 1, 2)) for name in names} if has_shares else {},
            item_cap=chance.choice((None, None, 0.4)),
            source_cap=chance.choice((None, None, 0.5)),
            least_worth=chance.choice((0, 0.4, 0.5)),
        ),
    )
    asked = {
        "k": chance.choice((None, None, 1, 3)),
        "pinned": chance.choice(
            ((), (), (a_candidate(id="pin", text="Pinned: the tide.", source="pinned"),))
        ),
        "excluded": chance.choice(((), (), ((names[0], f"{names[0]}0"),))),
        "where": chance.choice((None, None, None, {"path": "a.md"})),
        "kinds": chance.choice((None, None, None, ("note", "code"))),
    }
    query = chance.choice((" ".join(chance.sample(WORDS, 3)), "what is the latest invoice?", "zzz qqq"))
    return engine.build(query, now="2026-01-01", **asked)


@pytest.fixture(scope="module")
def told():
    """Return (seed, context, its replay, the row) of every candidate of every trace."""
    found = []
    for seed in range(TRACES):
        context = a_shaped_context(seed)
        again = replay(context)
        assert again.text == context.text, seed
        found += [(seed, context, again, row) for row in rows(context, ranking(context))]
    return found


def number(text):
    return float(text.replace(",", ""))


def test_a_trace_of_any_shape_replays_to_the_fates_that_were_told(told):
    for seed, context, again, row in told:
        decision = final_decisions(context)[row.key]
        if decision.stage != "collect":
            assert final_decisions(again)[row.key] == decision, (seed, row.sentence)
    assert {row.reason for *_, row in told} >= {
        Reason.WHOLE, Reason.CUT, Reason.DUPLICATE, Reason.OVER_K, Reason.OVER_BUDGET, Reason.OVER_SHARE,
        Reason.OVER_ITEM_CAP, Reason.BELOW_THRESHOLD, Reason.DIVERSITY, Reason.FILTERED, Reason.EXCLUDED,
        Reason.EMPTY, Reason.DOUBTFUL, Reason.NOT_WORTH_READING,
    }  # fmt: skip


def test_what_is_said_to_be_in_costs_what_is_said(told):
    for seed, _, again, row in told:
        passage = next((p for p in again.passages if p.key == row.key), None)
        assert row.sentence.startswith("in") == (passage is not None), (seed, row.sentence)
        if passage is not None:
            assert f"{passage.tokens:,} tokens" in row.sentence
            assert (row.reason is Reason.WHOLE) == (not passage.is_truncated), (seed, row.sentence)


def test_a_number_that_is_said_to_be_too_small_is_smaller_as_it_is_printed(told):
    """Worth 0.40 of the best, 0.4 is the least: it was .396."""
    kinds = Counter()
    for pattern in (
        r"([\d.]+) < ([\d.]+)$",
        r"worth ([\d.]+) of the best, ([\d.]+) is the least",
        r"(\d+) telling words, (\d+) are the least",
        r"([\d,]+) were left.*needs ([\d,]+) tokens",
    ):
        for seed, _, _, row in told:
            sentence = re.sub(r"(needs [\d,]+ tokens), ([\d,]+ were left.*)", r"\2, \1", row.sentence)
            for less, more in re.findall(pattern, sentence):
                kinds[pattern] += 1
                assert number(less) < number(more), (seed, row.sentence)
    assert len(kinds) >= 3


def test_how_a_duplicate_repeats_another_is_so(told):
    kinds = Counter()
    for seed, context, again, row in told:
        decision = final_decisions(context)[row.key]
        if decision.repeats is None:
            continue
        if row.reason is Reason.DUPLICATE:
            winner = next(p for p in again.passages if p.key == decision.repeats)
            assert row.key in winner.also_in, (seed, row.sentence)
        texts = {candidate.key: candidate.text for candidate in context.candidates}
        mine, other = (
            texts[tuple(key)] for key in (row.key, decision.details.get("through") or decision.repeats)
        )
        how = how_alike(decision, context)
        kinds[re.sub(r"\d+|through .*", "", how)] += 1
        assert (mine == other) or "the same text" not in how, (seed, how)
        share = re.search(r"(\d+) % alike$", how)
        if share and "rule" not in decision.details and context.settings["dedupe_key"] is None:
            a, b = Wording(mine), Wording(other)
            alike = max(ratio(a.folded, b.folded), ratio(a.bare, b.bare))
            assert int(share[1]) == math.floor(alike) < 100, (seed, how)
    assert len(kinds) >= 5


def test_what_would_admit_a_candidate_does_so_as_it_is_printed(told):
    """min_score from 0.2 to 0.115321 was printed of a candidate that scores .11532051."""
    left_out = [one for one in told if one[3].verdict is Verdict.DROPPED and one[0] % ASKED_OF == 0]
    first = {seed: (context, row) for seed, context, _, row in reversed(left_out)}
    count = 0
    for context, row in first.values():
        for more in re.findall(r"\(a budget of ([\d,]+)\)", explain(context, row.key)):
            wider = replay(context, budget=int(number(more)))
            assert row.key in {p.key for p in wider.passages}
        for change in what_would_it_take(context, row.key):
            printed = re.match(
                r"(budget|k|min_score|dedupe_threshold) from \S+ to ([\d.,]+?)(?=;|$)", change.sentence
            )
            settings = dict(change.settings)
            if printed:
                settings = {printed[1]: type(change.after)(number(printed[2]))}
            again = replay(context, **settings)
            assert row.key in {p.key for p in again.passages}, change.sentence
            count += 1
    assert count > TRACES / ASKED_OF / 2
