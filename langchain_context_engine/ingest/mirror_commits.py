"""Keeping a collection in step with a repository's commits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import islice
from typing import Any

from langchain_context_engine.ingest.git_history import History
from langchain_context_engine.ingest.git_records import COMMITS_VERSION, commit_records
from langchain_context_engine.ingest.record import clean_metadata
from langchain_context_engine.ingest.report import OnProgress
from langchain_context_engine.ingest.skipped import Skipped
from langchain_context_engine.ingest.split import Splitter
from langchain_context_engine.ingest.writer import READING, CollectionWriter


def sync_commits(
    history: History,
    writer: CollectionWriter,
    *,
    max_commits: int | None,
    splitter: Splitter,
    metadata: Mapping[str, Any],
    on_progress: OnProgress,
) -> tuple[tuple[Skipped, ...], tuple[str, ...]]:
    """Bring a collection to the last commits of a repository; only new ones are looked at.

    Returns:
        Commits that cannot be read, and a warning where there are more than the limit.
    """
    common = clean_metadata(metadata)
    walk = history.commits()
    wanted = [bytes.fromhex(commit.id) for commit in islice(walk, max_commits)]
    is_limited = max_commits is not None and next(walk, None) is not None
    missing = tuple(history.left_out)
    still_there, known = set(wanted), set()
    parts: Counter[bytes] = Counter()
    later_parts: dict[bytes, list[str]] = {}
    gone: list[str] = []
    for record_id, stored in writer.stored_metadata():
        sha = stored.get("sha")
        if stored.get("kind") != "commit" or not isinstance(sha, str):
            continue
        if bytes.fromhex(sha) not in still_there:
            gone.append(record_id)
        elif all(stored.get(k) == v for k, v in common.items()):
            parts[bytes.fromhex(sha)] += 1
            if record_id == sha and stored.get(READING) == COMMITS_VERSION:
                known.add(bytes.fromhex(sha))
            elif record_id != sha:
                later_parts.setdefault(bytes.fromhex(sha), []).append(record_id)
    writer.count_unchanged(sum(parts[sha] for sha in known))
    new = [sha for sha in wanted if sha not in known]
    for number, sha in enumerate(new, 1):
        commit = history.read(sha.hex())
        if commit is not None:
            records = list(commit_records(commit, history.changes(commit), splitter, metadata))
            # The record that says a commit is known comes after its other parts, or a kill could lose these.
            writer.put(reversed(records))
            gone += set(later_parts.get(sha, ())) - {record.id for record in records}
        on_progress(len(known) + number, len(wanted), "commits")
    if not new:
        on_progress(len(wanted), len(wanted), "commits")
    writer.delete(gone)
    writer.flush()
    return missing, _limit(max_commits, is_limited=is_limited)


def _limit(max_commits: int | None, *, is_limited: bool) -> tuple[str, ...]:
    if not is_limited:
        return ()
    return (f"only the latest {max_commits} commits are held, there are more; see --max-commits",)


def lacks(history: History) -> tuple[str, ...]:
    """Return what a clone lacks, in words: it was not brought whole, or its HEAD leads nowhere."""
    found = [history.git.headless] if history.git.headless else []
    if history.shallow:
        found.append(
            "this is a shallow clone: older commits, and the dates of files that they changed last, are"
            " unknown; git fetch --unshallow brings them"
        )
    if number := history.without_files:
        found.append(f"{_commits(number)} without their files: these are not in this clone")
    if number := history.without_lines:
        found.append(
            f"{_commits(number)} without line counts: the contents of their files are not in this clone"
            " (git clone --filter)"
        )
    return tuple(found)


def _commits(number: int) -> str:
    return "1 commit is" if number == 1 else f"{number} commits are"
