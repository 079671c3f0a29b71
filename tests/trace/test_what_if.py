"""What it would take: every change is proved by a replay, and what it says of itself is so."""

from __future__ import annotations

import random

import pytest

from langchain_context_engine import Budget, ContextEngine, replay
from langchain_context_engine.models.types import Verdict
from langchain_context_engine.pipeline.selection import Diversity
from langchain_context_engine.trace.replay import diff
from langchain_context_engine.trace.what_if import budget_that_admits, what_would_it_take
from tests.builders import ListSource, a_candidate

pytestmark = pytest.mark.unmeasured

WORDS = [
    "tide", "harbour", "lamp", "rope", "ledger", "gull",
    "engine", "winter", "paint", "chart", "invoice", "refund",
]  # fmt: skip
TRACES = 200
FEWER = 80
"""Of which most runs prove every change; the long form proves all."""


def a_generated_context(seed):
    """Return what an engine with some settings makes of some candidates: the same for the same seed."""
    chance = random.Random(seed)
    sources = [
        ListSource([a_generated_candidate(chance, name, i) for i in range(chance.randint(2, 5))], name=name)
        for name in ("notes", "code", "mail")[: chance.randint(1, 2)]
    ]
    shares = {source.name: chance.choice((1, 2)) for source in sources} if chance.random() < 0.3 else {}
    engine = ContextEngine(
        sources=sources,
        tokenizer="estimate",
        truncator=chance.choice(("none", "extractive", "keep_start")),
        selection=chance.choice(("adaptive", "adaptive", "score", "density")),
        weights=chance.choice((None, {"relevance": 1}, {"relevance": 0.6, "recency": 0.4})),
        min_score=chance.choice((None, None, 0.3)),
        dedupe_threshold=chance.choice((90.0, 75.0, None)),
        diversity=chance.choice((None, None, Diversity(kind_share=0.4, after=1))),
        budget=Budget(
            tokens=chance.randint(25, 120),
            shares=shares,
            item_cap=chance.choice((None, None, 0.4)),
            source_cap=chance.choice((None, None, 0.5)),
        ),
    )
    k = chance.choice((None, None, 2, 4))
    return engine.build(" ".join(chance.sample(WORDS, 3)), k=k, now="2026-01-01")


def a_generated_candidate(chance, source, number):
    """Return a candidate of some sentences; one in five says what every such one says, in other case."""
    if chance.random() < 0.2:
        text = "Invoices go out on the first of the month, by post."
        return a_candidate(
            id=f"{source}{number}",
            source=source,
            text=chance.choice((text, text.upper(), text.replace("by post", "by the post"))),
            relevance=round(chance.random(), 2),
        )
    sentences = [
        " ".join(chance.choices(WORDS, k=chance.randint(5, 14))) for _ in range(chance.randint(1, 5))
    ]
    return a_candidate(
        id=f"{source}{number}",
        source=source,
        kind=chance.choice(("memory", "note")),
        text=" ".join(f"{sentence.capitalize()}." for sentence in sentences),
        relevance=round(chance.random(), 2),
        created_at=f"20{chance.randint(20, 25)}-0{chance.randint(1, 9)}-11",
    )


@pytest.fixture(
    scope="module",
    params=[FEWER, pytest.param(TRACES, marks=[pytest.mark.attack, pytest.mark.timeout(600)])],
)
def contexts(request):
    return [a_generated_context(seed) for seed in range(request.param)]


@pytest.fixture(scope="module")
def told(contexts):
    """Return (context, key, change) of a candidate of each trace that was left out."""
    return [
        (context, key, change)
        for context in contexts
        for key in left_out(context)[:1]
        for change in what_would_it_take(context, key)
    ]


def left_out(context):
    """Return the candidates that were left out, in an order that is no ranking."""
    keys = [key for key, d in context.final_decisions().items() if d.verdict is Verdict.DROPPED]
    return random.Random(len(keys)).sample(keys, len(keys))


def test_each_change_that_is_told_lets_its_candidate_in_when_replayed(told, contexts):
    """B2, promise 12."""
    for context, key, change in told:
        again = replay(context, **change.settings)
        assert key in {passage.key for passage in again.passages}, change.sentence
        assert change.leaves == diff(context, again).left
        assert ("would leave" in change.sentence) == bool(change.leaves)
    assert len(told) > len(contexts)
    settings = {change.setting.partition(".")[0] for _, _, change in told}
    assert settings >= {"budget", "k", "weights", "diversity", "min_score", "dedupe_threshold"}


def test_a_change_that_calls_itself_the_smallest_is_the_smallest(told, contexts):
    smallest = [(context, key, change) for context, key, change in told if change.is_smallest]
    assert len(smallest) > len(contexts) / 5
    for context, key, change in smallest:
        for smaller in range(change.before + 1, change.after):
            again = replay(context, **{change.setting: smaller})
            assert key not in {passage.key for passage in again.passages}, change.sentence


def test_who_asks_for_the_budget_alone_hears_the_same(told):
    """The list of what lacked room said 2,378 of one whose own account said 2,372."""
    budgets = [(context, key, change) for context, key, change in told if change.setting == "budget"]
    assert budgets
    for context, key, change in budgets:
        alone = budget_that_admits(context, key)
        assert (alone.after, alone.least) == (change.after, change.least)
        assert change.is_smallest or f"of {change.tried} tried" in change.least


def test_a_weight_is_told_with_all_that_replace_the_present_ones(told):
    """ "weights.keyword from 0 to 0.2", given as it stands, dropped relevance."""
    weighed = [change for _, _, change in told if change.setting.startswith("weights.")]
    assert weighed
    for change in weighed:
        for name, weight in change.settings["weights"].items():
            assert f"--weight {name}={weight:g}" in change.sentence


def test_what_time_does_not_suffice_for_is_named(contexts):
    """On a trace of nine hundred candidates one was waited for a minute and a half."""
    untried = set()
    for context in filter(left_out, contexts):
        changes = what_would_it_take(context, left_out(context)[0], seconds=0)
        assert not changes
        untried |= set(changes.untried)
    assert untried >= {"budget", "weights", "k"}
