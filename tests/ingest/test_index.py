"""Rules of indexing: what is read, where it goes, and that every run ends where a first one would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import uuid
from pathlib import Path

import chromadb
import pytest

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.ingest import index_folder, index_repository
from tests.builders import WordEmbeddings
from tests.ingest_builders import content, git, write_files


@pytest.fixture
def client():
    return chromadb.EphemeralClient()


@pytest.fixture
def prefix():
    return f"p{uuid.uuid4().hex[:12]}-"


def test_binary_huge_minified_linked_and_unknown_files_are_skipped_with_a_count(tmp_path, client, prefix):
    outside = tmp_path / "outside"
    folder = tmp_path / "folder"
    write_files(outside, secret_dot_md="# Secret\n\nx")
    write_files(
        folder,
        a_dot_md="# A\n\nx",
        picture_dot_png=b"\x89PNG\0\0",
        null_dot_py=b"x = 1\0",
        large_dot_md="# Large\n\n" + "word " * 500,
        app_dot_min_dot_js="var a=1;" * 200,
        data_dot_xyz="1,2\n",
    )
    (folder / "link.md").symlink_to(outside / "secret.md")
    (folder / "linked").symlink_to(outside)
    (folder / "dangling.md").symlink_to(folder / "nowhere")
    (folder / "loop").symlink_to(folder)
    os.mkfifo(folder / "pipe.md")
    report = index_folder(folder, client, WordEmbeddings(), prefix=prefix, max_file_bytes=2000)
    assert report.skipped == {
        "binary": 2,
        "huge": 1,
        "minified": 1,
        "symlink": 4,
        "special": 1,
        "unsupported": 1,
    }
    (huge,) = [entry for entry in report.left_out if entry.reason == "huge"]
    assert huge.detail == "2,509 bytes; at most 2,000 are read (--max-size)"
    assert {m["path"] for _, m in content(client, f"{prefix}docs").values()} == {"a.md"}


def test_a_notebook_is_not_huge_for_its_outputs(tmp_path, client, prefix):
    picture = {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo" * 500}}
    cell = {"cell_type": "code", "source": "centers = kmeans(points)", "outputs": [picture], "metadata": {}}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    write_files(tmp_path, means_dot_ipynb=json.dumps(notebook), gone_dot_md="word " * 500, hold__keep="")
    report = index_folder(tmp_path, client, WordEmbeddings(), prefix=prefix, max_file_bytes=2000)
    ((text, _),) = content(client, f"{prefix}docs").values()
    assert "centers = kmeans(points)" in text
    assert report.skipped == {"huge": 1, "empty": 1}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"# Caf\xe9\n\nx", "# Café\n\nx"),
        ("# Café\n\nx".encode("utf-16"), "# Café\n\nx"),
        (b"\xef\xbb\xbf# A\r\n\r\nx", "# A\n\nx"),
        ("# A\n\nx".encode("utf-16-le"), "# A\n\nx"),
    ],
)
def test_undecodable_text_is_read_as_well_as_can_be(tmp_path, client, prefix, data, expected):
    write_files(tmp_path, a_dot_md=data)
    index_folder(tmp_path, client, WordEmbeddings(), prefix=prefix)
    assert [text for text, _ in content(client, f"{prefix}docs").values()] == [expected]


def test_a_run_that_was_killed_is_completed_by_the_next(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    for n in range(20):
        text = "\n\n\n".join(f"def function_{n}_{k}():\n    return {n * k}" for k in range(20))
        (folder / f"module_{n}.py").write_text(text + "\n")
    script = tmp_path / "run.py"
    script.write_text(
        textwrap.dedent(
            """
            import os, sys, chromadb
            from langchain_context_engine.ingest import index_folder
            from tests.builders import WordEmbeddings
            from tests.ingest_builders import CountingClient

            class Mortal(WordEmbeddings):
                def embed_documents(self, texts):
                    if len(self.calls) == 2:
                        os._exit(9)
                    return super().embed_documents(texts)

                model = "WordEmbeddings"

            client = CountingClient(chromadb.PersistentClient(sys.argv[2]), 100)
            index_folder(sys.argv[1], client, Mortal())
            """
        )
    )
    store = str(tmp_path / "store")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    killed = subprocess.run([sys.executable, script, folder, store], check=False, env=environment)
    assert killed.returncode == 9
    client = chromadb.PersistentClient(store)
    assert 0 < client.get_collection("code", embedding_function=None).count() < 400
    report = index_folder(folder, client, WordEmbeddings())
    assert 0 < report["code"].added < 400
    assert report["code"].added + report["code"].unchanged == 400
    index_folder(folder, client, WordEmbeddings(), prefix="fresh-")
    assert content(client, "code") == content(client, "fresh-code")


def test_a_collection_of_another_folder_is_not_replaced_unless_that_is_gone(tmp_path, client, prefix):
    for name in ("one", "two"):
        write_files(tmp_path / name, a_dot_md=f"# {name}\n\nx")
    index_folder(tmp_path / "one", client, WordEmbeddings(), prefix=prefix)
    with pytest.raises(ConfigError, match="mirrors another folder"):
        index_folder(tmp_path / "two", client, WordEmbeddings(), prefix=prefix)
    (tmp_path / "one").rename(tmp_path / "moved")
    report = index_folder(tmp_path / "moved", client, WordEmbeddings(), prefix=prefix)
    assert report.written == 0


def test_a_repository_is_read_without_git_being_installed(tmp_path, client, prefix, monkeypatch):
    git(tmp_path, "init", "-q")
    write_files(tmp_path, _dot_gitignore="b.md\n", a_dot_md="# A\n\nx", b_dot_md="# B\n\nx")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "First")
    monkeypatch.setenv("PATH", str(tmp_path))
    report = index_repository(tmp_path, client, WordEmbeddings(), prefix=prefix)
    assert report.warnings == ()
    assert report[f"{prefix}commits"].added == 1
    assert {m["path"] for _, m in content(client, f"{prefix}docs").values()} == {"a.md"}
