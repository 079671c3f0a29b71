"""Snapshots: a filter's mask admits what the filter does, and scores are those of plain BM25 within the scope."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine.filters import EVERYTHING, matcher, read_scope, read_where
from langchain_context_engine.search.bm25 import K1, B, LexicalQuery, idf_of, weigh
from langchain_context_engine.search.segment import Record, build
from langchain_context_engine.search.snapshot import Snapshot
from langchain_context_engine.text.words import closed_forms, terms

WORDS = ["zebra", "lion", "tiger", "bear"]
VALUES = st.sampled_from([0, 1, 2.5, True, False, "a", "1", "2024-05-01", 1714550400])
RECORDS = st.lists(
    st.tuples(
        st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join),
        st.dictionaries(st.sampled_from(["n", "created_at"]), VALUES, max_size=2),
    ),
    max_size=14,
).map(lambda found: [Record(f"r{i}", text, metadata) for i, (text, metadata) in enumerate(found)])
TESTS = st.one_of(
    VALUES,
    st.builds(
        lambda o, v: {o: v},
        st.sampled_from(["$gt", "$gte", "$lt", "$lte"]),
        st.sampled_from([0, 1.5, 10**18]),
    ),
    st.builds(lambda o, v: {o: v}, st.sampled_from(["$ne", "$eq"]), VALUES),
    st.just({"$exists": True}),
)
WHERES = st.recursive(
    st.builds(lambda test: {"n": test}, TESTS) | st.just({"created_at": {"$gte": "2024-05-01"}}),
    lambda inner: (
        st.builds(lambda o, parts: {o: parts}, st.sampled_from(["$and", "$or"]), st.lists(inner, max_size=2))
        | st.builds(lambda part: {"$not": part}, inner)
    ),
    max_leaves=4,
)


def in_parts(records, place: int = 5) -> Snapshot:
    """A snapshot of several segments, of which the first holds dead rows of the second."""
    old = build([*records[:place], *(Record(r.id, "dead bear", {"n": 1}) for r in records[place:])])
    return Snapshot([(old, np.ones(len(old), dtype=bool))]).with_segment(build(records[place:]), ["absent"])


@given(records=RECORDS, where=WHERES)
@settings(deadline=None, max_examples=75)
def test_a_mask_admits_what_its_filter_admits_and_where_it_says_so_nothing_else(records, where):
    snapshot, condition = in_parts(records), read_where(where)
    mask, is_exact = snapshot.mask(condition)
    masked = set(snapshot.ids_of(snapshot.chosen(mask).tolist()))
    wanted = {record.id for record in records if matcher(condition)(record.metadata)}
    assert wanted <= masked
    assert not (is_exact and mask is not None) or masked == wanted


@given(
    records=RECORDS, query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3, unique=True), scope=VALUES
)
@settings(deadline=None, max_examples=40)
def test_scores_are_those_of_plain_bm25_among_what_a_scope_admits(records, query, scope):
    snapshot, within = in_parts(records), read_scope({"n": scope})
    weighed = weigh(LexicalQuery(tuple(terms(" ".join(query)))), [(snapshot, snapshot.mask(within)[0])])
    scores = weighed.scores(snapshot)
    seen = [terms(r.text) for r in records if matcher(within)(r.metadata)]
    mean = sum(map(len, seen)) / len(seen) if seen else 0.0
    for id_, row in snapshot.rows_of([record.id for record in records]).items():
        own = terms(records[int(id_[1:])].text)
        points = 0.0
        for term in terms(" ".join(query)):
            often, having = own.count(term), sum(term in other for other in seen)
            norm = K1 * (1 - B + B * len(own) / (mean or 1.0))
            points += idf_of(having, len(seen)) * often * (K1 + 1) / (often + norm)
        assert math.isclose(scores[row], points, abs_tol=1e-9)


def test_the_best_are_cut_where_the_limit_is_and_ties_stand_in_one_order_everywhere():
    records = [Record(f"n{i:03}", "the very same zebra", {}) for i in range(300)]
    scores = np.ones(300)
    whole, parts = in_parts(records, 300), in_parts(records, 100)
    ids = whole.ids_of(whole.best(scores, None, 300)[0].tolist())
    assert whole.ids_of(whole.best(scores, None, 7)[0].tolist()) == ids[:7]
    points = np.ones(parts.size)
    points[[row for row in range(parts.size) if row not in set(parts.chosen(None).tolist())]] = 0
    assert parts.ids_of(parts.best(points, None, 300)[0].tolist()) == ids
    assert len(whole.best(scores, None, 10**12)[0]) == 300


FORMS = [
    Record("one", "Timeouts are five seconds by default.", {"team": "a"}),
    Record("name", "The filename ends with its date.", {"team": "a"}),
    Record("call", "Give a fileName to the writer.", {"team": "b"}),
    Record("other", "What time is it at the quay?", {"team": "b"}),
]


def found(records, query, scope=None) -> dict[str, float]:
    snapshot = in_parts(records, 2)
    mask = snapshot.mask(read_scope(scope) if scope else EVERYTHING)[0]
    scores = weigh(LexicalQuery.of(query), [(snapshot, mask)]).scores(snapshot)
    rows, points = snapshot.best(scores, mask, 99)
    return dict(zip(snapshot.ids_of(rows.tolist()), points.tolist(), strict=True))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("when do requests time out", {"one", "other"}),
        ("Time-Out!", {"one", "other"}),
        ("the file name", {"name", "call"}),
        ("out of time", {"other"}),
    ],
)
def test_what_is_written_as_one_word_is_found_by_two(query, expected):
    assert set(found(FORMS, query)) == expected


def test_two_words_weigh_what_the_one_does_that_they_make_and_none_of_others_records():
    """Promise 4: a form is looked for within the scope, so a score tells nothing of what lies outside."""
    assert found(FORMS, "when time out")["one"] == found(FORMS, "when timeout")["one"] > 0
    assert found(FORMS, "time out", {"team": "b"}) == found(FORMS[2:], "time", {"team": "b"})
    assert closed_forms("in time, at 5 a file") == {"time": ("timeat",)}


ANIMALS = [
    Record("title", "an animal", {"title": "Zebra"}),
    Record("text", "one zebra at a crossing among many other words", {}),
    Record("code", "def parse_url(parseUrl)", {"path": "net/x.py"}),
    Record("auth", "authentication of users", {}),
    Record("cjk", "認証システムはJWTを使う", {}),
    Record("start", "start the party", {}),
]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("zebras", ["title", "text"]),
        ("parse_url", ["code"]),
        ("url", ["code"]),
        ("parseUrl", ["code"]),
        ("zebar crossing", ["text", "title"]),
        ("zbera", ["title", "text"]),
        ("zrbea", []),
        ("yebra", []),
        ("authentification", ["auth"]),
        ("認証", ["cjk"]),
        ("the of and", []),
        ("", []),
        ("C++ (beta", []),
        ("art", []),
    ],
)
def test_words_are_found_as_people_mean_them(query, expected):
    """E47."""
    assert list(found(ANIMALS, query)) == expected
