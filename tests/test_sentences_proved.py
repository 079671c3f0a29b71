"""What is printed about a candidate is true of traces of every shape: templates, orders, filters, pins, rules."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest

from langchain_context_engine import Budget, ContextEngine, replay
from langchain_context_engine.config import EngineConfig
from langchain_context_engine.models.types import Reason, Verdict
from langchain_context_engine.pipeline.selection import Diversity
from langchain_context_engine.rendering.templates import TEMPLATES
from langchain_context_engine.text.similarity import Wording, ratio
from langchain_context_engine.trace.explain import explain, rows
from langchain_context_engine.trace.replay import ranking
from langchain_context_engine.trace.what_if import what_would_it_take
from tests.builders import ListSource, a_candidate
from tests.trace.test_what_if import TRACES, WORDS

pytestmark = pytest.mark.unmeasured

ASKED_OF = 8
"""Of every so many traces one is asked what it would take: that costs more than all else here."""

TWICE = (
    "Invoices go out on the first of the month, by post. They are sent to every customer who owes us money."
)
ROOM = re.compile(r"needs (?P<needed>[\d,]+) tokens, (?P<left>[\d,]+) were left at its turn")
LETS_IN = re.compile(r"a budget of ([\d,]+) lets it in, (no smaller one (?:of \d+ tried )?does)")


def a_text(chance):
    kind = chance.random()
    if kind < 0.2:
        return chance.choice((TWICE, TWICE, TWICE.upper(), TWICE.partition(". ")[0], f"> {TWICE} Bye."))
    if kind < 0.3:
        return "def close(self):\n    for one in self.open:\n        one.close()\n" * chance.randint(1, 3)
    if kind < 0.34:
        return ""
    sentences = [
        " ".join(chance.choices(WORDS, k=chance.randint(3, 14))) for _ in range(chance.randint(1, 5))
    ]
    return " ".join(f"{sentence.capitalize()}." for sentence in sentences)


def a_shaped_candidate(chance, source, number):
    metadata = {"path": chance.choice(("a.md", "src/b.py")), "start_line": number}
    return a_candidate(
        id=f"{source}{number}",
        source=source,
        kind=chance.choice(("memory", "note", "code")),
        text=a_text(chance),
        metadata=metadata if chance.random() < 0.5 else {},
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
    offered = [
        ListSource([a_shaped_candidate(chance, name, i) for i in range(chance.randint(2, 6))], name=name)
        for name in names
    ]
    engine = ContextEngine(
        offered,
        tokenizer=tokenizer,
        template=chance.choice(sorted(TEMPLATES)),
        order=chance.choice(("relevance", "edges", "chronological", "stable")),
        truncator=chance.choice(("none", "extractive", "keep_start", "keep_end")),
        selection=chance.choice(("adaptive", "score", "density", "knapsack")),
        weights=chance.choice((None, {"relevance": 0.5, "recency": 0.3, "keyword": 0.2})),
        min_score=chance.choice((None, None, 0.2)),
        thresholds=chance.choice(({}, {}, {names[0]: 0.8})),
        dedupe_threshold=chance.choice((90.0, 75.0, 100.0, None)),
        diversity=chance.choice((None, None, Diversity(kind_share=0.4, after=1))),
        group_by=group_by,
        when_doubtful=chance.choice(("keep", "keep", "keep", "empty")),
        doubtful_below=chance.choice((0, 0.25, 0.7)),
        budget=Budget(
            tokens=(4 if tokenizer == "utf8_bytes" else 1) * chance.randint(15, 220),
            reserve=chance.choice((0, 0, 10)),
            shares={name: chance.choice((0, 1, 2)) for name in names} if has_shares else {},
            item_cap=chance.choice((None, None, 0.4)),
            source_cap=chance.choice((None, None, 0.5)),
        ),
    )
    pin = a_candidate(id="pin", text="Pinned: the tide.", source="pinned")
    asked = {
        "k": chance.choice((None, None, 1, 3)),
        "pinned": chance.choice(((), (), (pin,))),
        "excluded": chance.choice(((), (), ((names[0], f"{names[0]}0"),))),
        "where": chance.choice((None, None, None, {"path": "a.md"})),
        "kinds": chance.choice((None, None, None, ("note", "code"))),
    }
    query = chance.choice((" ".join(chance.sample(WORDS, 3)), "what is the latest invoice?", "zzz qqq"))
    return engine.build(query, now="2026-01-01", **asked)


@pytest.fixture(scope="module")
def traces():
    return [a_shaped_context(seed) for seed in range(TRACES)]


def lifted(context, reason):
    """Return the settings under which a reason cannot be given any more; None where none makes it so."""
    budget = replace(EngineConfig.read(context.settings).budget, tokens=context.budget)
    return {
        Reason.OVER_BUDGET: {"budget": 500 * context.budget},
        Reason.OVER_SHARE: {"budget": replace(budget, shares={}, source_cap=None)},
        Reason.OVER_ITEM_CAP: {"budget": replace(budget, item_cap=None)},
        Reason.DIVERSITY: {"diversity": None},
        Reason.ENOUGH: {"diversity": None},
        Reason.OVER_K: {"k": None},
        Reason.DOUBTFUL: {"when_doubtful": "keep"},
    }.get(reason)


def test_a_reason_is_no_more_where_what_it_names_is_lifted(traces):
    """Promise 12."""
    for seed, context in enumerate(traces):
        again = replay(context)
        assert again.text == context.text
        told = context.final_decisions()
        assert all(again.final_decisions()[key] == told[key] for key in told if told[key].stage != "collect")
        for reason in {decision.reason for decision in told.values()}:
            settings = lifted(context, reason)
            others = replay(context, **settings).final_decisions() if settings else {}
            assert not any(
                others[key].reason is reason for key in told if settings and told[key].reason is reason
            ), (seed, reason)


def test_what_is_told_of_a_fate_is_so(traces):
    """Promises 1 and 12: a duplicate's winner stands for it, an alike one is so alike, what lacks room lacks it."""
    for context in traces:
        texts = {candidate.key: candidate.text for candidate in context.candidates}
        shown = {passage.key: passage for passage in context.passages}
        for row in rows(context, ranking(context)):
            decision = context.final_decisions()[row.key]
            assert row.sentence.startswith("in") == (row.key in shown)
            if said := ROOM.search(row.sentence):
                assert int(said["left"].replace(",", "")) < int(said["needed"].replace(",", ""))
            if decision.reason is Reason.DUPLICATE and decision.stage == "dedupe":
                assert row.key in shown[decision.repeats].also_in
                a, b = (
                    Wording(texts[row.key]),
                    Wording(texts[decision.details.get("through") or decision.repeats]),
                )
                alike = max(ratio(a.folded, b.folded), ratio(a.bare, b.bare))
                assert alike == pytest.approx(decision.details["similarity"])


def test_what_would_admit_a_candidate_does_so(traces):
    """Promise 12; min_score from 0.2 to 0.115321 was printed of a candidate that scores .11532051."""
    proved = 0
    for context in traces[::ASKED_OF]:
        fates = context.final_decisions().items()
        out = [key for key, d in fates if d.verdict is Verdict.DROPPED and d.stage != "collect"][:1]
        for key in out:
            for change in what_would_it_take(context, key):
                again = replay(context, **change.settings)
                assert key in {passage.key for passage in again.passages}, change.sentence
                proved += 1
            if said := LETS_IN.search(explain(context, key)):
                least = int(said[1].replace(",", ""))
                assert key in {passage.key for passage in replay(context, budget=least).passages}
                if said[2] == "no smaller one does":
                    smaller = (replay(context, budget=b) for b in range(context.budget + 1, least))
                    assert not any(key in {p.key for p in one.passages} for one in smaller)
    assert proved > TRACES / ASKED_OF / 2
