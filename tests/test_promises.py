"""The promises, on generated candidates, counters, templates, selections and budgets."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine import ContextEngine
from tests import promises
from tests.builders import ListSource
from tests.strategies import BUDGETS, QUERIES, candidates, settings_of_engines

generated = settings(deadline=None, max_examples=40)


def build(found, config, query, budget, **fields):
    engine = ContextEngine(sources=[ListSource(found, "offered")], **config)
    return engine, engine.build(query, budget=budget, now="2026-01-01", **fields)


cases = given(found=candidates(), config=settings_of_engines(), query=QUERIES, budget=BUDGETS)


RULES = {
    "1: every candidate has exactly one final decision": lambda context, engine, found, budget: (
        promises.one_final_decision(context, {candidate.key for candidate in found})
    ),
    "1: a duplicate names a kept passage that lists it": lambda context, *_: (
        promises.duplicates_name_who_keeps_them(context)
    ),
    "1: kept decisions and passages are the same candidates": lambda context, *_: (
        promises.kept_is_what_stands_there(context)
    ),
    "2: the text never exceeds the budget and its count is told": lambda context, engine, found, budget: (
        promises.within_budget(context, engine, budget)
    ),
    "5: a passage is made of exact pieces of its original in order": lambda context, *_: (
        promises.exact_pieces(context)
    ),
    "6: markers are unique and stand in no passage": lambda context, *_: promises.markers_are_unique(context),
    "9: replay with unchanged settings gives the same bytes": lambda context, engine, *_: (
        promises.replays_to_the_same_bytes(context, engine)
    ),
}


@pytest.mark.parametrize("rule", RULES)
@cases
@generated
def test_a_promise_holds_of_any_answer(rule, found, config, query, budget):
    engine, context = build(found, config, query, budget)
    RULES[rule](context, engine, found, budget)


@cases
@generated
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
            import time

            time.sleep(delays[self.name])
            return super().fetch(request)

    sources = [Late(found[:half], "one"), Late(found[half:], "two")]
    texts = set()
    for turn in range(2):
        order = [0.0, 0.002] if (seed + turn) % 2 else [0.002, 0.0]
        delays = dict(zip(("one", "two"), order, strict=True))
        texts.add(ContextEngine(sources=sources, **config).build(query, budget=budget, now="2026-01-01").text)
    assert len(texts) == 1


@given(found=candidates(), config=settings_of_engines(), query=QUERIES, budget=BUDGETS)
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
    from tests.builders import a_candidate, count_words

    found = [
        a_candidate(text=" ".join(rng.sample(vocabulary, rng.randint(3, 60))) + ".", relevance=rng.random())
        for _ in range(number)
    ]
    engine = ContextEngine(sources=[ListSource(found)], tokenizer=count_words, limit=100)
    context = engine.build("anything", budget=budget)
    offered = sum(count_words(candidate.text) + 1 for candidate in found)
    assert context.tokens >= min(budget, offered) - engine.config.budget.minimum_cut


@given(found=candidates(), config=settings_of_engines(), query=QUERIES, budget=BUDGETS)
@settings(deadline=None, max_examples=40)
def test_nothing_from_outside_the_scope_appears_anywhere(found, config, query, budget):
    """Promise 4."""
    from dataclasses import replace

    mine = [replace(c, metadata={**c.metadata, "tenant": "mine"}) for c in found]
    theirs = [
        replace(c, id=f"SECRET{i}", text=f"SECRET {c.text}", metadata={"tenant": "theirs", "title": "SECRET"})
        for i, c in enumerate(found)
    ]
    _, context = build([*theirs, *mine], config, query, budget, scope={"tenant": "mine"})
    assert "SECRET" not in str(context.to_dict())
