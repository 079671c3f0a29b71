"""One commit as its object holds it: whatever its encoding, its dates and its author line are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from langchain_context_engine.ingest.readers.decoding import decode_foreign, named_encoding
from langchain_context_engine.ingest.skipped import SkippedError

_IDENTITY = re.compile(
    rb"(?P<name>[^<]*?)[ \t]*(?:<[^\n]*?>?)?"
    rb"(?:[ \t]+(?P<date>-?\d{1,18})(?:[ \t]+[+-]\d+(?:[ \t][^\n>]*)?)?)?[ \t]*"
)
_FEW = 8
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    r"""A commit.

    Attributes:
        id: Its hash.
        tree: The hash of its tree, "" where the object names none.
        parents: Their hashes; those that a shallow clone lacks are not among them.
        author: The author's name, "" where none is given.
        created_at: When the author made it, epoch seconds; None where the object does not say it.
        committed_at: When it was committed, epoch seconds; 0 where unknown.
        message: As it was written, its lines ending in `\n`.
        is_cut: Its parents are missing from a shallow clone: what it changed cannot be told.
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
        """Its hash, day (UTC) and author, as far as they are known.

        Example:
            >>> Commit(id="4fbb3a1e77", tree="", parents=(), author="A. Writer", created_at=1785801600,
            ...        committed_at=0, message="").place
            '4fbb3a1e, 2026-08-04, A. Writer'
        """
        day = "" if self.created_at is None else f"{_EPOCH + timedelta(seconds=self.created_at):%Y-%m-%d}"
        return ", ".join(part for part in (self.id[:8], day, self.author) if part)


def parse_commit(commit_id: str, data: bytes) -> Commit:
    r"""Return what a commit's object says; libgit2's own reader refuses a whole commit for a bad author line.

    Example:
        >>> raw = b"tree 1\nauthor Ana R\xe9 <a@x> 1767607200 +0100\nencoding latin1\n\nr\xe9paration"
        >>> commit = parse_commit("ab", raw)
        >>> commit.author, commit.created_at, commit.message
        ('Ana Ré', 1767607200, 'réparation')
    """
    head, _, message = data.partition(b"\n\n")
    fields: dict[bytes, bytes] = {}
    parents = []
    for line in head.split(b"\n"):
        name, _, value = line.partition(b" ")
        if name == b"parent":
            parents.append(_text(value))
        elif name:  # a line that begins with a space goes on with a signature
            fields.setdefault(name, value)
    encoding = named_encoding(_text(fields.get(b"encoding", b"utf-8"))) or "utf-8"
    author, created_at = _identity(fields.get(b"author", b""), encoding)
    _, committed_at = _identity(fields.get(b"committer", b""), encoding)
    return Commit(
        id=commit_id,
        tree=_text(fields.get(b"tree", b"")),
        parents=tuple(parents),
        author=author,
        created_at=created_at if created_at is not None else committed_at,
        committed_at=committed_at or 0,
        message=_message(message, encoding),
    )


def _identity(line: bytes, encoding: str) -> tuple[str, int | None]:
    found = _IDENTITY.fullmatch(line)
    if found is None:
        return _text(line.partition(b"<")[0], encoding).strip(), None
    seconds = int(found["date"] or 0)
    # git itself writes 0 for a date that it cannot make out.
    return _text(found["name"], encoding).strip(), seconds if seconds and _is_a_date(seconds) else None


def _is_a_date(seconds: int) -> bool:
    try:
        _EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        return False
    return True


def _message(data: bytes, encoding: str) -> str:
    """Return a message as text: as it should be encoded, else as what it looks like."""
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = _foreign(data) or data.decode(encoding, "replace")
    return text.replace("\0", "").replace("\r\n", "\n").removeprefix("\ufeff")


def _foreign(data: bytes) -> str | None:
    """Return a message as what it looks like; None where there is too little of it to be sure."""
    if sum(byte > 0x7F for byte in data) <= _FEW:  # noqa: PLR2004
        return None
    try:
        return decode_foreign(data)
    except SkippedError:
        return None


def _text(data: bytes, encoding: str = "utf-8") -> str:
    return data.decode(encoding, "replace").replace("\0", "")
