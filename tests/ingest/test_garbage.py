"""The rule of every reader: whatever a file holds, it gives records or one reason, and soon."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from langchain_context_engine.ingest import Splitter
from langchain_context_engine.ingest.reading import _BY_NAME as BY_SUFFIX
from langchain_context_engine.ingest.reading import kind_of, read_records
from langchain_context_engine.ingest.report import SkippedError
from tests.growth import assert_linear, repeated

pytestmark = pytest.mark.unmeasured

DOCUMENTS = [suffix[1:] for suffix in BY_SUFFIX if suffix not in {".xhtml", ".mkd", ".mdown"}]

TOKENS = st.sampled_from(
    ["# ", "## ", "```", "~~~", "---", "===", "<!--", "-->", "<h1>", "</h1>", "<p>", "<script>", "{", "}", "[", "]",
     "(", ")", '"', "'", "'''", "\\", "//", "/*", "*/", ":", ",", ";", "=", "- ", "+", "|", "> ", "<", "&a ", "*a",
     "!!x", "@", "$", "%", "def ", "class ", "function ", "=>", "fn ", "impl ", '{"cells":[', '"source":', '"text":',
     "From: ", "Subject: ", "From ", ".. ", "::", "\n", "\n\n", "\t", "\r\n", "\0", "\ufeff", "\f", "\u2028", "é", "中",
     "😀", "word ", "1", "2026-01-05", "(2026-08-04)", "%PDF-1.4", "PK\3\4", "=?utf-8?b?", "<<EOF"]
)  # fmt: skip

GARBAGE = st.one_of(
    st.binary(max_size=300),
    st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.lists(TOKENS, max_size=60).map(lambda parts: "".join(parts).encode("utf-8", "replace")),
)


def checked(path, data, chunk_size=200):
    try:
        found = read_records(path, data, splitter=Splitter(chunk_size=chunk_size), metadata={"created_at": 1})
    except SkippedError as left_out:
        assert left_out.reason  # noqa: PT017
        return ()
    assert found.kind == kind_of(path, data[:8192])
    assert len({r.id for r in found.records}) == len(found.records)
    starts = [r.metadata["start"] for r in found.records]
    assert starts == sorted(starts)
    for record in found.records:
        assert record.text.strip()
        record.text.encode()
        assert record.metadata["place"].startswith(path)
        assert record.metadata["document"] == path
        assert 0 <= record.metadata["start"] <= record.metadata["end"]
    return found.records


@pytest.mark.parametrize("suffix", DOCUMENTS)
@settings(deadline=None, max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=GARBAGE)
def test_a_document_of_garbage_gives_records_or_a_reason(suffix, data):
    checked(f"a.{suffix}", data)


SOUND = {
    "md": b"# A\n\nx `b`\n\n## 1.0 (2026-08-04)\n\n- y\n",
    "html": b"<h1>A</h1><p>x</p><table><tr><td>1</table>",
    "ipynb": b'{"cells": [{"cell_type": "code", "source": ["x"]}], "metadata": {}}',
    "yaml": b"a:\n  b: [1, 2]\n  c: &x {d: e}\nf: *x\n",
    "json": b'{"a": {"b": [1, {"c": 2}]}, "d": "e"}',
    "toml": b'[a]\nx = """\ny"""\n[[b]]\nz = 1\n',
    "csv": b'a,b\n1,"2\n3"\n4,5\n',
    "jsonl": b'{"text": "a", "created_at": "20240501"}\n{"page_content": "b", "metadata": {"c": 1}}\n',
    "eml": b"From: A <a@b.example>\nSubject: =?utf-8?q?x?=\nContent-Type: text/html\n\n<p>y</p>\n",
    "rst": b"A\n=\n\n.. note:: x\n\nB\n-\n\ny\n",
    "py": b"# c\n@d\ndef f(a=1):\n    return a\n\nclass A:\n    def g(self): pass\n",
    "js": b"exports.a = () => { b() }\ndescribe('x', () => { it('y', () => {}) })\n",
}


@pytest.mark.parametrize("suffix", list(SOUND))
def test_a_file_with_bytes_lost_changed_or_twice_gives_records_or_a_reason(suffix):
    chance = random.Random(suffix)
    for _ in range(30):
        data = bytearray(SOUND[suffix])
        for _ in range(chance.randrange(1, 6)):
            place = chance.randrange(len(data) or 1)
            piece = data[place : place + chance.randrange(1, 9)]
            data[place : place + len(piece)] = chance.choice(
                [b"", piece * 2, bytes([chance.randrange(256)]), piece[::-1]]
            )
        checked(f"a.{suffix}", bytes(data), chunk_size=20)


SHAPES = [
    "(",
    "[",
    "{",
    '"',
    "`",
    "*",
    "> ",
    "- ",
    "# a\n",
    "a\n=\n\n",
    "[a]: b\n",
    "<div>\n",
    "a::\n\n",
    "+--+\n",
]


@pytest.mark.parametrize("suffix", ["md", "rst", "html", "yaml", "json", "toml", "csv", "mbox", "py", "js"])
def test_no_shape_of_a_file_takes_long(suffix):
    for shape in SHAPES:
        assert_linear(
            lambda text: checked(f"a.{suffix}", text.encode(), chunk_size=1600), repeated(shape), 20_000
        )
