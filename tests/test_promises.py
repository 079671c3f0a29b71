"""The promises, on generated candidates, counters, templates, selections and budgets."""

from __future__ import annotations

import random
import time
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine import ContextEngine
from tests import promises
from tests.builders import ListSource, a_candidate, count_words
from tests.strategies import BUDGETS, QUERIES, candidates, settings_of_engines


def build(found, config, query, budget, **fields):
    engine = ContextEngine(sources=[ListSource(found, "offered")], **config)
    return engine, engine.build(query, budget=budget, now="2026-01-01", **fields)


cases = given(found=candidates(), config=settings_of_engines(), query=QUERIES, budget=BUDGETS)


@cases
@settings(deadline=None, max_examples=80)
def test_the_promises_hold_of_any_answer(found, config, query, budget):
    """Promises 1, 2, 5, 6, 7 and 9."""
    engine, context = build(found, config, query, budget)
    promises.hold(context, engine, {candidate.key for candidate in found}, budget)


@cases
@settings(deadline=None, max_examples=40)
def test_the_published_score_is_the_sort_key_and_contributions_add_up_to_it(found, config, query, budget):
    """Promise 7, E45."""
    engine, _ = build(found, config, query, budget)
    promises.scores_sort_and_add_up(engine.search(query, now="2026-01-01"))


@given(
    found=candidates(), config=settings_of_engines(), query=QUERIES, budget=BUDGETS, seed=st.integers(0, 3)
)
@settings(deadline=None, max_examples=30)
def test_the_order_in_which_sources_answer_never_changes_the_text(found, config, query, budget, seed):
    """Promise 3."""
    half = len(found) // 2

    class Late(ListSource):
        def fetch(self, request):
            time.sleep(delays[self.name])
            return super().fetch(request)

    sources = [Late(found[:half], "one"), Late(found[half:], "two")]
    texts = set()
    for turn in range(2):
        order = [0.0, 0.002] if (seed + turn) % 2 else [0.002, 0.0]
        delays = dict(zip(("one", "two"), order, strict=True))
        texts.add(ContextEngine(sources=sources, **config).build(query, budget=budget, now="2026-01-01").text)
    assert len(texts) == 1


@cases
@settings(deadline=None, max_examples=20)
def test_sync_and_async_give_the_same_context(found, config, query, budget):
    """Promise 10."""
    engine, context = build(found, config, query, budget)
    promises.async_gives_the_same(context, engine, query, budget=budget, now="2026-01-01")


@given(number=st.integers(4, 40), budget=st.integers(40, 400), seed=st.integers(0, 10_000))
@settings(deadline=None, max_examples=40)
def test_the_budget_is_used_where_candidates_suffice(number, budget, seed):
    """Promise 11."""
    rng = random.Random(seed)
    vocabulary = [f"w{i}" for i in range(4000)]
    found = [
        a_candidate(text=" ".join(rng.sample(vocabulary, rng.randint(3, 60))) + ".", relevance=rng.random())
        for _ in range(number)
    ]
    engine = ContextEngine(sources=[ListSource(found)], tokenizer=count_words, limit=100)
    context = engine.build("anything", budget=budget)
    offered = sum(count_words(candidate.text) + 1 for candidate in found)
    assert context.tokens >= min(budget, offered) - engine.config.budget.minimum_cut


@cases
@settings(deadline=None, max_examples=40)
def test_nothing_from_outside_the_scope_appears_anywhere(found, config, query, budget):
    """Promise 4."""
    mine = [replace(c, metadata={**c.metadata, "tenant": "mine"}) for c in found]
    theirs = [
        replace(c, id=f"SECRET{i}", text=f"SECRET {c.text}", metadata={"tenant": "theirs", "title": "SECRET"})
        for i, c in enumerate(found)
    ]
    _, context = build([*theirs, *mine], config, query, budget, scope={"tenant": "mine"})
    assert "SECRET" not in str(context.to_dict())
