"""Opening a git repository by libgit2, which runs no program and asks no network, whatever it configures."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import pygit2

GIT_ERRORS = (pygit2.GitError, KeyError, ValueError, OSError)
"""What libgit2 raises over a repository that is damaged or not as it expects."""

# What these change is of no matter to somebody who only reads: missing objects are told apart anyway.
_HARMLESS_EXTENSIONS = ("partialclone", "relativeworktrees", "worktreeconfig", "preciousobjects")
_opening = threading.Lock()
_CACHE_BYTES = 16_000_000
_LONGEST_TORN = 256
"""Bytes that the header of an object, "commit 1234" and a NUL, takes at most, however it is packed."""


@contextmanager
def small_cache() -> Iterator[None]:
    """Let libgit2 hold 16 MB of objects, not 256: a history is read once, and nothing is asked for again."""
    _, allowed = pygit2.settings.cached_memory
    pygit2.settings.cache_max_size(min(allowed, _CACHE_BYTES))
    try:
        yield
    finally:
        pygit2.settings.cache_max_size(allowed)


@dataclass(frozen=True)
class GitFolder:
    """A folder in the working tree of a repository, at `prefix` (as `src/`) of it, or a bare repository."""

    folder: Path
    repository: pygit2.Repository
    prefix: str = ""

    @property
    def is_bare(self) -> bool:
        """Whether there is no working tree, so that files are those of HEAD."""
        # One that lacks its config does not say so; libgit2 takes what is above it for its working tree.
        return bool(self.repository.is_bare) or self.folder == Path(self.repository.path).resolve()

    @cached_property
    def head(self) -> str | None:
        """The hash of the commit at HEAD, be it missing; None where there is none yet, or no way to it."""
        with suppress(*GIT_ERRORS):
            return str(self.repository[self.repository.head.target].peel(pygit2.Commit).id)
        with suppress(*GIT_ERRORS):  # a commit that libgit2 cannot parse is still what HEAD names
            return None if self.repository.head_is_unborn else str(self.repository.head.target)
        return None

    @cached_property
    def common(self) -> Path:
        """The folder that all working trees of a repository share."""
        return _common(Path(self.repository.path))

    @cached_property
    def _objects(self) -> pygit2.Repository:
        # Without an index, where libgit2 looks for attributes: it refuses one that is sparse or split.
        found = pygit2.Repository()
        found.set_odb(self.repository.odb)
        return found

    def tree(self, tree_id: str) -> pygit2.Tree | None:
        """Return the folder's tree within the tree of a commit; None where it has none.

        A missing tree is a KeyError, what is no tree a ValueError.
        """
        found = self._objects[tree_id]
        for name in self.prefix.rstrip("/").split("/") if self.prefix else ():
            if not isinstance(found, pygit2.Tree) or name not in found:
                return None
            found = self._objects[found[name].id]
        if not isinstance(found, pygit2.Tree):
            raise ValueError(f"{tree_id} is no tree")  # noqa: TRY004 (the repository is wrong, not the caller)
        return found


def open_git(folder: Path) -> tuple[GitFolder | None, str]:
    """Return the repository that a folder belongs to, or None and the reason, "" where there simply is none.

    A repository of another owner is read as well: reading runs nothing of it.
    """
    try:
        with _prepared():
            found = pygit2.discover_repository(str(folder))
            if found is None:
                return None, "its .git leads to no repository" if (folder / ".git").exists() else ""
            repository = pygit2.Repository(found)
            if torn := frozenset(_torn(_common(Path(repository.path)) / "objects")):
                repository.odb.add_backend(_Refusing(torn), 100)
    except GIT_ERRORS as error:
        return None, " ".join(str(error).split()).removeprefix(f"{folder}: ") or type(error).__name__
    top = Path(repository.path).resolve()
    if repository.is_bare or (folder == top and folder.name != ".git"):
        # A folder whose only `.git` file names a bare repository is the home of its worktrees.
        is_named = (folder / ".git").is_file()
        return (GitFolder(folder, repository), "") if folder == top or is_named else (None, "")
    if top in (folder, *folder.parents):
        return None, ""  # within .git itself
    work = Path(repository.workdir).resolve()
    if not folder.is_relative_to(work):
        return None, "its working tree is elsewhere (core.worktree)"
    inside = folder.relative_to(work).as_posix()
    return GitFolder(folder, repository, "" if inside == "." else f"{inside}/"), ""


@contextmanager
def _prepared() -> Iterator[None]:
    """Let libgit2 open what it can read, and leave its settings, the process's own, as they were."""
    with _opening:
        settings = pygit2.settings
        is_validated, extensions = settings.owner_validation, settings.extensions
        settings.owner_validation = False
        settings.set_extensions([*extensions, *(e for e in _HARMLESS_EXTENSIONS if e not in extensions)])
        try:
            yield
        finally:
            settings.owner_validation = is_validated
            settings.set_extensions(extensions)


def _common(own: Path) -> Path:
    return next((own / line for line in read_lines(own / "commondir")), own)


def read_lines(path: Path) -> list[str]:
    """Return the lines of a file; [] where it cannot be read."""
    with suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    return []


def _torn(objects: Path) -> Iterator[str]:
    """Yield objects that a crash cut off within their header: libgit2 would read them for ever."""
    for path in objects.glob("[0-9a-f][0-9a-f]/*"):
        with suppress(OSError):
            try:
                is_whole = path.stat().st_size >= _LONGEST_TORN or b"\0" in (
                    zlib.decompressobj().decompress(path.read_bytes(), _LONGEST_TORN)
                )
            except zlib.error:
                is_whole = False
            if not is_whole:
                yield path.parent.name + path.name


class _Refusing(pygit2.OdbBackend):
    """Stands before the other backends; what it does not know (KeyError) these are asked for."""

    def __init__(self, torn: frozenset[str]) -> None:
        super().__init__()
        self._torn = torn

    def read_cb(self, oid: Any) -> NoReturn:
        raise OSError(f"{oid} is cut off") if str(oid) in self._torn else KeyError(str(oid))

    read_header_cb = read_prefix_cb = read_cb

    def exists_cb(self, _oid: Any) -> bool:
        return False

    def exists_prefix_cb(self, oid: Any) -> NoReturn:
        raise KeyError(str(oid))

    def refresh_cb(self) -> None:
        """Look for nothing new."""
