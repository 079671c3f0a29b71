"""A record costs itself, whatever stands in it: never the answer, never the records beside it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest

from langchain_context_engine import Candidate, ContextEngine, replay
from langchain_context_engine.langchain.runnable import documents
from langchain_context_engine.models.freeze import UNREADABLE
from tests.builders import ListSource, a_candidate

GOOD = Candidate(id="good", text="Invoices go out monthly.", relevance=0.5, metadata={"tenant": "acme"})


class Hostile:
    """A value that raises in one way."""

    def __init__(self, way):
        self.way = way

    def _raise(self, way, otherwise):
        if self.way == way:
            raise RuntimeError(way)
        return otherwise

    def __str__(self):
        return self._raise("str", "hostile")

    def __bool__(self):
        return self._raise("bool", True)

    def __eq__(self, other):
        return self._raise("eq", False)

    def __hash__(self):
        return self._raise("hash", 1)

    @property
    def item(self):
        self._raise("item", None)
        raise AttributeError


def nested(depth, *, is_list):
    value = 1
    for _ in range(depth):
        value = [value] if is_list else {"a": value}
    return value


def cyclic():
    value = {}
    value["a"] = value["b"] = value
    return value


VALUES = {
    "brackets": "[" * 5000,
    "braces": '{"a":' * 5000,
    "a deep list": nested(5000, is_list=True),
    "a deep mapping": nested(5000, is_list=False),
    "a cycle": cyclic(),
    "a large number": 10**400,
    "a number too large to print": 10**5000,
    "a negative large number": -(10**400),
    "digits": "9" * 5000,
    "nan": float("nan"),
    "infinity": float("inf"),
    "too large a float": "1e400",
    "an array": np.array([1, 2]),
    "a missing date": pd.NaT,
    "missing": pd.NA,
    "the last date": datetime.max.replace(tzinfo=UTC),
    "a surrogate": "\ud800",
    "a million values": [0] * 1_000_000,
    "a long range": range(10**9),
    "a function": len,
    **{f"raises in {way}": Hostile(way) for way in ("str", "bool", "eq", "hash", "item")},
}
KEYS = (
    "links", "title", "path", "symbol", "confidence", "importance", "created_at", "updated_at", "usage_count",
    "usage_feedback", "kind", "conversation_id", "deleted", "document_id", "chunk", "other",
)  # fmt: skip
WEIGHTS = {"relevance": 0.3, "recency": 0.2, "confidence": 0.2, "importance": 0.2, "usage": 0.1}
QUESTIONS = (
    {},
    {"depth": 2},
    {"scope": {"tenant": "acme"}},
    {"where": {"other": {"$ne": 1}}},
    {"where": {"created_at": {"$lt": "2030-01-01"}}, "min_confidence": 0.1, "since": "1999"},
)


MANY_VALUES = ("a cycle", "a million values", "a long range")
"""Ten thousand values in each record, as many as are kept: written, read and replayed they take seconds."""


@pytest.mark.parametrize("name", VALUES)
def test_an_odd_value_in_metadata_costs_its_record_at_most(name):
    """High 3: `links` of a thousand brackets ended every question in RecursionError."""
    ask_of(name, QUESTIONS[:1] if name in MANY_VALUES else QUESTIONS)


@pytest.mark.attack
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", MANY_VALUES)
def test_very_many_values_in_metadata_cost_their_record_at_most(name):
    ask_of(name, QUESTIONS)


def ask_of(name, questions):
    odd = [
        Candidate(
            id=f"odd{i}",
            text=f"Invoices are odd in the way number {i} says.",
            relevance=0.6,
            created_at=VALUES[name],
            metadata={"tenant": "acme", key: VALUES[name]},
        )
        for i, key in enumerate(KEYS)
    ]
    engine = ContextEngine([ListSource([*odd, GOOD])], weights=WEIGHTS, budget=2000, timeout_seconds=60)
    for asked in questions:
        context = engine.build("when do invoices go out?", **asked)
        assert "Invoices go out monthly." in context.text or {"where", "since"} & asked.keys()
        stored = json.loads(json.dumps(context.to_dict()))
        assert replay(stored).text == context.text
        assert len(documents(context)) == len(context.passages)
        context.explain()


@pytest.mark.parametrize("field", ["relevance", "claims", "position"])
@pytest.mark.parametrize("value", [10**400, float("nan"), "much"])
def test_an_odd_number_is_an_invalid_record(field, value):
    given = {"relevance": value, "claims": {"dense": value}, "position": ("g", value)}[field]
    engine = ContextEngine([ListSource([a_candidate(id="odd", text="odd", **{field: given}), GOOD])])
    context = engine.build("invoices")
    assert context.text == "[1] Invoices go out monthly."
    assert "1 malformed" in context.warnings[0]


def test_metadata_of_none_are_none():
    broken = a_candidate(text="A text of its own.")
    object.__setattr__(broken, "metadata", None)
    context = ContextEngine([ListSource([broken, a_candidate(text="Another.", metadata=None)])]).build("text")
    assert context.text == "[1] Another."


def test_what_is_nested_too_deep_is_told_as_unreadable():
    metadata = a_candidate(metadata={"a": nested(5000, is_list=True), "b": 10**400, "c": 1}).metadata
    assert (metadata["b"], metadata["c"]) == (UNREADABLE, 1)
    assert UNREADABLE in str(metadata["a"])


class Offer(Sequence):
    """An answer that fails, or never ends, while it is walked through."""

    def __init__(self, fails_at):
        self.fails_at = fails_at

    def __len__(self):
        return 10

    def __getitem__(self, place):
        if place == self.fails_at:
            raise RuntimeError("api_key=sk-123456")
        return a_candidate(id=f"{place}", text=f"Invoice number {place} is open.")


@pytest.mark.parametrize("fails_at", [0, 3])
def test_an_answer_that_breaks_off_costs_what_would_have_followed(fails_at):
    context = ContextEngine([ListSource([GOOD], "good"), Answering(Offer(fails_at))]).build("invoices", k=50)
    assert "Invoices go out monthly." in context.text
    assert [f"number {i} " in context.text for i in range(4)] == [i < fails_at for i in range(4)]
    assert (context.status, len(context.warnings)) == ("partial", 1)
    assert "123456" not in context.warnings[0]


def test_an_answer_that_never_ends_is_cut():
    context = ContextEngine([Answering(Offer(None))], timeout_seconds=60).build("invoices", limit=5)
    assert len(context.candidates) == 5
    assert "more than 50,000" in context.warnings[0]


class Answering:
    name = "answering"

    def __init__(self, answer):
        self.answer = answer

    def fetch(self, request):
        del request
        return self.answer
