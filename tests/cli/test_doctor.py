"""`doctor`: what is installed, what would be used, and whether a store fits it."""

from __future__ import annotations

import subprocess
import sys
import tomllib

import chromadb
import pytest

from langchain_context_engine.cli.process import EXTRA_OF
from tests.builders import WordEmbeddings, a_collection
from tests.conftest import ROOT


def test_doctor_says_what_is_installed_and_would_be_used(tmp_path, run):
    code, out, _ = run("doctor", "--store", tmp_path)
    assert code == 0
    assert "✓ tokenizer: cl100k_base by" in out
    assert "wordllama-l2-supercat-256, 256 dimensions, on this machine" in out
    assert "make one with: context-engine index PATH" in out
    assert not list(tmp_path.iterdir())


def test_every_extra_is_looked_at_and_what_it_lacks_is_told(tmp_path, run, monkeypatch):
    """C3: `documents` was not; another was asked for a package that it does not hold."""
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(EXTRA_OF.values()) == set(stated) - {"all", "bench", "test"}
    for extra in set(EXTRA_OF.values()):
        assert f"✓ extra {extra}: installed\n" in run("doctor", "--store", tmp_path)[1]
    monkeypatch.setattr(
        "langchain_context_engine.cli.doctor.find_spec", lambda name: None if name == "mcp" else name
    )
    told = '✓ extra mcp: without mcp: pip install "langchain-context-engine[mcp]"\n'
    assert told in run("doctor", "--store", tmp_path)[1]


def test_doctor_says_whether_a_collection_fits_and_ends_with_1_where_one_does_not(notes, run):
    code, out, _ = run("doctor", "--store", notes)
    assert code == 0
    assert "4 records, 256 dimensions by wordllama" in out
    client = chromadb.PersistentClient(path=str(notes / "chroma"))
    a_collection([{"id": "1", "text": "words"}], client=client, embeddings=WordEmbeddings(64), name="foreign")
    code, out, _ = run("doctor", "--store", notes, "--embeddings", "local")
    client.delete_collection("foreign")
    assert code == 1
    assert "✗ collection foreign" in out
    assert "has vectors of 64 dimensions" in out


@pytest.mark.skipif(sys.platform != "linux", reason="only /proc tells who has a file open")
def test_doctor_warns_where_another_process_has_the_store_open(notes, run):
    """B11."""
    path = notes / "chroma" / "chroma.sqlite3"
    code = f"file = open({str(path)!r}); print('open', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        other.stdout.readline()
        ended, out, _ = run("doctor", "--store", notes)
        other.communicate("\n")
    assert ended == 1
    assert f"also open in process {other.pid}" in out
    assert "chroma run --path" in out
