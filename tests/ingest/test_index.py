"""Rules of indexing: what is read, where it goes, and that every run ends where a first one would."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
import uuid
from pathlib import Path

import chromadb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from langchain_context_engine.ingest import Splitter, index_file, index_folder, index_repository
from langchain_context_engine.models.errors import ConfigError
from tests.builders import WordEmbeddings
from tests.ingest_builders import content, git, write_files


@pytest.fixture
def client():
    return chromadb.EphemeralClient()


@pytest.fixture
def prefix():
    return f"p{uuid.uuid4().hex[:12]}-"


TEN_LINES = "\n".join(f"value_{n} = {n}" for n in range(10))


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


PATHS = ("a.py", "b.py", "sub/c.md", "d.txt")

TEXTS = (
    "",
    "def f():\n    return 1\n",
    "def f():\n    return 2\n\n\nclass A:\n    def g(self):\n        pass\n",
    "# T\n\nx\n\n# T\n\nx\n",
    f"# T\n\n{'word ' * 60}\n\n{TEN_LINES}\n",
    "\0",
)


@settings(deadline=None, max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    states=st.lists(st.dictionaries(st.sampled_from(PATHS), st.sampled_from(TEXTS)), min_size=2, max_size=4)
)
def test_an_incremental_run_gives_what_a_first_run_gives(tmp_path, client, states):
    folder = tmp_path / uuid.uuid4().hex
    prefix, splitter = f"p{uuid.uuid4().hex[:12]}-", Splitter(chunk_size=200)
    for state in states:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for path, text in state.items():
            write_files(folder, **{path.replace("/", "__"): text})
            os.utime(folder / path, (1_780_000_000, 1_780_000_000))
        index_folder(folder, client, WordEmbeddings(), prefix=prefix, splitter=splitter)
        assert index_folder(folder, client, WordEmbeddings(), prefix=prefix, splitter=splitter).written == 0
    fresh = f"f{uuid.uuid4().hex[:12]}-"
    index_folder(folder, client, WordEmbeddings(), prefix=fresh, splitter=splitter)
    for kind in ("code", "docs"):
        assert content(client, f"{prefix}{kind}") == content(client, f"{fresh}{kind}")


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


@pytest.fixture
def folder(tmp_path):
    return a_repository(tmp_path / "one", "one")


def a_repository(folder, text):
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    write_files(folder, a_dot_md=f"# A\n\n{text}\n", src__b_dot_py="def b():\n    pass\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", text)
    return folder


def index(folder, store, **settings):
    client = chromadb.PersistentClient(str(store))
    return index_repository(folder, client, WordEmbeddings(), **settings)


def names(store):
    return {c.name for c in chromadb.PersistentClient(str(store)).list_collections()}


USUAL = {"code", "commits", "docs"}


def test_a_folder_that_moved_with_its_store_goes_on_where_it_was(folder, tmp_path):
    """R7."""
    index(folder, folder / ".context-engine" / "chroma")
    moved = folder.rename(tmp_path / "moved")
    # Another has taken its old place.
    a_repository(folder, "another")
    report = index(moved, moved / ".context-engine" / "chroma")
    assert report.written == 0
    assert report.warnings == ()
    assert names(moved / ".context-engine" / "chroma") == USUAL


def test_another_repository_does_not_take_the_place_of_one_that_is_gone(folder, tmp_path):
    index(folder, tmp_path / "store")
    shutil.rmtree(folder)
    report = index(a_repository(tmp_path / "two", "two"), tmp_path / "store")
    assert set(report.collections) == {"two-code", "two-commits", "two-docs"}
    assert report.deleted == 0


def test_a_second_repository_in_a_store_goes_by_its_own_name_and_says_so_once(folder, tmp_path):
    """R8."""
    index(folder, tmp_path / "store")
    second = a_repository(tmp_path / "my own, données", "two")
    report = index(second, tmp_path / "store")
    (warning,) = report.warnings
    assert str(folder) in warning
    assert "my-own-donn-es-code" in warning
    assert "--name" in warning
    again = index(second, tmp_path / "store")
    assert (again.written, again.warnings) == (0, ())
    assert set(again.collections) == set(report.collections)
    third = a_repository(tmp_path / "elsewhere" / "my own, données", "three")
    assert "my-own-donn-es-2-code" in index(third, tmp_path / "store").collections
    assert index(folder, tmp_path / "store").written == 0


def test_a_folder_within_an_indexed_one_goes_by_its_own_name(folder):
    """R8."""
    store = folder / ".context-engine" / "chroma"
    index(folder, store)
    report = index(folder / "src", store)
    assert set(report.collections) == {"src-code", "src-commits", "src-docs"}
    assert index(folder / "src", store).written == index(folder, store).written == 0
    moved = folder.rename(folder.parent / "moved")
    store = moved / ".context-engine" / "chroma"
    assert index(moved / "src", store).written == index(moved, store).written == 0
    assert names(store) == USUAL | set(report.collections)


def test_a_name_that_another_folder_has_is_refused_and_the_way_out_said(folder, tmp_path):
    index(folder, tmp_path / "store", prefix="mine-")
    with pytest.raises(ConfigError, match=r"--name.*context-engine rm"):
        index(a_repository(tmp_path / "two", "two"), tmp_path / "store", prefix="mine-")


def test_a_folder_indexed_under_a_name_goes_on_under_it(folder, tmp_path):
    index(folder, tmp_path / "store", prefix="mine-")
    report = index(folder, tmp_path / "store")
    assert set(report.collections) == {"mine-code", "mine-commits", "mine-docs"}
    assert report.written == 0


@pytest.mark.parametrize("name", ["notes.md", "t.py", "README", "日本.md", "a.b.c.txt"])
def test_a_single_file_becomes_a_collection_by_its_name_and_stays_there(tmp_path, name):
    """F8."""
    client = chromadb.PersistentClient(str(tmp_path / "store"))
    (tmp_path / name).write_text("# A title\n\nx = 1\n")
    report = index_file(tmp_path / name, client, WordEmbeddings())
    ((collection, counts),) = report.collections.items()
    assert counts.added == 1
    assert index_file(tmp_path / name, client, WordEmbeddings()).written == 0
    (tmp_path / name).write_text("# Another title\n\nx = 2\n")
    again = index_file(tmp_path / name, client, WordEmbeddings())
    assert set(again.collections) == {collection}
    assert len(content(client, collection)) == 1


def test_two_files_of_one_stem_go_into_collections_of_their_own(tmp_path):
    client = chromadb.PersistentClient(str(tmp_path / "store"))
    write_files(tmp_path, one_dot_md="# One\n\nx\n", one_dot_py="x = 1\n")
    first = index_file(tmp_path / "one.md", client, WordEmbeddings())
    second = index_file(tmp_path / "one.py", client, WordEmbeddings())
    assert (*first.collections, *second.collections) == ("one", "one-py")


@pytest.mark.parametrize(("data", "reason"), [(b"\0\1", "binary"), (b"x = 1\n" * 99, "huge")])
def test_a_single_file_that_is_left_out_is_an_error_with_the_reason(tmp_path, data, reason):
    """F8."""
    (tmp_path / "a.py").write_bytes(data)
    client = chromadb.PersistentClient(str(tmp_path / "store"))
    with pytest.raises(ConfigError, match=f"is left out: {reason}"):
        index_file(tmp_path / "a.py", client, WordEmbeddings(), max_file_bytes=100)


def test_patterns_choose_the_files_and_what_is_no_longer_chosen_leaves(folder, tmp_path):
    client = chromadb.PersistentClient(str(tmp_path / "store"))
    index_folder(folder, client, WordEmbeddings())
    report = index_folder(folder, client, WordEmbeddings(), include=["src/", "*.md"], exclude=["a.*"])
    assert report["docs"].deleted == 1
    assert report["code"].unchanged == 1


def test_a_dry_run_counts_what_a_run_would_do_and_writes_and_embeds_nothing(folder, tmp_path):
    embeddings = WordEmbeddings()
    client = chromadb.PersistentClient(str(tmp_path / "store"))
    dry = index_repository(folder, client, embeddings, is_dry=True)
    assert names(tmp_path / "store") == set()
    wet = index_repository(folder, client, embeddings)
    assert dry.collections == wet.collections
    write_files(folder, a_dot_md="# A\n\nchanged\n", new_dot_md="# New\n\nx\n")
    (folder / "src/b.py").unlink()
    before = {name: content(client, name) for name in USUAL}
    embeddings.calls.clear()
    dry = index_repository(folder, client, embeddings, is_dry=True)
    assert embeddings.calls == []
    assert before == {name: content(client, name) for name in USUAL}
    assert dry.collections == index_repository(folder, client, embeddings).collections
