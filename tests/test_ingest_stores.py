"""Rules of which collections a folder goes into: it may have moved, or the store hold another already."""

from __future__ import annotations

import shutil

import chromadb
import pytest

from langchain_context_engine.ingest import index_file, index_folder, index_repository
from langchain_context_engine.models.errors import ConfigError
from tests.builders import WordEmbeddings
from tests.ingest_builders import content, git, write_files


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


def test_a_repository_that_moved_away_from_its_store_goes_on_where_it_was(folder, tmp_path):
    """R7."""
    index(folder, tmp_path / "store")
    report = index(folder.rename(tmp_path / "moved"), tmp_path / "store")
    assert (report.written, report.warnings) == (0, ())


def test_a_copy_with_its_store_goes_on_where_the_first_was(folder, tmp_path):
    index(folder, folder / ".context-engine" / "chroma")
    copy = shutil.copytree(folder, tmp_path / "copy")
    assert index(copy, copy / ".context-engine" / "chroma").written == 0


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
