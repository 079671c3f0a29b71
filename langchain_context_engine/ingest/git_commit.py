"""One commit as its object holds it: whatever its encoding, its dates and its author line are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_DATE = re.compile(rb"(?:^|[ \t])(-?\d{1,18})(?:[ \t]+[+-]\d+.*)?[ \t]*\Z")
_MEANT = {
    "iso-8859-1": "cp1252",
    "latin1": "cp1252",
    "gb2312": "gb18030",
    "x-sjis": "cp932",
    "shift_jis": "cp932",
}
"""What writers of these encodings mean, as browsers read them."""
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
        """Its hash, day (UTC) and author, as far as they are known."""
        day = "" if self.created_at is None else f"{_EPOCH + timedelta(seconds=self.created_at):%Y-%m-%d}"
        return ", ".join(part for part in (self.id[:8], day, self.author) if part)


def parse_commit(commit_id: str, data: bytes) -> Commit:
    r"""Return what a commit's object says; libgit2's own reader refuses a whole commit for a bad author line.

    Example:
        >>> raw = b"tree 1\nauthor Ana R\xe9 <a@x> 1785801600 +0100\nencoding latin1\n\nr\xe9paration"
        >>> commit = parse_commit("4fbb3a1e77", raw)
        >>> commit.place, commit.message
        ('4fbb3a1e, 2026-08-04, Ana Ré', 'réparation')
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
    encoding = _text(fields.get(b"encoding", b""))
    author, created_at = _identity(fields.get(b"author", b""), encoding)
    _, committed_at = _identity(fields.get(b"committer", b""), encoding)
    return Commit(
        id=commit_id,
        tree=_text(fields.get(b"tree", b"")),
        parents=tuple(parents),
        author=author,
        created_at=created_at if created_at is not None else committed_at,
        committed_at=committed_at or 0,
        message=_text(message, encoding).replace("\r\n", "\n").removeprefix("\ufeff"),
    )


def _identity(line: bytes, encoding: str) -> tuple[str, int | None]:
    mailed = line.rfind(b">") + 1
    dated = _DATE.search(line[mailed:])
    name = (line[: mailed + dated.start()] if dated else line).partition(b"<")[0]
    try:
        seconds = int(dated[1]) if dated else 0
        _ = _EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        seconds = 0
    # git itself writes 0 for a date that it cannot make out.
    return _text(name, encoding).strip(), seconds or None


def _text(data: bytes, encoding: str = "") -> str:
    """Return text in the encoding that is named, as far as it is in it.

    What is UTF-8 is that whatever is named, but for encodings of seven bits.
    """
    named = _MEANT.get(encoding.lower(), encoding)
    is_seven_bit = named.lower().startswith(("iso-2022", "hz"))
    named = "" if named.lower().startswith("utf") else named
    for name in filter(None, (named,) if is_seven_bit else ("utf-8", named)):
        try:
            return data.decode(name).replace("\0", "")
        except (LookupError, ValueError):  # no encoding of text, or not in it
            continue
    return data.decode("utf-8", "replace").replace("\0", "")
