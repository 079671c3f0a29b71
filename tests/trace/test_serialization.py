"""Serialization: a context goes through JSON and comes back equal; what is none is refused."""

from __future__ import annotations

import json
import time
import timeit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine import ConfigError, ContextEngine, Template
from langchain_context_engine.models.types import Candidate, Passage, Ranked
from langchain_context_engine.trace.context import Context, Part
from langchain_context_engine.trace.serialization import VERSION, context_from_dict, context_to_dict
from tests.builders import ListSource, a_candidate, a_request
from tests.context_strategies import TEXTS, contexts


def through_json(context: Context) -> Context:
    text = json.dumps(context_to_dict(context), ensure_ascii=False, allow_nan=False)
    return context_from_dict(json.loads(text.encode().decode()))


@settings(deadline=None, max_examples=15)
@given(contexts())
def test_a_context_comes_back_equal_through_json(context):
    assert through_json(context) == context


def test_a_trace_is_written_in_a_millisecond_and_read_in_two():
    """They took eight; the bound is what a busy machine never passes, in its processor's time."""
    found = [a_candidate(text=f"{n} words of a record " * 9, metadata={"path": "a.py"}) for n in range(240)]
    context = ContextEngine([ListSource(found)], limit=240).build("which words?", budget=4000)
    data = context_to_dict(context)
    for work in (lambda: context_to_dict(context), lambda: context_from_dict(data)):
        assert min(timeit.repeat(work, timer=time.process_time, number=1, repeat=9)) < 0.012


def test_a_template_in_a_request_comes_back_equal():
    template = Template(name="brief", passage="* {{content}}")
    assert through_json(Context(request=a_request(template=template))).request.template == template


def test_a_passage_shares_its_candidate_with_the_list_it_came_from():
    candidate = a_candidate(text="a long text " * 50)
    context = Context(
        candidates=(candidate,), passages=(Passage(ranked=Ranked(candidate=candidate), text="a"),)
    )
    assert json.dumps(context_to_dict(context)).count(candidate.text) == 1
    back = through_json(context)
    assert back.passages[0].ranked.candidate is back.candidates[0]


def test_a_plans_parts_come_back_with_their_contexts():
    inner = Context(text="packed", candidates=(a_candidate(),))
    context = Context(text="all", parts=(Part(name="notes", kind="pack", context=inner),))
    assert through_json(context) == context


def test_an_object_that_json_does_not_know_is_named_without_its_contents():
    """L93."""

    class Secret:
        def __repr__(self) -> str:
            return "api_key=sk-test"

    text = json.dumps(
        context_to_dict(Context(settings={"part": Secret()}, request=a_request(pinned=[Secret()])))
    )
    assert text.count("Secret>") == 2
    assert "sk-test" not in text


def test_the_top_is_whole_and_below_it_what_is_at_its_default_may_be_left_out():
    data = context_to_dict(Context(candidates=(Candidate(id="a", text="hello", source="notes"),)))
    assert set(data) == {"version", *Context.__slots__} - {"trace_id"}
    assert data["version"] == VERSION
    assert {"id": "a", "text": "hello", "source": "notes"}.items() <= data["candidates"][0].items()
    assert "kind" not in data["candidates"][0]


def test_what_another_version_added_is_left_out():
    data = {"version": 1, "unheard_of": 1, "candidates": [{"id": "a", "colour": "red"}]}
    assert context_from_dict(data).candidates == (Candidate(id="a"),)


def test_a_newer_form_is_refused_and_says_so():
    with pytest.raises(ConfigError, match=r"version 99, newer than 1.*upgrade"):
        context_from_dict({**context_to_dict(Context()), "version": 99})


GARBAGE = [
    None, [], "trace", {}, {"text": "no version"}, {"version": True}, {"version": 0},
    {"version": 1, "passages": [{}]},
    {"version": 1, "passages": [{"ranked": {"candidate": -1}, "text": "a"}], "candidates": [{"id": "a"}]},
    {"version": 1, "candidates": [{"text": "no id"}]},
    {"version": 1, "decisions": [{"stage": "pack"}]},
    {"version": 1, "request": {"where": {"a": {"$date": "yesterday"}}}},
    {"version": 1, "citations": {"[1]": ["only one"]}},
]  # fmt: skip


@pytest.mark.parametrize("data", GARBAGE, ids=repr)
def test_garbage_is_refused_as_no_trace(data):
    with pytest.raises(ConfigError):
        context_from_dict(data)


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS | st.just("$date"), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None, max_examples=80)
@given(st.dictionaries(st.sampled_from(list(Context.__slots__)), ANY, max_size=4))
def test_any_json_is_a_trace_or_refused_with_the_right_error(fields):
    try:
        context = context_from_dict({"version": 1, **fields})
    except ConfigError:
        return
    assert isinstance(context, Context)
