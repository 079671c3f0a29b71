"""Commits as records: the message, then the files it touched."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_context_engine.ingest.git_commit import Commit
from langchain_context_engine.ingest.git_history import Change
from langchain_context_engine.ingest.record import Record, clean_metadata
from langchain_context_engine.ingest.split import Splitter
from langchain_context_engine.ingest.trailers import without_trailers
from langchain_context_engine.ingest.writer import READING

COMMITS_VERSION = 2
"""Raised when the same commit would give other records than before, so that stored ones are renewed."""

_MOST_FILES = 50
_MOST_TRAILERS = 50
_MOST_LISTED = 20
"""So many of the files are listed in the text: a reader of a thousand names reads no message."""

_FULL_HASH = re.compile(r"\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b")


def commit_records(
    commit: Commit, changes: Sequence[Change] | None, splitter: Splitter, metadata: Mapping[str, Any]
) -> Iterator[Record]:
    """Yield the records of a commit: its message as it was written, then the files it touched.

    Of trailers the text has the names of others than the author; as they were written they are metadata.
    A commit links to those whose full hashes its message names (reverts, cherry-picks). A longer
    message becomes several records, `<hash>` and `<hash>-2` and so on.

    Args:
        commit: The commit.
        changes: What it changed; None where that is unknown.
        splitter: How a long text is cut.
        metadata: More for every record.
    """
    message = commit.message.strip()
    told = without_trailers(message, commit.author)
    files = changes or ()
    listed = "\n".join(_line(change) for change in files[:_MOST_LISTED])
    if len(files) > _MOST_LISTED:
        listed += f"\n… and {len(files) - _MOST_LISTED} more files"
    text = "\n\n".join(part for part in (told.message, listed) if part) or "(no message)"
    own = {"trailers": told.trailers[:_MOST_TRAILERS], READING: COMMITS_VERSION}
    described = clean_metadata({**metadata, **_describe(commit, message, changes), **own})
    for part, (start, end) in enumerate(splitter(text), 1):
        yield Record(
            id=commit.id if part == 1 else f"{commit.id}-{part}",
            text=text[start:end],
            metadata=described if part == 1 else {**described, "part": part},
        )


def _line(change: Change) -> str:
    """Return a file as a line to read; a renamed one with what it was called."""
    path = f"{change.old_path} → {change.path}" if change.old_path else change.path
    return path if change.lines is None else f"{path} (+{change.lines[0]} −{change.lines[1]})"


def _describe(commit: Commit, message: str, changes: Sequence[Change] | None) -> dict[str, Any]:
    files = changes or ()
    counted = [change.lines for change in files if change.lines is not None]
    is_counted = changes is not None and len(counted) == len(files)
    return {
        "kind": "commit",
        "title": message.partition("\n")[0].strip() or commit.id[:12],
        "place": commit.place,
        "sha": commit.id,
        "author": commit.author or None,
        "created_at": commit.created_at,
        "files": [change.path for change in files[:_MOST_FILES]],
        "files_changed": None if changes is None else len(changes),
        "insertions": sum(added for added, _ in counted) if is_counted else None,
        "deletions": sum(removed for _, removed in counted) if is_counted else None,
        "links": [other for other in dict.fromkeys(_FULL_HASH.findall(message)) if other != commit.id],
    }
