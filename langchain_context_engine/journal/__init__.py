"""One SQLite file that remembers answers: traces, usage counts, feedback, judgments and activity.

The running application writes it; the inspector reads it. Traces are written by a background
thread, so recording one costs an answer some microseconds and cannot fail it. Several processes
may write one file at once.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from langchain_context_engine.journal import sets, tables, traces, trimming
from langchain_context_engine.journal.file import JournalFile
from langchain_context_engine.journal.losses import Ledger, Losses, characters_of, read_losses
from langchain_context_engine.journal.merging import MergedJournal, merge_journals
from langchain_context_engine.journal.traces import TraceFilter
from langchain_context_engine.journal.uses import count_uses, usage_metadata
from langchain_context_engine.journal.values import Activity, Feedback, Judgment, TraceRow, check_grade
from langchain_context_engine.journal.writer import BackgroundWriter
from langchain_context_engine.models.clock import read_instant
from langchain_context_engine.models.errors import ConfigError, ContextEngineError
from langchain_context_engine.models.types import Key
from langchain_context_engine.trace.context import Context

__all__ = ["Activity", "Feedback", "Journal", "Judgment", "Losses", "MergedJournal", "TraceRow",
           "merge_journals", "opening", "over_time", "values"]  # fmt: skip

_SMALLEST_BYTES, _KINDS = 1_000_000, ("view", "edit")


class Journal:
    """A journal in a file.

    `record` and `touch` return at once and never raise. The other writing methods write before
    they return, and raise `ContextEngineError` where the disk does not let them.

    Args:
        path: The file; it is made, readable by its owner alone, in a folder that exists.
        max_bytes: Size of the file, side files apart; the oldest traces go first.
        read_only: Make nothing and write nothing.
        must_exist: Make nothing.
        capacity: Traces that may wait to be written; when more come, they are dropped and counted.

    Raises:
        ConfigError: The file cannot be opened that way, is no journal, or of a newer version.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, Journal(f"{folder}/journal.db") as journal:
        ...     trace_id = journal.record(Context(text="hello", tokens=1, budget=10))
        ...     str(journal.trace(trace_id)), journal.count()
        ('hello', 1)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        max_bytes: int = 256_000_000,
        read_only: bool = False,
        must_exist: bool = False,
        capacity: int = 1024,
    ) -> None:
        if not isinstance(max_bytes, int) or max_bytes < _SMALLEST_BYTES:
            msg = f"max_bytes must be a whole number of at least {_SMALLEST_BYTES:,}, got {max_bytes!r}"
            raise ConfigError(msg)
        self.path = Path(path).absolute()
        self.max_bytes = max_bytes
        self._file = JournalFile(self.path, read_only=read_only, must_exist=must_exist)
        self._writer = BackgroundWriter(
            self._write, name=str(self.path), capacity=capacity, weigh=characters_of, on_idle=self._file.tidy
        )
        self.ledger = Ledger(self._writer)
        self._scope_key = tables.read_secret(self._file)

    def __repr__(self) -> str:
        return f"Journal({str(self.path)!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def dropped(self) -> int:
        """How many traces were dropped because the disk could not keep up."""
        return self._writer.dropped

    @property
    def failed(self) -> int:
        """How many traces could not be written: the disk is full, or one is larger than half the journal."""
        return self._writer.failed

    def record(self, context: Context, *, at: datetime | None = None) -> str:
        """Take a context to be written soon; return the id of its trace. Never waits, never raises.

        Args:
            context: The whole of it is kept, candidates included.
            at: When it was made, as `read_instant` reads it; by default, and where it is no date, now.
        """
        trace_id = uuid.uuid4().hex
        instant = read_instant(at)
        self._writer.put((trace_id, time.time() if instant is None else instant.timestamp(), context))
        return trace_id

    def touch(self, keys: Iterable[Key]) -> None:
        """Count one more use of each key, soon, and at once for `usage`. Never waits, never raises."""
        self._writer.put(Counter(keys))

    def flush(self, timeout_seconds: float = 5.0) -> bool:
        """Wait until everything recorded so far is written; return whether it was in time."""
        return self._writer.flush(timeout_seconds)

    def close(self) -> None:
        """Write what waits, for at most five seconds, and close the file; twice does nothing."""
        self._writer.close()
        self._file.close()

    def traces(self, limit: int = 50, offset: int = 0, search: str = "", **conditions: Any) -> list[TraceRow]:
        """Return a page of traces, newest first unless sorted otherwise, without their texts.

        Args:
            limit: Rows at most.
            offset: Rows to skip.
            search: Words that the question or a source's name contains, in any order, whatever their case.
            **conditions: Fields of `TraceFilter`: `status`, `query` (exactly), `since`, `until`, `scope` (a
                digest), `after` (a row's number), `is_bare`, `is_cut`, `is_slow`, `sort`, `ascending`.
        """
        with self._after_flush() as connection:
            return traces.rows(connection, TraceFilter.of(search, conditions), limit, offset)

    def count(self, search: str = "", **conditions: Any) -> int:
        """Return how many traces there are, or of them fulfil the conditions of `traces`."""
        with self._after_flush() as connection:
            return traces.count(connection, TraceFilter.of(search, conditions))

    def scope_digest(self, scope: Mapping[str, Any]) -> str:
        """Return the digest by which `traces` knows a scope; "" of none."""
        return traces.scope_digest(scope, self._scope_key)

    def trace(self, trace_id: str) -> Context:
        """Return the whole context of a trace.

        Raises:
            ConfigError: There is no such trace, or it cannot be read.
        """
        with self._after_flush() as connection:
            context = traces.body_of(connection, trace_id)
        if context is None:
            msg = f"journal {self.path} has no trace {trace_id!r}; it may have made room for newer ones"
            raise ConfigError(msg)
        return context

    def usage(self, keys: Iterable[Key]) -> Mapping[Key, int]:
        """Return how often each key was used; 0 for one that never was."""
        return count_uses(tuple(keys), self._stored_uses, self._writer)

    def _stored_uses(self, keys: Sequence[Key]) -> Mapping[Key, int]:
        with self._reading() as connection:
            return tables.usage_of(connection, keys)

    def feedback(self, key: Key, useful: bool) -> None:
        """Count one more opinion on a candidate."""
        with self._writing() as connection:
            tables.add_feedback(connection, key, useful, time.time())

    def opinions(self, keys: Iterable[Key]) -> Mapping[Key, Feedback]:
        """Return what `feedback` counted for each key."""
        with self._reading() as connection:
            return tables.feedback_of(connection, keys)

    def usage_metadata(self, keys: Iterable[Key]) -> Mapping[Key, Mapping[str, float]]:
        """Return what the signal `usage` reads, for the keys that were used or judged useful or not.

        `usage_count` is the number of uses, `usage_feedback` the mean of 1 for each useful and −1
        for each useless. Part of an answer, so it never raises: what cannot be read is missing.
        """
        asked = list(keys)
        try:
            return usage_metadata(self.usage(asked), self.opinions(asked))
        except ContextEngineError as error:
            self._writer.fail(error, 0)
            return {}

    def losses(self) -> Losses:
        """Return what could not be kept: of every process as the file says, of this one what it lacks too."""
        with self._after_flush() as connection:
            return self.ledger.added_to(read_losses(connection))

    def judge(self, query: str, key: Key, grade: int | None, *, rater: str = "") -> None:
        """Say how well a candidate answers a question, over the rater's earlier grade; None takes it back.

        Raises:
            ConfigError: The grade is no whole number from 0 to 3.
        """
        checked = None if grade is None else check_grade(grade)
        with self._writing() as connection:
            if checked is None:
                tables.remove_judgment(connection, query, key, rater)
            else:
                tables.add_judgment(connection, query, key, checked, at=time.time(), rater=rater)

    def judgments(self, query: str | None = None) -> list[Judgment]:
        """Return all judgments, or those of one question, by question, source, id and rater."""
        with self._reading() as connection:
            return tables.judgments_of(connection, query)

    def keep_set(self, name: str, questions: Mapping[str, str]) -> None:
        """Keep a named set (question → trace id) over an earlier one; an empty one is removed."""
        with self._writing() as connection:
            sets.keep(connection, name, questions, time.time())

    def sets(self) -> Mapping[str, Mapping[str, str]]:
        """Return every named set of questions: name → question → trace id."""
        with self._reading() as connection:
            return sets.every(connection)

    def view(self, user: str, key: Key, at: datetime | None = None, *, kind: str = "view") -> None:
        """Remember that a user viewed a record, or with `kind="edit"` edited it.

        Raises:
            ConfigError: `kind` is neither.
        """
        if kind not in _KINDS:
            msg = f"kind must be one of {', '.join(_KINDS)}, got {kind!r}"
            raise ConfigError(msg)
        instant = read_instant(at)
        with self._writing() as connection:
            seconds = time.time() if instant is None else instant.timestamp()
            tables.add_activity(connection, user, kind, key, seconds)

    def recent(
        self, user: str, *, kind: str | None = None, since: datetime | None = None, limit: int = 10
    ) -> list[Activity]:
        """Return what a user viewed or edited, or one kind of it, latest first."""
        with self._reading() as connection:
            return tables.recent_of(connection, user, kind, read_instant(since), limit)

    def _write(self, batch: Sequence[Any]) -> None:
        uses: Counter[Key] = Counter()
        encoded = []
        for item in batch:
            if isinstance(item, Counter):
                uses.update(item)
                continue
            trace_id, at, context = item
            try:
                encoded.append(traces.encode(trace_id, at, context, self._scope_key, self.max_bytes // 2))
            except Exception as error:  # noqa: BLE001 - one odd context must not cost the others
                self._writer.fail(error, 1)
        with self._file.writing() as connection:
            traces.insert(connection, encoded)
            tables.add_usage(connection, uses, time.time())
            told = self.ledger.write(connection, time.time())
            self._writer.leads_to(tables.usage_of(connection, uses))
            removed = trimming.trim(connection, self.max_bytes)
        self.ledger.written = told
        if removed:
            with self._file.alone() as connection:
                trimming.shrink(connection)
        if removed or self._file.is_untidy():
            self._file.tidy()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._file.writing() as connection:
                yield connection
        except (sqlite3.Error, OSError) as error:
            msg = f"journal {self.path} cannot be written: {error}"
            raise ContextEngineError(msg) from error

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._file.reading() as connection:
                yield connection
        except sqlite3.Error as error:
            msg = f"journal {self.path} cannot be read: {error}"
            raise ContextEngineError(msg) from error

    @contextlib.contextmanager
    def _after_flush(self) -> Iterator[sqlite3.Connection]:
        # What this process recorded a moment ago must be there.
        self.flush()
        with self._reading() as connection:
            yield connection
