"""What was left out, where and why."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """One thing that was left out.

    Attributes:
        where: The path, or path:line.
        reason: One or two words, for example binary, minified, lfs, encoding, invalid; data is a stretch of a
            file, the rest of which is read.
        detail: More for a person to read, or "".
    """

    where: str
    reason: str
    detail: str = ""


class SkippedError(Exception):
    """A whole file is left out.

    Attributes:
        reason: One or two words, as in `Skipped`.
        detail: More for a person to read, or "".
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail


def refuse_huge(size: int, most: int) -> None:
    """Refuse a file that is larger than those that are read.

    Raises:
        SkippedError: huge.
    """
    if size > most:
        raise SkippedError("huge", f"{size:,} bytes; at most {most:,} are read (--max-size)")
