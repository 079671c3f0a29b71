"""What strangers may send, by the thousand: nothing but a ContextEngineError, and nothing slow."""

from __future__ import annotations

import copy
import json
import random
import time
import zlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from inspector.opening import is_trace_name, read_trace
from langchain_context_engine import (
    Candidate,
    Context,
    ContextEngine,
    ContextEngineError,
    Template,
    diff,
    replay,
)
from langchain_context_engine.cli.failure import CommandFailedError
from langchain_context_engine.serving.bodies import Opinion, Question
from tests.builders import ListSource, a_candidate

FUZZED = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
LONG = settings(FUZZED, max_examples=2000)
SLOWEST_SECONDS = 1.0

TEXTS = st.text(alphabet=st.characters(codec=None, exclude_categories=()), max_size=30) | st.sampled_from(
    ["", "$and", "$or", "$not", "$gt", "$in", "$contains", "#document", "{{content}}", "{{", "\ud800", "[" * 2000, "\x00"]
)  # fmt: skip
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.binary(max_size=5)
    | st.dates() | st.datetimes() | st.sampled_from([10**400, -(10**400), float("nan"), "9" * 5000])
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4) | st.tuples(inner),
    max_leaves=20,
)
KEYS = st.sampled_from(
    ["links", "title", "path", "symbol", "confidence", "importance", "created_at", "kind", "tenant", "usage_count"]
)  # fmt: skip
FIELDS = st.sampled_from(
    ["vector", "scope", "where", "kinds", "sources", "since", "until", "min_confidence", "conversation_id",
     "history", "pinned", "excluded", "focus", "depth", "limit", "offset", "k", "budget", "template", "now"]
)  # fmt: skip
GOOD = Candidate(id="good", text="Invoices go out monthly.", relevance=0.5, metadata={"tenant": "acme"})


def quick(call, *args, refused=ContextEngineError, **named):
    """Call, allowing only errors of the package, within a second of the processor."""
    start = time.thread_time()
    try:
        return call(*args, **named)
    except refused:
        return None
    finally:
        assert time.thread_time() - start < SLOWEST_SECONDS


def ask(query, fields, metadata):
    odd = Candidate(id="odd", text="Invoices are odd.", relevance=0.6, metadata=metadata)
    context = quick(ContextEngine([ListSource([odd, GOOD])]).build, query, **fields)
    if context is not None:
        context.text.encode()
        stored = json.loads(json.dumps(context.to_dict()))
        assert replay(stored).text == context.text
        assert context.tokens <= context.budget


def write_template(text):
    template = quick(Template, name="fuzzed", passage=text)
    if template is not None:
        context = ContextEngine([ListSource([GOOD])], template=template).build("invoices")
        context.text.encode()


def read_bodies(body):
    for kind in (Question, Opinion):
        quick(kind.model_validate, body, refused=ValidationError)


def a_trace():
    notes = [a_candidate(text=f"Invoice {i} of the month is open.", metadata={"n": i}) for i in range(6)]
    return ContextEngine([ListSource(notes)], budget=40).build("which invoice is open?").to_dict()


def damage(data, chance):
    """Change, drop or replace one value somewhere in a trace."""
    damaged = copy.deepcopy(data)
    place = damaged
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = chance.choice(keys)
        if isinstance(place[key], (dict, list)) and place[key] and chance.random() < 0.75:
            place = place[key]
            continue
        if chance.random() < 0.4:
            del place[key]
        else:
            place[key] = chance.choice(
                [None, 0, -1, 10**400, "", "x", [], {}, [[]], {"a": 1}, True, 1e308, "kept"]
            )
        return damaged


def read_damaged(count):
    whole, chance = a_trace(), random.Random(15)
    for _ in range(count):
        context = quick(Context.from_dict, damage(whole, chance))
        if context is not None:
            quick(replay, context)
            quick(context.explain)
            quick(diff, context, context)


test_a_request_and_a_record_of_anything = FUZZED(
    given(
        TEXTS, st.dictionaries(FIELDS, VALUES, max_size=2), st.dictionaries(KEYS | TEXTS, VALUES, max_size=3)
    )(ask)
)
test_a_template_of_anything = FUZZED(given(TEXTS)(write_template))
test_a_body_of_anything = FUZZED(
    given(
        VALUES
        | st.dictionaries(st.sampled_from(["message", "threadId", "history", "maxTokens", "useful"]), VALUES)
    )(read_bodies)
)


@FUZZED
@given(st.binary(max_size=200) | VALUES.map(lambda value: repr(value).encode("utf-8", "replace")))
def test_a_file_and_an_address_of_anything(data):
    """What the inspector opens, and the name of a trace in its address."""
    quick(read_trace, data, refused=(ContextEngineError, CommandFailedError))
    quick(is_trace_name, data.decode("utf-8", "replace"))


def test_a_damaged_trace_is_one_error():
    """Point 14: 140 of 6,000 raised KeyError and the like."""
    read_damaged(150)


def test_a_damaged_body_in_a_journal_is_one_error(tmp_path):
    from langchain_context_engine.journal import Journal

    with Journal(tmp_path / "journal.db") as journal:
        trace_id = journal.record(Context.from_dict(a_trace()))
        journal.flush()
        for body in (
            b"",
            b"x",
            zlib.compress(b"[" * 5000),
            zlib.compress(b"{}"),
            zlib.compress(b'{"version":1}'),
        ):
            with journal._database.writing() as connection:
                connection.execute("UPDATE bodies SET body = ?", (body,))
            quick(journal.trace, trace_id)


@pytest.mark.attack
@pytest.mark.timeout(600)
@LONG
@given(TEXTS, st.dictionaries(FIELDS, VALUES, max_size=2), st.dictionaries(KEYS | TEXTS, VALUES, max_size=3))
def test_thousands_of_requests_and_records(query, fields, metadata):
    ask(query, fields, metadata)


@pytest.mark.attack
@pytest.mark.timeout(600)
def test_six_thousand_damaged_traces_are_errors_of_ours():
    read_damaged(6000)
