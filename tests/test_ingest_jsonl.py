"""Rules of JSON Lines: mapping, ids, and what is left out."""

from __future__ import annotations

import json
import math
import uuid

import chromadb
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from langchain_context_engine.ingest import index_jsonl
from langchain_context_engine.ingest.record import clean_metadata
from langchain_context_engine.models.errors import ConfigError
from tests.builders import WordEmbeddings
from tests.ingest_builders import CountingClient, lines, stored


@pytest.fixture
def client():
    return chromadb.EphemeralClient()


@pytest.fixture
def name():
    return f"c{uuid.uuid4().hex}"


def test_fields_are_mapped_and_the_rest_keep_their_names(tmp_path, client, name):
    row = {
        "uuid": 7,
        "body": {"text": "hello"},
        "when": "2024-05-01T08:00:00Z",
        "tags": ["a"],
        "deep": {"x": 1},
    }
    mapping = {"text": "body.text", "id": "uuid", "created_at": "when"}
    report = index_jsonl(
        lines(tmp_path, row), name, client, WordEmbeddings(), mapping, metadata={"kind": "memory"}
    )
    assert report[name].added == 1
    assert stored(client, name) == {
        "7": (
            "hello",
            {
                "created_at": 1714550400,
                "tags": ["a"],
                "deep": '{"x": 1}',
                "kind": "memory",
                "body": '{"text": "hello"}',
            },
        )
    }


def test_a_second_run_writes_nothing_and_a_changed_line_is_updated_without_leftovers(tmp_path, client, name):
    embeddings = WordEmbeddings()
    old = [{"id": "a", "text": "one", "old": 1}, {"id": "b", "text": "two"}, {"text": "three"}]
    index_jsonl(lines(tmp_path, *old), name, client, embeddings)
    embeddings.calls.clear()
    report = index_jsonl(lines(tmp_path, *old), name, client, embeddings)
    assert (report.written, report.unchanged, embeddings.calls) == (0, 3, [])
    new = [{"id": "a", "text": "one", "new": 1}, {"id": "b", "text": "2"}, {"text": "three"}]
    report = index_jsonl(lines(tmp_path, *new), name, client, embeddings)
    assert (report[name].updated, report[name].unchanged) == (2, 1)
    assert embeddings.calls == [("2",)]
    assert stored(client, name)["a"] == ("one", {"new": 1})
    assert stored(client, name)["b"][0] == "2"


def test_of_lines_with_one_id_the_last_stands_and_stays(tmp_path, client, name):
    rows = [{"id": "a", "text": f"version {n}"} for n in range(5)]
    report = index_jsonl(lines(tmp_path, *rows), name, CountingClient(client, 2), WordEmbeddings())
    assert report.skipped == {"duplicate": 4}
    assert stored(client, name)["a"][0] == "version 4"
    assert index_jsonl(lines(tmp_path, *rows), name, client, WordEmbeddings()).written == 0


def test_equal_texts_with_other_fields_are_two_records(tmp_path, client, name):
    index_jsonl(
        lines(tmp_path, {"text": "x", "workspace_id": "a"}, {"text": "x", "workspace_id": "b"}),
        name,
        client,
        WordEmbeddings(),
    )
    assert len(stored(client, name)) == 2


def test_lines_that_are_no_object_with_a_text_are_skipped_with_a_count(tmp_path, client, name):
    rows = [
        {"text": "good"},
        "not json",
        "[1, 2]",
        "",
        {"text": None},
        {"text": "  "},
        {"text": 5},
        {"other": "x"},
        "[" * 100_000,
        '{"text": "big", "n": ' + "9" * 5000 + "}",
    ]
    report = index_jsonl(lines(tmp_path, *rows), name, client, WordEmbeddings())
    assert report.added == 1
    assert report.skipped == {"invalid": 6, "empty": 2}


def test_a_line_of_characters_that_nobody_sees_is_counted_unless_json_takes_them_for_space(
    tmp_path, client, name
):
    rows = [{"text": "good"}, "\x1c", "\x85", "\u2003", " \t\r", ""]
    report = index_jsonl(lines(tmp_path, *rows), name, client, WordEmbeddings())
    assert (report.added, dict(report.skipped)) == (1, {"invalid": 3})


def test_a_file_without_any_text_is_refused_with_the_fields_it_has(tmp_path, client, name):
    with pytest.raises(ConfigError, match=r"message, author.*mapping"):
        index_jsonl(lines(tmp_path, {"message": "x", "author": "y"}), name, client, WordEmbeddings())
    with pytest.raises(ConfigError, match="no file"):
        index_jsonl(tmp_path / "nowhere.jsonl", name, client, WordEmbeddings())
    with pytest.raises(ConfigError, match="mapping takes"):
        index_jsonl(lines(tmp_path, {"text": "x"}), name, client, WordEmbeddings(), {"text": 3})


@pytest.mark.parametrize("written", ['[{"text": "x"}, {"text": "y"}]', '{\n  "text": "x"\n}\n'])
def test_json_that_is_not_an_object_a_line_is_told_how_to_become_it(tmp_path, client, name, written):
    with pytest.raises(ConfigError, match=r"no line is an object; .*jq -c"):
        index_jsonl(lines(tmp_path, written), name, client, WordEmbeddings())


def test_an_empty_file_gives_an_empty_collection(tmp_path, client, name):
    assert index_jsonl(lines(tmp_path), name, client, WordEmbeddings()).written == 0
    assert stored(client, name) == {}


def test_records_that_the_file_no_longer_has_go_only_when_asked(tmp_path, client, name):
    index_jsonl(
        lines(tmp_path, {"id": "a", "text": "x"}, {"id": "b", "text": "y"}), name, client, WordEmbeddings()
    )
    path = lines(tmp_path, {"id": "a", "text": "x"})
    assert index_jsonl(path, name, client, WordEmbeddings()).deleted == 0
    assert index_jsonl(path, name, client, WordEmbeddings(), delete_missing=True).deleted == 1
    assert set(stored(client, name)) == {"a"}


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
