"""Rules of reading clones that lack something, repositories of other kinds and of other people."""

from __future__ import annotations

import os
import shutil
import uuid

import chromadb
import pytest

from langchain_context_engine.ingest import index_repository
from tests.builders import WordEmbeddings
from tests.ingest_builders import content, git, object_path, write_files


@pytest.fixture
def client():
    return chromadb.EphemeralClient()


@pytest.fixture
def prefix():
    return f"p{uuid.uuid4().hex[:12]}-"


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
        write_files(folder, **files)
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", f"Number {number}", date=f"2026-0{number}-01T00:00:00Z")
    return folder


def clone(origin, folder, *options):
    git(origin.parent, "clone", "-q", "--no-local", *options, f"file://{origin}", str(folder))
    return folder


def index(folder, client, prefix, **settings):
    return index_repository(folder, client, WordEmbeddings(), prefix=prefix, **settings)


def dates(client, prefix):
    found = content(client, f"{prefix}docs") | content(client, f"{prefix}code")
    return {m["path"]: m.get("created_at") for _, m in found.values()}


JANUARY, FEBRUARY, MARCH = 1767225600, 1769904000, 1772323200


def test_of_a_shallow_clone_what_it_lacks_is_said_once_and_unknown_dates_are_none(
    origin, tmp_path, client, prefix
):
    report = index(clone(origin, tmp_path / "clone", "--depth=2"), client, prefix)
    (warning,) = report.warnings
    assert "shallow clone" in warning
    # b.md and src/c.py were changed by the commit whose parents are missing, or before.
    assert dates(client, prefix) == {"a.md": MARCH, "b.md": None, "src/c.py": None}
    commits = {m["title"]: (t, m) for t, m in content(client, f"{prefix}commits").values()}
    assert commits["Number 3"][0] == "Number 3\n\na.md (+1 −1)"
    assert commits["Number 2"][0] == "Number 2"
    assert "files_changed" not in commits["Number 2"][1]
    git(tmp_path / "clone", "fetch", "-q", "--unshallow")
    assert index(tmp_path / "clone", client, prefix).warnings == ()
    assert dates(client, prefix) == {"a.md": MARCH, "b.md": FEBRUARY, "src/c.py": FEBRUARY}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("blob:none", ("without line counts", "Number 1\n\na.md")),
        ("tree:0", ("without their files", "Number 1")),
    ],
)
def test_of_a_partial_clone_commits_are_there_without_what_it_lacks(origin, tmp_path, client, kind, expected):
    """R3."""
    prefix = f"p{uuid.uuid4().hex[:12]}-"
    report = index(clone(origin, tmp_path / "clone", f"--filter={kind}"), client, prefix)
    (warning,) = report.warnings
    assert expected[0] in warning
    commits = {m["title"]: (t, m) for t, m in content(client, f"{prefix}commits").values()}
    assert len(commits) == 3
    assert commits["Number 1"][0] == expected[1]
    assert "insertions" not in commits["Number 1"][1]
    assert set(dates(client, prefix)) == {"a.md", "b.md", "src/c.py"}
    assert index(tmp_path / "clone", client, prefix).written == 0


@pytest.mark.parametrize("option", ["--sparse", "--no-checkout"])
def test_what_is_not_checked_out_is_said(origin, tmp_path, client, prefix, option):
    folder = clone(origin, tmp_path / "clone", option)
    (warning,) = index(folder, client, prefix).warnings
    absent = 1 if option == "--sparse" else 3
    assert warning.startswith(f"{absent} tracked files are not in the working tree")
    assert set(dates(client, prefix)) == (set() if option == "--no-checkout" else {"a.md", "b.md"})


def test_of_a_bare_repository_the_files_are_those_of_its_last_commit(origin, tmp_path, client, prefix):
    folder = clone(origin, tmp_path / "bare.git", "--bare")
    assert index(folder, client, prefix).warnings == ()
    assert dates(client, prefix) == {"a.md": MARCH, "b.md": FEBRUARY, "src/c.py": FEBRUARY}
    assert len(content(client, f"{prefix}commits")) == 3
    assert index(folder, client, prefix).written == 0


def test_a_linked_working_tree_is_read_at_its_own_commit(origin, tmp_path, client, prefix):
    folder = clone(origin, tmp_path / "clone")
    git(folder, "worktree", "add", "-q", "--detach", str(tmp_path / "tree"), "HEAD~1")
    index(tmp_path / "tree", client, prefix)
    assert dates(client, prefix)["a.md"] == JANUARY
    assert len(content(client, f"{prefix}commits")) == 2


def test_a_graft_stands_for_the_parents_that_a_commit_names(origin, tmp_path, client, prefix):
    folder = clone(origin, tmp_path / "clone")
    head, first = git(folder, "rev-parse", "HEAD", "HEAD~2").split()
    write_files(folder, _dot_git__info__grafts=f"{head} {first}\n")
    index(folder, client, prefix)
    assert {m["title"] for _, m in content(client, f"{prefix}commits").values()} == {"Number 1", "Number 3"}


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_a_repository_of_another_owner_is_read_for_nothing_of_it_runs(origin, tmp_path, client, prefix):
    """R5."""
    folder = clone(origin, tmp_path / "clone")
    for path in (folder, *folder.rglob("*")):
        os.chown(path, 12345, 12345)
    report = index(folder, client, prefix)
    assert report.warnings == ()
    assert len(content(client, f"{prefix}commits")) == 3


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
    tmp_path, client, prefix, make, reason
):
    write_files(tmp_path, _dot_gitignore="b.md\n", a_dot_md="# A\n\nx\n", b_dot_md="# B\n\nx\n")
    make(tmp_path)
    report = index(tmp_path, client, prefix)
    (warning,) = report.warnings
    assert "read as a folder, without commits" in warning
    assert reason in warning.lower()
    assert {m["path"] for _, m in content(client, f"{prefix}docs").values()} == {"a.md"}


def set_extension(folder, name, value):
    git(folder, "init", "-q")
    git(folder, "config", "core.repositoryformatversion", "1")
    git(folder, "config", f"extensions.{name}", value)


@pytest.mark.parametrize("state", ["unborn", "detached", "dangling", "garbage", "no index", "split index"])
def test_any_state_of_head_and_index_is_read(origin, tmp_path, client, prefix, state):
    folder = clone(origin, tmp_path / "clone")
    expected = 3
    if state == "unborn":
        git(folder, "checkout", "-q", "--orphan", "new")
        expected = 0
    elif state == "detached":
        git(folder, "checkout", "-q", "--detach", "HEAD~1")
        expected = 2
    elif state == "dangling":
        (folder / ".git/HEAD").write_text("1" * 40 + "\n")
        expected = 0
    elif state == "garbage":
        (folder / ".git/HEAD").write_bytes(b"ref: \xff\0\n")
        expected = 0
    elif state == "no index":
        (folder / ".git/index").write_bytes(b"garbage")
    else:
        git(folder, "update-index", "--split-index")
    report = index(folder, client, prefix)
    commits = f"{prefix}commits"
    assert len(content(client, commits) if commits in report.collections else {}) == expected
    assert set(dates(client, prefix)) >= {"a.md", "b.md"}
    assert index(folder, client, prefix).written == 0


def test_after_a_commit_only_what_changed_is_written_and_after_a_collection_of_garbage_nothing(
    origin, tmp_path, client, prefix
):
    folder = clone(origin, tmp_path / "clone")
    first = index(folder, client, prefix)
    assert first[f"{prefix}commits"].added == int(git(folder, "rev-list", "--count", "HEAD"))
    write_files(folder, b_dot_md="# B\n\nchanged\n")
    git(folder, "commit", "-qam", "Change b")
    report = index(folder, client, prefix)
    assert (report[f"{prefix}commits"].written, report[f"{prefix}docs"].written) == (1, 1)
    assert report[f"{prefix}code"].written == 0
    git(folder, "gc", "-q", "--prune=now", "--aggressive")
    assert index(folder, client, prefix).written == 0


def test_a_file_that_git_calls_unchanged_keeps_its_date_whatever_a_filter_made_of_it(
    origin, tmp_path, client, prefix
):
    folder = clone(origin, tmp_path / "clone")
    git(folder, "config", "filter.up.smudge", "tr a-z A-Z")
    git(folder, "config", "filter.up.clean", "tr A-Z a-z")
    write_files(folder, _dot_git__info__attributes="b.md filter=up\n")
    (folder / "b.md").unlink()
    git(folder, "checkout", "-q", "b.md")
    index(folder, client, prefix)
    assert dates(client, prefix)["b.md"] == FEBRUARY


def test_another_users_git_settings_change_nothing(origin, tmp_path, client, prefix, monkeypatch):
    folder = clone(origin, tmp_path / "clone")
    index(folder, client, prefix)
    settings = tmp_path / "home" / ".gitconfig"
    settings.parent.mkdir()
    settings.write_text(
        "[log]\n date = relative\n follow = true\n[diff]\n noprefix = true\n renames = copies\n"
    )
    monkeypatch.setenv("HOME", str(settings.parent))
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert index(folder, client, prefix).written == 0


def test_a_branch_that_was_rewritten_loses_its_old_commits(origin, tmp_path, client, prefix):
    folder = clone(origin, tmp_path / "clone")
    index(folder, client, prefix)
    git(folder, "reset", "-q", "--hard", "HEAD~1")
    report = index(folder, client, prefix)
    assert report[f"{prefix}commits"].deleted == 1


def test_a_clone_of_a_clone_that_borrows_its_objects_is_read(origin, tmp_path, client, prefix):
    git(tmp_path, "clone", "-q", "--shared", str(origin), "borrowed")
    index(tmp_path / "borrowed", client, prefix)
    assert len(content(client, f"{prefix}commits")) == 3


@pytest.mark.parametrize(
    "data", [b"", b"\x78\x9c", b"\x78\x9c\0", b"\x08\x1d", b"x\x01K\xca\xc9", b"\0" * 60]
)
@pytest.mark.parametrize("what", ["HEAD~1", "HEAD~1^{tree}", "HEAD:a.md"])
def test_an_object_that_a_crash_cut_off_costs_itself(origin, tmp_path, client, data, what):
    prefix = f"p{uuid.uuid4().hex[:12]}-"
    folder = tmp_path / "clone"
    shutil.copytree(origin, folder)
    path = object_path(folder, git(folder, "rev-parse", what).strip())
    path.chmod(0o644)
    path.write_bytes(data)
    report = index(folder, client, prefix)
    commits = {m["title"] for _, m in content(client, f"{prefix}commits").values()}
    assert commits == ({"Number 3"} if what == "HEAD~1" else {"Number 1", "Number 2", "Number 3"})
    assert report.skipped == ({"corrupt": 1} if what == "HEAD~1" else {})
    assert set(dates(client, prefix)) == {"a.md", "b.md", "src/c.py"}


@pytest.mark.parametrize(
    "commands",
    [
        [("update-index", "--split-index")],
        [("sparse-checkout", "init", "--cone", "--sparse-index"), ("sparse-checkout", "set", "docs")],
    ],
    ids=["split", "sparse"],
)
def test_an_index_that_libgit2_refuses_costs_no_commit_its_line_counts(
    origin, tmp_path, client, prefix, commands
):
    """R3's kind: every commit was without them, and it was said that this clone lacks the contents of files."""
    folder = clone(origin, tmp_path / "clone")
    for command in commands:
        git(folder, *command)
    report = index(folder, client, prefix)
    assert [warning for warning in report.warnings if "line counts" in warning] == []
    assert any("(+" in text for text, *_ in content(client, f"{prefix}commits").values())
