"""A repository's files: which there are, what they hold and when each last changed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pygit2

from langchain_context_engine.ingest.files import (
    Listing,
    Rules,
    SourceFile,
    display_path,
    list_folder,
    read_rules,
    refuse_huge,
)
from langchain_context_engine.ingest.git_history import History
from langchain_context_engine.ingest.git_repository import GIT_ERRORS, GitFolder
from langchain_context_engine.ingest.readers.decoding import HEAD_BYTES
from langchain_context_engine.ingest.report import OnProgress, Skipped, SkippedError

_SUBMODULE, _LINK = 0o160000, 0o120000


def list_files(git: GitFolder) -> Listing:
    """Return tracked and new files, without what `.gitignore` names; of a bare repository those at HEAD."""
    entries = ({} if git.is_bare else _index_entries(git)) or _head_entries(git)
    start = len(git.prefix)
    inside = {path[start:]: mode for path, (_, mode) in entries.items() if path.startswith(git.prefix)}
    submodules = sorted(display_path(path) for path, mode in inside.items() if mode == _SUBMODULE)
    skipped = [Skipped(where=path, reason="submodule") for path in submodules]
    files = {path for path, mode in inside.items() if mode != _SUBMODULE}
    if git.is_bare:
        return Listing(paths=tuple(sorted(files)), skipped=tuple(skipped))
    new = list_folder(git.folder, tracked=files, rules=_rules_above(git))
    skipped += [entry for entry in new.skipped if entry.where not in submodules]
    present = {path for path in files if os.path.lexists(git.folder / path)}
    paths = tuple(sorted(present.union(new.paths)))
    return Listing(paths=paths, skipped=tuple(skipped), absent=len(files) - len(present))


def _index_entries(git: GitFolder) -> dict[str, tuple[str, int]]:
    """Return what the index names; {} where there is none yet, or libgit2 cannot read it."""
    try:
        return {os.fspath(entry.path): (str(entry.id), int(entry.mode)) for entry in git.repository.index}
    except GIT_ERRORS:
        return {}


def _head_entries(git: GitFolder) -> dict[str, tuple[str, int]]:
    """Return path, from the top of the repository → (hash, mode) of every file at HEAD.

    A folder that is missing or damaged costs itself.
    """
    found: dict[str, tuple[str, int]] = {}
    commit = History(git).read(git.head) if git.head else None
    waiting = [("", commit.tree)] if commit else []
    while waiting:
        prefix, tree_id = waiting.pop()
        try:
            entries = list(git.repository[tree_id])  # type: ignore[call-overload]
        except (*GIT_ERRORS, TypeError):
            continue
        for entry in entries:
            path = prefix + os.fsdecode(entry.raw_name)
            if entry.type_str == "tree":
                waiting.append((f"{path}/", str(entry.id)))
            else:
                found[path] = (str(entry.id), int(entry.filemode))
    return found


def _rules_above(git: GitFolder) -> tuple[Rules, ...]:
    """Return what git ignores beside the `.gitignore` files of the folder itself, the weightiest first."""
    names = git.prefix.rstrip("/").split("/") if git.prefix else []
    found: list[Rules] = []
    for depth in range(len(names) - 1, -1, -1):
        path = Path(git.repository.workdir or "", *names[:depth], ".gitignore")
        found += read_rules(path, above="/".join(names[depth:]) + "/")
    found += read_rules(git.common / "info" / "exclude", above=git.prefix)
    try:
        excludes = git.repository.config["core.excludesFile"]
    except GIT_ERRORS:
        excludes = ""
    usual = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config", "git", "ignore")
    return (*found, *read_rules(Path(excludes or usual).expanduser(), above=git.prefix))


@dataclass(frozen=True)
class HeadFiles:
    """Reads the files of a bare repository, which are those of its HEAD."""

    git: GitFolder

    @cached_property
    def _entries(self) -> dict[str, tuple[str, int]]:
        return _head_entries(self.git)

    def read(self, path: str, max_bytes: int | None = None) -> SourceFile:
        """Return a file, or its first 8 KiB where no largest size is given; a link is a SkippedError."""
        blob_id, mode = self._entries[path]
        if mode == _LINK:
            raise SkippedError("symlink")
        try:
            found = self.git.repository[blob_id]
        except KeyError:
            raise SkippedError("missing", "its content is not in this clone") from None
        except GIT_ERRORS as error:
            raise SkippedError("corrupt", " ".join(str(error).split())) from None
        if not isinstance(found, pygit2.Blob):
            raise SkippedError("corrupt", "it is no file")
        refuse_huge(found.size, max_bytes)
        data = bytes(found.data if max_bytes is not None else found.data[:HEAD_BYTES])
        return SourceFile(data=data, modified_at=None)


def file_dates(
    history: History | None, paths: Sequence[str], on_progress: OnProgress
) -> Callable[[str, SourceFile], int | None]:
    """Return what tells when a file last changed: its last commit did it, or the writing of a changed one.

    What a shallow clone's oldest commits hold was changed then or before: its date is unknown.

    Args:
        history: The repository's; without one a file changed when it was written.
        paths: The files, relative to the folder.
        on_progress: Called with (files whose date is known, all, "dates").
    """
    if history is None:
        return lambda _path, source: source.modified_at
    git = history.git
    blobs = _head_entries(git)
    wanted = {os.fsencode(path) for path in paths if f"{git.prefix}{path}" in blobs}
    total = len(wanted)
    committed: dict[str, int] = {}
    for number, commit in enumerate(history.commits()):
        if not wanted:
            break
        # What is left at a cut has no date, but another branch may still tell of it.
        if not commit.is_cut:
            dated = wanted & history.changed_paths(commit)
            committed.update((os.fsdecode(path), commit.committed_at) for path in dated)
            wanted -= dated
        if number % 200 == 0:
            on_progress(total - len(wanted), total, "dates")
    on_progress(total, total, "dates")

    def date_of(path: str, source: SourceFile) -> int | None:
        at_head, _ = blobs.get(f"{git.prefix}{path}", ("", 0))
        is_unchanged = at_head and _is_unchanged(git, path, source.data, at_head)
        return (committed.get(path) or None) if is_unchanged else source.modified_at

    return date_of


def _is_unchanged(git: GitFolder, path: str, data: bytes, blob_id: str) -> bool:
    for form in (data, data.replace(b"\r\n", b"\n")):
        if hashlib.sha1(b"blob %d\0%b" % (len(form), form), usedforsecurity=False).hexdigest() == blob_id:
            return True
    try:
        # A filter's doing, as LFS: git knows it by the time and size at checkout.
        return git.repository.status_file(f"{git.prefix}{path}") == pygit2.enums.FileStatus.CURRENT
    except GIT_ERRORS:
        return False
