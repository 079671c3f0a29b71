"""A repository's commits and what each changed; its files, what they hold and when each last changed."""

from __future__ import annotations

import hashlib
import heapq
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

import pygit2
from pygit2.enums import DeltaStatus, DiffFind, DiffOption

from langchain_context_engine.ingest.files import (
    Listing,
    Rules,
    SourceFile,
    display_path,
    list_folder,
    read_rules,
    refuse_huge,
)
from langchain_context_engine.ingest.git_repository import GIT_ERRORS, GitFolder, read_lines
from langchain_context_engine.ingest.readers.decoding import HEAD_BYTES, named_encoding
from langchain_context_engine.ingest.record import Record, clean_metadata
from langchain_context_engine.ingest.report import OnProgress, Skipped, SkippedError
from langchain_context_engine.ingest.split import Splitter
from langchain_context_engine.ingest.writer import READING

COMMITS_VERSION = 2
"""Raised when the same commit would give other records than before, so that stored ones are renewed."""

_DATE = re.compile(rb"(?:^|[ \t])(-?\d{1,18})(?:[ \t]+[+-]\d+.*)?[ \t]*\Z")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_RENAMES = 400
_MOST_COMPARED = 1_000_000
"""Pairs of a file that is gone and one that is new up to which their contents are compared, as git does."""
_SUBMODULE, _LINK = 0o160000, 0o120000
_COMMIT = 1  # libgit2's number for the type

_MOST_FILES, _MOST_TRAILERS = 50, 50
_MOST_LISTED = 20
"""So many of the files are listed in the text: a reader of a thousand names reads no message."""
_FULL_HASH = re.compile(r"\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b")
# git itself reads trailers in the last paragraph alone (and libgit2 but one of each name); a squash merge
# has those of every commit it joins, in the middle of its message, so they are found line by line.
_TRAILER = re.compile(
    r"^(?P<key>(?:[A-Za-z]{1,20}-){1,4}[Bb]y|(?:[A-Za-z]{1,20}-){1,3}(?:I[Dd]|RevId)|git-svn-id|Reviewed-on"
    r"|[Cc][Cc]): ?(?P<value>\S[^\n]*)$",
    re.MULTILINE,
)
_UPDATES = re.compile(r"^---\nupdated-dependencies:\n(?:[- ] [^\n]*\n){0,400}\.\.\.$", re.MULTILINE)
_GAP = re.compile(r"\n{3,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    r"""A commit as its object says it; times are epoch seconds, the message's lines end in `\n`.

    A tree or an author that is not named is "", `created_at` None, `committed_at` 0. Parents that a shallow
    clone lacks are not among them, and `is_cut` says so: what it changed cannot be told.
    """

    id: str
    tree: str
    parents: tuple[str, ...]
    author: str
    created_at: int | None
    committed_at: int
    message: str
    is_cut: bool = False

    @property
    def place(self) -> str:
        """Its hash, day (UTC) and author, as far as they are known."""
        day = "" if self.created_at is None else f"{_EPOCH + timedelta(seconds=self.created_at):%Y-%m-%d}"
        return ", ".join(part for part in (self.id[:8], day, self.author) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a commit did to a file of the folder that is read: lines added and removed, None where unknown."""

    path: str
    old_path: str = ""
    lines: tuple[int, int] | None = None

    def __str__(self) -> str:
        path = f"{self.old_path} → {self.path}" if self.old_path else self.path
        return path if self.lines is None else f"{path} (+{self.lines[0]} −{self.lines[1]})"


def parse_commit(commit_id: str, data: bytes) -> Commit:
    """Return what a commit's object says; libgit2's own reader refuses one with a bad author line."""
    head, _, message = data.partition(b"\n\n")
    # A line that begins with a space goes on with a signature.
    lines = [line.partition(b" ") for line in head.split(b"\n") if line[:1] != b" "]
    fields = {name: value for name, _, value in reversed(lines)}
    encoding = _text(fields.get(b"encoding", b""))
    author, created_at = _identity(fields.get(b"author", b""), encoding)
    _, committed_at = _identity(fields.get(b"committer", b""), encoding)
    return Commit(
        id=commit_id,
        tree=_text(fields.get(b"tree", b"")),
        parents=tuple(_text(value) for name, _, value in lines if name == b"parent"),
        author=author,
        created_at=created_at if created_at is not None else committed_at,
        committed_at=committed_at or 0,
        message=_text(message, encoding).replace("\r\n", "\n").removeprefix("\ufeff"),
    )


def _identity(line: bytes, encoding: str) -> tuple[str, int | None]:
    mailed = line.rfind(b">") + 1
    dated = _DATE.search(line[mailed:])
    name = (line[: mailed + dated.start()] if dated else line).partition(b"<")[0]
    seconds = None
    with suppress(OverflowError):
        if (
            dated and (_EPOCH + timedelta(seconds=int(dated[1]))) != _EPOCH
        ):  # git's own for what it cannot read
            seconds = int(dated[1])
    return _text(name, encoding).strip(), seconds


def _text(data: bytes, encoding: str = "") -> str:
    """Return text: what is UTF-8 is that whatever is named, but for encodings of seven bits."""
    named = named_encoding(encoding) if encoding else None
    for name in (named,) if named and named.startswith(("iso2022", "hz")) else ("utf-8", named):
        with suppress(ValueError):
            return data.decode(name or "utf-8").replace("\0", "")
    return data.decode("utf-8", "replace").replace("\0", "")


class History:
    """The commits that lead to HEAD.

    Args:
        git: The repository, or a folder in it: then only commits that touch what is below it.

    Attributes:
        left_out: Commits that cannot be read; what only they lead to is unknown.
        without_contents: How many commits gave no files or line counts, for want of trees or contents.
    """

    def __init__(self, git: GitFolder) -> None:
        self.git = git
        self.left_out: list[Skipped] = []
        self.without_contents = 0

    def commits(self) -> Iterator[Commit]:
        """Yield the commits, the newest first; each is read when it is asked for."""
        self.left_out.clear()
        return (commit for commit in self._walk() if not self.git.prefix or self._touches(commit))

    def read(self, commit_id: str) -> Commit | None:
        """Return a commit, or None where it cannot be read; it is then among `left_out`."""
        reason, detail = "corrupt", "it is no commit"
        try:
            kind, data = self.git.repository.read(commit_id)
            if kind == _COMMIT:
                commit = parse_commit(commit_id, data)
                is_cut = commit_id in self._shallow
                return replace(commit, parents=(), is_cut=bool(commit.parents)) if is_cut else commit
        except KeyError:
            reason, detail = "missing", "a commit that is not in this clone"
        except GIT_ERRORS as error:
            detail = " ".join(str(error).split())
        self.left_out.append(Skipped(where=commit_id, reason=reason, detail=detail))
        return None

    def changes(self, commit: Commit) -> list[Change] | None:
        """Return what a commit changed by itself; of a merge, the files that are as in none of its parents.

        Line counts are against the first parent; what a merge renames by itself is gone there and new here.
        None where it cannot be told: a shallow clone cuts the commit off, or a tree is missing.
        """
        if commit.is_cut:
            return None
        try:
            diffs = self._diffs(commit, has_lines=True)
            by_itself = _in_all(diffs)
        except GIT_ERRORS:
            self.without_contents += 1
            return None
        return self._counted(diffs[0], by_itself) if by_itself else []

    def changed_paths(self, commit: Commit) -> set[bytes]:
        """Return the paths, from the folder on, that a commit changed by itself; () where unknown."""
        with suppress(*GIT_ERRORS):
            return _in_all(self._diffs(commit))
        return set()

    @cached_property
    def _shallow(self) -> frozenset[str]:
        """Commits whose parents this clone lacks."""
        return frozenset(line.strip() for line in read_lines(self.git.common / "shallow"))

    def lacks(self) -> Iterator[str]:
        """Yield what a clone lacks, in words: it was not brought whole, or its HEAD leads nowhere."""
        if self.git.head is None:
            yield "its HEAD leads to no commit, so none are read; those of other branches are not"
        if self._shallow:
            yield (
                "this is a shallow clone: older commits, and the dates of files that they changed last, are"
                " unknown; git fetch --unshallow brings them"
            )
        if number := self.without_contents:
            commits = "1 commit is" if number == 1 else f"{number} commits are"
            yield f"{commits} without files or line counts: they are not in this clone (git clone --filter)"

    def _walk(self) -> Iterator[Commit]:
        # libgit2's own walk ends at the first commit that it cannot read.
        newly = [self.git.head] if self.git.head else []
        seen = set(newly)
        waiting: list[tuple[int, int, Commit]] = []
        number = 0
        while newly or waiting:
            for commit in filter(None, map(self.read, newly)):
                number += 1
                heapq.heappush(waiting, (-commit.committed_at, number, commit))
            if not waiting:
                return
            commit = heapq.heappop(waiting)[2]
            yield commit
            newly = [parent for parent in dict.fromkeys(commit.parents) if parent not in seen]
            seen.update(newly)

    def _trees(self, commit: Commit) -> tuple[pygit2.Tree | None, list[pygit2.Tree | None]]:
        """Return the folder's tree in a commit and in each of its parents; [None] where it has none."""
        above = []
        for parent in commit.parents:
            _, data = self.git.repository.read(parent)
            above.append(self.git.tree(data.partition(b"\n")[0].removeprefix(b"tree ").decode()))
        return self.git.tree(commit.tree), above or [None]

    def _touches(self, commit: Commit) -> bool:
        with suppress(*GIT_ERRORS):
            own, above = self._trees(commit)
            return all(_is_other(own, tree) for tree in above)
        return False

    def _diffs(self, commit: Commit, *, has_lines: bool = False) -> list[pygit2.Diff]:
        """Return the difference to each parent, or to nothing; [] where a parent has the very same."""
        own, above = self._trees(commit)
        if not all(_is_other(own, tree) for tree in above):
            return []
        # Of a merge nearly all that differs is one side's own: to look there for renames takes seconds.
        return [_diff(own, tree, has_renames=has_lines and not above[1:]) for tree in above]

    def _counted(self, diff: pygit2.Diff, by_itself: set[bytes]) -> list[Change]:
        found = []
        lacks_contents = False
        for number, delta in enumerate(diff.deltas):
            if delta.new_file.raw_path not in by_itself:
                continue
            lines = None
            try:
                patch = None if lacks_contents else diff[number]
                lines = None if lacks_contents else (0, 0) if patch is None else patch.line_stats[1:]
            except GIT_ERRORS:
                lacks_contents = True
            old = _shown(delta.old_file.raw_path) if delta.status == DeltaStatus.RENAMED else ""
            found.append(Change(path=_shown(delta.new_file.raw_path), old_path=old, lines=lines))
        self.without_contents += lacks_contents
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
    paths = [{delta.new_file.raw_path for delta in diff.deltas} for diff in diffs]
    return set.intersection(*paths) if paths else set()


def commit_records(
    commit: Commit, changes: Sequence[Change] | None, splitter: Splitter, metadata: Mapping[str, Any]
) -> Iterator[Record]:
    """Yield the records of a commit: its message as it was written, then the files it touched, if known.

    Of trailers the text has the names of others than the author; as they were written they are metadata.
    A commit links to those whose full hashes its message names (reverts, cherry-picks). A longer
    message becomes several records, `<hash>` and `<hash>-2` and so on.
    """
    message = commit.message.strip()
    told, trailers = without_trailers(message, commit.author)
    files = changes or ()
    listed = [str(change) for change in files[:_MOST_LISTED]]
    listed += [f"… and {len(files) - _MOST_LISTED} more files"] if len(files) > _MOST_LISTED else []
    text = "\n\n".join(part for part in (told, "\n".join(listed)) if part) or "(no message)"
    lines = [change.lines for change in files]
    is_counted = changes is not None and None not in lines
    described = clean_metadata(
        {
            **metadata,
            "kind": "commit",
            "title": message.partition("\n")[0].strip() or commit.id[:12],
            "place": commit.place,
            "sha": commit.id,
            "author": commit.author or None,
            "created_at": commit.created_at,
            "files": [change.path for change in files[:_MOST_FILES]],
            "files_changed": None if changes is None else len(changes),
            "insertions": sum(each[0] for each in lines if each) if is_counted else None,
            "deletions": sum(each[1] for each in lines if each) if is_counted else None,
            "links": [other for other in dict.fromkeys(_FULL_HASH.findall(message)) if other != commit.id],
            "trailers": trailers[:_MOST_TRAILERS],
            READING: COMMITS_VERSION,
        }
    )
    for part, (start, end) in enumerate(splitter(text), 1):
        yield Record(
            id=commit.id if part == 1 else f"{commit.id}-{part}",
            text=text[start:end],
            metadata=described if part == 1 else {**described, "part": part},
        )


def without_trailers(message: str, author: str) -> tuple[str, list[str]]:
    """Return a commit's message without trailers, but for who else had a part in it, and the trailers.

    The subject stays whatever it is. Who signs is mostly the author, whom the record names already;
    an address, an id and a robot are no matter of the commit. Who wrote with the author is named first.
    """
    subject, mark, rest = message.partition("\n")
    found = list(_TRAILER.finditer(rest))
    body = _UPDATES.sub("", rest)
    if not found and body == rest:
        return message, []
    told = (subject + mark + _GAP.sub("\n\n", _TRAILER.sub("", body))).rstrip()
    while "\n" in told and not told.rpartition("\n")[2].strip(" \t-"):  # a line between it and its trailers
        told = told.rpartition("\n")[0].rstrip()
    named = {author.casefold(), ""}
    roles: dict[str, list[str]] = {}
    for trailer in sorted(found, key=lambda each: each["key"].lower() != "co-authored-by"):
        name = trailer["value"].partition("<")[0].strip() or trailer["value"].strip(" \t<>")
        if trailer["key"].lower().endswith("-by") and name.casefold() not in named and "[bot]" not in name:
            named.add(name.casefold())
            roles.setdefault(trailer["key"].capitalize(), []).append(name)
    names = "\n".join(f"{role}: {', '.join(each)}" for role, each in roles.items())
    trailers = list(dict.fromkeys(trailer[0].strip() for trailer in found))
    return f"{told}\n\n{names}" if names else told, trailers


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
    new = list_folder(git.folder, tracked=files, rules=_rules_above(git), place=git.prefix)
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
    above = ["", *accumulate(f"{name}/" for name in git.prefix.split("/")[:-1])][:-1]
    top = Path(git.repository.workdir or "")
    found = [rules for base in reversed(above) for rules in read_rules(top / base / ".gitignore", base)]
    found += read_rules(git.common / "info" / "exclude")
    try:
        excludes = git.repository.config["core.excludesFile"]
    except GIT_ERRORS:
        excludes = ""
    usual = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config", "git", "ignore")
    return (*found, *read_rules(Path(excludes or usual).expanduser()))


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
