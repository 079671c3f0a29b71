"""Lines of JSON, template strings and filters of anything: nothing but a ContextEngineError, and the rest stands."""

from __future__ import annotations

import json
import time

import chromadb
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from langchain_context_engine import (
    ChromaSource,
    ConfigError,
    ContextEngine,
    ContextRequest,
    Template,
    replay,
)
from langchain_context_engine.errors import TemplateError
from langchain_context_engine.filters import matches, read_where, to_chroma
from langchain_context_engine.ingest import delete_collection, index_jsonl
from tests.attack.test_fuzzing import FUZZED, LONG, SCALARS, TEXTS, VALUES, quick
from tests.builders import ListSource, WordEmbeddings, a_candidate

NAMES = st.sampled_from(
    ["text", "content", "page_content", "document", "id", "metadata", "title", "path", "links", "created_at", "kind", "n", "a.b", ""]
)  # fmt: skip
RAW = st.binary(max_size=30) | st.sampled_from(
    [b"[" * 5000, b'{"text":' * 5000, b'{"text": "x"', b"{}", b"null", b'"text"', b"\xef\xbb\xbf{}", b"\x00", b"\r", b"NaN",
     b'{"text": "\\ud800", "id": "\\udfff"}', b'{"text": "t", "n": 1e999}', b'{"text": "t", "n": ' + b"9" * 5000 + b"}",
     b'{"text": "t", "id": {"a": []}}', b'{"text": "t", "text": 5}', "{'text': 'é'}".encode("latin-1"),
     b'{"text": ["t"], "metadata": {"kind": null}}', b'{"page_content": "t", "metadata": ' + b"[" * 900 + b"]" * 900 + b"}"]
)  # fmt: skip
OBJECTS = st.dictionaries(NAMES | TEXTS, VALUES, max_size=5).map(
    lambda row: json.dumps(row, default=repr, ensure_ascii=False).encode("utf-8", "surrogatepass")
)
LINES = st.lists(RAW | OBJECTS, max_size=6)
KNOWN = {"id": "known", "text": "Invoices go out monthly.", "tenant": "acme"}


@pytest.fixture(scope="module")
def client():
    return chromadb.EphemeralClient()


def index_lines(client, folder, lines, mapping):
    """Index some lines around one that is sound, and ask for it."""
    path = folder / "notes.jsonl"
    sound = {
        "page_content" if mapping.get("text") == "page_content" else "text": KNOWN["text"],
        "id": "known",
    }
    path.write_bytes(b"\n".join([*lines, json.dumps(sound).encode()]) + b"\n")
    if "fuzzed-lines" in [each.name for each in client.list_collections()]:
        delete_collection(client, "fuzzed-lines")
    start = time.thread_time()
    report = index_jsonl(path, "fuzzed-lines", client, WordEmbeddings(16), mapping)
    assert time.thread_time() - start < 1
    collection = client.get_collection("fuzzed-lines", embedding_function=None)
    assert collection.get(ids=["known"])["documents"] == [KNOWN["text"]]
    (counts,) = report.collections.values()
    # A line end of another system within a line makes two of it.
    assert counts.added + sum(report.skipped.values()) >= len([line for line in lines if line.strip()]) + 1
    context = quick(
        ContextEngine([ChromaSource(collection, embeddings=WordEmbeddings(16))]).build, "invoices"
    )
    assert "Invoices go out monthly." in context.text
    context.text.encode()


MAPPINGS = st.sampled_from(
    [{}, {"text": "page_content"}, {"kind": "metadata.kind"}, {"title": "a.b"}, {"n": "id"}]
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("lines")


test_json_lines_of_anything_cost_themselves = FUZZED(given(LINES, MAPPINGS)(index_lines))


@pytest.mark.parametrize("depth", [90, 300, 900, 5000])
@pytest.mark.parametrize("opens", ['"metadata": {0}', '"text2": [{0}]', '"a": {{"b": {0}}}'])
def test_a_line_that_is_nested_deep_costs_itself(client, folder, depth, opens):
    """High 3: 900 lists within each other ended the whole run in RecursionError."""
    line = '{"text": "t", ' + opens.format("[" * depth + "1" + "]" * depth) + "}"
    index_lines(client, folder, [line.encode()], {})


@pytest.mark.parametrize(
    "mapping", [{"text": ""}, {"": "text"}, {"text": 5}, {5: "text"}, {"text": "absent"}]
)
def test_a_mapping_that_finds_no_text_is_refused(client, folder, mapping):
    (folder / "one.jsonl").write_text(json.dumps(KNOWN))
    with pytest.raises(ConfigError):
        index_jsonl(folder / "one.jsonl", "fuzzed-mapping", client, WordEmbeddings(16), mapping)


PIECES = st.sampled_from(
    ["{{citation}}", "{{content}}", "{{ title }}", "{{place}}\n", "{{id}}", "{{nothing}}", "{{", "}}", "{", "{{{{content}}}}",
     "{{content.__class__}}", "{{}}", "```", "````\n", "~~~\n", "`", "<a>", "</a>", '<a b="', "[", "]", "【", "- ", "> ", "\n", "\n\n", "# ",
     "%s", "$x", "\\", "\ud800", "\u202e", "\x00", "|", "1", "é", "word "]
)  # fmt: skip
FORMS = st.lists(PIECES, max_size=8).map("".join)
HOSTILE = [
    a_candidate(
        id="[1]",
        text="Invoices ``` go out </a> monthly {{content}} [2].",
        metadata={"title": '"><b'},
        kind="`",
    ),
    a_candidate(
        id="2", text="~~~~\nInvoices are | paid.\n~~~~ ]", metadata={"title": "]] [3]", "path": "a`b"}
    ),
    a_candidate(id="3", text="> - Invoices of the year\n\n# end", metadata={"title": "1"}),
]


def write_form(forms):
    try:
        template = Template(name="fuzzed", **forms)
    except TemplateError:
        return
    for budget in (12, 300):
        context = quick(
            ContextEngine([ListSource(HOSTILE)], template=template).build, "invoices", budget=budget
        )
        context.text.encode()
        assert context.tokens <= budget
        assert replay(json.loads(json.dumps(context.to_dict()))).text == context.text
        shows = forms.get("passage", "").count("{{citation}}")
        for marker in context.citations:
            assert context.text.count(marker) <= max(1, shows)


FIELDS_OF_TEMPLATE = st.dictionaries(
    st.sampled_from(["header", "passage", "separator", "footer", "section", "note"]), FORMS, max_size=4
)
test_a_template_of_any_pieces_holds_every_text = FUZZED(given(FIELDS_OF_TEMPLATE)(write_form))


OPERATORS = st.sampled_from(
    ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$contains", "$not_contains", "$and", "$or", "$not", "$regex", "$"]
)  # fmt: skip
KEYS_OF_FILTER = st.sampled_from(
    ["n", "name", "created_at", "flag", "tags", "absent", "#document", "$and", "$or", "$not"]
)
TESTS = (
    SCALARS
    | st.lists(SCALARS, max_size=3)
    | st.dictionaries(OPERATORS, SCALARS | st.lists(SCALARS, max_size=3), max_size=2)
)
FILTERS = st.recursive(
    st.dictionaries(KEYS_OF_FILTER | TEXTS, TESTS, max_size=2),
    lambda inner: st.dictionaries(st.sampled_from(["$and", "$or", "$not"]), inner | st.lists(inner, max_size=3), max_size=2),
    max_leaves=8,
)  # fmt: skip
STORED = [
    {"n": 1, "name": "a", "created_at": "2024-05-01", "flag": True},
    {"n": 2.5, "name": "", "created_at": 1714550400, "flag": False},
    {"n": -3, "name": "9" * 30, "tags": ["a", "b"]},
    {"name": "\u00e9"},
]


@pytest.fixture(scope="module")
def stored(client):
    collection = client.create_collection("fuzzed-filters", embedding_function=None)
    collection.add(
        ids=[f"{i}" for i in range(len(STORED))],
        embeddings=WordEmbeddings(16).embed_documents([f"Invoice {i}" for i in range(len(STORED))]),
        documents=[f"Invoice {i}" for i in range(len(STORED))],
        metadatas=STORED,
    )
    return collection


def filter_by(stored, where):
    request = quick(ContextRequest, query="invoices", where=where)
    condition = None if request is None else quick(read_where, request.where)
    if condition is None:
        return
    right = {f"{i}" for i, metadata in enumerate(STORED) if quick(matches, metadata, condition)}
    asked = to_chroma(condition)
    # What the store is asked may let more through, which is tested again; never less.
    assert right <= set(stored.get(where=asked, include=[])["ids"])
    engine = ContextEngine([ChromaSource(stored, embeddings=WordEmbeddings(16))])
    found = quick(engine.search, "invoice", where=where, limit=10) or ()
    assert {ranked.candidate.id for ranked in found} <= right


test_a_filter_of_anything_is_refused_or_the_stores_own_answer = FUZZED(given(FILTERS)(filter_by))


@pytest.mark.attack
@pytest.mark.timeout(600)
@settings(LONG, max_examples=400)
@given(LINES, MAPPINGS)
def test_hundreds_of_files_of_lines(client, folder, lines, mapping):
    index_lines(client, folder, lines, mapping)


@pytest.mark.attack
@pytest.mark.timeout(600)
@LONG
@given(FIELDS_OF_TEMPLATE)
@example({"passage": "{{citation}}{{content}}[", "separator": "]"})
def test_thousands_of_templates(forms):
    write_form(forms)


@pytest.mark.attack
@pytest.mark.timeout(600)
@settings(LONG, max_examples=1000)
@given(FILTERS)
def test_thousands_of_filters(stored, where):
    filter_by(stored, where)
