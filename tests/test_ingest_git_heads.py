"""Rules of a repository's odd heads and of commits that lie about their encoding."""

from __future__ import annotations

import shutil

import chromadb
import pytest

from langchain_context_engine.ingest import index_repository
from langchain_context_engine.ingest.git_commit import parse_commit
from tests.embedding_builders import WordEmbeddings
from tests.ingest_builders import git, stored, write_files


@pytest.fixture(scope="module")
def origin(tmp_path_factory):
    folder = tmp_path_factory.mktemp("origin")
    git(folder, "init", "-qb", "main")
    write_files(folder, guide_dot_md="# Guide\n\nHow to steer.\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "The guide")
    return folder


def index(folder, store):
    # Not in memory: all clients there share one store, and other tests have collections in it.
    client = chromadb.PersistentClient(str(store))
    return client, index_repository(folder, client, WordEmbeddings())


@pytest.mark.parametrize(
    ("head", "told"),
    [
        ("ref: refs/heads/trunk\n", "its HEAD names refs/heads/trunk, which has no commit; those of other"),
        ("garbage\n", "its HEAD names no commit"),
        ("ref: refs/heads/../../x\n", "its HEAD names no commit"),
        (f"{'1' * 40}\n", ""),  # told among what is left out: a commit that is missing
    ],
)
def test_a_head_that_leads_nowhere_is_told_and_the_files_are_read(origin, tmp_path, head, told):
    """R1."""
    git(tmp_path, "clone", "-q", str(origin), str(tmp_path / "clone"))
    (tmp_path / "clone" / ".git" / "HEAD").write_text(head)
    client, report = index(tmp_path / "clone", tmp_path / "store")
    assert [text for text, _ in stored(client, "docs").values()] == ["# Guide\n\nHow to steer."]
    assert report["commits"].added == 0
    assert [w for w in report.warnings if "HEAD" in w and w.startswith(told)] or not told
    assert told or [s.reason for s in report.left_out] == ["missing"]


def test_a_folder_that_holds_only_a_git_file_is_the_bare_repository_that_it_names(origin, tmp_path):
    """R1."""
    git(tmp_path, "clone", "-q", "--bare", str(origin), str(tmp_path / ".bare"))
    (tmp_path / ".git").write_text("gitdir: ./.bare\n")
    client, report = index(tmp_path, tmp_path / "store")
    assert report["commits"].added == 1
    assert [m["place"] for _, m in stored(client, "docs").values()] == ["guide.md:1-3"]


@pytest.mark.parametrize("lost", ["config", "description", "info", "hooks"])
def test_a_bare_repository_that_lacks_what_git_can_do_without_is_one(origin, tmp_path, lost):
    """R1."""
    bare = tmp_path / "mirror"
    git(tmp_path, "clone", "-q", "--bare", str(origin), str(bare))
    shutil.rmtree(bare / lost) if (bare / lost).is_dir() else (bare / lost).unlink()
    client, report = index(bare, tmp_path / "store")
    assert report["commits"].added == 1
    assert [m["place"] for _, m in stored(client, "docs").values()] == ["guide.md:1-3"]
    assert not report.warnings


def commit(message, *headers):
    head = [b"tree 1", b"author A. Writer <a@x> 1767607200 +0100", *headers]
    return parse_commit("ab", b"\n".join(head) + b"\n\n" + message)


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("gbk", "修复登录错误并且更新了测试"),
        ("cp932", "ログインの誤りを修正しました"),
        ("cp1251", "Исправлено чтение файла настроек, который лежит рядом с программой"),
    ],
)
def test_a_message_that_names_no_encoding_is_read_in_the_one_that_it_looks_like(encoding, text):
    """R2."""
    assert commit(text.encode(encoding)).message == text


def test_a_message_too_short_to_tell_its_encoding_keeps_what_can_be_read():
    """R2."""
    assert commit(b"r\xe9paration").message == "r\ufffdparation"


@pytest.mark.parametrize(
    ("header", "encoding", "text"),
    [
        ("x-sjis", "cp932", "修正①"),
        ("gb2312", "gbk", "修复"),
        ("ISO-8859-1", "cp1252", "“réparation”"),
        ("ISO-2022-JP", "iso2022_jp", "修正しました"),
        ("hex", "utf-8", "修复"),
        ("idna", "utf-8", "修复"),
        ("utf-16", "utf-8", "修复"),
        ("no such encoding", "utf-8", "修复"),
    ],
)
def test_a_header_is_read_as_its_writers_mean_it(header, encoding, text):
    """R2."""
    found = commit(text.encode(encoding), f"encoding {header}".encode())
    assert (found.message, found.author) == (text, "A. Writer")


@pytest.mark.parametrize(
    "line",
    [
        b"author No Mail 1767607200 +0100",
        b"author No Mail <a@x> 1767607200 +0100 junk",
        b"author No Mail <a@x",
    ],
)
def test_an_author_is_read_from_a_line_that_is_not_as_git_writes_it(line):
    """R2."""
    raw = b"tree 1\n" + line + b"\ncommitter C <c@x> 1767607200 +0000\n\n\xef\xbb\xbfThe one\r\nthing\r\n"
    found = parse_commit("ab", raw)
    assert (found.author, found.created_at) == ("No Mail", 1767607200)
    assert found.message == "The one\nthing\n"
