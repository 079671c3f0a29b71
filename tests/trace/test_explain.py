"""How a duplicate repeats what stands for it is told truly: no share of texts of which one has more."""

from __future__ import annotations

import re

import pytest

from langchain_context_engine import ContextEngine, replay
from langchain_context_engine.models.types import Decision, Reason, Verdict
from langchain_context_engine.trace.explain import Names
from tests.builders import ListSource, a_candidate

WHOLE = (
    "Invoices go out on the first of the month. They are sent by post to every customer who owes us money, "
    "and a copy is filed in the archive by the clerk."
)


def a_context(*texts, metadata=None, **settings):
    """Return what becomes of texts, the first the best."""
    found = [
        a_candidate(id=str(i), text=text, relevance=1 - i / 10, metadata=metadata or {})
        for i, text in enumerate(texts)
    ]
    return ContextEngine([ListSource(found)], tokenizer="estimate", **settings).build("x", now="2026-01-01")


def told(context, number):
    return Names(context).how_alike(context.final_decisions()[("memories", str(number))])


def test_of_a_text_that_another_holds_and_more_no_share_is_told():
    """100 % alike stood beside a text that had a sentence more."""
    context = a_context(WHOLE, WHOLE.partition(", and")[0], metadata={"path": "a.md"})
    assert told(context, 1) == "all that would stand of it is said there"
    assert "%" not in context.explain(("memories", "1"))


@pytest.mark.parametrize(
    ("text", "how"),
    [
        (WHOLE, "the same text"),
        (WHOLE.upper(), "the same but for case and spaces"),
        (WHOLE.replace("the archive", "archive"), "the same but for articles and punctuation"),
    ],
)
def test_of_texts_with_the_same_words_it_is_told_what_differs(text, how):
    assert told(a_context(WHOLE, text), 1) == how


def test_what_is_known_of_another_in_between_is_told_of_that():
    """A version is beaten by a newer one, and that by another text: the share is of the first two."""
    details = {"winner": ("a", "0"), "through": ("a", "1"), "similarity": 93.0}
    decision = Decision(
        stage="dedupe", key=("a", "2"), verdict=Verdict.DROPPED, reason=Reason.DUPLICATE, details=details
    )
    assert Names(a_context(WHOLE)).how_alike(decision) == "through a/1 (93 % alike)"


def test_of_what_lacked_room_the_budget_that_admits_it_is_told_and_who_else_moves():
    """B2: what it needed, what was left, and "with 210 more" were three accounts of one room."""
    found = [a_candidate(id=name, text=f"{name} " * 12, relevance=1 - n / 9) for n, name in enumerate("abcd")]
    engine = ContextEngine([ListSource(found)], tokenizer="estimate", truncator="none", template="cited")
    context = engine.build("q", budget=60)
    missing = next(key for key, d in context.final_decisions().items() if d.reason is Reason.OVER_BUDGET)
    told = re.search(
        r"a budget of (\d+) lets it in, (no smaller one (?:of \d+ tried )?does)", context.explain(missing)
    )
    assert re.search(r"needs \d+ tokens, \d+ were left at its turn", context.explain(missing))
    budget = int(told[1])
    assert missing in {passage.key for passage in replay(context, budget=budget).passages}
    assert told[2] == "no smaller one does"
    for smaller in range(context.budget, budget):
        assert missing not in {passage.key for passage in replay(context, budget=smaller).passages}
