"""What git knows of a folder: its files, its commits and when each file last changed."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from langchain_context_engine.ingest.files import display_path
from langchain_context_engine.ingest.record import Record, clean_metadata
from langchain_context_engine.ingest.split import Splitter
from langchain_context_engine.values.errors import ConfigError

_MOST_FILES = 50
_NUMSTAT = re.compile(r"\n?(\d+|-)\t(\d+|-)\t(.*)", re.DOTALL)
_FULL_SHA = re.compile(r"\b[0-9a-f]{40}\b")
# Nothing that a repository configures may run a program, prompt, fetch or colour what is read here.
_SAFE = ("-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "-c", "log.showSignature=false")
_PLAIN_DIFF = ("--no-color", "--no-ext-diff", "--no-textconv", "--encoding=UTF-8")
_FOREIGN = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY")


def _command(folder: Path, arguments: Sequence[str]) -> list[str]:
    return ["git", "-C", str(folder), *_SAFE, *arguments]


def _environment() -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
    quiet = {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"}
    return {**inherited, **quiet}


def run_git(folder: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    """Return what a git command prints.

    Raises:
        ConfigError: git is not installed, or refuses.
    """
    try:
        done = subprocess.run(  # noqa: S603
            _command(folder, arguments), input=stdin, capture_output=True, check=False, env=_environment()
        )
    except FileNotFoundError:
        raise ConfigError("the `git` executable was not found; install git, or index a folder") from None
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise ConfigError(
            f"git {arguments[0]} failed in {folder}: {reason[-1] if reason else 'no reason given'}"
        )
    return done.stdout


def is_repository(folder: Path) -> bool:
    """Say whether git is installed and the folder lies in the working tree of a repository."""
    try:
        return run_git(folder, "rev-parse", "--is-inside-work-tree").strip() == b"true"
    except ConfigError:
        return False


def list_files(folder: Path) -> list[str]:
    """Return tracked and new files below the folder, sorted, without what `.gitignore` names."""
    names = _fields(run_git(folder, "ls-files", "-coz", "--exclude-standard", "--deduplicate"))
    # git still lists what was deleted but not committed.
    return sorted(name for name in names if name and os.path.lexists(folder / name))


def last_changes(folder: Path, paths: Sequence[str]) -> dict[str, int]:
    """Return path → epoch seconds of the last commit that changed it.

    Files that differ from the last commit, or stand in none, are absent.
    """
    if not _has_commits(folder):
        return {}
    dirty = set(_fields(run_git(folder, "diff", "--name-only", "-z", "--relative", "--no-ext-diff", "HEAD")))
    wanted = set(paths) - dirty
    found: dict[str, int] = {}
    for path, changed_at in _changes(folder):
        if path in wanted:
            found.setdefault(path, changed_at)
            if len(found) == len(wanted):
                break
    return found


def _changes(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield (path, epoch seconds), the newest commit first; git stops when the caller does."""
    command = (
        "log",
        "-z",
        "--name-only",
        "--relative",
        *_PLAIN_DIFF,
        "--format=%x00%ct%x00",
        "--",
        ".",
    )
    with subprocess.Popen(  # noqa: S603
        _command(folder, command), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=_environment()
    ) as process:
        try:
            changed_at, is_after_gap = 0, False
            for token in _stream_fields(process):
                if not token:
                    is_after_gap = True
                    continue
                # After a gap stands the next date, or the first path of a commit behind a line break.
                if is_after_gap and not token.startswith("\n"):
                    changed_at = int(token)
                else:
                    yield (token[1:] if is_after_gap else token), changed_at
                is_after_gap = False
        finally:
            process.kill()


def _stream_fields(process: subprocess.Popen[bytes]) -> Iterator[str]:
    rest = b""
    stream = process.stdout
    while stream is not None and (block := stream.read(1 << 16)):
        *whole, rest = (rest + block).split(b"\0")
        yield from (os.fsdecode(field) for field in whole)
    if rest.strip():
        yield os.fsdecode(rest)


def commit_ids(folder: Path, max_commits: int | None) -> list[str]:
    """Return the hashes of the last commits that lead to HEAD, the newest first.

    In a folder within the repository only the commits that touch the folder.
    """
    if not _has_commits(folder):
        return []
    limit = [] if max_commits is None else [f"--max-count={max_commits}"]
    return run_git(folder, "rev-list", *limit, "HEAD", *_within(folder)).decode().split()


def commit_records(
    folder: Path, ids: Sequence[str], splitter: Splitter, metadata: Mapping[str, Any] | None = None
) -> list[Record]:
    """Return the records of commits: the message, then the files it touched.

    A commit links to those whose full hashes its message names (reverts, cherry-picks). A longer
    message becomes several records, `<hash>` and `<hash>-2` and so on.
    """
    if not ids:
        return []
    listing = run_git(
        folder,
        *("log", "--no-walk=unsorted", "--stdin", "-z", "-M", "--numstat", "--relative", *_PLAIN_DIFF),
        "--format=%H%x00%at%x00%an%x00%B%x00",
        stdin="\n".join(ids).encode(),
    )
    return [
        record
        for commit in _commits(_fields(listing))
        for record in _one_commit(commit, splitter, metadata or {})
    ]


def _commits(fields: Sequence[str]) -> Iterator[dict[str, Any]]:
    position = 0
    while position < len(fields):
        sha = fields[position].strip()
        if not sha:
            position += 1
            continue
        created_at, author, message = fields[position + 1 : position + 4]
        position += 4
        changes: list[tuple[str, int, int]] = []
        while position < len(fields) and (not fields[position] or _NUMSTAT.fullmatch(fields[position])):
            entry = _NUMSTAT.fullmatch(fields[position])
            position += 1
            if entry:
                path = entry[3]
                if not path:  # renamed: the old and the new path follow
                    path = fields[position + 1]
                    position += 2
                changes.append((display_path(path), _lines(entry[1]), _lines(entry[2])))
        yield {
            "sha": sha,
            "created_at": int(created_at),
            "author": author,
            "message": message.strip(),
            "changes": changes,
        }


def _lines(number: str) -> int:
    return 0 if number == "-" else int(number)  # "-" is a binary file


def _one_commit(
    commit: Mapping[str, Any], splitter: Splitter, metadata: Mapping[str, Any]
) -> Iterator[Record]:
    sha, message, changes = commit["sha"], commit["message"], commit["changes"]
    shown = "\n".join(f"{path} (+{added} −{removed})" for path, added, removed in changes[:_MOST_FILES])
    text = "\n\n".join(part for part in (message, shown) if part) or "(no message)"
    for part, (start, end) in enumerate(splitter(text), 1):
        yield Record(
            id=sha if part == 1 else f"{sha}-{part}",
            text=text[start:end],
            metadata=clean_metadata(
                {
                    **metadata,
                    "kind": "commit",
                    "title": message.partition("\n")[0] or sha[:12],
                    "sha": sha,
                    "author": commit["author"],
                    "created_at": commit["created_at"],
                    "files": [path for path, _, _ in changes[:_MOST_FILES]],
                    "files_changed": len(changes),
                    "insertions": sum(added for _, added, _ in changes),
                    "deletions": sum(removed for _, _, removed in changes),
                    "links": [other for other in dict.fromkeys(_FULL_SHA.findall(message)) if other != sha],
                    "part": part if part > 1 else None,
                }
            ),
        )


def _within(folder: Path) -> tuple[str, ...]:
    """Return the limit to a folder; none at the top, where it would drop merges and empty commits."""
    return ("--", ".") if run_git(folder, "rev-parse", "--show-prefix").strip() else ()


def _has_commits(folder: Path) -> bool:
    try:
        run_git(folder, "rev-parse", "--verify", "--quiet", "HEAD")
    except ConfigError:
        return False
    return True


def _fields(output: bytes) -> list[str]:
    return [os.fsdecode(field) for field in output.split(b"\0")]
