"""Rules of reading what libraries dump: documents in JSON Lines and in JSON, with metadata of their own."""

from __future__ import annotations

import json

import pytest

from langchain_context_engine.ingest import Splitter
from langchain_context_engine.ingest.json_lines import JsonLines
from langchain_context_engine.ingest.reading import read_records

INNER = {"kind": "note", "workspace_id": "acme", "created_at": "2024-05-01"}
DUMPED = {"page_content": "The pilot was late.", "metadata": INNER}
SERIALISED = {"id": ["langchain", "Document"], "type": "Document", "kwargs": DUMPED}
NODE = {"id_": "n", "embedding": [0.5] * 300, "metadata": INNER, "text": "The pilot was late."}
HAYSTACK = {"id": "n", "content": "The pilot was late.", "meta": INNER}


def passages(path, *, text):
    read = read_records(path, text.encode(), splitter=Splitter())
    return [(r.text, r.metadata) for r in read.records], read.skipped


def assert_is_the_note(found):
    text, metadata = found
    assert text == "The pilot was late."
    assert (metadata["kind"], metadata["workspace_id"]) == ("note", "acme")
    assert metadata["created_at"] == 1714521600
    assert not {"metadata", "meta", "embedding", "kwargs"} & metadata.keys()


@pytest.mark.parametrize("row", [DUMPED, SERIALISED, {**SERIALISED, "lc": 1}, NODE, HAYSTACK])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_the_metadata_of_a_dumped_document_are_its_passages(row, mark):
    """F6."""
    (found,), skipped = passages("notes.jsonl", text=mark + json.dumps(row) + "\r\n")
    assert_is_the_note(found)
    assert found[1]["place"] == "notes.jsonl › line 1"
    assert not skipped


@pytest.mark.parametrize("row", [DUMPED, SERIALISED])
@pytest.mark.parametrize("wrap", [lambda row: [row, row], lambda row: {"documents": [row]}, lambda row: row])
def test_a_json_file_of_dumped_documents_is_read_document_by_document(row, wrap):
    """F6."""
    found, _ = passages("notes.json", text=json.dumps(wrap(row), indent=1))
    for passage in found:
        assert_is_the_note(passage)
    assert found[-1][1]["place"] == f"notes.json › item {len(found)}"


def test_one_bad_item_in_a_list_of_documents_costs_itself():
    """F6."""
    text = json.dumps([DUMPED, None, {"page_content": ""}, DUMPED, DUMPED])
    found, skipped = passages("notes.json", text=text)
    assert [m["place"] for _, m in found] == [f"notes.json › item {n}" for n in (1, 4, 5)]
    assert [(s.where, s.reason) for s in skipped] == [
        ("notes.json, item 2", "invalid"),
        ("notes.json, item 3", "empty"),
    ]


def test_a_list_whose_texts_make_up_most_of_it_is_a_list_of_documents():
    speeches = [{"by": name, "text": "Nobody minded that the pilot was late. " * 3} for name in "AB"]
    found, _ = passages("speeches.json", text=json.dumps(speeches))
    assert [m["by"] for _, m in found] == ["A", "B"]


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
    assert [record.text for record in lines.records(lines.survey().last_lines)] == [text, "plain"]


def test_one_line_of_json_in_another_encoding_costs_itself(tmp_path):
    """F2."""
    path = tmp_path / "rows.jsonl"
    path.write_bytes('{"text": "Größe"}\n{"text": "Straße"}\n'.encode() + b'{"text": "caf\xe9"}\n')
    lines = JsonLines(path=path)
    texts = [record.text for record in lines.records(lines.survey().last_lines)]
    assert texts == ["Größe", "Straße", "caf\ufffd"]


def test_a_line_that_is_no_object_is_told_in_words():
    """F7."""
    _, skipped = passages("rows.jsonl", text='{"text": "good"}\n{bad\n"a"\n1\nnull\ntrue\n')
    assert [s.detail for s in skipped] == [
        "no JSON: Expecting property name enclosed in double quotes, at character 2",
        "no object but a text",
        "no object but a number",
        "no object but null",
        "no object but a boolean",
    ]
