"""Files below a folder: which it offers and which are wanted, and what they hold; never what lies outside."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import translate
from itertools import accumulate
from pathlib import Path

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.ingest.readers.decoding import HEAD_BYTES
from langchain_context_engine.ingest.report import Skipped, SkippedError

ALWAYS_IGNORED = frozenset({".git", ".hg", ".svn", ".context-engine"})
"""Folders, and links in place of them, that are never read."""
# Where nothing says what to ignore, these hold what nobody wrote by hand.
_IGNORED_OUTSIDE_GIT = frozenset({"node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache"})
_TRAILING = re.compile(r"(?<![\\ ]) +$")
_ESCAPE, _WILD = re.compile(r"\\(.)"), "*?["
_ESCAPED = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file's bytes and when it was last written (epoch seconds), None where nothing says it."""

    data: bytes
    modified_at: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The sorted files of a folder, what is left out unseen, how many tracked ones are not checked out."""

    paths: tuple[str, ...]
    skipped: tuple[Skipped, ...] = ()
    absent: int = 0


@dataclass(frozen=True, slots=True)
class Rules:
    """One file of patterns, as git reads it: the last that says anything of a path decides.

    Attributes:
        patterns: What each name on the way must match (None: any number of folders), whether it is of folders
            alone, whether it ignores; the last one first.
        base: The folder that they stand in, with a slash, as paths name it.
    """

    patterns: tuple[tuple[list[re.Pattern[str] | None], bool, bool], ...]
    base: str = ""

    def says(self, path: str) -> bool | None:
        """Return whether a path is ignored, a folder's with a slash; None where nothing is said of it."""
        names = path[len(self.base) :].removesuffix("/").split("/")
        for steps, is_of_folders, ignores in self.patterns:
            if (path.endswith("/") or not is_of_folders) and _fits(steps, names):
                return ignores
        return None


def read_rules(path: Path, base: str = "") -> tuple[Rules, ...]:
    """Return the patterns of a file, without what is none; () where there is none, or a link."""
    try:
        text = "" if path.is_symlink() else path.read_bytes().decode("utf-8-sig", "surrogateescape")
    except (OSError, ValueError):
        return ()
    return (Rules(_patterns(text.split("\n")), base),)


def _patterns(lines: Iterable[str]) -> tuple[tuple[list[re.Pattern[str] | None], bool, bool], ...]:
    # pathspec knows these too, but goes over a name of 200 letters for hours: `*a*a*a*a*b`.
    found = []
    for line in lines:
        said = _TRAILING.sub("", line.removesuffix("\r"))
        way = said.removeprefix("!").removesuffix("/")
        if way.strip("/") and not line.startswith("#"):
            # `a/**` is what is in it, not the folder itself; a name alone may stand anywhere.
            names = way.removeprefix("/").split("/")
            names += ["*"] if names[-1] == "**" else []
            steps = [_expression(name) for name in (names if "/" in way else ["**", *names])]
            found.append((steps, said.endswith("/"), not said.startswith("!")))
    return tuple(reversed(found))


def _expression(name: str) -> re.Pattern[str] | None:
    """Return a name with wild cards as an expression; None for `**`."""
    if len(name) > 1 and not name.strip("*"):
        return None
    plain = _ESCAPE.sub(lambda e: f"[{e[1]}]" if e[1] in _WILD else e[1], name.replace("[^", "[!"))
    return re.compile(translate(plain))


def _fits(steps: Sequence[re.Pattern[str] | None], names: Sequence[str]) -> bool:
    """Say whether the names on a way fit, each `**` taking as few folders as it can."""
    if steps[-1] is not None and not steps[-1].match(names[-1]):
        return False
    step, place, star, begin = 0, 0, -1, 0
    while place < len(names):
        expression = steps[step] if step < len(steps) else None
        if step < len(steps) and expression is None:
            star, begin, step = step, place, step + 1
        elif expression is not None and expression.match(names[place]):
            step, place = step + 1, place + 1
        elif star < 0:
            return False
        else:
            begin += 1
            step, place = star + 1, begin
    return step == len(steps)


def selection(include: Iterable[str] = (), exclude: Iterable[str] = ()) -> Callable[[str], bool]:
    """Return what says of a path whether it is wanted, itself or a folder that it is in.

    Args:
        include: Patterns as in `.gitignore`; a path must match one. Without any, all do.
        exclude: Patterns of what is left out, also of what `include` names.

    Raises:
        ConfigError: A pattern is none.

    Example:
        >>> wanted = selection(include=["docs/", "*.py"], exclude=["test_*"])
        >>> wanted("docs/a.md"), wanted("src/a.py"), wanted("src/test_a.py"), wanted("a.md")
        (True, True, False, False)
    """
    included, excluded = _given("include", include), _given("exclude", exclude)

    def is_chosen(path: str) -> bool:
        names = path.split("/")
        ways = [*accumulate(f"{name}/" for name in names[:-1]), path]
        is_included = not included.patterns or any(map(included.says, ways))
        return ALWAYS_IGNORED.isdisjoint(names) and is_included and not any(map(excluded.says, ways))

    return is_chosen


def _given(name: str, patterns: Iterable[str]) -> Rules:
    given = [patterns] if isinstance(patterns, str) else list(patterns)
    found = _patterns(given) if all(isinstance(each, str) for each in given) else ()
    if len(found) < len(given):
        raise ConfigError(f"{name} takes patterns as in .gitignore, got {given!r}")
    return Rules(found)


def list_folder(
    root: Path, *, tracked: Iterable[str] | None = None, rules: tuple[Rules, ...] = (), place: str = ""
) -> Listing:
    """Return the files below a folder, and what is left out; linked folders are not followed.

    Its `.gitignore` files hold: the deepest that says anything of a path decides. (libgit2 forgets what a
    file takes back of one above it.)

    Args:
        root: The folder.
        tracked: Files of a repository, which are never ignored; other repositories below are not entered
            then. None is a folder in no repository: what is usually not written by hand is left out.
        rules: Further patterns, the weightiest first; those of the folder's own files weigh more.
        place: The folder as their paths name it, with a slash.
    """
    found: list[str] = []
    skipped: list[Skipped] = []
    kept = {way for path in tracked or () for way in accumulate(path.split("/"), "{}/{}".format)}
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
        known = (*(read_rules(root / prefix / ".gitignore", place + prefix) if has_rules else ()), *above)
        for entry in entries:
            path, is_folder = f"{prefix}{entry.name}", entry.is_dir(follow_symlinks=False)
            shown = f"{path}/" if is_folder else path
            said = (verdict for rule in known if (verdict := rule.says(place + shown)) is not None)
            if entry.name in ALWAYS_IGNORED or (path not in kept and next(said, False)):
                continue
            if not is_folder:
                found.append(path)
            elif tracked is not None and os.path.lexists(root / path / ".git"):
                skipped.append(Skipped(where=display_path(path), reason="repository"))
            elif tracked is not None or entry.name not in _IGNORED_OUTSIDE_GIT:
                waiting.append((shown, known))
    return Listing(paths=tuple(sorted(found)), skipped=tuple(skipped))


@dataclass(frozen=True, slots=True)
class FolderFiles:
    """Reads files below a folder without links in its own path, and never what lies outside of it."""

    root: Path

    def read(self, path: str, max_bytes: int | None = None) -> SourceFile:
        """Return a file, or its first 8 KiB where no largest size is given.

        A link, or what stands behind one, what is no regular file, unreadable or larger, is a SkippedError.
        """
        try:
            file_path = self.root / path
            status = file_path.lstat()
            # An index may name `a/b` where `a` has become a link to anywhere.
            if stat.S_ISLNK(status.st_mode) or os.path.realpath(file_path.parent) != str(file_path.parent):
                raise SkippedError("symlink")
            if not stat.S_ISREG(status.st_mode):
                raise SkippedError("special")
            refuse_huge(status.st_size, max_bytes)
            with file_path.open("rb") as file:
                data = file.read(HEAD_BYTES if max_bytes is None else max_bytes + 1)
        except (OSError, ValueError) as error:
            raise SkippedError("unreadable", getattr(error, "strerror", "") or "") from None
        refuse_huge(len(data), max_bytes)  # it grew, or its size is a lie as in /proc
        return SourceFile(data=data, modified_at=int(status.st_mtime))


def refuse_huge(size: int, most: int | None) -> None:
    """Refuse a file that is larger than those that are read."""
    if most is not None and size > most:
        raise SkippedError("huge", f"{size:,} bytes; at most {most:,} are read (--max-size)")


def display_path(path: str) -> str:
    """Return a path as text that encodes as UTF-8; undecodable bytes of its name are written as escapes."""
    return _ESCAPED.sub(lambda match: f"\\x{ord(match[0]) & 0xFF:02x}", path)
