"""Rules of JSON Lines, of dumped documents and of records: mapping, ids, metadata, and what is left out."""

from __future__ import annotations

import json
import uuid

import chromadb
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.ingest import Splitter, index_jsonl
from langchain_context_engine.ingest.json_lines import JsonLines
from langchain_context_engine.ingest.reading import read_records
from langchain_context_engine.ingest.record import content_id
from tests.builders import WordEmbeddings
from tests.document_builders import read
from tests.ingest_builders import CountingClient, lines, stored


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


def test_a_file_without_any_text_is_refused_with_the_fields_it_has(tmp_path, client, name):
    with pytest.raises(ConfigError, match=r"message, author.*mapping"):
        index_jsonl(lines(tmp_path, {"message": "x", "author": "y"}), name, client, WordEmbeddings())
    with pytest.raises(ConfigError, match="no file"):
        index_jsonl(tmp_path / "nowhere.jsonl", name, client, WordEmbeddings())
    with pytest.raises(ConfigError, match="mapping takes"):
        index_jsonl(lines(tmp_path, {"text": "x"}), name, client, WordEmbeddings(), {"text": 3})


def test_records_that_the_file_no_longer_has_go_only_when_asked(tmp_path, client, name):
    index_jsonl(
        lines(tmp_path, {"id": "a", "text": "x"}, {"id": "b", "text": "y"}), name, client, WordEmbeddings()
    )
    path = lines(tmp_path, {"id": "a", "text": "x"})
    assert index_jsonl(path, name, client, WordEmbeddings()).deleted == 0
    assert index_jsonl(path, name, client, WordEmbeddings(), delete_missing=True).deleted == 1
    assert set(stored(client, name)) == {"a"}


DUMPED = {"page_content": "hello", "metadata": {"workspace_id": "acme", "kind": "note", "id": "m"}}


def test_json_lines_in_a_folder_are_passages_with_their_fields_and_rows_of_data():
    rows = [
        {"text": "hello", "author": "A", "path": "elsewhere"},
        {"page_content": "dumped", "metadata": {"topic": "x"}},
        {"n": 1},
        {"n": 2},
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows) + "no json\n"
    found = read("a.jsonl", text)
    assert [(r.metadata["place"], r.text) for r in found.records] == [
        ("a.jsonl › line 1", "hello"),
        ("a.jsonl › line 2", "dumped"),
        ("a.jsonl › lines 3-4", '{"n": 1}\n{"n": 2}'),
    ]
    assert found.records[0].metadata["author"] == "A"
    assert (found.records[0].metadata["path"], found.records[0].metadata["row_path"]) == (
        "a.jsonl",
        "elsewhere",
    )
    assert found.records[1].metadata["topic"] == "x"
    assert [(s.where, s.reason) for s in found.skipped] == [("a.jsonl:5", "invalid")]


@pytest.mark.parametrize(
    "row",
    [
        DUMPED,
        {**DUMPED, "id": None, "type": "Document"},
        {"pageContent": "hello", "metadata": DUMPED["metadata"]},
        {**DUMPED, "metadata": json.dumps(DUMPED["metadata"])},
        f"{json.dumps(DUMPED)},",
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "document", "Document"],
            "kwargs": {**DUMPED, "type": "Document"},
        },
    ],
)
def test_the_metadata_of_a_dumped_document_are_metadata(tmp_path, row):
    """F6."""
    client, name = chromadb.EphemeralClient(), f"c{uuid.uuid4().hex}"
    index_jsonl(lines(tmp_path, row), name, client, WordEmbeddings())
    ((text, metadata),) = stored(client, name).values()
    assert (text, metadata) == ("hello", {"workspace_id": "acme", "kind": "note", "id": "m"})


def test_a_mapping_reaches_into_a_dumped_document(tmp_path):
    """F6."""
    client, name = chromadb.EphemeralClient(), f"c{uuid.uuid4().hex}"
    mapping = {"id": "metadata.id", "scope": "metadata.workspace_id"}
    index_jsonl(lines(tmp_path, DUMPED), name, client, WordEmbeddings(), mapping)
    assert stored(client, name) == {"m": ("hello", {"scope": "acme", "kind": "note"})}


def test_lines_that_are_left_out_are_told_by_number_and_reason(tmp_path):
    """F7."""
    rows = [{"text": "good"}, "{bad", "[1]", {"text": " "}, {"text": 5}, {"other": "x"}, "[" * 100_000]
    rows += [
        '{"text": "big", "n": ' + "9" * 5000 + "}",
        "",
        {"id": "a", "text": "x"},
        {"id": "a", "text": "y"},
    ]
    last_lines, skipped = JsonLines(path=lines(tmp_path, *rows)).survey()
    assert len(last_lines) == 2
    told = {entry.where.removeprefix("rows.jsonl:"): entry.reason for entry in skipped}
    assert told == {**dict.fromkeys("235678", "invalid"), "4": "empty", "10": "duplicate"}
    assert skipped[0].detail.startswith("no JSON: Expecting property name")
    assert skipped[1].detail == "no object but a list"


INNER = {"kind": "note", "workspace_id": "acme", "created_at": "2024-05-01"}

PILOT = {"page_content": "The pilot was late.", "metadata": INNER}

SERIALISED = {"id": ["langchain", "Document"], "type": "Document", "kwargs": PILOT}


def passages(path, *, text):
    read = read_records(path, text.encode(), splitter=Splitter())
    return [(r.text, r.metadata) for r in read.records], read.skipped


def assert_is_the_note(found):
    text, metadata = found
    assert text == "The pilot was late."
    assert (metadata["kind"], metadata["workspace_id"]) == ("note", "acme")
    assert metadata["created_at"] == 1714521600
    assert not {"metadata", "meta", "embedding", "kwargs"} & metadata.keys()


@pytest.mark.parametrize("row", [PILOT, SERIALISED])
@pytest.mark.parametrize("wrap", [lambda row: [row, row], lambda row: {"documents": [row]}, lambda row: row])
def test_a_json_file_of_dumped_documents_is_read_document_by_document(row, wrap):
    """F6."""
    found, _ = passages("notes.json", text=json.dumps(wrap(row), indent=1))
    for passage in found:
        assert_is_the_note(passage)
    assert found[-1][1]["place"] == f"notes.json › item {len(found)}"


@pytest.mark.parametrize(
    "data",
    [{"name": "harbor", "text": "x"}, [{"rule": "no-tabs", "severity": "warn", "text": "x"}], ["a", "b"]],
)
def test_other_json_stays_settings(data):
    found, _ = passages("settings.json", text=json.dumps(data, indent=1))
    assert all(metadata["kind"] == "settings" for _, metadata in found)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "gbk", "cp932"])
def test_json_lines_are_read_in_the_encoding_that_they_are_in(tmp_path, encoding):
    """F2."""
    told = "ログインの誤りを修正しました。ターミナルを開いてください。"
    text = told if encoding == "cp932" else "请先安装依赖，然后运行脚本。本系统用于管理仓库的入库和出库。"
    path = tmp_path / "rows.jsonl"
    path.write_bytes(f'{{"text": "{text}"}}\n{{"text": "plain"}}\n'.encode(encoding))
    lines = JsonLines(path=path)
    assert [record.text for record in lines.records(lines.survey()[0])] == [text, "plain"]


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


@settings(deadline=None, max_examples=25)
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


@given(first=st.lists(st.text(max_size=4), max_size=3), second=st.lists(st.text(max_size=4), max_size=3))
def test_content_ids_are_equal_only_for_equal_parts(first, second):
    """I78."""
    assert (content_id(*first) == content_id(*second)) == (first == second)
