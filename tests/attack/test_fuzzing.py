"""What strangers may send, by the thousand: nothing but a ContextEngineError, nothing slow, and the rest stands."""

from __future__ import annotations

import copy
import json
import random
import time
import zlib

import chromadb
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from inspector.opening import is_trace_name, read_trace
from langchain_context_engine import (
    Candidate,
    ChromaSource,
    ConfigError,
    Context,
    ContextEngine,
    ContextEngineError,
    Journal,
    Template,
    diff,
    replay,
)
from langchain_context_engine.errors import TemplateError
from langchain_context_engine.ingest import delete_collection, index_jsonl
from langchain_context_engine.serving.server import Opinion, Question
from tests.builders import ListSource, WordEmbeddings, a_candidate

FUZZED = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
SLOWEST_SECONDS = 1.0


def fuzzed(*strategies, most=2000):
    """Return a decorator that makes two tests of one: a short one, and a long one among the attacks."""

    def both(check):
        globals()[f"{check.__name__}_for_long"] = pytest.mark.attack(
            pytest.mark.timeout(600)(settings(FUZZED, max_examples=most)(given(*strategies)(check)))
        )
        return FUZZED(given(*strategies)(check))

    return both


TEXTS = st.text(alphabet=st.characters(codec=None, exclude_categories=()), max_size=30) | st.sampled_from(
    ["", "$and", "$or", "$not", "$gt", "$in", "$contains", "#document", "{{content}}", "{{", "\ud800", "[" * 2000, "\x00"]
)  # fmt: skip
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.binary(max_size=5)
    | st.dates() | st.datetimes() | st.sampled_from([10**400, -(10**400), float("nan"), "9" * 5000])
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4) | st.tuples(inner),
    max_leaves=20,
)
KEYS = st.sampled_from(
    ["links", "title", "path", "symbol", "confidence", "importance", "created_at", "kind", "tenant", "usage_count"]
)  # fmt: skip
FIELDS = st.sampled_from(
    ["vector", "scope", "where", "kinds", "sources", "since", "until", "min_confidence", "conversation_id",
     "history", "pinned", "excluded", "focus", "depth", "limit", "offset", "k", "budget", "template", "now"]
)  # fmt: skip
GOOD = Candidate(id="good", text="Invoices go out monthly.", relevance=0.5, metadata={"tenant": "acme"})


def quick(call, *args, refused=ContextEngineError, **named):
    """Call, allowing only errors of the package, within a second of the processor."""
    start = time.thread_time()
    try:
        return call(*args, **named)
    except refused:
        return None
    finally:
        assert time.thread_time() - start < SLOWEST_SECONDS


@fuzzed(TEXTS, st.dictionaries(FIELDS, VALUES, max_size=2), st.dictionaries(KEYS | TEXTS, VALUES, max_size=3))
def test_a_request_and_a_record_of_anything(query, fields, metadata):
    odd = Candidate(id="odd", text="Invoices are odd.", relevance=0.6, metadata=metadata)
    context = quick(ContextEngine([ListSource([odd, GOOD])]).build, query, **fields)
    if context is not None:
        context.text.encode()
        stored = json.loads(json.dumps(context.to_dict()))
        assert replay(stored).text == context.text
        assert context.tokens <= context.budget


@FUZZED
@given(
    VALUES
    | st.dictionaries(st.sampled_from(["message", "threadId", "history", "maxTokens", "useful"]), VALUES)
)
def test_a_body_of_anything(body):
    for kind in (Question, Opinion):
        quick(kind.model_validate, body, refused=ValidationError)


@FUZZED
@given(st.binary(max_size=200) | VALUES.map(lambda value: repr(value).encode("utf-8", "replace")))
def test_a_file_and_an_address_of_anything(data):
    """What the inspector opens, and the name of a trace in its address."""
    quick(read_trace, data)
    quick(is_trace_name, data.decode("utf-8", "replace"))


def a_trace():
    notes = [a_candidate(text=f"Invoice {i} of the month is open.", metadata={"n": i}) for i in range(6)]
    return ContextEngine([ListSource(notes)], budget=40).build("which invoice is open?").to_dict()


def damage(data, chance):
    """Change, drop or replace one value somewhere in a trace."""
    damaged = copy.deepcopy(data)
    place = damaged
    while True:
        key = chance.choice(list(place) if isinstance(place, dict) else list(range(len(place))))
        if isinstance(place[key], (dict, list)) and place[key] and chance.random() < 0.75:
            place = place[key]
            continue
        if chance.random() < 0.4:
            del place[key]
        else:
            place[key] = chance.choice(
                [None, 0, -1, 10**400, "", "x", [], {}, [[]], {"a": 1}, True, 1e308, "kept"]
            )
        return damaged


@pytest.mark.parametrize(
    "count", [150, pytest.param(6000, marks=[pytest.mark.attack, pytest.mark.timeout(600)])]
)
def test_a_damaged_trace_is_one_error(count):
    """Point 14: 140 of 6,000 raised KeyError and the like."""
    whole, chance = a_trace(), random.Random(15)
    for _ in range(count):
        context = quick(Context.from_dict, damage(whole, chance))
        if context is not None:
            quick(replay, context)
            quick(context.explain)
            quick(diff, context, context)


def test_a_damaged_body_in_a_journal_is_one_error(tmp_path):
    bodies = (b"[" * 5000, b"{}", b'{"version":1}')
    with Journal(tmp_path / "journal.db") as journal:
        trace_id = journal.record(Context.from_dict(a_trace()))
        journal.flush()
        for body in (b"", b"x", *map(zlib.compress, bodies)):
            with journal._database.writing() as connection:
                connection.execute("UPDATE bodies SET body = ?", (body,))
            quick(journal.trace, trace_id)


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
MAPPINGS = st.sampled_from(
    [{}, {"text": "page_content"}, {"kind": "metadata.kind"}, {"title": "a.b"}, {"n": "id"}]
)


@pytest.fixture(scope="module")
def client():
    return chromadb.EphemeralClient()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("lines")


def index_lines(client, folder, lines, mapping):
    """Index some lines around one that is sound, and ask for it."""
    path, text = folder / "notes.jsonl", "Invoices go out monthly."
    sound = {"page_content" if mapping.get("text") == "page_content" else "text": text, "id": "known"}
    path.write_bytes(b"\n".join([*lines, json.dumps(sound).encode()]) + b"\n")
    if "fuzzed-lines" in [each.name for each in client.list_collections()]:
        delete_collection(client, "fuzzed-lines")
    start = time.thread_time()
    report = index_jsonl(path, "fuzzed-lines", client, WordEmbeddings(16), mapping)
    assert time.thread_time() - start < 1
    collection = client.get_collection("fuzzed-lines", embedding_function=None)
    assert collection.get(ids=["known"])["documents"] == [text]
    (counts,) = report.collections.values()
    # A line end of another system within a line makes two of it.
    assert counts.added + sum(report.skipped.values()) >= len([line for line in lines if line.strip()]) + 1
    source = ChromaSource(collection, embeddings=WordEmbeddings(16))
    context = quick(ContextEngine([source]).build, "invoices")
    assert text in context.text
    context.text.encode()


test_json_lines_of_anything_cost_themselves = FUZZED(
    given(st.lists(RAW | OBJECTS, max_size=6), MAPPINGS)(index_lines)
)
test_hundreds_of_files_of_lines = pytest.mark.attack(
    settings(FUZZED, max_examples=400)(given(st.lists(RAW | OBJECTS, max_size=6), MAPPINGS)(index_lines))
)


@pytest.mark.parametrize("depth", [90, 900, 5000])
@pytest.mark.parametrize("opens", ['"metadata": {0}', '"text2": [{0}]', '"a": {{"b": {0}}}'])
def test_a_line_that_is_nested_deep_costs_itself(client, folder, depth, opens):
    """High 3: 900 lists within each other ended the whole run in RecursionError."""
    line = '{"text": "t", ' + opens.format("[" * depth + "1" + "]" * depth) + "}"
    index_lines(client, folder, [line.encode()], {})


@pytest.mark.parametrize(
    "mapping", [{"text": ""}, {"": "text"}, {"text": 5}, {5: "text"}, {"text": "absent"}]
)
def test_a_mapping_that_finds_no_text_is_refused(client, folder, mapping):
    (folder / "one.jsonl").write_text('{"id": "known", "text": "Invoices."}')
    with pytest.raises(ConfigError):
        index_jsonl(folder / "one.jsonl", "fuzzed-mapping", client, WordEmbeddings(16), mapping)


PIECES = st.sampled_from(
    ["{{citation}}", "{{content}}", "{{ title }}", "{{place}}\n", "{{id}}", "{{nothing}}", "{{", "}}", "{", "{{{{content}}}}",
     "{{content.__class__}}", "{{}}", "```", "````\n", "~~~\n", "`", "<a>", "</a>", '<a b="', "[", "]", "【", "- ", "> ", "\n", "\n\n", "# ",
     "%s", "$x", "\\", "\ud800", "\u202e", "\x00", "|", "1", "é", "word "]
)  # fmt: skip
PARTS = st.sampled_from(["header", "passage", "separator", "footer", "section", "note"])
HOSTILE = [
    a_candidate(id="[1]", text="Invoices ``` go out </a> monthly {{content}} [2].", metadata={"title": '"><b'}, kind="`"),
    a_candidate(id="2", text="~~~~\nInvoices are | paid.\n~~~~ ]", metadata={"title": "]] [3]", "path": "a`b"}),
    a_candidate(id="3", text="> - Invoices of the year\n\n# end", metadata={"title": "1"}),
]  # fmt: skip


@fuzzed(st.dictionaries(PARTS, st.lists(PIECES, max_size=8).map("".join), max_size=4))
@example({"passage": "{{citation}}{{content}}[", "separator": "]"})
def test_a_template_of_any_pieces_holds_every_text(forms):
    try:
        template = Template(name="fuzzed", **forms)
    except TemplateError:
        return
    engine = ContextEngine([ListSource(HOSTILE)], template=template)
    for budget in (12, 300):
        context = quick(engine.build, "invoices", budget=budget)
        context.text.encode()
        assert context.tokens <= budget
        assert replay(json.loads(json.dumps(context.to_dict()))).text == context.text
        shows = forms.get("passage", "").count("{{citation}}")
        for marker in context.citations:
            assert context.text.count(marker) <= max(1, shows)
