"""Rules of records: ids that depend on the content, metadata that Chroma takes."""

from __future__ import annotations

import json
import math
import uuid

import chromadb
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from langchain_context_engine.ingest import index_jsonl
from langchain_context_engine.ingest.record import clean_metadata, content_id
from tests.builders import WordEmbeddings
from tests.ingest_builders import lines, stored


@pytest.fixture
def client():
    return chromadb.EphemeralClient()


@pytest.fixture
def name():
    return f"c{uuid.uuid4().hex}"


def test_surrogates_and_control_characters_are_stored_as_text_that_encodes(tmp_path, client, name):
    path = lines(tmp_path, r'{"id": "\ud83d", "text": "a\ud83d\u0001 b", "title": "\udc00"}')
    index_jsonl(path, name, client, WordEmbeddings())
    assert stored(client, name) == {"\ufffd": ("a\ufffd\x01 b", {"title": "\ufffd"})}
    assert index_jsonl(path, name, client, WordEmbeddings()).written == 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None, max_examples=60)
@given(
    rows=st.lists(st.dictionaries(st.text(min_size=1, max_size=6), JSON, max_size=4), min_size=1, max_size=4)
)
@example(rows=[{"rounded by chroma": 2.0361607695806364e-234, "big": 2**70, "b": True, "f": 1.0}])
@example(rows=[{"$ref": 1, "#x": 2, "chroma:document": 3, "chroma:y": 4, " ": 5}])
def test_any_fields_are_stored_so_that_a_second_run_finds_them_unchanged(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    path.write_text("".join(json.dumps({**row, "text": f"text {n}"}) + "\n" for n, row in enumerate(rows)))
    client, name = chromadb.EphemeralClient(), f"c{uuid.uuid4().hex}"
    first = index_jsonl(path, name, client, WordEmbeddings(4))
    second = index_jsonl(path, name, client, WordEmbeddings(4))
    assert first.written == second.unchanged
    assert second.written == 0


@given(value=st.dictionaries(st.text(max_size=5), JSON, max_size=4))
def test_clean_metadata_is_what_chroma_takes_and_cleaning_again_changes_nothing(value):
    cleaned = clean_metadata(value)
    assert clean_metadata(cleaned) == cleaned
    for kept in cleaned.values():
        items = kept if isinstance(kept, list) else [kept]
        assert len({type(item) for item in items}) == 1
        assert all(isinstance(item, (str, bool, int, float)) for item in items)
        assert not any(isinstance(item, float) and not math.isfinite(item) for item in items)


@given(first=st.lists(st.text(max_size=4), max_size=3), second=st.lists(st.text(max_size=4), max_size=3))
def test_content_ids_are_equal_only_for_equal_parts(first, second):
    """I78."""
    assert (content_id(*first) == content_id(*second)) == (first == second)
