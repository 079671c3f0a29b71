"""Filters: Chroma's syntax made whole, and the same answer wherever it is checked."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine.errors import ConfigError, ScopeError, UnknownNameError
from langchain_context_engine.filters import (
    EVERYTHING,
    check_filters,
    filter_test,
    in_scope,
    matcher,
    read_scope,
    read_where,
    to_chroma,
)
from tests.builders import a_candidate, a_collection, a_request

INSTANT = 1714550400  # 2024-05-01T08:00:00Z


def holds(metadata: dict, where: dict) -> bool:
    return matcher(read_where(where))(metadata)


@pytest.mark.parametrize("where", [None, {}, {"$and": []}, {"$and": [{}]}])
def test_an_empty_filter_lets_everything_through(where):
    assert read_where(where) == EVERYTHING
    assert to_chroma(read_where(where)) is None


@pytest.mark.parametrize("where", [{"n": {"$in": []}}, {"n": []}, {"$or": []}, {"a": 1, "n": {"$in": []}}])
def test_an_empty_allow_list_lets_nothing_through(where):
    assert not holds({"n": 1, "a": 1}, where)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"a": 1, "b": "x"}, True),
        ({"a": 1, "b": "y"}, False),
        ({"$and": [{"a": 1}]}, True),
        ({"$or": [{"a": 2}, {"b": "x"}]}, True),
        ({"$not": {"a": 1}}, False),
        ({"a": {"$not": {"$gt": 1}}}, True),
        ({"a": {"$gte": 1, "$lt": 2}}, True),
        ({"a": {"$gt": 1}}, False),
        ({"a": {"$ne": 2}}, True),
        ({"missing": {"$ne": 2}}, True),
        ({"missing": {"$nin": [2]}}, True),
        ({"missing": None}, True),
        ({"a": None}, False),
        ({"a": {"$in": [None, 7]}}, False),
        ({"missing": {"$in": [None, 7]}}, True),
        ({"a": {"$exists": True}}, True),
        ({"missing": {"$exists": True}}, False),
        ({"tags": {"$contains": "red"}}, True),
        ({"tags": {"$not_contains": "red"}}, False),
        ({"a": [1, "x"]}, True),
        ({"a": True}, False),
        ({"zero": False}, False),
        ({"a": "1"}, False),
        ({"a": 1.0}, True),
        ({"missing": {"$lt": 5}}, False),
        ({"$and": [{"$or": [{"a": 2}, {"$not": {"b": "y"}}]}, {"zero": 0}]}, True),
    ],
)
def test_a_filter_means_what_it_says(where, expected):
    assert holds({"a": 1, "b": "x", "zero": 0, "tags": ["red", "blue"]}, where) is expected


@pytest.mark.parametrize(
    "where",
    [
        {"n": {"$betwen": [1, 2]}},
        {"n": {"$gtr": 1}},
        {"$annd": [{"n": 1}]},
        {"$and": [{"n": {"$eqq": 1}}]},
        {"n": {"$not": {"$inn": [1]}}},
    ],
)
def test_an_unknown_operator_is_refused_by_name(where):
    """G58."""
    with pytest.raises(UnknownNameError, match=r"Known: .*\$"):
        read_where(where)


@pytest.mark.parametrize(
    "where",
    [
        "n = 1",
        {"n": {}},
        {"n": {"$gt": "many"}},
        {"n": {"$gt": True}},
        {"n": {"$gt": None}},
        {"n": {"$in": "abc"}},
        {"n": {"$exists": 1}},
        {"n": object()},
        {"n": float("nan")},
        {"$and": {"n": 1}},
        {1: 2},
    ],
)
def test_a_filter_that_cannot_be_compared_is_refused(where):
    with pytest.raises(ConfigError):
        read_where(where)


@pytest.mark.parametrize(
    "created", [INSTANT, INSTANT * 1000, str(INSTANT), "2024-05-01T08:00:00Z", "2024-05-01T10:00:00+02:00"]
)
@pytest.mark.parametrize(
    ("bound", "is_later"),
    [
        ("2024-01-01", True),
        ("2024-05-01T08:00:00", True),
        (date(2024, 1, 1), True),
        (datetime(2024, 1, 1, tzinfo=UTC), True),
        (INSTANT - 1, True),
        ("2024-06-01", False),
        (INSTANT + 1, False),
    ],
)
def test_dates_compare_however_they_are_written(created, bound, is_later):
    """G58."""
    assert holds({"created_at": created}, {"created_at": {"$gte": bound}}) is is_later
    assert holds({"created_at": created}, {"created_at": {"$lt": bound}}) is not is_later


def test_a_date_works_in_any_key_and_for_equality():
    assert holds({"due": "2024-05-01"}, {"due": {"$lte": date(2024, 5, 1)}})
    assert holds({"due": 1714521600}, {"due": date(2024, 5, 1)})
    assert holds({"created_at": INSTANT}, {"created_at": "2024-05-01T08:00:00Z"})


@pytest.mark.parametrize(
    ("scope", "metadata", "expected"),
    [
        ({"u": 0}, {"u": False}, False),
        ({"u": False}, {"u": 0}, False),
        ({"u": 1}, {"u": "1"}, False),
        ({"u": "1"}, {"u": 1}, False),
        ({"u": 1}, {"u": 1.0}, True),
        ({"u": ["a", "b"]}, {"u": "b"}, True),
        ({"u": []}, {"u": "b"}, False),
        ({"u": "a"}, {}, False),
        ({"u": "a"}, {"u": None}, False),
        ({"u": "a"}, {"u": ["a"]}, False),
        ({"u": "a", "v": "b"}, {"u": "a"}, False),
        ({"u": ""}, {"u": ""}, True),
        ({}, {}, True),
    ],
)
def test_scope_compares_with_the_type(scope, metadata, expected):
    """J83: what lacks the scope's key is outside."""
    assert in_scope(a_candidate(metadata=metadata), a_request(scope=scope)) is expected


@pytest.mark.parametrize("value", [None, {"$ne": "a"}, [None], [["a"]], float("nan"), date(2024, 1, 1), b"a"])
def test_a_scope_that_is_no_plain_value_is_refused(value):
    with pytest.raises(ScopeError, match="user"):
        read_scope({"user": value})
    with pytest.raises(ConfigError):
        check_filters(a_request(scope={"user": value}))


@pytest.mark.parametrize(
    ("fields", "asked", "expected"),
    [
        ({"kind": "code"}, {"kinds": ("memory",)}, False),
        ({"kind": "code"}, {"kinds": ("code",)}, True),
        ({"kind": "code"}, {"kinds": ()}, False),
        ({}, {"since": "2020-01-01"}, False),
        ({}, {"until": "2030-01-01"}, False),
        ({"created_at": "2024-05-01"}, {"since": "2024-05-01", "until": "2024-05-01"}, True),
        ({"created_at": "2024-05-01"}, {"since": "2024-05-02"}, False),
        ({}, {"min_confidence": 0.5}, True),
        ({}, {"min_confidence": 0.51}, False),
        ({"metadata": {"confidence": 0}}, {"min_confidence": 0.1}, False),
        ({"metadata": {"confidence": 0}}, {"min_confidence": 0.0}, True),
        ({"metadata": {"confidence": "0.9"}}, {"min_confidence": 0.8}, True),
        ({"metadata": {"conversation_id": "c1"}}, {"conversation_id": "c1"}, True),
        ({"metadata": {"conversation_id": "c2"}}, {"conversation_id": "c1"}, False),
        ({}, {"conversation_id": "c1"}, False),
        ({"metadata": {"n": 3}}, {"where": {"n": {"$gt": 2}}}, True),
    ],
)
def test_a_request_filters_by_each_of_its_fields(fields, asked, expected):
    assert filter_test(a_request(**asked))(a_candidate(**fields)) is expected


VALUES = st.sampled_from([0, 1, -1, 2, 0.5, 1.0, 1.5, -0.5, True, False, "a", "1", ""])
NUMBERS = st.sampled_from([0, 1, -1, 0.5, 1.5, -0.5, 2.0])
KEYS = st.sampled_from(["v", "w"])
TESTS = st.one_of(
    VALUES,
    st.builds(lambda o, v: {o: v}, st.sampled_from(["$eq", "$ne"]), VALUES),
    st.builds(lambda o, v: {o: v}, st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), NUMBERS),
    st.builds(lambda o, v: {o: v}, st.sampled_from(["$in", "$nin"]), st.lists(VALUES, max_size=3)),
    st.just(None),
)
WHERES = st.recursive(
    st.dictionaries(KEYS, TESTS, max_size=2),
    lambda inner: st.one_of(
        st.builds(lambda o, p: {o: p}, st.sampled_from(["$and", "$or"]), st.lists(inner, max_size=3)),
        st.builds(lambda p: {"$not": p}, inner),
    ),
    max_leaves=4,
)
RECORDS = [
    {"id": f"r{i}", "text": "t", "v": v} for i, v in enumerate([0, 1, 2, -1, 0.5, 1.5, 1.0, True, False])
]
RECORDS += [{"id": "s1", "text": "t", "v": "1", "w": "a"}, {"id": "s2", "text": "t", "w": 1}]


@pytest.fixture(scope="module")
def collection():
    return a_collection(RECORDS)


@settings(deadline=None, max_examples=150)
@given(where=WHERES)
def test_what_a_store_is_asked_admits_all_that_the_filter_admits(collection, where):
    condition = read_where(where)
    pushed = to_chroma(condition)
    stored = collection.get(where=pushed, include=["metadatas"])
    answered = dict(zip(stored["ids"], stored["metadatas"], strict=True))
    wanted = {r["id"] for r in RECORDS if matcher(condition)({k: r[k] for k in r if k in "vw"})}
    assert wanted <= set(answered)


def test_plain_tests_are_left_to_the_store():
    assert to_chroma(read_where({"a": 1, "b": {"$in": ["x", "y"]}})) == {
        "$and": [{"a": {"$eq": 1}}, {"b": {"$in": ["x", "y"]}}]
    }
    assert to_chroma(read_where({"created_at": {"$gte": "2024-01-01"}})) is None
