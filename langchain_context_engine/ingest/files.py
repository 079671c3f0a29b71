"""Files below a folder: which it offers and which are wanted, and what they hold; never what lies outside."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.ingest.readers.decoding import BYTE_ORDER_MARKS, HEAD_BYTES
from langchain_context_engine.ingest.skipped import Skipped, SkippedError, refuse_huge

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

ALWAYS_IGNORED = frozenset({".git", ".hg", ".svn", ".context-engine"})
"""Folders, and links in place of them, that are never read."""
# Where nothing says what to ignore, these hold what nobody wrote by hand.
_IGNORED_OUTSIDE_GIT = frozenset({"node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache"})
# Of a pattern: spaces at its end that are not escaped, and what it is made of.
_TRAILING = re.compile(r"(?<![\\ ]) +$")
_PIECE = re.compile(r"^\*{2,}/|/\*{2,}/|/\*{2,}$|\*+|\?|\[[!^]?\]?(?:\\.|[^\]\\]){0,60}\]|\\.|.", re.DOTALL)
_STARS, _SET_SIGN = re.compile(r"\*+"), re.compile(r"[\[&~|]")
_ANY, _FOLDERS = "[^/]*", "(?:.*/)?"
_WILD = {"*/": _FOLDERS, "/*/": f"/{_FOLDERS}", "/*": "/.+", "*": _ANY, "?": "[^/]"}
_ESCAPED = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file's bytes and when it was last written (epoch seconds), None where nothing says it."""

    data: bytes
    modified_at: int | None


class Selection:
    """Says of a path whether it is wanted.

    Args:
        include: Patterns as in `.gitignore`; a path must match one. Without any, all do.
        exclude: Patterns of what is left out, also of what `include` names.

    Raises:
        ConfigError: A pattern is none.

    Example:
        >>> wanted = Selection(include=["docs/", "*.py"], exclude=["test_*"])
        >>> wanted("docs/a.md"), wanted("src/a.py"), wanted("src/test_a.py"), wanted("a.md")
        (True, True, False, False)
    """

    def __init__(self, include: Iterable[str] = (), exclude: Iterable[str] = ()) -> None:
        self._include = _given("include", include)
        self._exclude = _given("exclude", exclude)

    def __call__(self, path: str) -> bool:
        """Say whether a file is wanted."""
        is_included = self._include is None or self._include.match_file(path)
        return is_included and not (self._exclude is not None and self._exclude.match_file(path))


def _given(name: str, patterns: Iterable[str]) -> GitIgnoreSpec | None:
    from pathspec import GitIgnoreSpec

    given = [patterns] if isinstance(patterns, str) else list(patterns)
    try:
        return GitIgnoreSpec.from_lines(given) if given else None
    except (ValueError, TypeError, AttributeError) as error:
        raise ConfigError(f"{name} takes patterns as in .gitignore, got {given!r}: {error}") from error


@dataclass(frozen=True, slots=True)
class Rules:
    """One file of patterns, as git reads it: the last that says anything of a path decides.

    Attributes:
        patterns: Expression of a whole path, whether it is of folders alone, and whether it ignores.
        above: The way from their folder to the one that is walked.
        below: The way from the one that is walked to theirs.
    """

    patterns: tuple[tuple[re.Pattern[str], bool, bool], ...]
    above: str = ""
    below: str = ""

    def says(self, path: str) -> bool | None:
        """Return whether a path is ignored, a folder's with a slash; None where nothing is said of it."""
        name, is_folder = f"{self.above}{path[len(self.below) :]}".rstrip("/"), path.endswith("/")
        for pattern, is_of_folders, ignores in reversed(self.patterns):
            if (is_folder or not is_of_folders) and pattern.fullmatch(name):
                return ignores
        return None


def read_rules(path: Path, *, above: str = "", below: str = "") -> tuple[Rules, ...]:
    """Return the patterns of a file, without what is none; () where there is none, or a link."""
    try:
        text = "" if path.is_symlink() else path.read_bytes().decode("utf-8-sig", "surrogateescape")
    except (OSError, ValueError):
        return ()
    return (Rules(tuple(filter(None, map(_pattern, text.split("\n")))), above, below),)


def _pattern(line: str) -> tuple[re.Pattern[str], bool, bool] | None:
    """Return a line of a `.gitignore` as an expression of a whole path; None where it is none."""
    said = _TRAILING.sub("", line.removesuffix("\r"))
    ignores = not said.startswith("!")
    said = said if ignores else said[1:]
    name = said.removesuffix("/")
    if not name.strip("/") or line.startswith("#"):
        return None
    expression = "".join(map(_piece, _PIECE.findall(name.removeprefix("/"))))
    whole = _settled(_settled(expression, _ANY, "[^/]*?"), _FOLDERS, "(?:.*?/)??")
    try:
        pattern = re.compile(whole if "/" in name else f"{_FOLDERS}{whole}", re.DOTALL)
    except re.error:
        return None
    return pattern, said != name, ignores


def _piece(piece: str) -> str:
    if (stars := _STARS.sub("*", piece)) in _WILD:
        return _WILD[stars]
    if piece[0] == "[" and len(piece) > 1:
        inside = _SET_SIGN.sub(r"\\\g<0>", piece[1:-1])
        return f"(?!/)[^{inside[1:]}]" if inside[0] in "!^" else f"(?!/)[{inside}]"
    return re.escape(piece[-1])


def _settled(expression: str, wild: str, least: str) -> str:
    """Return an expression in which of each wild card but the last the least is tried, and nothing again.

    `*a*a*a*a*b` would else go over a name of 200 letters for hours.
    """
    first, *others = expression.split(wild)
    settled = "".join(f"(?>{least}{part})" for part in others[:-1])
    return first + settled + "".join(f"{wild}{part}" for part in others[-1:])


def list_folder(
    root: Path, *, tracked: Iterable[str] | None = None, rules: tuple[Rules, ...] = ()
) -> tuple[list[str], tuple[Skipped, ...]]:
    """Return the files below a folder, as sorted paths, and folders left out; linked ones are not followed.

    Its `.gitignore` files hold: the deepest that says anything of a path decides. (libgit2 forgets what a
    file takes back of one above it.)

    Args:
        root: The folder.
        tracked: Files of a repository, which are never ignored; other repositories below are not entered
            then. None is a folder in no repository: what is usually not written by hand is left out.
        rules: Further patterns, the weightiest first; those of the folder's own files weigh more.
    """
    found: list[str] = []
    skipped: list[Skipped] = []
    kept = _with_folders(tracked or ())
    waiting = [("", rules)]
    while waiting:
        prefix, above = waiting.pop()
        try:
            entries = sorted(os.scandir(root / prefix), key=lambda entry: entry.name)
        except OSError as error:
            where = display_path(prefix or ".")
            skipped.append(Skipped(where=where, reason="unreadable", detail=error.strerror or ""))
            continue
        has_rules = any(entry.name == ".gitignore" for entry in entries)
        known = (*(read_rules(root / prefix / ".gitignore", below=prefix) if has_rules else ()), *above)
        for entry in entries:
            path, is_folder = f"{prefix}{entry.name}", entry.is_dir(follow_symlinks=False)
            shown = f"{path}/" if is_folder else path
            said = (verdict for rule in known if (verdict := rule.says(shown)) is not None)
            if entry.name in ALWAYS_IGNORED or (path not in kept and next(said, False)):
                continue
            if not is_folder:
                found.append(path)
            elif tracked is not None and os.path.lexists(root / path / ".git"):
                skipped.append(Skipped(where=display_path(path), reason="repository"))
            elif tracked is not None or entry.name not in _IGNORED_OUTSIDE_GIT:
                waiting.append((shown, known))
    return sorted(found), tuple(skipped)


def _with_folders(paths: Iterable[str]) -> set[str]:
    found = {""}
    for path in paths:
        while path not in found:
            found.add(path)
            path = path.rpartition("/")[0]  # noqa: PLW2901
    return found


def is_wanted(path: str) -> bool:
    """Say whether a path lies outside of folders that are never read."""
    return ALWAYS_IGNORED.isdisjoint(path.split("/"))


@dataclass(frozen=True, slots=True)
class FolderFiles:
    """Reads files below a folder, and never what lies outside of it.

    Attributes:
        root: The folder, without links in its own path.
    """

    root: Path
    _folders: dict[str, bool] = field(default_factory=dict)

    def head(self, path: str) -> bytes:
        """Return a file's first 8 KiB.

        Raises:
            SkippedError: It is a link or stands behind one, is no regular file, or cannot be read.
        """
        self._status(path)
        return self._bytes(path, HEAD_BYTES)

    def read(self, path: str, max_bytes: int) -> SourceFile:
        """Return a file.

        Raises:
            SkippedError: As `head`, or it is larger than `max_bytes`.
        """
        status = self._status(path)
        refuse_huge(status.st_size, max_bytes)
        data = self._bytes(path, max_bytes + 1)
        refuse_huge(len(data), max_bytes)  # it grew, or its size is a lie as in /proc
        return SourceFile(data=data, modified_at=int(status.st_mtime))

    def _status(self, path: str) -> os.stat_result:
        try:
            status = (self.root / path).lstat()
        except (OSError, ValueError) as error:
            raise SkippedError("unreadable", getattr(error, "strerror", "") or "") from None
        if stat.S_ISLNK(status.st_mode) or self._is_behind_a_link(path.rpartition("/")[0]):
            raise SkippedError("symlink")
        if not stat.S_ISREG(status.st_mode):
            raise SkippedError("special")
        return status

    def _is_behind_a_link(self, folder: str) -> bool:
        """An index may name `a/b` where `a` has become a link to anywhere."""
        if folder not in self._folders:
            above = folder.rpartition("/")[0]
            is_link = (self.root / folder).is_symlink() if folder else False
            self._folders[folder] = is_link or (bool(folder) and self._is_behind_a_link(above))
        return self._folders[folder]

    def _bytes(self, path: str, most: int) -> bytes:
        try:
            with (self.root / path).open("rb") as file:
                return file.read(most)
        except OSError as error:
            raise SkippedError("unreadable", error.strerror or "") from None


def is_binary(head: bytes) -> bool:
    """Say whether a file's first bytes are those of no text."""
    return b"\0" in head[:HEAD_BYTES] and not head.startswith(BYTE_ORDER_MARKS)


def display_path(path: str) -> str:
    """Return a path as text that encodes as UTF-8; undecodable bytes of its name are written as escapes."""
    return _ESCAPED.sub(lambda match: f"\\x{ord(match[0]) & 0xFF:02x}", path)
