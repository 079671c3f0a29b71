"""Rules of reading git: any clone, any state, any oddity is indexed whole; each damage costs itself; nothing runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import uuid

import chromadb
import pytest

from langchain_context_engine.ingest import index_repository
from tests.embedding_builders import WordEmbeddings
from tests.ingest_builders import content, git, object_path, raw_commit, write_files

JANUARY, FEBRUARY, MARCH = 1767225600, 1769904000, 1772323200


@pytest.fixture(scope="module")
def origin(tmp_path_factory):
    """Three commits: a.md in the first, b.md and src/c.py in the second, a.md anew in the third."""
    folder = tmp_path_factory.mktemp("origin")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "uploadpack.allowFilter", "true")
    for number, files in enumerate(
        (
            {"a_dot_md": "# A\n\n1\n"},
            {"b_dot_md": "# B\n\n1\n", "src__c_dot_py": "def c():\n    pass\n"},
            {"a_dot_md": "# A\n\n2\n"},
        ),
        1,
    ):
        commit(folder, f"Number {number}", date=f"2026-0{number}-01T00:00:00Z", **files)
    return folder


@pytest.fixture
def index():
    """Index a folder, always into the same collections; what they hold is `held`."""
    return _Index()


class _Index:
    def __init__(self):
        self.client = chromadb.EphemeralClient()
        self.prefix = f"p{uuid.uuid4().hex[:12]}-"

    def __call__(self, folder, **settings):
        report = index_repository(folder, self.client, WordEmbeddings(), prefix=self.prefix, **settings)
        self.kinds = {name.removeprefix(self.prefix) for name in report.collections}
        return report

    def held(self, kind):
        return content(self.client, f"{self.prefix}{kind}") if kind in self.kinds else {}

    @property
    def commits(self):
        return {metadata["title"]: text for text, metadata in self.held("commits").values()}

    @property
    def dates(self):
        found = self.held("docs") | self.held("code")
        return {metadata["path"]: metadata.get("created_at") for _, metadata in found.values()}


def commit(folder, message, date="2026-01-05T10:00:00Z", **files):
    write_files(folder, **files)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message, date=date)
    return git(folder, "rev-parse", "HEAD").strip()


def clone(origin, folder, *options):
    git(origin.parent, "clone", "-q", "--no-local", *options, f"file://{origin}", str(folder))
    return folder


WHOLE = {"a.md": MARCH, "b.md": FEBRUARY, "src/c.py": FEBRUARY}


def test_of_a_shallow_clone_what_it_lacks_is_said_once_and_unknown_dates_are_none(origin, tmp_path, index):
    folder = clone(origin, tmp_path / "clone", "--depth=2")
    (warning,) = index(folder).warnings
    assert "shallow clone" in warning
    # b.md and src/c.py were changed by the commit whose parents are missing, or before.
    assert index.dates == {"a.md": MARCH, "b.md": None, "src/c.py": None}
    assert index.commits == {"Number 3": "Number 3\n\na.md (+1 −1)", "Number 2": "Number 2"}
    git(folder, "fetch", "-q", "--unshallow")
    assert index(folder).warnings == ()
    assert index.dates == WHOLE


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("blob:none", "Number 1\n\na.md"),
        ("tree:0", "Number 1"),
    ],
)
def test_of_a_partial_clone_commits_are_there_without_what_it_lacks(origin, tmp_path, index, kind, text):
    """R3."""
    folder = clone(origin, tmp_path / "clone", f"--filter={kind}")
    (warning,) = index(folder).warnings
    assert "without files or line counts" in warning
    assert len(index.commits) == 3
    assert index.commits["Number 1"] == text
    assert all("insertions" not in m for t, m in index.held("commits").values() if t == text)
    assert set(index.dates) == set(WHOLE)
    assert index(folder).written == 0


@pytest.mark.parametrize(("option", "absent"), [("--sparse", 1), ("--no-checkout", 3)])
def test_what_is_not_checked_out_is_said(origin, tmp_path, index, option, absent):
    (warning,) = index(clone(origin, tmp_path / "clone", option)).warnings
    assert warning.startswith(f"{absent} tracked files are not in the working tree")
    assert len(index.dates) == 3 - absent


@pytest.mark.parametrize("lost", ["", "config", "info"])
def test_of_a_bare_repository_the_files_are_those_of_its_last_commit(origin, tmp_path, index, lost):
    """R1: git can do without some of it."""
    folder = clone(origin, tmp_path / "bare.git", "--bare")
    if lost:
        shutil.rmtree(folder / lost) if (folder / lost).is_dir() else (folder / lost).unlink()
    assert index(folder).warnings == ()
    assert (index.dates, len(index.commits)) == (WHOLE, 3)
    assert index(folder).written == 0


def test_a_linked_working_tree_is_read_at_its_own_commit(origin, tmp_path, index):
    folder = clone(origin, tmp_path / "clone")
    git(folder, "worktree", "add", "-q", "--detach", str(tmp_path / "tree"), "HEAD~1")
    index(tmp_path / "tree")
    assert (index.dates["a.md"], len(index.commits)) == (JANUARY, 2)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_a_repository_of_another_owner_is_read_for_nothing_of_it_runs(origin, tmp_path, index):
    """R5."""
    folder = clone(origin, tmp_path / "clone")
    for path in (folder, *folder.rglob("*")):
        os.chown(path, 12345, 12345)
    assert index(folder).warnings == ()
    assert len(index.commits) == 3


def set_extension(folder, name, value):
    git(folder, "init", "-q")
    git(folder, "config", "core.repositoryformatversion", "1")
    git(folder, "config", f"extensions.{name}", value)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda f: git(f, "init", "-q", "--object-format=sha256"), "sha256"),
        (lambda f: set_extension(f, "refstorage", "reftable"), "refstorage"),
        (lambda f: set_extension(f, "somethingNew", "1"), "somethingnew"),
        (lambda f: (f / ".git").write_text("gitdir: /nowhere/at/all\n"), ".git leads to no repository"),
    ],
    ids=["sha256", "reftable", "unknown", "dangling"],
)
def test_a_repository_that_cannot_be_opened_is_read_as_a_folder_and_the_reason_said(
    tmp_path, index, make, reason
):
    write_files(tmp_path, _dot_gitignore="b.md\n", a_dot_md="# A\n\nx\n", b_dot_md="# B\n\nx\n")
    make(tmp_path)
    (warning,) = index(tmp_path).warnings
    assert "read as a folder, without commits" in warning
    assert reason in warning.lower()
    assert set(index.dates) == {"a.md"}


@pytest.mark.parametrize(
    ("head", "told"),
    [
        ("ref: refs/heads/trunk\n", "its HEAD leads to no commit"),
        ("garbage\n", "its HEAD leads to no commit"),
        ("ref: \udcff\0\n", "its HEAD "),
        (f"{'1' * 40}\n", ""),  # told among what is left out: a commit that is missing
    ],
)
def test_a_head_that_leads_nowhere_is_told_and_the_files_are_read(origin, tmp_path, index, head, told):
    """R1."""
    folder = clone(origin, tmp_path / "clone")
    (folder / ".git/HEAD").write_text(head, errors="surrogateescape")
    report = index(folder)
    assert (set(index.dates), index.commits) == (set(WHOLE), {})
    assert [w for w in report.warnings if w.startswith(told)] or not told
    assert [entry.reason for entry in report.left_out] == ([] if told else ["missing"])


@pytest.mark.parametrize(
    ("commands", "commits"),
    [
        ([("checkout", "-q", "--orphan", "new")], 0),
        ([("checkout", "-q", "--detach", "HEAD~1")], 2),
        ([("reset", "-q", "--hard", "HEAD~1")], 2),
        ([("update-index", "--split-index")], 3),
        ([("sparse-checkout", "init", "--cone", "--sparse-index"), ("sparse-checkout", "set", "docs")], 3),
    ],
    ids=["unborn", "detached", "rewritten", "split index", "sparse index"],
)
def test_any_state_of_head_and_index_is_read(origin, tmp_path, index, commands, commits):
    """R3's kind: of an index that libgit2 refuses every commit was without line counts."""
    folder = clone(origin, tmp_path / "clone")
    index(folder)
    for command in commands:
        git(folder, *command)
    report = index(folder)
    assert (len(index.commits), report.deleted >= 3 - commits) == (commits, True)
    assert all("(+" in text for text in index.commits.values())
    assert {"a.md", "b.md"} <= set(index.dates)
    assert index(folder).written == 0


@pytest.mark.parametrize("data", [b"", b"\x78\x9c", b"x\x01K\xca\xc9", b"\0" * 60])
@pytest.mark.parametrize("what", ["HEAD~1", "HEAD~1^{tree}", "HEAD:a.md"])
def test_an_object_that_a_crash_cut_off_costs_itself(origin, tmp_path, index, data, what):
    """Some of these libgit2 by itself reads for ever."""
    folder = tmp_path / "clone"
    shutil.copytree(origin, folder)
    path = object_path(folder, git(folder, "rev-parse", what).strip())
    path.chmod(0o644)
    path.write_bytes(data)
    report = index(folder)
    expected = {"Number 3"} if what == "HEAD~1" else {"Number 1", "Number 2", "Number 3"}
    assert set(index.commits) == expected
    assert report.skipped == ({"corrupt": 1} if what == "HEAD~1" else {})
    assert set(index.dates) == set(WHOLE)


WHO = b"author Ana <a@x.example> 1767607200 +0100", b"committer Ana <a@x.example> 1767607200 +0100"
LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 12345\n"
ODD_NAMES = (
    b"na\xffme.md",
    "日本\t語.md".encode(),
    b"line\nbreak.md",
    b'quote".md',
    b"-dash.md",
    b" space .md",
)


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """A repository with every oddity, indexed: its folder, hashes by a name, the index and its report."""
    folder = tmp_path_factory.mktemp("odd") / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    commit(folder, "First", a_dot_py="def a():\n    return 1\n", old_dot_md="# Old\n\n1\n2\n3\n4\n")
    git(folder, "checkout", "-q", "-b", "side")
    commit(folder, "Side", a_dot_py="def a():\n    return 2\n")
    git(folder, "checkout", "-q", "main")
    commit(folder, "Main", a_dot_py="def a():\n    return 3\n")
    with pytest.raises(subprocess.CalledProcessError):
        git(folder, "merge", "-q", "side")
    commit(folder, "Merge side", a_dot_py="def a():\n    return 23\n")
    for name in ("one", "two", "three"):
        git(folder, "checkout", "-q", "-b", name, "main")
        commit(folder, name, **{f"{name}_dot_md": f"# {name}\n\nx\n"})
    git(folder, "checkout", "-q", "main")
    git(folder, "merge", "-q", "one", "two", "three", "-m", "Octopus")
    git(folder, "mv", "old.md", "newest.md")
    commit(folder, "Rename")
    commit(folder, "3\t4\tnot a file\n\n1\t2\tnor this")
    for name in ODD_NAMES:
        (folder / os.fsdecode(name)).write_bytes(b"# Odd\n\nx\n")
    write_files(folder, big_dot_md=LFS, picture_dot_psd=LFS, blob_dot_py=b"\0\1\2")
    (folder / "link.md").symlink_to("/etc/hostname")
    (folder / "sub").mkdir()
    git(folder, "init", "-q", "sub/module")
    commit(folder / "sub/module", "Inner", inner_dot_md="# Inner\n\nx\n")
    commit(folder, "Odd files", deep__a_dot_md="# Deep\n\nx\n")
    git(folder, "rm", "-q", "--cached", "three.md")
    last = commit(folder, "Last")
    # On the disk, a folder of the index has become a link out of the tree.
    shutil.rmtree(folder / "deep")
    write_files(folder.parent / "outside", a_dot_md="# Secret\n\nx\n")
    (folder / "deep").symlink_to(folder.parent / "outside")
    # A commit that is gone, one that is garbage, one without a tree, one of no headers.
    gone = raw_commit(folder, WHO, b"Gone\n")
    broken = raw_commit(folder, WHO, b"Broken\n", parents=[gone])
    treeless = raw_commit(folder, WHO, b"Without a tree\n", tree="1" * 40, parents=[gone])
    bare = raw_commit(folder, (), b"Bare\n", parents=[treeless])
    tree = git(folder, "rev-parse", "HEAD^{tree}").strip()
    git(
        folder,
        "update-ref",
        "HEAD",
        raw_commit(folder, WHO, b"Torn\n", tree=tree, parents=[last, broken, bare]),
    )
    object_path(folder, gone).unlink()
    object_path(folder, broken).chmod(0o644)
    object_path(folder, broken).write_bytes(b"garbage")
    git(folder, "checkout", "-q", "--detach")
    index = _Index()
    return folder, {"gone": gone, "broken": broken, "last": last}, index, index(folder)


needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")


@needs_linux
def test_every_commit_that_can_be_read_is_there_and_what_is_not_is_named_with_its_reason(odd):
    """R1, R2, R4: also what git itself lists."""
    folder, made, index, report = odd
    told = set(git(folder, "log", "--format=%s", made["last"]).splitlines())
    assert set(index.commits) == told | {"Torn", "Without a tree", "Bare"}
    assert {(entry.where, entry.reason) for entry in report.left_out} == {
        ("big.md", "lfs"), ("picture.psd", "lfs"), ("blob.py", "binary"), ("link.md", "symlink"), ("deep", "symlink"),
        ("deep/a.md", "symlink"), ("sub/module", "submodule"), (made["gone"], "missing"), (made["broken"], "corrupt"),
    }  # fmt: skip
    assert report.skipped == {"lfs": 2, "binary": 1, "symlink": 3, "submodule": 1, "missing": 1, "corrupt": 1}
    again = index(folder)
    assert (again.written, again.unchanged, again.left_out) == (0, report.added, report.left_out)


@needs_linux
def test_a_merge_of_one_file_is_a_commit_like_others_and_a_rename_tells_both_names(odd):
    """R1."""
    commits = odd[2].commits
    assert commits["Merge side"] == "Merge side\n\na.py (+1 −1)"
    assert commits["Octopus"] == "Octopus"
    assert commits["Rename"] == "Rename\n\nold.md → newest.md (+0 −0)"
    assert commits["3\t4\tnot a file"] == "3\t4\tnot a file\n\n1\t2\tnor this"


@needs_linux
def test_files_of_any_name_are_there_and_none_from_outside_of_the_tree(odd):
    texts = odd[2].held("docs").values()
    names = {os.fsdecode(name) for name in ODD_NAMES[1:]} | {"na\\xffme.md"}
    assert {m["path"] for _, m in texts} == {"newest.md", "one.md", "two.md", "three.md", *names}
    assert not any("Secret" in text or "Inner" in text or "git-lfs" in text for text, _ in texts)


PROGRAMS = (
    "core.fsmonitor core.pager core.editor core.sshCommand core.askPass core.gitProxy core.alternateRefsCommand"
    " diff.external diff.trap.textconv diff.trap.command filter.trap.clean filter.trap.smudge filter.trap.process"
    " merge.trap.driver gpg.program gpg.ssh.program credential.helper uploadpack.packObjectsHook remote.origin.vcs"
    " remote.origin.uploadpack submodule.trap.update alias.log alias.status alias.diff"
)
HOOKS = "post-checkout post-index-change pre-auto-gc pre-commit fsmonitor-watchman reference-transaction"


@pytest.mark.skipif(sys.platform == "win32", reason="the traps are shell scripts")
def test_nothing_of_a_repository_is_run(tmp_path, index, monkeypatch):
    mark, program, folder = tmp_path / "ran", tmp_path / "program", tmp_path / "repository"
    program.write_text(f'#!/bin/sh\necho "$0 $@" >> {mark}\ncat\n')
    program.chmod(0o755)
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    commit(folder, "First", a_dot_md="# A\n\nx\n", b_dot_py="def b():\n    pass\n")
    commit(folder, "Second", _dot_gitattributes="* filter=trap diff=trap merge=trap\n", a_dot_md="# A\n\ny\n")
    write_files(folder, a_dot_md="# A\n\nz\n", new_dot_md="# New\n\nx\n")
    for key in PROGRAMS.split():
        is_shell = key.endswith((".update", ".helper")) or key.startswith("alias.")
        git(folder, "config", key, f"!{program}" if is_shell else str(program))
    for key, value in (("filter.trap.required", "true"), ("log.showSignature", "true"),
                       ("remote.origin.url", f"ext::{program} %S"), ("remote.origin.promisor", "true"),
                       ("extensions.partialClone", "origin")):  # fmt: skip
        git(folder, "config", key, value)
    for hook in HOOKS.split():
        shutil.copy(program, folder / ".git/hooks" / hook)
    # A missing object of a promisor would be fetched by the remote's own program.
    object_path(folder, git(folder, "rev-parse", "HEAD~1:a.md").strip()).unlink()
    started = []
    with monkeypatch.context() as watched:
        for where, name in ((subprocess, "Popen"), (os, "system"), (os, "posix_spawn")):
            watched.setattr(where, name, lambda *_, **__: started.append(1))
        index(folder)
        assert index(folder).written == 0
    assert (mark.exists(), started, len(index.commits)) == (False, [], 2)
    assert set(index.dates) >= {"a.md", "new.md", "b.py"}
    subprocess.run(["git", "-C", folder, "status"], check=False, capture_output=True)
    assert mark.exists(), "the traps do spring"
