"""Commits as records: the message, who else had a part in it, then the files it touched."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_context_engine.ingest.git_commit import Commit
from langchain_context_engine.ingest.git_history import Change
from langchain_context_engine.ingest.record import Record, clean_metadata
from langchain_context_engine.ingest.split import Splitter
from langchain_context_engine.ingest.writer import READING

COMMITS_VERSION = 2
"""Raised when the same commit would give other records than before, so that stored ones are renewed."""

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
_WRITERS = "co-authored-by"


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
    told, trailers = without_trailers(message, commit.author)
    files = changes or ()
    listed = "\n".join(_line(change) for change in files[:_MOST_LISTED])
    if len(files) > _MOST_LISTED:
        listed += f"\n… and {len(files) - _MOST_LISTED} more files"
    text = "\n\n".join(part for part in (told, listed) if part) or "(no message)"
    counted = [change.lines for change in files if change.lines is not None]
    is_counted = changes is not None and len(counted) == len(files)
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
            "insertions": sum(added for added, _ in counted) if is_counted else None,
            "deletions": sum(removed for _, removed in counted) if is_counted else None,
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


def _line(change: Change) -> str:
    """Return a file as a line to read; a renamed one with what it was called."""
    path = f"{change.old_path} → {change.path}" if change.old_path else change.path
    return path if change.lines is None else f"{path} (+{change.lines[0]} −{change.lines[1]})"


def without_trailers(message: str, author: str) -> tuple[str, list[str]]:
    r"""Return a commit's message without trailers, but for who else had a part in it, and the trailers.

    The subject stays whatever it is. Who signs is mostly the author, whom the record names already;
    an address, an id and a robot are no matter of the commit.

    Args:
        message: As it was written, its lines ending in `\n`.
        author: The author's name.

    Example:
        >>> without_trailers("Mend it\n\nSigned-off-by: Ana <a@x>\nCo-authored-by: Bo <b@x>", "Ana")[0]
        'Mend it\n\nCo-authored-by: Bo'
    """
    subject, mark, rest = message.partition("\n")
    found = list(_TRAILER.finditer(rest))
    body = _UPDATES.sub("", rest)
    if not found and body == rest:
        return message, []
    lines = _GAP.sub("\n\n", _TRAILER.sub("", body)).split("\n")
    while lines and not lines[-1].strip(" \t-"):  # a line that stood between it and its trailers
        lines.pop()
    told = (subject + mark + "\n".join(lines)).rstrip()
    names = _names([(match["key"], match["value"]) for match in found], author)
    trailers = list(dict.fromkeys(match[0].strip() for match in found))
    return f"{told}\n\n{names}" if names else told, trailers


def _names(trailers: Sequence[tuple[str, str]], author: str) -> str:
    """Return a line for each role with the names in it; who wrote with the author before who did less."""
    told = {author.casefold(), ""}
    roles: dict[str, list[str]] = {}
    for key, value in sorted(trailers, key=lambda pair: pair[0].lower() != _WRITERS):
        name = value.partition("<")[0].strip() or value.strip(" \t<>")
        if key.lower().endswith("-by") and name.casefold() not in told and "[bot]" not in name:
            told.add(name.casefold())
            roles.setdefault(key.capitalize(), []).append(name)
    return "\n".join(f"{role}: {', '.join(names)}" for role, names in roles.items())
