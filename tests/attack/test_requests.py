"""Mistakes of who asks or sets up: refused in one short error that says what is wrong, when it is given."""

from __future__ import annotations

import contextlib
import itertools
import time
from dataclasses import fields, replace

import pytest

from langchain_context_engine import Budget, ChromaSource, ConfigError, ContextEngine, ContextRequest, replay
from langchain_context_engine.errors import ContextEngineError
from langchain_context_engine.journal import Journal
from langchain_context_engine.trace.context import Context
from tests.attack.test_records import Hostile, nested
from tests.builders import ListSource, WordEmbeddings, a_candidate, a_collection

ODD_REQUESTS = [
    {"where": nested(5000, is_list=False)},
    {"where": {"$and": nested(5000, is_list=True)}},
    {"where": {"n": {"$gt": "10" * 5000}}},
    {"scope": {"a": nested(5000, is_list=True)}},
    {"scope": {"a": Hostile("str")}},
    {"history": itertools.repeat("hello")},
    {"history": [Hostile("str")]},
    {"pinned": itertools.repeat("hello")},
    {"pinned": [[]]},
    {"pinned": [("a", 1)]},
    {"excluded": itertools.count()},
    {"excluded": [1]},
    {"vector": itertools.repeat(1.0)},
    {"vector": [10**400]},
    {"budget": 10**400},
    {"k": -(10**400)},
    {"limit": 10**10},
    {"min_confidence": 10**400},
    {"since": 10**400},
    {"kinds": [nested(5000, is_list=True)]},
    {"conversation_id": []},
]


@pytest.mark.parametrize("asked", ODD_REQUESTS, ids=lambda fields: next(iter(fields)))
def test_an_odd_request_is_refused_with_what_is_wrong(asked):
    """Point 14: a `where` 5,000 deep raised RecursionError, what names no record IndexError."""
    with pytest.raises(ConfigError) as refused:
        ContextEngine([ListSource([a_candidate()])]).build("invoices", **asked)
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize("asked", [{"limit": 10**9}, {"offset": 10**9}])
def test_a_number_of_a_request_ends_no_process(asked):
    """Point 0: the lexical index allocated 53 GB before it looked."""
    embeddings = WordEmbeddings()
    source = ChromaSource(
        a_collection([{"id": "a", "text": "Invoices."}], embeddings=embeddings), embeddings=embeddings
    )
    source.prepare()
    with contextlib.suppress(ConfigError):  # it may be refused
        assert len(ContextEngine([source]).build("invoices", **asked).candidates) <= 1


def test_a_request_may_be_large():
    request = ContextRequest(query="q", history=["hello"] * 1000, excluded=map(str, range(1000)))
    assert (len(request.history), len(request.excluded)) == (1000, 1000)


@pytest.mark.parametrize(
    "order", [lambda p: p[1:], lambda p: [*p, p[0]], lambda p: [p[0], p[0]], lambda _: []]
)
def test_an_order_that_drops_or_repeats_is_refused(order):
    """Point 14."""
    notes = [a_candidate(text="Invoices go out monthly."), a_candidate(text="Cards cost two percent.")]
    with pytest.raises(ConfigError, match="each once"):
        ContextEngine([ListSource(notes)], order=order).build("invoices cards")


@pytest.mark.parametrize(("at", "year"), [("2001-02-03", 2001), ("soon", None), (10**400, None)])
def test_recording_reads_a_date_as_everybody_does_and_never_raises(tmp_path, at, year):
    """Point 14."""
    with Journal(tmp_path / "journal.db") as journal:
        journal.record(Context(text="hello"), at=at)
        (row,) = journal.traces()
        assert row.time.year == (year or time.gmtime().tm_year)


@pytest.mark.parametrize(
    ("name", "value"), [("signals", "x"), ("templates", [1]), ("budget", {"a": 1}), ("fusion", {"b": []})]
)
def test_a_trace_whose_settings_are_damaged_is_an_error_of_ours(name, value):
    """Point 14: the long attack found an AttributeError."""
    context = ContextEngine([ListSource([a_candidate()])]).build("q")
    damaged = replace(context, settings={**context.settings, name: value})
    with pytest.raises(ContextEngineError, match=f"(?i){name}"):
        replay(damaged)


@pytest.mark.parametrize("seconds", [1e10, 1e300])
def test_a_deadline_beyond_a_day_is_refused(seconds):
    """Point 14: it was an OverflowError of a question."""
    with pytest.raises(ConfigError, match="timeout_seconds"):
        ContextEngine([ListSource([])], timeout_seconds=seconds)


SETTINGS = (
    "budget", "timeout_seconds", "dedupe_threshold", "min_score", "weights", "template", "tokenizer", "order",
    "selection", "scope_keys", "citations", "truncator", "thresholds", "rerank_seconds", "group_by", "titles",
    "cache", "journal", "fusion", "signals",
)  # fmt: skip
ODD = (10**400, -(10**5000), float("nan"), "9" * 5000, [], {}, b"x", object(), {"relevance": 10**400})


def refusal_of(make):
    """Return what makes something, or the error of ours that refuses it."""
    try:
        return make()
    except ContextEngineError as refused:
        return refused


@pytest.mark.filterwarnings("ignore:no encoding is known")
@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_that_is_wrong_is_refused_when_it_is_given_in_a_short_sentence(name, tmp_path, monkeypatch):
    """Point 14, E42: weights of 10**400 raised OverflowError; a cache that is none raised while answering."""
    monkeypatch.chdir(tmp_path)
    for value in ODD:
        engine = refusal_of(lambda given=value: ContextEngine([ListSource([a_candidate()])], **{name: given}))
        if isinstance(engine, ContextEngineError):
            assert len(str(engine)) < 900
        else:
            scope = dict.fromkeys(engine.config.scope_keys, "x")
            assert engine.build("q", scope=scope).text or scope
            if engine.journal is not None:
                engine.journal.close()


@pytest.mark.parametrize("name", [field.name for field in fields(Budget)])
def test_a_budget_that_is_wrong_is_refused_in_a_short_sentence(name):
    """Point 14."""
    for value in ODD:
        assert len(str(refusal_of(lambda value=value: Budget(**{name: value})))) < 400
