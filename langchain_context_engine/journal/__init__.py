"""One SQLite file that remembers answers: traces, what models made of them, use, feedback and judgments.

The running application writes it; the inspector reads it. Traces are written by a background
thread, so recording one costs an answer some microseconds and cannot fail it. Several processes
may write one file at once.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from langchain_context_engine.errors import ConfigError, ContextEngineError
from langchain_context_engine.journal import traces
from langchain_context_engine.journal.database import Database, trim
from langchain_context_engine.journal.values import Activity, Answer, Judgment, TraceRow, Usage, check_grade
from langchain_context_engine.models.clock import read_instant
from langchain_context_engine.models.freeze import clean_text
from langchain_context_engine.models.types import Key
from langchain_context_engine.rendering.citations import used_citations
from langchain_context_engine.trace.context import Context

__all__ = ["Activity", "Answer", "Journal", "Judgment", "TraceRow", "Usage", "kept_in", "open_journal"]

_SMALLEST_BYTES = 1_000_000
_LONGEST_NAME = 80
_FIND = "INSERT OR REPLACE INTO words VALUES (?, ?, ?)"
_JUDGE = "INSERT OR REPLACE INTO judgments (query, source, id, rater, grade, at) VALUES (?, ?, ?, ?, ?, ?)"


class Journal:
    """A journal in a file.

    `record` returns at once and never raises: of more than 256 traces that wait, the later ones are dropped
    and counted. The other writing methods write before they return,
    and raise `ContextEngineError` where the disk does not let them.

    Args:
        path: The file; it is made, readable by its owner alone, in a folder that exists.
        max_bytes: Size of the file; the oldest traces go first.
        read_only: Make nothing and write nothing.
        must_exist: Make nothing.

    Raises:
        ConfigError: The file cannot be opened that way, is no journal, or of another version.

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
    ) -> None:
        if not isinstance(max_bytes, int) or max_bytes < _SMALLEST_BYTES:
            raise ConfigError(
                f"max_bytes must be a whole number of at least {_SMALLEST_BYTES:,}, got {max_bytes!r}"
            )
        self.path = Path(path).absolute()
        self.max_bytes = max_bytes
        self._database = Database(self.path, read_only=read_only, must_exist=must_exist)
        self._writer = traces.BackgroundWriter(self._write, name=str(self.path))
        self._losses_written = 0

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
        self._writer.put((trace_id, _seconds(at), context))
        return trace_id

    def flush(self, timeout_seconds: float = 5.0) -> bool:
        """Wait until everything recorded so far is written; return whether it was in time."""
        return self._writer.flush(timeout_seconds)

    def close(self) -> None:
        """Write what waits, for at most five seconds, and let nobody in any more; twice does nothing."""
        self._writer.close()
        self._database.is_closed = True

    def traces(self, limit: int = 50, offset: int = 0, search: str = "", **conditions: Any) -> list[TraceRow]:
        """Return a page of traces, newest first unless sorted otherwise, without their texts.

        Args:
            limit: Rows at most.
            offset: Rows to skip.
            search: Words that the trace holds, in any order, each perhaps a part of one, whatever their case
                and accents: of the question, the sources that were asked, the warnings, the ids and names of
                candidates, the passages' texts, a model's answer, a note and its tags.
            **conditions: `sort` (time, question, used, or a figure of `TraceRow`), `ascending`; `id`,
                `id_prefix`, `status`, `scope` (a digest), `query` (exactly), `since`, `until`, `after`
                (a row's number), `is_bare` (nothing kept), `is_cut` (a passage in part), `is_slow` (among
                the slowest twentieth, of the scope where one is given; where all took as long, none),
                `is_noted` (it has a note or tags).

        Raises:
            ConfigError: A condition is unknown, or traces are not sorted by that.
        """
        with self._after_flush() as connection:
            return traces.rows(connection, search, (limit, offset), conditions)

    def count(self, search: str = "", **conditions: Any) -> int:
        """Return how many traces there are, or of them fulfil the conditions of `traces`."""
        term, values = traces.where(search, conditions)
        with self._after_flush() as connection:
            counted = connection.execute(f"SELECT count(*) FROM traces{term}", values)  # noqa: S608 - constants
            return int(counted.fetchone()[0])

    def scope_digest(self, scope: Mapping[str, Any]) -> str:
        """Return the digest by which `traces` knows a scope; "" of none."""
        return traces.scope_digest(scope)

    def trace(self, trace_id: str) -> Context:
        """Return the whole context of a trace.

        Raises:
            ConfigError: There is no such trace, or it cannot be read.
        """
        with self._after_flush() as connection:
            context = traces.body_of(connection, trace_id)
        if context is None:
            raise ConfigError(
                f"journal {self.path} has no trace {trace_id!r}; it may have made room for newer ones"
            )
        return context

    def record_answer(self, trace_id: str, answer: str) -> Answer:
        """Keep what a model answered beside the context that it was given, over an earlier answer.

        Args:
            trace_id: `Context.trace_id` of the context.
            answer: The whole answer, with its citation markers.

        Raises:
            ConfigError: There is no such trace.
        """
        context = self.trace(trace_id)
        used = set(used_citations(answer, context.citations))
        kept = Answer(
            trace_id=trace_id,
            query=context.request.query,
            text=clean_text(answer),
            cited=tuple(p.key for p in context.passages if p.citation in used),
            unused=tuple(p.key for p in context.passages if p.citation not in used),
            time=datetime.now(UTC),
        )
        row = (
            trace_id,
            kept.time.timestamp(),
            kept.query,
            kept.text,
            *map(json.dumps, (kept.cited, kept.unused)),
        )
        self._keep("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?)", [row])
        self._keep(_FIND, [(trace_id, "answer", traces.words(kept.text))])
        return kept

    def note(self, trace_id: str, text: str = "", tags: Iterable[str] = ()) -> None:
        """Keep a note and tags on a trace, over earlier ones; it is found by their words.

        Args:
            trace_id: The trace's id.
            text: What is to be remembered of it; "" of nothing.
            tags: A few words each.

        Raises:
            ConfigError: There is no such trace.
        """
        self.trace(trace_id)
        told = clean_text(text).strip()
        named = [tag for tag in dict.fromkeys(" ".join(clean_text(one).split()) for one in tags) if tag]
        self._keep("UPDATE traces SET note = ?, tags = ? WHERE id = ?", [(told, json.dumps(named), trace_id)])
        self._keep(_FIND, [(trace_id, "note", traces.words(told, *named))])

    def answers(self, trace_id: str | None = None) -> list[Answer]:
        """Return the models' answers, latest first, or that to one trace."""
        asked = "SELECT trace, query, text, cited, unused, at FROM answers WHERE :id IS NULL OR trace = :id"
        return [
            Answer(
                trace_id=id_, query=query, text=text, cited=_keys(cited), unused=_keys(unused), time=_time(at)
            )
            for id_, query, text, cited, unused, at in self._told(
                f"{asked} ORDER BY at DESC, trace", {"id": trace_id}
            )
        ]

    def judge_by_answers(self, rater: str = "answers") -> int:
        """Judge by every kept answer: what it cites 2, what it was given and never used 0; return how many.

        A passage that one answer to a question cites and another does not is cited. The name of the rater
        keeps people's grades beside these.
        """
        grades: dict[tuple[str, Key], int] = {}
        for answer in self.answers():
            for key, grade in answer.grades.items():
                grades[answer.query, key] = max(grade, grades.get((answer.query, key), grade))
        self._keep(
            _JUDGE, [(query, *key, rater, grade, time.time()) for (query, key), grade in grades.items()]
        )
        return len(grades)

    def touch(self, keys: Iterable[Key]) -> None:
        """Count one more use of each key."""
        self._add([("uses", "", *_clean(key)) for key in keys])

    def feedback(self, key: Key, useful: bool) -> None:
        """Count one more opinion on a candidate."""
        self._add([("useful" if useful else "useless", "", *_clean(key))])

    def usage(self, keys: Iterable[Key]) -> Mapping[Key, Usage]:
        """Return what `touch` and `feedback` counted for each key."""
        asked = "SELECT what, times FROM counts WHERE source = ? AND id = ? AND user = ''"
        with self._database.reading() as connection:
            found = {key: dict(connection.execute(asked, _clean(key)).fetchall()) for key in keys}
        return {key: Usage(**counted) for key, counted in found.items()}

    def usage_metadata(self, keys: Iterable[Key]) -> Mapping[Key, Mapping[str, float]]:
        """Return what the signal `usage` reads, for the keys that were used or judged useful or not.

        Part of an answer, so it never raises: what cannot be read is missing.
        """
        try:
            found = self.usage(keys)
        except ContextEngineError as error:
            self._writer.fail(error, 0)
            return {}
        return {
            key: {"usage_count": float(usage.uses), "usage_feedback": usage.opinion}
            for key, usage in found.items()
            if usage != Usage()
        }

    def judge(self, query: str, key: Key, grade: int | None, *, rater: str = "") -> None:
        """Say how well a candidate answers a question, over the rater's earlier grade; None takes it back.

        Args:
            query: The question.
            key: The candidate's.
            grade: A whole number from 0 to 3, or None.
            rater: Who says so.

        Raises:
            ConfigError: The grade is none.
        """
        self.judge_all([(query, key, rater, grade)])

    def judge_all(self, judgments: Iterable[tuple[str, Key, str, int | None]]) -> None:
        """Do so with several (question, candidate, rater, grade) at once: all of them are kept, or none.

        Raises:
            ConfigError: A grade is none.
        """
        at = time.time()
        rows = [
            (
                clean_text(query),
                *_clean(key),
                clean_text(rater),
                None if grade is None else check_grade(grade),
                at,
            )
            for query, key, rater, grade in judgments
        ]
        self._keep(_JUDGE, rows)

    def judgments(self, query: str | None = None) -> list[Judgment]:
        """Return all judgments, or those of one question, by question, source, id and rater."""
        asked = (
            "SELECT query, source, id, grade, at, rater FROM judgments WHERE grade IS NOT NULL "
            "AND (:query IS NULL OR query = :query) ORDER BY query, source, id, rater"
        )
        wanted = {"query": None if query is None else clean_text(query)}
        return [
            Judgment(query=judged, key=(source, item), grade=grade, time=_time(at), rater=rater)
            for judged, source, item, grade, at, rater in self._told(asked, wanted)
        ]

    def keep_set(self, name: str, questions: Mapping[str, str]) -> None:
        """Keep a named set (question → trace id) over an earlier one; an empty one is removed.

        Raises:
            ConfigError: The name is blank or too long.
        """
        cleaned = _name_of("a set", name)
        with self._database.writing() as connection:
            connection.execute("DELETE FROM sets WHERE name = ?", (cleaned,))
            connection.executemany(
                "INSERT INTO sets VALUES (?, ?, ?)",
                [(cleaned, clean_text(query), trace) for query, trace in questions.items()],
            )

    def sets(self) -> Mapping[str, Mapping[str, str]]:
        """Return every named set of questions: name → question → trace id."""
        found: dict[str, dict[str, str]] = {}
        for name, query, trace in self._told("SELECT name, query, trace FROM sets ORDER BY name, query"):
            found.setdefault(name, {})[query] = trace
        return found

    def keep_view(self, name: str, filters: Mapping[str, str]) -> None:
        """Keep by a name what a list of traces was narrowed to, over an earlier one; an empty one is removed.

        Raises:
            ConfigError: The name is blank or too long.
        """
        cleaned = _name_of("a view", name)
        if filters:
            self._keep("INSERT OR REPLACE INTO views VALUES (?, ?)", [(cleaned, json.dumps(dict(filters)))])
        else:
            self._keep("DELETE FROM views WHERE name = ?", [(cleaned,)])

    def views(self) -> Mapping[str, Mapping[str, str]]:
        """Return every named view: name → filter → value."""
        return {name: json.loads(kept) for name, kept in self._told("SELECT * FROM views ORDER BY name")}

    def view(self, user: str, key: Key, at: datetime | None = None, *, kind: str = "view") -> None:
        """Remember that a user viewed a record, or edited it.

        Args:
            user: Who.
            key: The record's.
            at: When; by default now.
            kind: view or edit.

        Raises:
            ConfigError: `kind` is neither.
        """
        if kind not in {"view", "edit"}:
            raise ConfigError(f"kind must be view or edit, got {kind!r}")
        self._add([(kind, clean_text(user), *_clean(key))], _seconds(at))

    def recent(
        self, user: str, *, kind: str | None = None, since: datetime | None = None, limit: int = 10
    ) -> list[Activity]:
        """Return what a user viewed or edited, latest first.

        Args:
            user: Who.
            kind: view or edit; None is both.
            since: Only what was done then or later.
            limit: Entries at most.
        """
        asked = (
            "SELECT what, source, id, times, at FROM counts WHERE user = ? AND what IN ('view', 'edit') "
            "AND what = coalesce(?, what) AND at >= ? ORDER BY at DESC, source, id LIMIT ?"
        )
        instant = read_instant(since)
        earliest = instant.timestamp() if instant else float("-inf")
        return [
            Activity(user=user, kind=what, key=(source, item), times=times, time=_time(at))
            for what, source, item, times, at in self._told(asked, (clean_text(user), kind, earliest, limit))
        ]

    def lost(self) -> int:
        """Return how many answers could not be kept, by whatever process."""
        with self._after_flush() as connection:
            told = connection.execute("SELECT answers FROM losses").fetchone()[0]
        return int(told) + self.dropped + self.failed - self._losses_written

    def _write(self, batch: Sequence[tuple[str, float, Context]]) -> None:
        encoded = []
        for trace_id, at, context in batch:
            try:
                encoded.append(traces.encode(trace_id, at, context, self.max_bytes // 2))
            except (AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
                self._writer.fail(error, 1)
        lost = self.dropped + self.failed
        with self._database.writing() as connection:
            traces.insert(connection, encoded)
            connection.execute("UPDATE losses SET answers = answers + ?", (lost - self._losses_written,))
            trim(connection, self.max_bytes)
        self._losses_written = lost

    def _add(self, counted: Iterable[tuple[str, str, str, str]], at: float | None = None) -> None:
        seconds = time.time() if at is None else at
        self._keep(
            "INSERT INTO counts (what, user, source, id, times, at) VALUES (?, ?, ?, ?, 1, ?) "
            "ON CONFLICT DO UPDATE SET times = times + excluded.times, at = max(at, excluded.at)",
            [(*row, seconds) for row in counted],
        )

    def _keep(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        with self._database.writing() as connection:
            connection.executemany(statement, rows)

    def _told(self, asked: str, values: Any = ()) -> list[tuple[Any, ...]]:
        with self._database.reading() as connection:
            return connection.execute(asked, values).fetchall()

    @contextmanager
    def _after_flush(self) -> Iterator[sqlite3.Connection]:
        # What this process recorded a moment ago must be there.
        self.flush()
        with self._database.reading() as connection:
            yield connection


def open_journal(journal: Any) -> Any:
    """Return a `Journal` for a path; a journal, or whatever has `record`, and None as they are."""
    if journal is None or hasattr(journal, "record"):
        return journal
    if not isinstance(journal, (str, bytes, os.PathLike)):
        raise ConfigError(f"journal must be a path or a Journal, got {type(journal).__name__}")
    return Journal(os.fsdecode(journal))


def kept_in(journal: Any, context: Context) -> Context:
    """Record a context where there is a journal; return it with its id."""
    if journal is None:
        return context
    trace_id = journal.record(context)
    return replace(context, trace_id=trace_id) if isinstance(trace_id, str) else context


def _name_of(what: str, name: str) -> str:
    cleaned = clean_text(name).strip()
    if not 0 < len(cleaned) <= _LONGEST_NAME:
        raise ConfigError(f"the name of {what} has 1 to {_LONGEST_NAME} characters, got {name!r:.100}")
    return cleaned


def _seconds(at: datetime | None) -> float:
    instant = read_instant(at)
    return time.time() if instant is None else instant.timestamp()


def _time(at: float) -> datetime:
    return datetime.fromtimestamp(at, tz=UTC)


def _keys(stored: str) -> tuple[Key, ...]:
    return tuple((source, item) for source, item in json.loads(stored))


def _clean(key: Key) -> tuple[str, str]:
    source, item = key
    return clean_text(str(source)), clean_text(str(item))
