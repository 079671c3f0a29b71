"""Rules of indexing a repository: idempotent, incremental, and nothing run that should not be."""

from __future__ import annotations

import os
import sys
import uuid

import chromadb
import pytest

from langchain_context_engine.ingest import index_folder, index_repository
from langchain_context_engine.models.errors import ConfigError, UnknownNameError
from tests.builders import WordEmbeddings
from tests.ingest_builders import content, git, write_files


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    write_files(
        folder,
        src__app_dot_py="def hello():\n    return 'hello'\n\n\ndef bye():\n    return 'bye'\n",
        README_dot_md="# Guide\n\nHello.\n\n## Install\n\nRun it.\n",
    )
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Say hello\n\nPeople asked for it.")
    return folder


@pytest.fixture
def client():
    return chromadb.EphemeralClient()


@pytest.fixture
def prefix():
    return f"p{uuid.uuid4().hex[:12]}-"


def symbols(client, prefix):
    return {m.get("symbol") for _, m in content(client, f"{prefix}code").values()} - {None}


def test_a_repository_becomes_code_commits_and_docs(repository, client, prefix):
    report = index_repository(repository, client, WordEmbeddings(), prefix=prefix)
    assert report[f"{prefix}code"].added == 2
    assert report[f"{prefix}docs"].added == 2
    assert report[f"{prefix}commits"].added == report[f"{prefix}commits"].written == 1
    assert symbols(client, prefix) == {"hello", "bye"}
    ((sha, (text, commit)),) = content(client, f"{prefix}commits").items()
    assert sha == commit["sha"] == git(repository, "rev-parse", "HEAD").strip()
    assert text.startswith("Say hello\n\nPeople asked for it.\n\nREADME.md (+7 −0)")
    assert commit["title"] == "Say hello"
    assert commit["author"] == "Ana Ré"
    assert (commit["insertions"], commit["deletions"], commit["files_changed"]) == (13, 0, 2)
    assert commit["files"] == ["README.md", "src/app.py"]
    assert commit["created_at"] == 1767607200
    assert "a@x.example" not in str(commit)
    titles = {m["title"]: m for _, m in content(client, f"{prefix}docs").values()}
    assert titles["Install"]["headings"] == "Guide › Install"
    assert titles["Install"]["document"] == titles["Install"]["path"] == "README.md"
    assert titles["Install"]["created_at"] == 1767607200


def test_collections_are_made_in_cosine_space_and_remember_their_embedder(repository, client, prefix):
    index_repository(repository, client, WordEmbeddings(), prefix=prefix)
    collection = client.get_collection(f"{prefix}code", embedding_function=None)
    assert collection.configuration["hnsw"]["space"] == "cosine"
    assert collection.metadata["embedding_model"] == "WordEmbeddings"
    assert collection.metadata["embedding_dimension"] == 64


def test_a_second_run_writes_and_embeds_nothing(repository, client, prefix):
    embeddings = WordEmbeddings()
    first = index_repository(repository, client, embeddings, prefix=prefix)
    before = {kind: content(client, f"{prefix}{kind}") for kind in ("code", "commits", "docs")}
    embeddings.calls.clear()
    second = index_repository(repository, client, embeddings, prefix=prefix)
    assert second.written == 0
    assert second.unchanged == first.added
    assert embeddings.calls == []
    assert before == {kind: content(client, f"{prefix}{kind}") for kind in ("code", "commits", "docs")}


def test_a_changed_function_is_the_only_one_embedded_again(repository, client, prefix):
    embeddings = WordEmbeddings()
    index_repository(repository, client, embeddings, prefix=prefix)
    embeddings.calls.clear()
    path = repository / "src/app.py"
    path.write_text("\n\n\n" + path.read_text().replace("'bye'", "'good bye'"))
    report = index_repository(repository, client, embeddings, prefix=prefix)
    assert ["good bye" in text for call in embeddings.calls for text in call] == [True]
    assert report[f"{prefix}code"].updated == 2  # one with new text, one with new lines
    assert report[f"{prefix}code"].added == report[f"{prefix}code"].deleted == 0
    places = {m["symbol"]: m["start_line"] for _, m in content(client, f"{prefix}code").values()}
    assert places == {"hello": 4, "bye": 8}


def test_what_is_deleted_or_no_longer_a_text_leaves_the_collections(repository, client, prefix):
    index_repository(repository, client, WordEmbeddings(), prefix=prefix)
    (repository / "README.md").unlink()
    (repository / "src/app.py").write_bytes(b"\0\0\0")
    report = index_repository(repository, client, WordEmbeddings(), prefix=prefix)
    assert report.deleted == 4
    assert report.skipped == {"binary": 1}
    assert content(client, f"{prefix}code") == content(client, f"{prefix}docs") == {}


def test_a_new_commit_is_added_and_an_amended_one_is_replaced(repository, client, prefix):
    index_repository(repository, client, WordEmbeddings(), prefix=prefix)
    git(repository, "commit", "-q", "--allow-empty", "-m", "Second")
    report = index_repository(repository, client, WordEmbeddings(), prefix=prefix)
    assert report[f"{prefix}commits"].added == 1
    git(repository, "commit", "-q", "--amend", "--allow-empty", "-m", "Second, better")
    report = index_repository(repository, client, WordEmbeddings(), prefix=prefix)
    assert (report[f"{prefix}commits"].added, report[f"{prefix}commits"].deleted) == (1, 1)
    titles = {m["title"] for _, m in content(client, f"{prefix}commits").values()}
    assert titles == {"Say hello", "Second, better"}


def test_max_commits_keeps_the_newest(repository, client, prefix):
    for n in range(5):
        git(
            repository,
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            f"Number {n}",
            date=f"2026-02-0{n + 1}T10:00:00Z",
        )
    for most, expected in ((2, 2), (3, 3), (1, 1), (0, 0), (None, 6)):
        index_repository(
            repository, client, WordEmbeddings(), prefix=prefix, collections=["commits"], max_commits=most
        )
        assert len(content(client, f"{prefix}commits")) == expected


def test_commits_with_renames_merges_odd_names_and_odd_messages_are_read(repository, client, prefix):
    git(repository, "mv", "src/app.py", "src/na\tme 日本.py")
    git(repository, "commit", "-qm", "Rename")
    first = git(repository, "rev-parse", "HEAD").strip()
    git(repository, "checkout", "-q", "-b", "side", "HEAD~1")
    write_files(repository, side_dot_md="# Side\n\nx\n", blob_dot_bin=b"\0\1\2")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", f"3\t4\tnot a file\n\nThis reverts commit {first}.")
    git(repository, "checkout", "-q", "main")
    git(repository, "merge", "-q", "side", "-m", "Merge side")
    git(repository, "commit", "-q", "--allow-empty", "--allow-empty-message", "-m", "")
    index_repository(repository, client, WordEmbeddings(), prefix=prefix)
    commits = {m["title"]: (t, m) for t, m in content(client, f"{prefix}commits").values()}
    assert len(commits) == 5
    assert commits["Rename"][1]["files"] == ["src/na\tme 日本.py"]
    assert (commits["Rename"][1]["insertions"], commits["Rename"][1]["deletions"]) == (0, 0)
    reverting = commits["3\t4\tnot a file"][1]
    assert reverting["links"] == [first]
    assert reverting["files"] == ["blob.bin", "side.md"]
    assert reverting["insertions"] == 3
    assert commits["Merge side"][1]["files_changed"] == 0
    assert {m["path"] for _, m in content(client, f"{prefix}code").values()} == {"src/na\tme 日本.py"}


def test_a_file_is_dated_by_its_last_commit_and_a_changed_one_by_its_writing(repository, client, prefix):
    write_files(repository, later_dot_md="# Later\n\nx\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "Later", date="2026-03-01T00:00:00Z")
    write_files(repository, new_dot_md="# New\n\nx\n")
    os.utime(repository / "new.md", (1_780_000_000, 1_780_000_000))
    index_repository(repository, client, WordEmbeddings(), prefix=prefix)
    dates = {m["path"]: m["created_at"] for _, m in content(client, f"{prefix}docs").values()}
    assert dates == {"README.md": 1767607200, "later.md": 1772323200, "new.md": 1_780_000_000}


def test_a_folder_within_a_repository_gives_its_own_files_and_commits(repository, client, prefix):
    git(repository, "commit", "-q", "--allow-empty", "-m", "Elsewhere")
    index_repository(repository / "src", client, WordEmbeddings(), prefix=prefix)
    assert {m["path"] for _, m in content(client, f"{prefix}code").values()} == {"app.py"}
    ((_, commit),) = content(client, f"{prefix}commits").values()
    assert commit["files"] == ["app.py"]
    assert content(client, f"{prefix}docs") == {}


def test_a_repository_without_commits_works(tmp_path, client, prefix):
    git(tmp_path, "init", "-q")
    write_files(tmp_path, a_dot_py="def f():\n    pass\n")
    report = index_repository(tmp_path, client, WordEmbeddings(), prefix=prefix)
    assert report[f"{prefix}code"].added == 1
    assert report[f"{prefix}commits"].added == 0


def test_a_folder_that_is_no_repository_works_without_commits_and_says_so(tmp_path, client, prefix):
    write_files(tmp_path, a_dot_py="def f():\n    pass\n", b_dot_md="# B\n\nx")
    report = index_repository(tmp_path, client, WordEmbeddings(), prefix=prefix)
    assert set(report.collections) == {f"{prefix}code", f"{prefix}docs"}
    assert report.added == 2
    assert "no git repository" in report.warnings[0]
    assert index_folder(tmp_path, client, WordEmbeddings(), prefix=prefix).written == 0


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_a_file_name_that_is_no_utf8_is_indexed_once_and_stays(repository, client, prefix):
    (repository / os.fsdecode(b"na\xffme.md")).write_bytes(b"# Odd\n\nx")
    index_repository(repository, client, WordEmbeddings(), prefix=prefix)
    assert "na\\xffme.md" in {m["path"] for _, m in content(client, f"{prefix}docs").values()}
    assert index_repository(repository, client, WordEmbeddings(), prefix=prefix).written == 0


def test_metadata_for_every_record_is_written_and_a_change_of_it_embeds_nothing(repository, client, prefix):
    embeddings = WordEmbeddings()
    index_repository(repository, client, embeddings, prefix=prefix, metadata={"workspace_id": "a"})
    embeddings.calls.clear()
    index_repository(repository, client, embeddings, prefix=prefix, metadata={"workspace_id": "b"})
    assert embeddings.calls == []
    for kind in ("code", "commits", "docs"):
        assert {m["workspace_id"] for _, m in content(client, f"{prefix}{kind}").values()} == {"b"}


def test_progress_never_falls_and_ends_at_the_total(repository, client, prefix):
    seen = []
    index_repository(
        repository, client, WordEmbeddings(), prefix=prefix, on_progress=lambda *step: seen.append(step)
    )
    for label, total in (("files", 2), ("commits", 1)):
        done = [d for d, _, name in seen if name == label]
        assert done == sorted(done)
        assert done[-1] == total
        assert {t for _, t, name in seen if name == label} == {total}


@pytest.mark.parametrize("prefix", ["my docs ", "données-", "a..b-", "-x", "a/b", "x" * 600])
def test_a_prefix_that_makes_a_bad_name_is_refused_before_anything_is_made(repository, client, prefix):
    """G65."""
    before = {c.name for c in client.list_collections()}
    with pytest.raises(ConfigError, match="3-512 characters"):
        index_repository(repository, client, WordEmbeddings(), prefix=prefix)
    assert {c.name for c in client.list_collections()} == before


def test_wrong_arguments_are_refused_by_name(repository, client):
    with pytest.raises(UnknownNameError, match="Did you mean 'commits'"):
        index_repository(repository, client, WordEmbeddings(), collections=["comits"])
    with pytest.raises(ConfigError, match="max_commits"):
        index_repository(repository, client, WordEmbeddings(), max_commits=-1)
    with pytest.raises(ConfigError, match="no folder"):
        index_repository(repository / "nowhere", client, WordEmbeddings())
    with pytest.raises(ConfigError, match="LangChain Embeddings"):
        index_repository(repository, client, object(), prefix="never-")
