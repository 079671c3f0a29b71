"""What a journal could not keep, told where answers are read: in the next context, and in its file."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime

from langchain_context_engine.journal.values import Losses
from langchain_context_engine.journal.writer import BackgroundWriter
from langchain_context_engine.trace.context import Context

__all__ = ["Ledger", "Losses", "characters_of", "read_losses"]

# Made with the first loss, so that a file of this version may lack it and one of an earlier version have it.
_TABLE = """CREATE TABLE IF NOT EXISTS losses (
    why TEXT PRIMARY KEY, traces INTEGER NOT NULL, at REAL NOT NULL
) WITHOUT ROWID"""


class Ledger:
    """What one process's writer lost: how much of it the file says already, and how much was told.

    Args:
        writer: Counts what it drops and what it fails to write.
    """

    def __init__(self, writer: BackgroundWriter) -> None:
        self._writer = writer
        self._told = 0
        self.written = (0, 0)

    def write(self, connection: sqlite3.Connection, at: float) -> tuple[int, int]:
        """Add to the file what was lost since it was last written; return what is then in it.

        The caller sets `written` to that once the transaction has ended well.
        """
        now = (self._writer.dropped, self._writer.failed)
        reasons = zip(("dropped", "failed"), now, self.written, strict=True)
        more = [(why, new - old, at) for why, new, old in reasons if new > old]
        if more:
            connection.execute(_TABLE)
            connection.executemany(
                "INSERT INTO losses VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET "
                "traces = traces + excluded.traces, at = max(at, excluded.at)",
                more,
            )
        return now

    def added_to(self, found: Losses) -> Losses:
        """Return what a file says was lost with what of it could not even be written there."""
        dropped, failed = self._writer.dropped - self.written[0], self._writer.failed - self.written[1]
        if dropped <= 0 and failed <= 0:
            return found
        return Losses(dropped=found.dropped + dropped, failed=found.failed + failed, last=datetime.now(UTC))

    def news(self) -> str:
        """Return what a reader should know that was not told yet; "" of nothing."""
        lost = self._writer.dropped + self._writer.failed
        if lost <= self._told:
            return ""
        since, self._told = lost - self._told, lost
        answers = "answer" if since == 1 else "answers"
        return (
            f"the journal could not keep {since:,} {answers} before this one: the disk is too slow or full,"
            " or a trace too large"
        )


def read_losses(connection: sqlite3.Connection) -> Losses:
    """Return what a file says was lost, by whatever process."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'losses'").fetchone():
        return Losses()
    found = {
        str(why): (int(traces), float(at))
        for why, traces, at in connection.execute("SELECT why, traces, at FROM losses")
    }
    last = max((at for _, at in found.values()), default=None)
    return Losses(
        dropped=found.get("dropped", (0, 0))[0],
        failed=found.get("failed", (0, 0))[0],
        last=None if last is None else datetime.fromtimestamp(last, tz=UTC),
    )


def characters_of(item: object) -> int:
    """Return how many characters the texts of a recorded context have, its parts' too; 0 of anything else."""
    context = item[-1] if isinstance(item, tuple) and item else None
    if not isinstance(context, Context):
        return 0
    parts = sum(characters_of((part.context,)) for part in context.parts)
    return parts + len(context.text) + sum(len(candidate.text) for candidate in context.candidates)
