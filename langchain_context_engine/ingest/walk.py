"""Which files a folder offers, by its `.gitignore` files."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from langchain_context_engine.ingest.files import ALWAYS_IGNORED, display_path
from langchain_context_engine.ingest.skipped import Skipped

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

# Where nothing says what to ignore, these hold what nobody wrote by hand.
_IGNORED_OUTSIDE_GIT = frozenset({"node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache"})


@dataclass(frozen=True, slots=True)
class Rules:
    """One file of patterns.

    Attributes:
        spec: The patterns.
        above: The way from their folder to the one that is walked.
        below: The way from the one that is walked to theirs.
    """

    spec: GitIgnoreSpec
    above: str = ""
    below: str = ""

    def says(self, path: str) -> bool | None:
        """Return whether a path is ignored; None where nothing is said of it."""
        return self.spec.check_file(f"{self.above}{path[len(self.below) :]}").include


def read_rules(path: Path, *, above: str = "", below: str = "") -> tuple[Rules, ...]:
    """Return the patterns of a file; () where there is none, as behind a link."""
    try:
        text = "" if path.is_symlink() else path.read_bytes().decode("utf-8", "replace")
    except (OSError, ValueError):
        return ()
    return (Rules(_spec(text.split("\n")), above, below),)


def _spec(lines: Iterable[str]) -> GitIgnoreSpec:
    """Return the patterns among the lines; as git does, without what is none."""
    from pathspec import GitIgnoreSpec

    found = []
    for line in lines:
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:
            continue
        found.append(line)
    return GitIgnoreSpec.from_lines(found)


def list_folder(
    root: Path, *, tracked: Collection[str] | None = None, rules: tuple[Rules, ...] = ()
) -> tuple[list[str], tuple[Skipped, ...]]:
    """Return the files below a folder, as sorted relative paths, and folders that are left out.

    Linked folders are not followed.

    Args:
        root: The folder.
        tracked: Files of a repository, which are never ignored; other repositories below it are not entered
            then. None is a folder in no repository: what is usually not written by hand is left out.
        rules: Further patterns, the weightiest first; those of `.gitignore` files below weigh more.
    """
    found: list[str] = []
    skipped: list[Skipped] = []
    kept = None if tracked is None else _Kept(tracked)
    waiting: list[tuple[str, tuple[Rules, ...]]] = [("", rules)]
    while waiting:
        prefix, above = waiting.pop()
        try:
            entries = sorted(os.scandir(root / prefix), key=lambda entry: entry.name)
        except OSError as error:
            where = display_path(prefix or ".")
            skipped.append(Skipped(where=where, reason="unreadable", detail=error.strerror or ""))
            continue
        has_rules = any(entry.name == ".gitignore" for entry in entries)
        own = read_rules(root / prefix / ".gitignore", below=prefix) if has_rules else ()
        for entry in entries:
            path = f"{prefix}{entry.name}"
            is_folder = entry.is_dir(follow_symlinks=False)
            if entry.name in ALWAYS_IGNORED or _is_ignored(path, (*own, *above), kept, is_folder=is_folder):
                continue
            if not is_folder:
                found.append(path)
            elif kept is not None and os.path.lexists(root / path / ".git"):
                skipped.append(Skipped(where=display_path(path), reason="repository"))
            else:
                waiting.append((f"{path}/", (*own, *above)))
    return sorted(found), tuple(skipped)


class _Kept:
    """Files that are never ignored, and the folders that lead to them."""

    def __init__(self, files: Collection[str]) -> None:
        self.paths = {*files, ""}
        for file in files:
            folder = file.rpartition("/")[0]
            while folder not in self.paths:
                self.paths.add(folder)
                folder = folder.rpartition("/")[0]


def _is_ignored(path: str, rules: Iterable[Rules], kept: _Kept | None, *, is_folder: bool) -> bool:
    """The deepest `.gitignore` that says anything of the path decides, as in git."""
    if kept is None:
        if is_folder and path.rpartition("/")[2] in _IGNORED_OUTSIDE_GIT:
            return True
    elif path in kept.paths:
        return False
    shown = f"{path}/" if is_folder else path
    return next((verdict for rule in rules if (verdict := rule.says(shown)) is not None), False)
