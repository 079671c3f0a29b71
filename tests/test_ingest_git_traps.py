"""The rule that nothing of a repository is run, whatever it configures."""

from __future__ import annotations

import os
import stat
import subprocess
import sys

import chromadb
import pytest

from langchain_context_engine.ingest import index_repository
from tests.builders import WordEmbeddings
from tests.ingest_builders import content, git, write_files

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the traps are shell scripts")

PROGRAMS = (
    "core.fsmonitor",
    "core.pager",
    "core.editor",
    "core.sshCommand",
    "core.askPass",
    "core.gitProxy",
    "core.alternateRefsCommand",
    "diff.external",
    "diff.trap.textconv",
    "diff.trap.command",
    "filter.trap.clean",
    "filter.trap.smudge",
    "filter.trap.process",
    "merge.trap.driver",
    "gpg.program",
    "gpg.ssh.program",
    "credential.helper",
    "interactive.diffFilter",
    "sequence.editor",
    "trailer.sign.command",
    "uploadpack.packObjectsHook",
    "remote.origin.vcs",
    "remote.origin.uploadpack",
    "submodule.trap.update",
)
HOOKS = (
    "applypatch-msg post-applypatch post-checkout post-commit post-index-change post-merge post-rewrite"
    " pre-auto-gc pre-commit pre-push fsmonitor-watchman reference-transaction"
)


@pytest.fixture
def trap(tmp_path):
    """A program, and the file that it makes when it is run."""
    mark = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\necho "$0 $@" >> {mark}\ncat\n')
    program.chmod(0o755)
    return program, mark


@pytest.fixture
def trapped(tmp_path, trap):
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    write_files(folder, a_dot_md="# A\n\nx\n", b_dot_py="def b():\n    pass\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "First")
    write_files(folder, _dot_gitattributes="* filter=trap diff=trap merge=trap\n", a_dot_md="# A\n\ny\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Second")
    write_files(folder, a_dot_md="# A\n\nz\n", new_dot_md="# New\n\nx\n")
    program = str(trap[0])
    for key in PROGRAMS:
        git(folder, "config", key, f"!{program}" if key.endswith((".update", ".helper")) else program)
    for name in ("log", "ls-files", "rev-list", "status", "diff"):
        git(folder, "config", f"alias.{name}", f"!{program}")
    git(folder, "config", "filter.trap.required", "true")
    git(folder, "config", "log.showSignature", "true")
    git(folder, "config", "commit.gpgSign", "true")
    git(folder, "config", "remote.origin.url", f"ext::{program} %S")
    git(folder, "config", "remote.origin.promisor", "true")
    git(folder, "config", "extensions.partialClone", "origin")
    for hook in HOOKS.split():
        path = folder / ".git/hooks" / hook
        path.write_text(trap[0].read_text())
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    write_files(
        folder,
        _dot_gitmodules=f'[submodule "trap"]\n path = trap\n url = ext::{program}\n update = !{program}\n',
    )
    # A missing object of a promisor would be fetched by the remote's own program.
    blob = git(folder, "rev-parse", "HEAD~1:a.md").strip()
    (folder / ".git/objects" / blob[:2] / blob[2:]).unlink()
    return folder


def test_nothing_of_a_repository_is_run(trapped, trap, monkeypatch):
    for name in (
        "GIT_SSH",
        "GIT_ASKPASS",
        "GIT_EXTERNAL_DIFF",
        "GIT_PAGER",
        "GIT_EDITOR",
        "SSH_ASKPASS",
        "PAGER",
    ):
        monkeypatch.setenv(name, str(trap[0]))
    client = chromadb.EphemeralClient()
    for _ in range(2):
        report = index_repository(trapped, client, WordEmbeddings(), prefix="trapped-")
    assert not trap[1].exists()
    assert report.written == 0
    assert len(content(client, "trapped-commits")) == 2
    assert {m["path"] for _, m in content(client, "trapped-docs").values()} == {
        "a.md",
        "new.md",
        ".gitmodules",
    }


def test_the_traps_of_that_test_do_spring(trapped, trap):
    subprocess.run(["git", "-C", trapped, "status"], check=False, capture_output=True)
    assert trap[1].exists()


def test_no_process_is_started(trapped, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setattr(os, "system", refuse)
    monkeypatch.setattr(os, "posix_spawn", refuse)
    index_repository(trapped, chromadb.EphemeralClient(), WordEmbeddings(), prefix="quiet-")
