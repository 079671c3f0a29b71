"""A context goes through JSON and comes back equal; what is none is refused."""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine.models.errors import ConfigError
from langchain_context_engine.models.types import Candidate, Passage, Ranked
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.wire import VERSION, context_from_dict, context_to_dict
from tests.builders import a_candidate, a_request
from tests.context_strategies import (
    METADATA,
    TEXTS,
    contexts,
)


def through_json(context: Context) -> Context:
    text = json.dumps(context_to_dict(context), ensure_ascii=False, allow_nan=False)
    return context_from_dict(json.loads(text.encode().decode()))


def shape(value: object) -> object:
    """A value with its types, since 1 == 1.0 == True."""
    if isinstance(value, dict):
        return {k: shape(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [shape(v) for v in value]
    return type(value).__name__, value


@settings(deadline=None, max_examples=60)
@given(contexts())
def test_a_context_comes_back_equal_through_json(context):
    assert through_json(context) == context


@settings(deadline=None, max_examples=60)
@given(METADATA)
def test_metadata_comes_back_with_the_same_types(metadata):
    candidate = a_candidate(metadata=metadata)
    back = through_json(Context(candidates=(candidate,)))
    assert shape(back.candidates[0].metadata) == shape(dict(candidate.metadata))


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_does_not_know_come_back(number):
    candidate = a_candidate(relevance=number, metadata={"n": [number]}, claims={"dense": number})
    back = through_json(Context(candidates=(candidate,), timings={"rank": number})).candidates[0]
    assert repr(back.relevance) == repr(back.metadata["n"][0]) == repr(back.claims["dense"]) == repr(number)


def test_a_template_in_a_request_comes_back_equal():
    from langchain_context_engine.rendering.templates import Template

    template = Template(name="brief", passage="* {{content}}")
    assert through_json(Context(request=a_request(template=template))).request.template == template


def test_a_pinned_candidate_a_key_and_a_text_come_back_as_what_they_were():
    pinned = (a_candidate(), ("notes", "n1"), "always say please")
    back = through_json(Context(request=a_request(pinned=pinned))).request.pinned
    assert back == pinned
    assert [type(item) for item in back] == [Candidate, tuple, str]


def test_a_passage_shares_its_candidate_with_the_list_it_came_from():
    candidate = a_candidate(text="a long text " * 50)
    context = Context(
        candidates=(candidate,), passages=(Passage(ranked=Ranked(candidate=candidate), text="a"),)
    )
    assert json.dumps(context_to_dict(context)).count(candidate.text) == 1
    back = through_json(context)
    assert back.passages[0].ranked.candidate is back.candidates[0]


def test_a_lone_surrogate_deep_in_metadata_still_encodes():
    context = Context(candidates=(a_candidate(metadata={"deep": [{"a\ud83d": "b\ud83d"}]}),))
    assert through_json(context).candidates[0].metadata == {"deep": [{"a�": "b�"}]}


def test_an_object_that_json_does_not_know_is_named_without_its_contents():
    class Secret:
        def __repr__(self) -> str:
            return "api_key=sk-test"

    text = json.dumps(context_to_dict(Context(settings={"part": Secret()})))
    assert "Secret" in text
    assert "sk-test" not in text


def test_numpy_numbers_are_written_as_numbers():
    numpy = pytest.importorskip("numpy")
    metadata = {"a": numpy.float32(0.5), "b": numpy.int64(3), "c": numpy.bool_(True)}
    assert through_json(Context(settings=metadata)).settings == {"a": 0.5, "b": 3, "c": True}


def test_the_same_set_gives_the_same_bytes_whatever_its_order():
    words = ["alpha", "beta", "gamma", "delta", "epsilon"]
    written = {
        json.dumps(context_to_dict(Context(settings={"words": set(order)})))
        for order in (words, reversed(words))
    }
    assert len(written) == 1


def test_dates_in_filters_come_back_as_dates():
    where = {"created_at": {"$gte": datetime(2026, 1, 1, tzinfo=UTC)}, "day": date(2026, 1, 2)}
    assert through_json(Context(request=a_request(where=where))).request.where == where


def test_what_is_at_its_default_is_left_out_below_the_top():
    data = context_to_dict(Context(candidates=(Candidate(id="a", text="hello", source="notes"),)))
    assert data["candidates"] == [{"id": "a", "text": "hello", "source": "notes"}]
    assert data["version"] == VERSION


def test_a_newer_version_is_refused_and_says_so():
    with pytest.raises(ConfigError, match=r"version 99, newer than 1.*upgrade"):
        context_from_dict({**context_to_dict(Context()), "version": 99})


GARBAGE = [
    None,
    [],
    "trace",
    {},
    {"text": "no version"},
    {"version": "1"},
    {"version": True},
    {"version": 0},
    {"version": 1, "passages": "abc"},
    {"version": 1, "passages": [{}]},
    {"version": 1, "passages": [{"ranked": {"candidate": 0}, "text": "a"}]},
    {"version": 1, "passages": [{"ranked": {"candidate": -1}, "text": "a"}], "candidates": [{"id": "a"}]},
    {"version": 1, "candidates": [{"text": "no id"}]},
    {"version": 1, "candidates": [{"id": "a", "colour": "red"}]},
    {"version": 1, "candidates": [{"id": "a", "created_at": 5}]},
    {"version": 1, "candidates": {"id": "a"}},
    {"version": 1, "status": "splendid"},
    {"version": 1, "tokens": "many"},
    {"version": 1, "tokens": True},
    {"version": 1, "settings": {"a": {"$": "no such thing"}}},
    {"version": 1, "settings": {"a": {"$": ["unhashable"]}}},
    {"version": 1, "settings": {"a": {"$": "datetime", "value": "yesterday"}}},
    {"version": 1, "settings": 5},
    {"version": 1, "request": {"budget": -1}},
    {"version": 1, "request": None},
    {"version": 1, "citations": {"[1]": ["only one"]}},
    {"version": 1, "unheard_of": 1},
]


@pytest.mark.parametrize("data", GARBAGE, ids=repr)
def test_garbage_is_refused_as_no_trace(data):
    with pytest.raises(ConfigError):
        context_from_dict(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.one_of(TEXTS, st.just("$")), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(deadline=None, max_examples=80)
@given(st.dictionaries(st.sampled_from(list(Context.__slots__)), JSON, max_size=4))
def test_any_json_is_a_trace_or_refused_with_the_right_error(fields):
    try:
        context = context_from_dict({"version": 1, **fields})
    except ConfigError:
        return
    assert isinstance(context, Context)
