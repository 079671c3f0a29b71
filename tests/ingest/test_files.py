"""Rules of which files a folder offers: those that git would."""

from __future__ import annotations

import pytest

from langchain_context_engine.ingest import index_folder
from tests.builders import WordEmbeddings
from tests.ingest_builders import content, git, write_files


@pytest.mark.parametrize("is_repository", [True, False])
def test_gitignore_is_honoured_in_nested_folders_too(tmp_path, client, prefix, is_repository):
    if is_repository:
        git(tmp_path, "init", "-q")
    write_files(
        tmp_path,
        _dot_gitignore="*.log.md\nbuild/\n/top.md\n",
        a_dot_md="# A\n\nx",
        b_dot_log_dot_md="# no",
        top_dot_md="# no",
        build__c_dot_md="# no",
        sub___dot_gitignore="!kept.log.md\nlocal.md\n",
        sub__kept_dot_log_dot_md="# Kept\n\nx",
        sub__local_dot_md="# no",
        sub__top_dot_md="# Top\n\nx",
        _dot_git__info_dot_md="# no",
    )
    index_folder(tmp_path, client, WordEmbeddings(), prefix=prefix)
    paths = {m["path"] for _, m in content(client, f"{prefix}docs").values()}
    assert paths == {"a.md", "sub/kept.log.md", "sub/top.md"}


@pytest.mark.parametrize("is_repository", [True, False])
def test_an_ignore_file_with_a_byte_order_mark_is_obeyed(tmp_path, client, prefix, is_repository):
    """G1."""
    write_files(
        tmp_path, _dot_gitignore=b"\xef\xbb\xbfsecrets/\n", secrets__a_dot_md="# S\n\nx", b_dot_md="# B\n\nx"
    )
    if is_repository:
        git(tmp_path, "init", "-q")
    index_folder(tmp_path, client, WordEmbeddings(), prefix=prefix, collections=["docs"])
    assert {m["path"] for _, m in content(client, f"{prefix}docs").values()} == {"b.md"}


RULES = [
    {
        ".gitignore": "**/a/**/x.log\n!b/**/*.log\n[!a-d]*ee*/\n?eep/lo*t\na*\n!a\n",
        "a/.gitignore": "/b/*\n!c.md\n",
    },
    {".gitignore": "*.log\n!keep.log\nbuild/\n/top\n**/deep/*\n!**/deep/kept\n"},
    {".gitignore": "*\n!*/\n!*.md\n", "a/.gitignore": "!x.log\nb.md\n"},
    {".gitignore": "a/**\n!a/b/\n!a/b/**\n\\#x\nsp\\ ace\n[ab].txt\n"},
    {
        ".gitignore": "\ufeff# a comment\nfoo/bar\n",
        "a/.gitignore": "\ufeff*.md\n!b.md\n",
        ".git/info/exclude": "x.log\n",
    },
]
FILES = "keep.log x.log build/o.md top a/top a/b.md a/x.log a/b/c.md a/b/x.log deep/kept deep/lost a/deep/kept foo/bar b/foo/bar"
FILES += " #x a.txt c.txt b/keep.log b/build/c.md"


@pytest.mark.parametrize("rules", RULES)
def test_what_is_ignored_is_what_git_ignores(tmp_path, rules):
    """G1."""
    git(tmp_path, "init", "-q")
    for name, written in {**dict.fromkeys(FILES.split(), "x"), "sp ace": "x", **rules}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(written, encoding="utf-8")
    expected = git(tmp_path, "ls-files", "--others", "--exclude-standard", "-z").split("\0")[:-1]
    from langchain_context_engine.ingest.git_history import list_files
    from langchain_context_engine.ingest.git_repository import open_git

    assert list(list_files(open_git(tmp_path)[0]).paths) == sorted(expected)
