"""A repository's history, read commit by commit: who leads to HEAD, and what each changed."""

from __future__ import annotations

import heapq
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pygit2
from pygit2.enums import DeltaStatus, DiffFind, DiffOption

from langchain_context_engine.ingest.files import display_path
from langchain_context_engine.ingest.git_commit import Commit, parse_commit
from langchain_context_engine.ingest.git_repository import GIT_ERRORS, GitFolder, read_lines
from langchain_context_engine.ingest.skipped import Skipped
from langchain_context_engine.models.kept import kept_property

_MOST_RENAMES = 400
_MOST_COMPARED = 1_000_000
"""Pairs of a file that is gone and one that is new up to which their contents are compared, as git does."""
_COMMIT = 1  # libgit2's number for the type


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a commit did to one file.

    Attributes:
        path: The file, relative to the folder that is read.
        old_path: What it was called before, "" where its name stayed.
        lines: Lines added and removed; None where the contents are missing from this clone.
    """

    path: str
    old_path: str = ""
    lines: tuple[int, int] | None = None


class History:
    """The commits that lead to HEAD.

    Args:
        git: The repository, or a folder in it: then only commits that touch what is below it.

    Attributes:
        left_out: Commits that cannot be read; what only they lead to is unknown.
        without_lines: How many commits gave no line counts, for want of the files' contents.
        without_files: How many gave no files, for want of trees.
    """

    def __init__(self, git: GitFolder) -> None:
        self.git = git
        self.left_out: list[Skipped] = []
        self.without_lines = 0
        self.without_files = 0

    def commits(self) -> Iterator[Commit]:
        """Yield the commits, the newest first; each is read when it is asked for."""
        self.left_out.clear()
        return (commit for commit in self._walk() if not self.git.prefix or self._touches(commit))

    def read(self, commit_id: str) -> Commit | None:
        """Return a commit, or None where it cannot be read; it is then among `left_out`."""
        try:
            kind, data = self.git.repository.read(commit_id)
        except KeyError:
            detail = "a commit that is not in this clone"
            self.left_out.append(Skipped(where=commit_id, reason="missing", detail=detail))
            return None
        except GIT_ERRORS as error:
            kind, data, detail = 0, b"", " ".join(str(error).split())
        else:
            detail = "it is no commit"
        if kind != _COMMIT:
            self.left_out.append(Skipped(where=commit_id, reason="corrupt", detail=detail))
            return None
        commit = parse_commit(commit_id, data)
        is_cut = commit_id in self.shallow
        return replace(commit, parents=(), is_cut=bool(commit.parents)) if is_cut else commit

    def changes(self, commit: Commit) -> list[Change] | None:
        """Return what a commit changed by itself; of a merge, the files that are as in none of its parents.

        Line counts are against the first parent; what a merge renames by itself is gone there and new here.
        None where it cannot be told: a shallow clone cuts the commit off, or a tree is missing.
        """
        if commit.is_cut:
            return None
        try:
            diffs = self._diffs(commit, has_lines=True)
            by_itself = _in_all(diffs) if len(diffs) > 1 else None
        except GIT_ERRORS:
            self.without_files += 1
            return None
        if not diffs or by_itself == set():
            return []
        return self._counted(diffs[0], by_itself)

    def changed_paths(self, commit: Commit) -> set[bytes]:
        """Return the paths, from the folder on, that a commit changed by itself; () where unknown."""
        try:
            return _in_all(self._diffs(commit))
        except GIT_ERRORS:
            return set()

    @kept_property
    def shallow(self) -> frozenset[str]:
        """Commits whose parents this clone lacks."""
        return frozenset(line.strip() for line in read_lines(self.git.common / "shallow"))

    def lacks(self) -> Iterator[str]:
        """Yield what a clone lacks, in words: it was not brought whole, or its HEAD leads nowhere."""
        if self.git.headless:
            yield self.git.headless
        if self.shallow:
            yield (
                "this is a shallow clone: older commits, and the dates of files that they changed last, are"
                " unknown; git fetch --unshallow brings them"
            )
        for number, without, what in (
            (self.without_files, "files", "these are"),
            (self.without_lines, "line counts", "the contents of their files are"),
        ):
            if number:
                commits = "1 commit is" if number == 1 else f"{number} commits are"
                yield f"{commits} without {without}: {what} not in this clone (git clone --filter)"

    def _walk(self) -> Iterator[Commit]:
        # libgit2's own walk ends at the first commit that it cannot read.
        if self.git.head is None:
            return
        seen = {self.git.head}
        waiting: list[tuple[int, int, Commit]] = []
        newly = [self.git.head]
        number = 0
        while newly or waiting:
            for commit_id in newly:
                commit = self.read(commit_id)
                if commit is not None:
                    number += 1
                    heapq.heappush(waiting, (-commit.committed_at, number, commit))
            if not waiting:
                return
            commit = heapq.heappop(waiting)[2]
            yield commit
            newly = [parent for parent in dict.fromkeys(commit.parents) if parent not in seen]
            seen.update(newly)

    def _trees(self, commit: Commit) -> tuple[pygit2.Tree | None, list[pygit2.Tree | None]]:
        """Return the folder's tree in a commit and in each of its parents."""
        above = []
        for parent in commit.parents:
            _, data = self.git.repository.read(parent)
            above.append(self.git.tree(data.partition(b"\n")[0].removeprefix(b"tree ").decode()))
        return self.git.tree(commit.tree), above

    def _touches(self, commit: Commit) -> bool:
        try:
            own, above = self._trees(commit)
        except GIT_ERRORS:
            return False
        return all(_is_other(own, tree) for tree in above) if above else own is not None

    def _diffs(self, commit: Commit, *, has_lines: bool = False) -> list[pygit2.Diff]:
        """Return the difference to each parent, or to nothing; [] where a parent has the very same."""
        own, above = self._trees(commit)
        if (own is None and not above) or not all(_is_other(own, tree) for tree in above):
            return []
        # Of a merge nearly all that differs is one side's own: to look there for renames takes seconds.
        has_renames = has_lines and len(above) < 2  # noqa: PLR2004 - two make a merge
        return [_diff(own, tree, has_renames=has_renames) for tree in above or [None]]

    def _counted(self, diff: pygit2.Diff, by_itself: set[bytes] | None) -> list[Change]:
        found = []
        lacks_contents = False
        for number, delta in enumerate(diff.deltas):
            if by_itself is not None and delta.new_file.raw_path not in by_itself:
                continue
            lines = None
            if not lacks_contents:
                try:
                    patch = diff[number]
                    lines = (0, 0) if patch is None else patch.line_stats[1:]
                except GIT_ERRORS:
                    lacks_contents = True
            old = _shown(delta.old_file.raw_path) if delta.status == DeltaStatus.RENAMED else ""
            found.append(Change(path=_shown(delta.new_file.raw_path), old_path=old, lines=lines))
        self.without_lines += lacks_contents
        return found


def _shown(path: bytes) -> str:
    return display_path(os.fsdecode(path))


def _is_other(tree: pygit2.Tree | None, other: pygit2.Tree | None) -> bool:
    return (tree and tree.id) != (other and other.id)


def _diff(tree: pygit2.Tree | None, parent: pygit2.Tree | None, *, has_renames: bool) -> pygit2.Diff:
    # A file that becomes a link, or the other way round, is one change and not two.
    flags = DiffOption.INCLUDE_TYPECHANGE
    if parent is not None and tree is not None:
        diff = parent.diff_to_tree(tree, flags=flags, context_lines=0)
    else:
        one: pygit2.Tree = parent or tree  # type: ignore[assignment]
        diff = one.diff_to_tree(flags=flags, context_lines=0, swap=parent is None)
    kinds = Counter(delta.status for delta in diff.deltas) if has_renames else Counter[DeltaStatus]()
    if pairs := kinds[DeltaStatus.ADDED] * kinds[DeltaStatus.DELETED]:
        by_hash = DiffFind.FIND_RENAMES | DiffFind.FIND_EXACT_MATCH_ONLY
        try:
            flags_ = DiffFind.FIND_RENAMES if pairs <= _MOST_COMPARED else by_hash
            diff.find_similar(flags=flags_, rename_limit=_MOST_RENAMES)
        except GIT_ERRORS:  # a partial clone lacks the contents to compare
            diff.find_similar(flags=by_hash)
    return diff


def _in_all(diffs: list[pygit2.Diff]) -> set[bytes]:
    """Return the paths that differ in all of some differences."""
    found: set[bytes] | None = None
    for diff in diffs:
        paths = {delta.new_file.raw_path for delta in diff.deltas}
        found = paths if found is None else found & paths
    return found or set()
