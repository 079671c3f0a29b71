"""What a merge changed by itself, told without looking for what its sides renamed."""

from __future__ import annotations

from itertools import islice

import pytest

from langchain_context_engine.ingest.git_history import Change, History
from langchain_context_engine.ingest.git_repository import open_git
from tests.growth import least_seconds
from tests.ingest_builders import git, write_files


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    """A side that moves and edits two hundred files, merged with one that edits another and with a move."""
    folder = tmp_path_factory.mktemp("merged")
    git(folder, "init", "-q", "-b", "main")
    quays = {f"old__{i}_dot_md": "".join(f"Berth {i} of quay {j}.\n" for j in range(60)) for i in range(200)}
    write_files(folder, **quays, kept_dot_md="# Kept\n\n1\n2\n3\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "First")
    git(folder, "checkout", "-q", "-b", "side")
    git(folder, "mv", "old", "new")
    write_files(folder, **{name.replace("old__", "new__"): text + "More.\n" for name, text in quays.items()})
    git(folder, "commit", "-q", "-am", "Move")
    git(folder, "checkout", "-q", "main")
    write_files(folder, main_dot_md="# Main\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "Main")
    git(folder, "merge", "-q", "--no-commit", "side")
    git(folder, "mv", "kept.md", "moved.md")
    git(folder, "commit", "-q", "-m", "Merge side")
    opened, _ = open_git(folder)
    found = History(opened)
    return found, {commit.message.strip(): commit for commit in islice(found.commits(), 9)}


def test_what_a_merge_moves_by_itself_is_gone_there_and_new_here(history):
    found, commits = history
    assert found.changes(commits["Merge side"]) == [
        Change(path="kept.md", lines=(0, 5)),
        Change(path="moved.md", lines=(5, 0)),
    ]


def test_what_a_side_moved_is_told_of_its_own_commit(history):
    found, commits = history
    changes = found.changes(commits["Move"])
    assert len(changes) == 200
    assert all(change.old_path.startswith("old/") and change.lines == (1, 0) for change in changes)


def test_a_merge_costs_less_than_what_it_merges(history):
    """hugoDocs: each of its merges of a whole subtree took up to eight seconds, five thousand commits four minutes."""
    found, commits = history
    merge, side = (
        least_seconds(lambda name=name: found.changes(commits[name]), 0) for name in ("Merge side", "Move")
    )
    assert merge < side / 2
