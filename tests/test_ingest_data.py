"""Rules of reading data: settings by section, tables by row, mail by message, JSON Lines by line."""

from __future__ import annotations

import json
import uuid

import chromadb
import pytest

from langchain_context_engine.ingest import Splitter, index_jsonl
from langchain_context_engine.ingest.json_lines import JsonLines
from langchain_context_engine.ingest.readers.tables import delimiter_of
from langchain_context_engine.ingest.reading import read_records
from tests.builders import WordEmbeddings
from tests.ingest_builders import lines, stored


def read(path, data, **sizes):
    data = data.encode() if isinstance(data, str) else data
    return read_records(path, data, splitter=Splitter(**sizes), metadata={"created_at": 7})


def places(path, data, **sizes):
    return [r.metadata["place"] for r in read(path, data, **sizes).records]


LONG = "a value that is long enough to be a section of its own"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.toml", f'[tool.ruff]\nx = """\n[not.one]\n{LONG}\n"""\nlist = [\n  [1, 2],\n]\n[[deps]]\ny = "{LONG}"\n'),
        ("a.ini", f"[tool.ruff]\nx = {LONG}\n\n[deps]\ny = {LONG}\n"),
        ("a.yaml", f"# top\ntool.ruff:\n  x: '{LONG}'\ndeps:\n  - &a {LONG}\n"),
        ("a.json", f'{{\n  // why\n  "tool.ruff": {{"x": "{LONG} : [ {{"}},\n  "deps": ["{LONG}"]\n}}\n'),
    ],
)  # fmt: skip
def test_settings_are_read_a_section_at_a_time_and_verbatim(path, text):
    found = read(path, text, chunk_size=160).records
    assert [r.metadata["place"] for r in found] == [f"{path} › tool.ruff", f"{path} › deps"]
    for record in found:
        assert text[record.metadata["start"] : record.metadata["end"]] == record.text
        assert record.metadata["kind"] == "settings"


def test_a_section_that_is_too_long_is_cut_by_what_it_holds():
    jobs = "".join(f"  job{n}:\n    run: {LONG}\n    if: {LONG}\n" for n in range(3))
    assert places("ci.yml", f"name: ci\njobs:\n{jobs}", chunk_size=200) == [
        "ci.yml › name",
        "ci.yml › jobs › job0",
        "ci.yml › jobs › job1",
        "ci.yml › jobs › job2",
    ]


def test_an_item_of_a_list_goes_by_its_name():
    steps = "".join(f"  - name: Step {n}\n    run: {LONG}\n    if: {LONG}\n" for n in range(2))
    assert places("ci.yml", f"steps:\n{steps}", chunk_size=160) == [
        "ci.yml › steps › Step 0",
        "ci.yml › steps › Step 1",
    ]


def test_settings_and_tables_beside_tests_are_marked():
    assert read("tests/data/a.json", '{"a": 1}').records[0].metadata["is_test"] is True
    assert "is_test" not in read("tests/README.md", "# A\n\nx").records[0].metadata


def test_small_settings_go_together():
    text = json.dumps({"name": "a", "version": "1.0", "private": True, "scripts": {"test": LONG}}, indent=1)
    assert places("package.json", text, chunk_size=200) == ["package.json:1-4", "package.json › scripts"]


@pytest.mark.parametrize(
    "text",
    [
        "a: {{ .Values.x }}\n{{- if .y }}\nb: 1\n{{- end }}\n",
        "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n",
        "a: !!python/object/apply:os.system ['true']\n",
        "a: 1\n---\nb: 2\n",
        "a: " + "[\n" * 5000,
        "\t- a: b: c",
    ],
)
def test_yaml_that_is_a_template_or_a_trap_is_text_all_the_same(text):
    found = read("a.yaml", text).records
    assert "".join(found[0].text.split()).startswith("".join(text.split())[:200])


def test_rows_stand_below_their_header_with_numbers_and_dates_as_written():
    rows = "".join(f'2026-01-{n:02},00{n},"a, b\nsecond line"\n' for n in range(1, 10))
    found = read("data.csv", f"day,sum,note\n{rows}", chunk_size=120).records
    assert found[0].text.startswith("day,sum,note\n2026-01-01,001,")
    assert found[0].metadata["place"] == "data.csv › rows 2-4"
    assert all(r.text.startswith("day,sum,note\n") and r.text.endswith('"') for r in found)
    assert {r.metadata["kind"] for r in found} == {"table"}
    assert found[-1].metadata["place"] == "data.csv › rows 8-10"


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_the_delimiter_is_told_by_the_columns(delimiter):
    rows = (["name", "price", "note"], ["a", "1,50", "x, y"], ["b", "2,50", '"q, r'], ["c", "3,00", "s"])
    assert delimiter_of("\n".join(delimiter.join(row) for row in rows)) == delimiter
    assert delimiter_of("name,note\na,b; c\nd,e\n") == ","


def test_a_table_without_a_header_has_none():
    assert [r.text for r in read("data.csv", "1,2\n3,4\n").records] == ["1,2\n3,4"]


MBOX = b"""From a@example.org Mon Aug  4 10:00:00 2026
From: "A. Writer" <a@example.org>
Subject: =?utf-8?q?R=C3=A9lease?= plan
Date: Tue, 4 Aug 2026 10:00:00 +0200

We release on Friday.
>From then on nothing changes.

From b@example.org Tue Aug  5 10:00:00 2026
From: b@example.org
Subject: Figures
Date: not a date
Content-Type: multipart/mixed; boundary=x

--x
Content-Type: text/html; charset=utf-8

<p>See <b>attached</b>.</p>
--x
Content-Type: application/pdf
Content-Disposition: attachment; filename="sums.pdf"
Content-Transfer-Encoding: base64

AAAA
--x--
"""


def test_mail_is_read_by_message_with_subject_sender_and_date():
    first, second = read("box.mbox", MBOX).records
    assert first.metadata["place"] == "box.mbox › Rélease plan, 2026-08-04, A. Writer"
    assert first.metadata["created_at"] == 1785830400
    assert (first.metadata["kind"], first.metadata["author"]) == ("mail", "A. Writer")
    assert "We release on Friday." in first.text
    assert "See attached." in second.text
    assert "Attachments: sums.pdf" in second.text
    assert second.metadata["created_at"] == 7


def test_one_message_is_a_file_too():
    message = MBOX.partition(b"\n")[2].partition(b"\nFrom b@")[0]
    assert places("a.eml", message) == ["a.eml › Rélease plan, 2026-08-04, A. Writer"]


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


DUMPED = {"page_content": "hello", "metadata": {"workspace_id": "acme", "kind": "note", "id": "m"}}


@pytest.mark.parametrize(
    "row",
    [
        DUMPED,
        {**DUMPED, "id": None, "type": "Document"},
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
    path = lines(
        tmp_path,
        {"text": "good"},
        "{bad",
        "[1]",
        {"text": " "},
        {"id": "a", "text": "x"},
        {"id": "a", "text": "y"},
    )
    survey = JsonLines(path=path).survey()
    assert [(s.where, s.reason) for s in survey.skipped] == [
        ("rows.jsonl:2", "invalid"),
        ("rows.jsonl:3", "invalid"),
        ("rows.jsonl:4", "empty"),
        ("rows.jsonl:5", "duplicate"),
    ]
    assert survey.skipped[0].detail.startswith("no JSON: Expecting property name")
    assert survey.skipped[1].detail == "no object but a list"
    assert survey.counts == {"invalid": 2, "empty": 1, "duplicate": 1}


def test_of_many_bad_lines_the_first_are_told_and_all_are_counted(tmp_path):
    """F7."""
    survey = JsonLines(path=lines(tmp_path, {"text": "good"}, *["{bad"] * 500)).survey()
    assert survey.counts == {"invalid": 500}
    assert len(survey.skipped) == 100
