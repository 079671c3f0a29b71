"""`doctor`: what is installed, what would be used, and whether a store fits it."""

from __future__ import annotations

import subprocess
import sys
import tomllib

import chromadb
import pytest

from langchain_context_engine.cli.doctor import EXTRAS, packages_of
from tests.builders import WordEmbeddings, a_collection
from tests.conftest import ROOT


def test_doctor_says_what_is_installed_and_would_be_used(tmp_path, run):
    code, out, _ = run("doctor", "--store", tmp_path)
    out = " ".join(out.split())
    assert code == 0
    assert "cl100k_base by" in out
    assert "wordllama-l2-supercat-256, 256 dimensions, on this machine" in out
    assert "make one with: context-engine index PATH" in out
    assert not list(tmp_path.iterdir())


@pytest.fixture
def store(tmp_path, run):
    (tmp_path / "n.jsonl").write_text('{"text": "A berth costs 40."}', encoding="utf-8")
    run("index", tmp_path / "n.jsonl", "--name", "notes", "--store", tmp_path)
    return tmp_path


def test_doctor_says_whether_a_collection_fits_and_ends_with_1_where_one_does_not(store, run):
    code, out, _ = run("doctor", "--store", store)
    assert code == 0
    assert "1 record, 256 dimensions by wordllama" in " ".join(out.split())
    client = chromadb.PersistentClient(path=str(store / "chroma"))
    a_collection([{"id": "1", "text": "words"}], client=client, embeddings=WordEmbeddings(64), name="foreign")
    code, out, _ = run("doctor", "--store", store, "--embeddings", "local")
    assert code == 1
    assert "✗ collection foreign" in out
    assert "has vectors of 64 dimensions" in " ".join(out.split())


@pytest.mark.skipif(sys.platform != "linux", reason="only /proc tells who has a file open")
def test_doctor_warns_where_another_process_has_the_store_open(store, run):
    """B11."""
    path = store / "chroma" / "chroma.sqlite3"
    code = f"file = open({str(path)!r}); print('open', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        other.stdout.readline()
        ended, out, _ = run("doctor", "--store", store)
        other.communicate("\n")
    assert ended == 1
    assert f"also open in process {other.pid}" in " ".join(out.split())
    assert "chroma run --path" in out


def test_every_extra_is_looked_at():
    """C3: `documents` was not."""
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(EXTRAS) == set(stated) - {"all", "bench", "test"}


def line_of(extra, run):
    lines = run("doctor", "--store", "nowhere")[1].splitlines()
    start = next(place for place, line in enumerate(lines) if f"extra {extra} " in line)
    more = (line for line in lines[start + 1 :] if not line.startswith(" "))
    end = lines.index(next(more))
    return " ".join(" ".join(lines[start:end]).split())


@pytest.mark.parametrize("extra", ["code", "server", "mcp", "local"])
def test_doctor_looks_for_what_an_extra_holds(extra, run):
    """C3: it asked for a package that the extra does not hold."""
    assert packages_of(extra)
    assert "not installed" not in line_of(extra, run)


def install(folder, name, version, *requirements):
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir()
    stated = "".join(f"Requires-Dist: {requirement}\n" for requirement in requirements)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{stated}")


@pytest.mark.parametrize(
    ("requirements", "told"),
    [
        (["harbor>=1; extra == 'local'"], "✓ extra local harbor 1.5"),
        (['Harbor[x]>=1 ; (extra == "local")'], "✓ extra local Harbor 1.5"),
        (["harbor>=1; extra == 'local'", "absent; sys_platform == 'win32' and extra == 'local'"], "✓ extra local harbor 1.5"),
        (["harbor>=1; extra == 'local'", "absent>=2; extra == 'local'"], "not whole (absent missing, >=2 is needed): pip install"),
        (["harbor>=2; extra == 'local'"], "not whole (harbor 1.5, >=2 is needed): pip install"),
        (["absent; extra == 'local'"], "not installed: pip install"),
        (["harbor>=1", "harbor>=1; extra == 'locale'"], "not known to what is installed"),
    ],
    ids=["there", "spelt otherwise", "of another system", "half", "too old", "absent", "unknown"],
)  # fmt: skip
def test_what_is_here_and_what_is_missing_is_told(requirements, told, tmp_path, monkeypatch, run):
    """C3."""
    install(tmp_path, "langchain_context_engine", "9.9", *requirements)
    install(tmp_path, "harbor", "1.5")
    (tmp_path / "absent-1.0.dist-info").mkdir()  # half of its papers, as an interrupted pip leaves them
    monkeypatch.syspath_prepend(tmp_path)
    assert told in line_of("local", run)
