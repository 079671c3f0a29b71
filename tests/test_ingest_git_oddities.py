"""Rules of reading git: one repository that holds every oddity is indexed whole, and each costs itself."""

from __future__ import annotations

import os
import subprocess
import sys

import chromadb
import pytest

from langchain_context_engine.ingest import index_repository
from tests.builders import WordEmbeddings
from tests.ingest_builders import content, git, object_path, raw_commit, write_files

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")

WHO = b"author Ana <a@x.example> 1767607200 +0100", b"committer Ana <a@x.example> 1767607200 +0100"
LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 12345\n"


def commit(folder, message, **files):
    write_files(folder, **files)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD").strip()


def adopt(folder, commit_id):
    git(folder, "update-ref", "HEAD", commit_id)
    return commit_id


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """The repository, and the hashes of its commits by a name."""
    folder = tmp_path_factory.mktemp("odd") / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    made = {}
    made["first"] = commit(
        folder, "First", a_dot_py="def a():\n    return 1\n", old_dot_md="# Old\n\n1\n2\n3\n4\n"
    )
    merge_of_one_file(folder, made)
    octopus(folder, made)
    git(folder, "mv", "old.md", "newer.md")
    made["renamed"] = commit(folder, "Rename")
    git(folder, "mv", "newer.md", "newest.md")
    made["renamed again"] = commit(folder, "Rename again")
    odd_commits(folder, made)
    odd_files(folder, made)
    return folder, made


def merge_of_one_file(folder, made):
    git(folder, "checkout", "-q", "-b", "side")
    made["side"] = commit(folder, "Side", a_dot_py="def a():\n    return 2\n")
    git(folder, "checkout", "-q", "main")
    made["main"] = commit(folder, "Main", a_dot_py="def a():\n    return 3\n")
    with pytest.raises(subprocess.CalledProcessError):
        git(folder, "merge", "-q", "side")
    made["merge"] = commit(folder, "Merge side", a_dot_py="def a():\n    return 23\n")


def octopus(folder, made):
    for name in ("one", "two", "three"):
        git(folder, "checkout", "-q", "-b", name, "main")
        commit(folder, name, **{f"{name}_dot_md": f"# {name}\n\nx\n"})
    git(folder, "checkout", "-q", "main")
    git(folder, "merge", "-q", "one", "two", "three", "-m", "Octopus")
    made["octopus"] = git(folder, "rev-parse", "HEAD").strip()


def odd_commits(folder, made):
    def add(name, headers, message):
        parent = git(folder, "rev-parse", "HEAD").strip()
        made[name] = adopt(folder, raw_commit(folder, headers, message, parents=[parent]))

    latin = b"author Ren\xe9 <r@x> 1767607200 +0100"
    add("latin-1 unsaid", (latin, WHO[1]), b"r\xe9paration\n")
    add("latin-1 said", (latin, WHO[1], b"encoding ISO-8859-1"), b"r\xe9paration\n")
    add("unknown encoding", (*WHO, b"encoding klingon"), "naïve\n".encode())
    add("no codec of text", (*WHO, b"encoding base64"), "naïve\n".encode())
    add("utf-16 said", (*WHO, b"encoding utf-16"), b"odd number\x00of bytes")
    add("no date", (b"author Ana <a@x.example>", b"committer Ana <a@x.example>"), b"Undated\n")
    add("no author", (b"author", b"committer"), b"Nobody\n")
    add("no headers", (), b"Bare\n")
    add("far date", (b"author Ana <a@x> 99999999999999 +0000", WHO[1]), b"Far\n")
    add("before 1970", (b"author Ana <a@x> -86400 +0000", WHO[1]), b"Early\n")
    add("broken e-mail", (b"author Ana <<a@x> <b>> 1767607200 +0000", WHO[1]), b"Broken\n")
    add("empty", WHO, b"")
    add("NUL", WHO, b"before\x00after\n")
    add(
        "signed",
        (*WHO, b"gpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----"),
        b"Signed\n",
    )
    add("replaced", WHO, b"As it was\n")
    replacement = raw_commit(folder, WHO, b"As it is now\n", parents=[made["signed"]])
    git(folder, "replace", made["replaced"], replacement)
    add("looks like numstat", WHO, b"3\t4\tnot a file\n\n1\t2\tnor this\n")
    git(folder, "reset", "-q", "--hard")


def odd_files(folder, made):
    for name in (
        b"na\xffme.md",
        "日本\t語.md".encode(),
        b"line\nbreak.md",
        b'quote".md',
        b"-dash.md",
        b" space .md",
    ):
        (folder / os.fsdecode(name)).write_bytes(b"# Odd\n\nx\n")
    write_files(folder, big_dot_md=LFS, picture_dot_psd=LFS, blob_dot_py=b"\0\1\2")
    (folder / "link.md").symlink_to("/etc/hostname")
    (folder / "sub").mkdir()
    git(folder, "init", "-q", "sub/module")
    commit(folder / "sub/module", "Inner", inner_dot_md="# Inner\n\nx\n")
    made["files"] = commit(folder, "Odd files")
    (folder / "deep").mkdir()
    write_files(folder, deep__a_dot_md="# Deep\n\nx\n")
    git(folder, "rm", "-q", "--cached", "three.md")
    made["last"] = commit(folder, "Last")
    # On the disk, a folder of the index has become a link out of the tree.
    (folder / "deep/a.md").unlink()
    (folder / "deep").rmdir()
    outside = folder.parent / "outside"
    write_files(outside, a_dot_md="# Secret\n\nx\n")
    (folder / "deep").symlink_to(outside)
    # An object that a commit names is gone, another is garbage.
    gone = raw_commit(folder, WHO, b"Gone\n")
    broken = raw_commit(folder, WHO, b"Broken\n", parents=[gone])
    no_tree = raw_commit(folder, WHO, b"Without a tree\n", tree="1" * 40, parents=[gone])
    tree = git(folder, "rev-parse", "HEAD^{tree}").strip()
    made["torn"] = adopt(
        folder, raw_commit(folder, WHO, b"Torn\n", tree=tree, parents=[made["last"], broken, no_tree])
    )
    object_path(folder, gone).unlink()
    path = object_path(folder, broken)
    path.chmod(0o644)
    path.write_bytes(b"garbage")
    made |= {"gone": gone, "broken": broken, "no tree": no_tree}
    git(folder, "checkout", "-q", "--detach")


@pytest.fixture(scope="module")
def indexed(odd):
    client = chromadb.EphemeralClient()
    report = index_repository(odd[0], client, WordEmbeddings(), prefix="odd-")
    return client, report


@pytest.fixture(scope="module")
def commits(odd, indexed):
    found = content(indexed[0], "odd-commits")
    return {name: found[sha] for name, sha in odd[1].items() if sha in found}


def test_every_commit_that_can_be_read_is_there_and_no_other(odd, indexed, commits):
    assert set(odd[1]) - set(commits) == {"gone", "broken"}
    assert set(content(indexed[0], "odd-commits")) > {sha for name, sha in odd[1].items() if name in commits}


def test_the_report_names_what_is_left_out_with_its_reason(odd, indexed):
    made = odd[1]
    left_out = {(entry.where, entry.reason) for entry in indexed[1].left_out}
    assert left_out == {
        ("big.md", "lfs"),
        ("picture.psd", "lfs"),
        ("blob.py", "binary"),
        ("link.md", "symlink"),
        ("deep", "symlink"),
        ("deep/a.md", "symlink"),
        ("sub/module", "submodule"),
        (made["gone"], "missing"),
        (made["broken"], "corrupt"),
    }
    assert indexed[1].skipped == {
        "lfs": 2,
        "binary": 1,
        "symlink": 3,
        "submodule": 1,
        "missing": 1,
        "corrupt": 1,
    }


def test_a_merge_of_one_file_is_a_commit_like_others(commits):
    """R1."""
    text, metadata = commits["merge"]
    assert text == "Merge side\n\na.py (+1 −1)"
    assert metadata["files"] == ["a.py"]
    assert commits["octopus"][0] == "Octopus"
    assert commits["octopus"][1]["files_changed"] == 0


def test_a_rename_of_a_rename_tells_both_names(commits):
    assert commits["renamed"][0] == "Rename\n\nold.md → newer.md (+0 −0)"
    assert commits["renamed again"][1]["files"] == ["newest.md"]


def test_a_message_is_decoded_as_the_commit_says_else_as_far_as_it_can_be(commits):
    """R2."""
    assert commits["latin-1 unsaid"][0] == "r\ufffdparation"
    assert commits["latin-1 said"][0] == "réparation"
    assert commits["latin-1 said"][1]["author"] == "René"
    assert commits["unknown encoding"][0] == commits["no codec of text"][0] == "naïve"
    assert commits["NUL"][0] == "beforeafter"
    assert commits["empty"][0] == "(no message)"
    assert commits["looks like numstat"][0] == "3\t4\tnot a file\n\n1\t2\tnor this"
    assert commits["replaced"][0] == "As it is now"


def test_a_date_or_an_author_that_a_commit_does_not_say_is_unknown(odd, commits):
    places = {name: metadata["place"] for name, (_, metadata) in commits.items()}
    short = {name: sha[:8] for name, sha in odd[1].items()}
    assert places["signed"] == f"{short['signed']}, 2026-01-05, Ana"
    assert places["no date"] == f"{short['no date']}, Ana"
    assert places["no author"] == short["no author"]
    assert places["before 1970"] == f"{short['before 1970']}, 1969-12-31, Ana"
    assert commits["before 1970"][1]["created_at"] == -86400
    assert "created_at" not in commits["no date"][1]
    # The author's date is unreadable, the committer's is not.
    assert commits["far date"][1]["created_at"] == 1767607200
    assert places["broken e-mail"].startswith(short["broken e-mail"])


def test_files_of_any_name_are_there_and_none_from_outside_of_the_tree(indexed):
    texts = content(indexed[0], "odd-docs").values()
    paths = {metadata["path"] for _, metadata in texts}
    assert paths == {
        "newest.md", "one.md", "two.md", "three.md",
        "na\\xffme.md", "日本\t語.md", "line\nbreak.md", 'quote".md', "-dash.md", " space .md",
    }  # fmt: skip
    assert not any("Secret" in text or "Inner" in text or "git-lfs" in text for text, _ in texts)


def test_a_second_run_writes_nothing_and_counts_the_same(odd, indexed):
    again = index_repository(odd[0], indexed[0], WordEmbeddings(), prefix="odd-")
    assert again.written == 0
    assert again.unchanged == indexed[1].added
    assert again.left_out == indexed[1].left_out


def test_what_is_stored_agrees_with_what_git_lists(odd, indexed):
    folder, made = odd
    told = git(folder, "--no-replace-objects", "rev-list", made["last"]).split()
    stored = set(content(indexed[0], "odd-commits"))
    assert stored == {*told, made["torn"], made["no tree"]}
