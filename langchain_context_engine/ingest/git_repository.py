"""Opening a git repository by libgit2, which runs no program and asks no network, whatever it configures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pygit2

from langchain_context_engine.ingest.git_torn import guard
from langchain_context_engine.models.kept import kept_property
from langchain_context_engine.models.locks import ForkSafeLock

GIT_ERRORS = (pygit2.GitError, KeyError, ValueError, OSError)
"""What libgit2 raises over a repository that is damaged or not as it expects."""

# What these change is of no matter to somebody who only reads: missing objects are told apart anyway.
_CACHE_BYTES = 16_000_000
_HARMLESS_EXTENSIONS = ("partialclone", "relativeworktrees", "worktreeconfig", "preciousobjects")
_opening = ForkSafeLock()
_MOST_NAMED = 5


@dataclass(frozen=True)
class GitFolder:
    """A folder in the working tree of a repository, or a bare repository.

    Attributes:
        folder: The folder.
        repository: The repository.
        prefix: The folder's place in the working tree as git writes it: "" at the top, else `src/`.
    """

    folder: Path
    repository: pygit2.Repository
    prefix: str = ""

    @kept_property
    def is_bare(self) -> bool:
        """Whether there is no working tree, so that files are those of HEAD."""
        # One that lacks its config does not say so; libgit2 takes what is above it for its working tree.
        return bool(self.repository.is_bare) or self.folder == Path(self.repository.path).resolve()

    @kept_property
    def head(self) -> str | None:
        """The hash of the commit at HEAD; None where there is none yet, or it cannot be found."""
        try:
            return str(self.repository[self.repository.head.target].peel(pygit2.Commit).id)
        except GIT_ERRORS:
            return self._unpeeled_head()

    @property
    def headless(self) -> str:
        """Why there are no commits, in words; "" where there are, or none was made yet."""
        if self.head is not None:
            return ""
        try:
            is_unborn = self.repository.head_is_unborn
            branches = sorted(self.repository.branches)
        except GIT_ERRORS:
            return "its HEAD cannot be read, so no commits are"
        if not is_unborn:
            return "its HEAD names no commit, so no commits are read"
        if not branches:
            return ""
        named = self.repository.references["HEAD"].target
        shown = ", ".join(branches[:_MOST_NAMED]) + (", …" if len(branches) > _MOST_NAMED else "")
        return f"its HEAD names {named}, which has no commit; those of other branches ({shown}) are not read"

    @kept_property
    def common(self) -> Path:
        """The folder that all working trees of a repository share."""
        return _common(Path(self.repository.path))

    def _unpeeled_head(self) -> str | None:
        # A commit that libgit2 cannot parse, or that is missing, is still what HEAD names.
        try:
            return None if self.repository.head_is_unborn else str(self.repository.head.target)
        except GIT_ERRORS:
            return None

    @kept_property
    def objects(self) -> pygit2.Repository:
        """The repository to compare trees in, which looks into the index for attributes of files.

        Of a sparse or a split index libgit2 knows nothing, and refuses: then one without an index.
        """
        try:
            if not self.repository.is_bare:
                _ = self.repository.index
        except GIT_ERRORS:
            without_index = pygit2.Repository()
            without_index.set_odb(self.repository.odb)
            return without_index
        return self.repository

    def tree(self, tree_id: str) -> pygit2.Tree | None:
        """Return the folder's tree within the tree of a commit; None where it has none.

        Raises:
            KeyError: A tree is missing from the repository.
            ValueError: It is no tree.
        """
        found: object = self.objects[tree_id]
        for name in self.prefix.rstrip("/").split("/") if self.prefix else ():
            entry = _entry(found, name)
            if entry is None or entry.type_str != "tree":
                return None
            found = self.objects[entry.id]
        if not isinstance(found, pygit2.Tree):
            raise ValueError(f"{tree_id} is no tree")  # noqa: TRY004 (the repository is wrong, not the caller)
        return found


def _entry(tree: object, name: str) -> pygit2.Object | None:
    if not isinstance(tree, pygit2.Tree):
        raise ValueError("what a commit names as its tree is none")  # noqa: TRY004
    return tree[name] if name in tree else None  # noqa: SIM401 (it has no get)


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
            guard(repository, _common(Path(repository.path)) / "objects")
    except GIT_ERRORS as error:
        return None, _reason(folder, error)
    top = Path(repository.path).resolve()
    if repository.is_bare or (folder == top and folder.name != ".git"):
        # A folder whose only `.git` file names a bare repository is the home of its worktrees.
        is_named = (folder / ".git").is_file()
        return (GitFolder(folder, repository), "") if folder == top or is_named else (None, "")
    top = Path(repository.workdir).resolve()
    if not folder.is_relative_to(top):
        return None, "its working tree is elsewhere (core.worktree)"
    inside = folder.relative_to(top).as_posix()
    if Path(repository.path).resolve() in (folder, *folder.parents):
        return None, ""  # within .git itself
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


@contextmanager
def small_cache() -> Iterator[None]:
    """Let libgit2 hold 16 MB of the objects that it read instead of 256, and leave the limit as it was.

    A history is read once from its newest commit on: what a large cache would hold is not asked for again.
    """
    _, allowed = pygit2.settings.cached_memory
    pygit2.settings.cache_max_size(min(allowed, _CACHE_BYTES))
    try:
        yield
    finally:
        pygit2.settings.cache_max_size(allowed)


def _reason(folder: Path, error: Exception) -> str:
    told = " ".join(str(error).split())
    return told.removeprefix(f"{folder}: ") or type(error).__name__


def _common(own: Path) -> Path:
    return next((own / line for line in read_lines(own / "commondir")), own)


def read_lines(path: Path) -> list[str]:
    """Return the lines of a file; [] where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
