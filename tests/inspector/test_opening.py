from __future__ import annotations

import json

import pytest

from inspector.opening import Settings, is_trace_name, open_trace, read_trace, sample_names, upload_name
from langchain_context_engine import ConfigError, Journal, replay
from tests.inspector.builders import a_context


@pytest.mark.parametrize("name", sample_names())
def test_a_sample_can_be_explained_and_replayed(name):
    context = open_trace(name, Settings())
    assert context.passages
    assert 0 < replay(context).tokens <= context.budget


def test_there_are_samples():
    assert len(sample_names()) >= 3


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "", "A" * 65, "x\n", "sample-../x", "ü", "%00"])
def test_a_name_that_is_no_name_is_refused_before_anything_is_opened(name, tmp_path):
    assert not is_trace_name(name)
    with pytest.raises(ConfigError, match="address"):
        open_trace(name, Settings(journal=tmp_path / "j.db"))


def test_an_unknown_trace_says_what_to_do(tmp_path):
    with pytest.raises(ConfigError, match="--journal"):
        open_trace("0123abcd", Settings())
    with Journal(tmp_path / "j.db"):
        pass
    with pytest.raises(ConfigError, match="no trace"):
        open_trace("0123abcd", Settings(journal=tmp_path / "j.db"))


def test_a_trace_is_read_from_a_journal_and_from_a_file(tmp_path):
    context = a_context()
    with Journal(tmp_path / "j.db") as journal:
        name = journal.record(context)
    assert open_trace(name, Settings(journal=tmp_path / "j.db")) == context
    path = tmp_path / "trace.json"
    path.write_text(context.to_json())
    assert open_trace("file", Settings(trace=path)) == context
    with pytest.raises(ConfigError, match="cannot be read"):
        open_trace("file", Settings(trace=tmp_path / "gone.json"))


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[1]", b"null", b'{"version": 999}', b"\xff\xfe", b"[" * 100_000]
)
def test_a_file_that_is_no_trace_is_refused_with_a_reason(data):
    with pytest.raises(ConfigError):
        read_trace(data)


def test_equal_files_have_one_name_that_tells_nothing():
    data = json.dumps({"a": "secret"}).encode()
    assert upload_name(data) == upload_name(data)
    assert "secret" not in upload_name(data)
    assert is_trace_name(upload_name(data))
