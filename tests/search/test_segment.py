"""Segments: what is built, merged, written and read is one thing, and what is damaged is noticed."""

from __future__ import annotations

import os
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langchain_context_engine.search.segment import (
    DamagedIndexError,
    Record,
    build,
    facet,
    facts_of,
    hash_of,
    merge,
    read,
    write,
)
from langchain_context_engine.search.snapshot import Snapshot
from langchain_context_engine.text.words import terms

TEXTS = st.lists(st.sampled_from(["zebra", "lion", "parse_url", "認証", "the", "v1.2"]), max_size=6).map(
    " ".join
)
VALUES = st.one_of(st.text(max_size=3), st.booleans(), st.integers(-(10**30), 10**30), st.floats(), st.none())
METADATA = st.dictionaries(st.sampled_from(["user", "start", "title", "created_at"]), VALUES, max_size=3)
RECORDS = st.dictionaries(st.text(min_size=1, max_size=4), st.tuples(TEXTS, METADATA), max_size=12).map(
    lambda found: [Record(id_, text, metadata) for id_, (text, metadata) in found.items()]
)


def some(n: int) -> list[Record]:
    return [
        Record(f"n{i}", f"note {i} zebra", {"user": f"u{i % 3}", "start": i, "path": f"{i}.py"})
        for i in range(n)
    ]


def everything(segment) -> dict[str, bytes]:
    return {name: bytes(segment.arrays[name][:]) for name in segment.arrays}


@given(first=RECORDS, second=RECORDS)
@settings(deadline=None, max_examples=40)
def test_what_is_merged_is_what_is_built_at_once(first, second):
    left = [record for record in first if record.id not in {other.id for other in second}]
    built = [build(first), build(second)]
    alive = [np.isin(built[0].ids, [hash_of(r.id) for r in left]), np.ones(len(second), dtype=bool)]
    assert everything(merge(list(zip(built, alive, strict=True)))) == everything(build([*left, *second]))


@given(records=RECORDS)
@settings(deadline=None, max_examples=40)
def test_a_segment_tells_what_plain_counting_tells(records):
    snapshot = Snapshot([(build(records), np.ones(len(records), dtype=bool))])
    rows = snapshot.rows_of([record.id for record in records])
    assert snapshot.ids_of(rows.values()) == list(rows) == [record.id for record in records]
    counted = {r.id: Counter([*terms(r.text), *terms(str(r.metadata.get("title") or ""))]) for r in records}
    for term in {term for each in counted.values() for term in each}:
        had = dict(zip(*(column.tolist() for column in snapshot.postings(term)), strict=True))
        assert had == {rows[id_]: each[term] for id_, each in counted.items() if each[term]}
    assert [snapshot.lengths[rows[id_]] for id_ in rows] == [counted[id_].total() for id_ in rows]


def test_what_is_written_is_read_and_takes_the_place_of_what_was_there_whole(tmp_path):
    path = tmp_path / "index"
    write(build(some(3)), path, {"stamp": [1, 2]})
    old = read(path)
    write(build(some(300)), path, {"stamp": [3]})
    assert everything(read(path)) == everything(build(some(300)))
    assert facts_of(path) == {"stamp": [3]}
    assert everything(old) == everything(build(some(3)))  # who has it open keeps what it was
    assert [each.name for each in tmp_path.iterdir()] == ["index"]


def test_every_flipped_byte_and_every_length_that_is_missing_is_noticed(tmp_path):
    """The index on disk, damaged: one flipped byte gave wrong answers unsaid."""
    path = tmp_path / "index"
    write(build(some(9)), path, {})
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x40]) + whole[place + 1 :])
        with pytest.raises(DamagedIndexError):
            read(path)
        path.write_bytes(whole[:place])
        with pytest.raises(DamagedIndexError):
            read(path)
    path.write_bytes(b"nonsense" * 1000)
    with pytest.raises(DamagedIndexError):
        facts_of(path)


def test_a_file_that_is_cut_short_while_it_is_open_is_an_error_and_kills_nobody(tmp_path):
    """A bus error ended the process."""
    path = tmp_path / "index"
    write(build(some(500)), path, {})
    opened = read(path)
    os.truncate(path, 100)
    with pytest.raises(DamagedIndexError, match="cut short"):
        opened.postings(hash_of("zebra"))


def test_values_that_a_scope_tells_apart_have_different_facets():
    told_apart = [0, False, 1, True, "0", "1", "True", 1.5, "", 10**30, -1]
    assert len({facet("t", value) for value in told_apart}) == len(told_apart)
    assert facet("t", 2) == facet("t", 2.0)
    assert facet("t", "x") != facet("tx", "")
