"""What assembling costs is bounded by sizes, since a replay has no clock: large, many and hostile texts."""

from __future__ import annotations

import random

import pytest

from langchain_context_engine import Candidate, ContextEngine, ContextRequest, replay
from langchain_context_engine.pipeline.collect import (
    LEAST_OF_MANY,
    LEAST_TEXT,
    MOST_TEXT,
    MOST_TOGETHER,
    Collected,
    bounded,
)
from tests.attack.timing import processor_seconds
from tests.builders import ListSource
from tests.growth import assert_linear

QUESTION = "when do invoices go out?"
LINE = "Invoices go out monthly, says line after line of this. "
WORDS = ["invoice", "monthly", "report", "card", "alpha", "beta", "payment", "system", "go", "out", "when"]
MOST_SECONDS = 20.0
"""Of the processor, on a machine that others load and under measured coverage; alone it is a tenth of it."""


def prose(size, seed):
    chance = random.Random(seed)
    sentence = [
        f"{' '.join(f'{chance.choice(WORDS)}{chance.randrange(50)}' for _ in range(10))}. "
        for _ in range(200)
    ]
    return "".join(chance.choice(sentence) for _ in range(size // 60))[:size]


def an_engine(texts):
    candidates = [Candidate(id=str(i), text=text, relevance=1 / (i + 1)) for i, text in enumerate(texts)]
    return ContextEngine([ListSource(candidates)])


def built(texts):
    """Return the context of a question with every candidate let in, which took no more than it may."""
    found = []
    engine = an_engine(texts)
    processor_seconds(lambda: found.append(engine.build(QUESTION, limit=100_000)), most=MOST_SECONDS)
    return found[0]


def shortened(context):
    return {d.key[1]: d.details for d in context.decisions if d.reason == "shortened"}


def test_one_text_of_many_megabytes_costs_what_a_part_of_it_costs():
    """Point 9: 20 MB took 7.4 seconds under a deadline of 2, 50 MB 18.5 seconds."""
    huge = LINE * (50_000_000 // len(LINE))
    context = built([huge, "Invoices are paid by card."])
    assert shortened(context) == {"0": {"characters": len(huge), "most": MOST_TEXT}}
    assert "paid by card" in context.text


def test_what_all_candidates_may_cost_together_is_bounded_said_and_the_same_when_replayed():
    """Point 9: twenty texts of a megabyte, each within the bound of one, took 13 seconds."""
    texts = [prose(1_000_000, seed) for seed in range(3)]
    context = built([*texts, "Invoices are paid by card."])
    said = shortened(context)
    assert sorted(said) == [str(i) for i in range(3)]
    assert len({details["most"] for details in said.values()}) == 1
    assert sum(len(candidate.text) for candidate in context.candidates) <= MOST_TOGETHER
    assert any("3 of them were shortened" in warning for warning in context.warnings)
    assert context.candidates[-1].text == "Invoices are paid by card."  # what is short is whole
    assert replay(context.to_dict()).text == context.text


def collected(*sizes):
    return Collected(
        candidates=tuple(Candidate(id=str(i), text="x" * size, source="a") for i, size in enumerate(sizes))
    )


def test_what_is_shortened_depends_on_no_order_of_the_sources_and_on_the_budget():
    def lengths(order):
        sizes = [900_000, 800_000, 700_000, 10]
        found = bounded(collected(*(sizes[i] for i in order)), ContextRequest(query="x"))
        return sorted(len(candidate.text) for candidate in found.candidates)

    assert lengths([0, 1, 2, 3]) == lengths([3, 2, 1, 0]) == lengths([1, 3, 0, 2])
    assert MOST_TOGETHER - 3 <= sum(lengths([0, 1, 2, 3])) <= MOST_TOGETHER
    found = collected(*[1_000_000] * 3)
    assert bounded(found, ContextRequest(query="x", budget=4_000)).decisions
    assert bounded(found, ContextRequest(query="x", budget=400_000)) is found


@pytest.mark.parametrize("number", [1_200, 20_000])
def test_of_each_of_thousands_something_is_looked_at_and_how_much_is_said_as_it_is(number):
    """Point 9: 5,000 texts were looked at for 6 seconds, 10 million characters, where 2 were said."""
    found = bounded(collected(*[3_000] * number, 10), ContextRequest(query="x"))
    looked_at = sum(len(candidate.text) for candidate in found.candidates)
    (level,) = {decision.details["most"] for decision in found.decisions}
    assert level >= (LEAST_TEXT if number < 10_000 else LEAST_OF_MANY)
    assert looked_at <= 2 * MOST_TOGETHER
    assert f"of which {looked_at:,} are looked at" in found.warnings[0]
    assert len(found.candidates[-1].text) == 10


@pytest.mark.attack
def test_thousands_of_candidates_that_say_nearly_the_same_are_one_answer():
    """Point 9: a twin at a time was taken out and all the rest offered its room, 5,000 times: 160 seconds."""
    context = built([LINE * 10 + str(i) for i in range(2_000)])
    assert context.tokens > 1_500


@pytest.mark.parametrize(
    "unit", ["a. ", " \n", "# invoices\n", "```\n", "|-", "发票每月寄出", "e\u0301", "[1] invoices ", "<context> "]
)  # fmt: skip
def test_a_hostile_text_costs_in_proportion_to_its_length(unit):
    """Point 9: a million letters with a stop took 27 seconds, a million empty lines 17."""
    assert_linear(
        lambda text: an_engine([text]).build(QUESTION),
        lambda n: unit * (n // len(unit)) + " invoices",
        120_000,
    )


@pytest.mark.attack
@pytest.mark.timeout(600)
def test_five_thousand_candidates_of_ten_thousand_characters_are_answered():
    context = built([prose(10_000, seed) for seed in range(5_000)])
    assert len(shortened(context)) == 5_000
