"""What tools write below a commit's message: who signed it or wrote it with the author, ids, separators.

git itself reads trailers in the last paragraph alone (and libgit2 but one of each name); a squash merge
has those of every commit it joins, in the middle of its message, so they are found line by line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_TRAILER = re.compile(
    r"^(?P<key>(?:[A-Za-z]{1,20}-){1,4}[Bb]y|(?:[A-Za-z]{1,20}-){1,3}(?:I[Dd]|RevId)|git-svn-id|Reviewed-on"
    r"|[Cc][Cc]): ?(?P<value>\S[^\n]*)$",
    re.MULTILINE,
)
_UPDATES = re.compile(r"^---\nupdated-dependencies:\n(?:[- ] [^\n]*\n){0,400}\.\.\.$", re.MULTILINE)
_SEPARATOR = re.compile(r"-{3,}")
_BLANK_LINES = re.compile(r"\n{3,}")
_ROBOT = "[bot]"
_WRITERS = "co-authored-by"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A commit's message in two.

    Attributes:
        message: What its author wrote, below it the names of others that trailers give, each once.
        trailers: The trailers, as they were written.
    """

    message: str
    trailers: tuple[str, ...]


def without_trailers(message: str, author: str) -> Told:
    r"""Return a commit's message without trailers, but for who else had a part in it.

    The subject stays whatever it is. Who signs is mostly the author, whom the record names already;
    an address, an id and a robot are no matter of the commit.

    Args:
        message: As it was written, its lines ending in `\n`.
        author: The author's name.

    Example:
        >>> without_trailers("Mend it\n\nSigned-off-by: Ana <a@x>\nCo-authored-by: Bo <b@x>", "Ana").message
        'Mend it\n\nCo-authored-by: Bo'
    """
    subject, rest = _subject(message)
    found = [match for match in _TRAILER.finditer(rest) if match["value"].strip()]
    body = _UPDATES.sub("", rest)
    if not found and body == rest:
        return Told(message=message, trailers=())
    body = _without_separators(_BLANK_LINES.sub("\n\n", _TRAILER.sub("", body)))
    names = _names([(match["key"], match["value"]) for match in found], author)
    parts = ((subject + body).rstrip(), names)
    return Told(
        message="\n\n".join(filter(None, parts)),
        trailers=tuple(dict.fromkeys(match[0].strip() for match in found)),
    )


def _without_separators(body: str) -> str:
    """Return a text without the lines at its end that stood between it and its trailers."""
    lines = body.split("\n")
    while lines and (not lines[-1].strip() or _SEPARATOR.fullmatch(lines[-1])):
        lines.pop()
    return "\n".join(lines)


def _subject(message: str) -> tuple[str, str]:
    end = message.find("\n")
    return (message, "") if end < 0 else (message[:end], message[end:])


def _names(trailers: Sequence[tuple[str, str]], author: str) -> str:
    """Return a line for each role with the names in it; who wrote with the author before who did less."""
    told = {author.casefold(), ""}
    roles: dict[str, list[str]] = {}
    for key, value in sorted(trailers, key=lambda pair: pair[0].lower() != _WRITERS):
        name = value.partition("<")[0].strip() or value.strip(" \t<>")
        if not key.lower().endswith("-by") or name.casefold() in told or _ROBOT in name:
            continue
        told.add(name.casefold())
        roles.setdefault(key.capitalize(), []).append(name)
    return "\n".join(f"{role}: {', '.join(names)}" for role, names in roles.items())
