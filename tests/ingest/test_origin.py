"""Rules of which collections a folder goes into: it may have moved, or the store hold another already."""

from __future__ import annotations

import shutil

import chromadb
import pytest

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.ingest import index_file, index_folder, index_repository
from tests.embedding_builders import WordEmbeddings
from tests.ingest_builders import content, git, write_files

USUAL = {"code", "commits", "docs"}


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
    return index_repository(folder, chromadb.PersistentClient(str(store)), WordEmbeddings(), **settings)


def names(store):
    return {c.name for c in chromadb.PersistentClient(str(store)).list_collections()}


@pytest.mark.parametrize("does", ["move", "copy"])
def test_a_folder_that_moved_or_was_copied_with_its_store_goes_on_where_it_was(folder, tmp_path, does):
    """R7."""
    index(folder, folder / ".context-engine" / "chroma")
    there = (
        shutil.copytree(folder, tmp_path / "there") if does == "copy" else folder.rename(tmp_path / "there")
    )
    if does == "move":
        a_repository(folder, "another has taken its old place")
    report = index(there, there / ".context-engine" / "chroma")
    assert (report.written, report.warnings) == (0, ())
    assert names(there / ".context-engine" / "chroma") == USUAL


def test_what_is_gone_leaves_its_collections_to_none_but_who_asks_for_them_by_name(folder, tmp_path):
    index(folder, tmp_path / "store")
    moved = folder.rename(tmp_path / "moved")
    report = index(a_repository(tmp_path / "two", "two"), tmp_path / "store")
    assert set(report.collections) == {"two-code", "two-commits", "two-docs"}
    assert report.deleted == 0
    assert index(moved, tmp_path / "store", prefix="").written == 0


def test_a_second_repository_in_a_store_goes_by_its_own_name_and_says_so_once(folder, tmp_path):
    """R8."""
    index(folder, tmp_path / "store")
    second = a_repository(tmp_path / "my own, données", "two")
    report = index(second, tmp_path / "store")
    (warning,) = report.warnings
    assert all(each in warning for each in (str(folder), "my-own-donn-es-code", "--name"))
    again = index(second, tmp_path / "store")
    assert (again.written, again.warnings, set(again.collections)) == (0, (), set(report.collections))
    third = a_repository(tmp_path / "elsewhere" / "my own, données", "three")
    assert "my-own-donn-es-2-code" in index(third, tmp_path / "store").collections
    assert index(folder, tmp_path / "store").written == 0


def test_a_folder_within_an_indexed_one_goes_by_its_own_name_wherever_both_move(folder):
    """R8."""
    store = folder / ".context-engine" / "chroma"
    index(folder, store)
    report = index(folder / "src", store)
    assert set(report.collections) == {"src-code", "src-commits", "src-docs"}
    moved = folder.rename(folder.parent / "moved")
    store = moved / ".context-engine" / "chroma"
    assert index(moved / "src", store).written == index(moved, store).written == 0
    assert names(store) == USUAL | set(report.collections)


def test_a_name_that_another_folder_has_is_refused_and_the_way_out_said(folder, tmp_path):
    index(folder, tmp_path / "store", prefix="mine-")
    with pytest.raises(ConfigError, match=r"--name.*context-engine rm"):
        index(a_repository(tmp_path / "two", "two"), tmp_path / "store", prefix="mine-")
    report = index(folder, tmp_path / "store")
    assert set(report.collections) == {"mine-code", "mine-commits", "mine-docs"}, "it goes on under its name"
    assert report.written == 0


@pytest.mark.parametrize("name", ["notes.md", "t.py", "README", "日本.md", "a.b.c.txt"])
def test_a_single_file_becomes_a_collection_by_its_name_and_stays_there(tmp_path, name):
    """F8."""
    client = chromadb.PersistentClient(str(tmp_path / "store"))
    for text in ("# A title\n\nx = 1\n", "# Another title\n\nx = 2\n"):
        (tmp_path / name).write_text(text)
        ((collection, counts),) = index_file(tmp_path / name, client, WordEmbeddings()).collections.items()
        assert counts.written
        assert index_file(tmp_path / name, client, WordEmbeddings()).written == 0
    assert (len(content(client, collection)), len(client.list_collections())) == (1, 1)


def test_two_files_of_one_stem_go_into_collections_of_their_own(tmp_path):
    client = chromadb.PersistentClient(str(tmp_path / "store"))
    write_files(tmp_path, one_dot_md="# One\n\nx\n", one_dot_py="x = 1\n")
    found = [
        index_file(tmp_path / name, client, WordEmbeddings()).collections for name in ("one.md", "one.py")
    ]
    assert [*found[0], *found[1]] == ["one", "one-py"]


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
    assert (report["docs"].deleted, report["code"].unchanged) == (1, 1)


def test_a_dry_run_counts_what_a_run_would_do_and_writes_and_embeds_nothing(folder, tmp_path):
    embeddings = WordEmbeddings()
    client = chromadb.PersistentClient(str(tmp_path / "store"))
    dry = index_repository(folder, client, embeddings, is_dry=True)
    assert names(tmp_path / "store") == set()
    assert dry.collections == index_repository(folder, client, embeddings).collections
    write_files(folder, a_dot_md="# A\n\nchanged\n", new_dot_md="# New\n\nx\n")
    (folder / "src/b.py").unlink()
    before = {name: content(client, name) for name in USUAL}
    embeddings.calls.clear()
    dry = index_repository(folder, client, embeddings, is_dry=True)
    assert embeddings.calls == []
    assert before == {name: content(client, name) for name in USUAL}
    assert dry.collections == index_repository(folder, client, embeddings).collections
