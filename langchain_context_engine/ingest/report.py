"""What an indexing run did, counted, and what it left out, where and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import cast

from langchain_context_engine.errors import UnknownNameError

OnProgress = Callable[[int, int, str], None]
"""Called with (done, total, label); `done` never falls and ends at `total`."""


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
    """A whole file is left out, for a reason and a detail as in `Skipped`."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionReport:
    """What became of the records of one collection.

    Attributes:
        added: New records.
        updated: Records that changed, or took the place of others of the same file.
        unchanged: Records that stood already; nothing of them was embedded.
        deleted: Records whose origin is gone.
    """

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    deleted: int = 0

    @property
    def written(self) -> int:
        """Records added, updated or deleted: 0 where nothing had changed."""
        return self.added + self.updated + self.deleted


def _total(told: str, name: str) -> int:
    """Return a property that is the sum of all collections' counts."""
    total = property(
        lambda report: sum(getattr(each, name) for each in report.collections.values()), doc=told
    )
    return cast("int", total)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexReport:
    """What a run did, for each collection and in all.

    Attributes:
        collections: The collection's name → its counts.
        skipped: Reason (binary, corrupt, excluded, huge, lfs, minified, missing, repository, special,
            submodule, symlink, unreadable, unsupported, …; for JSON Lines invalid, empty, duplicate) → how
            many files, lines or commits were left out for it.
        left_out: The files, parts of files and commits among these, each with its place and reason.
        warnings: What a person should know.
        seconds: How long it took.

    Example:
        >>> report = IndexReport(collections={"docs": CollectionReport(added=2, unchanged=1)})
        >>> report["docs"].added, report.written
        (2, 2)
    """

    collections: Mapping[str, CollectionReport] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
    left_out: tuple[Skipped, ...] = ()
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0

    def __getitem__(self, name: str) -> CollectionReport:
        try:
            return self.collections[name]
        except KeyError:
            raise UnknownNameError("collection", name, self.collections) from None

    added = _total("New records in all collections.", "added")
    updated = _total("Changed records in all collections.", "updated")
    unchanged = _total("Records of all collections that stood already.", "unchanged")
    deleted = _total("Records gone from all collections.", "deleted")
    written = _total("Records added, updated or deleted in all collections.", "written")
