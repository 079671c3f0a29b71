"""The journal's traces: written behind the answers' backs, found by what they tell, listed without texts."""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import json
import logging
import math
import queue
import sqlite3
import threading
import time
import unicodedata
import weakref
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from langchain_context_engine.errors import ConfigError
from langchain_context_engine.journal.values import TraceRow
from langchain_context_engine.models.clock import read_instant
from langchain_context_engine.models.freeze import clean_text
from langchain_context_engine.models.locks import ForkSafeLock
from langchain_context_engine.models.redact import safe_message
from langchain_context_engine.models.types import Status, Verdict
from langchain_context_engine.ranking.answerability import UNSURE
from langchain_context_engine.trace.context import Context
from langchain_context_engine.trace.labels import labels

_LISTED = ["at" if field.name == "time" else field.name for field in fields(TraceRow)]
_WRITTEN = [name for name in _LISTED if name not in {"number", "note", "tags"}]
_AS_JSON = ("offered", "timings", "source_timings", "tags")
_SORTED = {
    "time": "at", "question": "query COLLATE NOCASE", "used": "1.0 * tokens / max(budget, 1)",
    **{name: name for name in ("candidates", "kept", "tokens", "budget", "duplicates", "milliseconds")},
    **{name: name for name in ("warnings", "status", "cut")},
}  # fmt: skip
"""What a list can be sorted by."""

# What another scope took must not show in which of one are slow.
_OF_SCOPE = "FROM traces WHERE :scope IS NULL OR scope = :scope"
_SLOW = f"""milliseconds >= (
    SELECT milliseconds {_OF_SCOPE} ORDER BY milliseconds DESC
    LIMIT 1 OFFSET (SELECT count(*) / 20 {_OF_SCOPE})
) AND milliseconds > (SELECT min(milliseconds) {_OF_SCOPE})"""
_CONDITIONS = {
    "id": "id = :id", "id_prefix": "substr(id, 1, length(:id_prefix)) = :id_prefix",
    "status": "status = :status", "scope": "scope = :scope", "query": "query = :query",
    "since": "at >= :since", "until": "at <= :until", "after": "number > :after",
    "is_bare": "kept = 0", "is_cut": "cut > 0", "is_slow": _SLOW,
    "is_noted": "note || tags != '[]'",
}  # fmt: skip
_HOLDS = "id IN (SELECT trace FROM words WHERE instr(words, {}) > 0)"
_LEVEL = 3  # zlib's: twice as fast as its default for a twentieth more bytes
_LOGGER = logging.getLogger("langchain_context_engine.journal")
_BATCH, _CAPACITY = 32, 256
"""Items that are written at once, and that may wait: some hundred megabytes of a thousand candidates each."""

_IDLE_SECONDS = 2.0
_EXIT_SECONDS = 2.0


def where(search: str, conditions: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the condition in SQL, with its values, of what `Journal.traces` was given.

    Raises:
        ConfigError: A condition is unknown.
    """
    unknown = sorted(set(conditions) - _CONDITIONS.keys() - {"sort", "ascending"})
    if unknown:
        known = ", ".join(["search", *_CONDITIONS])
        raise ConfigError(f"traces are not filtered by {', '.join(unknown)}; known are {known}")
    terms, values = [], {"scope": conditions.get("scope")}
    for place, word in enumerate(folded(search).split()):
        terms.append(_HOLDS.format(f":word{place}"))
        values[f"word{place}"] = word
    for name, term in _CONDITIONS.items():
        value = conditions.get(name)
        if value is not None and value is not False:
            instant = read_instant(value) if name in {"since", "until"} else None
            terms.append(term)
            plain = clean_text(value) if isinstance(value, str) else value
            values[name] = instant.timestamp() if instant else plain
    return (f" WHERE {' AND '.join(terms)}" if terms else ""), values


def rows(
    connection: sqlite3.Connection, search: str, page: tuple[int, int], conditions: Mapping[str, Any]
) -> list[TraceRow]:
    """Return a page of traces; equals come latest first.

    Args:
        connection: One that reads.
        search: Words to find.
        page: How many, and how many are before.
        conditions: See `Journal.traces`.

    Raises:
        ConfigError: A condition is unknown, or traces are not sorted by that.
    """
    term, values = where(search, conditions)
    sort = conditions.get("sort", "time")
    if sort not in _SORTED:
        raise ConfigError(f"traces are sorted by {', '.join(_SORTED)}, not by {sort!r}")
    order = f"{_SORTED[sort]} {'ASC' if conditions.get('ascending') else 'DESC'}, at DESC, number DESC"
    cursor = connection.execute(
        f"SELECT {', '.join(_LISTED)} FROM traces{term} ORDER BY {order} LIMIT :limit OFFSET :offset",  # noqa: S608 - constants only
        {**values, "limit": page[0], "offset": page[1]},
    )
    return [_row(dict(zip(_LISTED, found, strict=True))) for found in cursor]


def _row(named: dict[str, Any]) -> TraceRow:
    named |= {name: json.loads(named[name]) for name in _AS_JSON}
    named["tags"] = tuple(named["tags"])
    return TraceRow(time=datetime.fromtimestamp(named.pop("at"), tz=UTC), **named)


def encode(trace_id: str, at: float, context: Context, most_bytes: int) -> dict[str, Any]:
    """Return a trace as it is written: the values of its row, and its compressed body.

    Args:
        trace_id: Its id.
        at: When it was recorded, epoch seconds.
        context: The whole of it.
        most_bytes: How large its body may be.

    Raises:
        ConfigError: The body is larger.
    """
    body = zlib.compress(context.to_json().encode(), _LEVEL)
    if len(body) > most_bytes:
        raise ConfigError(
            f"a trace of {len(body):,} bytes is too large for the journal; give it a larger max_bytes"
        )
    offered = Counter(clean_text(str(candidate.origin)) for candidate in context.candidates)
    query = context.request.query
    return {
        "id": trace_id,
        "at": at,
        "query": query,
        "candidates": len(context.candidates),
        "kept": len(context.passages),
        "cut": sum(passage.is_truncated for passage in context.passages),
        "tokens": context.tokens,
        "budget": context.budget,
        "duplicates": sum(d.verdict is not Verdict.CHANGED and d.is_duplicate for d in context.decisions),
        "milliseconds": math.fsum(context.timings.values()),
        "warnings": len(context.warnings),
        "status": status_of(context),
        "scope": scope_digest(context.request.scope),
        "offered": _as_json(offered),
        "timings": _as_json(context.timings),
        "source_timings": _as_json(context.source_timings),
        "body": body,
        "words": words(*_texts_of(context)),
    }


def status_of(context: Context) -> str:
    """Return how an answer ended: its status; unsure where what was found may hold a part of the question."""
    is_unsure = any(warning.startswith(UNSURE) for warning in context.warnings)
    return "unsure" if context.status is Status.OK and is_unsure else str(context.status)


def _texts_of(context: Context) -> Iterator[str]:
    """Yield what a trace is found by, that of its parts too: not the texts of what was left out."""
    yield from (context.request.query, *context.source_timings, *context.warnings)
    yield from {candidate.origin for candidate in context.candidates}
    for key, label in labels(context).items():
        yield from (*key, label)
    yield from (passage.text for passage in context.passages)
    for part in context.parts:
        if part.context is not None:
            yield from _texts_of(part.context)


def insert(connection: sqlite3.Connection, encoded: Sequence[dict[str, Any]]) -> None:
    """Write encoded traces."""
    columns, marks = ", ".join(_WRITTEN), ", ".join(f":{name}" for name in _WRITTEN)
    connection.executemany(f"INSERT INTO traces ({columns}) VALUES ({marks})", encoded)  # noqa: S608 - constants
    connection.executemany("INSERT INTO bodies VALUES (:id, :body)", encoded)
    connection.executemany("INSERT INTO words VALUES (:id, 'trace', :words)", encoded)


def body_of(connection: sqlite3.Connection, trace_id: str) -> Context | None:
    """Return a whole trace, or None where there is none of that id.

    Raises:
        ConfigError: It cannot be read.
    """
    found = connection.execute("SELECT body FROM bodies WHERE id = ?", (trace_id,)).fetchone()
    if found is None:
        return None
    try:
        data = json.loads(zlib.decompress(found[0]))
    except (zlib.error, ValueError, RecursionError) as error:
        raise ConfigError(f"trace {trace_id} is damaged: {type(error).__name__}") from error
    return Context.from_dict(data)


def scope_digest(scope: object) -> str:
    """Return a digest of a scope, whatever the order of its keys and of a list's values; "" of none."""
    if not isinstance(scope, Mapping) or not scope:
        return ""
    parts = sorted(
        (str(name), sorted(map(repr, value)) if isinstance(value, (list, tuple, set)) else [repr(value)])
        for name, value in scope.items()
    )
    return hashlib.blake2b(repr(parts).encode("utf-8", "replace"), digest_size=8).hexdigest()


def _as_json(figures: Mapping[str, float]) -> str:
    return json.dumps({clean_text(name): round(figure, 3) for name, figure in figures.items()})


def folded(text: str) -> str:
    """Return a text without case and accents, as it is searched.

    Example:
        >>> folded("Café STRASSE"), folded("Straße")
        ('cafe strasse', 'strasse')
    """
    if text.isascii():
        return clean_text(text).lower()
    parts = unicodedata.normalize("NFKD", clean_text(text).casefold())
    return "".join(part for part in parts if not unicodedata.combining(part))


def words(*texts: str) -> str:
    """Return every word of some texts once, folded: a word that is searched may be a part of one."""
    return " ".join(dict.fromkeys(folded("\n".join(texts)).split()))


class BackgroundWriter:
    """Hands items to `write` in a daemon thread, in order, several at once: never slows or fails an answer.

    The thread starts with the first item and ends after two idle seconds. A full queue drops the new item;
    a failing `write` loses its items. Both are counted, and the 1st, 2nd, 4th, 8th, … logged. What waits at
    a fork is the parent's to write.

    Args:
        write: Takes a batch; called by one thread at a time.
        name: What warnings call it.
    """

    def __init__(self, write: Callable[[Sequence[Any]], None], *, name: str) -> None:
        self._write, self._name = write, name
        self.dropped = 0
        self.failed = 0
        self.is_closed = False
        self._begin()
        self._lock = ForkSafeLock(self._begin)
        _WRITERS.add(self)

    def _begin(self) -> None:
        self._queue: queue.Queue[Any] = queue.Queue(_CAPACITY)
        self._thread: threading.Thread | None = None

    def put(self, item: object) -> None:
        """Take an item, or drop it where too many wait or this is closed; never wait, never raise."""
        with self._lock:
            is_taken = not (self.is_closed or self._queue.full())
            if is_taken:
                self._queue.put_nowait(item)
                self._start()
        if not is_taken:
            self.dropped += 1
            why = "is closed" if self.is_closed else "cannot keep up"
            self._log(self.dropped, f"{why}: {self.dropped} traces dropped")

    def _start(self) -> None:
        if self._thread is not None:
            return
        thread = threading.Thread(target=self._run, name="context-journal", daemon=True)
        # While a program ends none can start: what waits is lost, and nobody is left to hear of it.
        with contextlib.suppress(RuntimeError):
            thread.start()
            self._thread = thread

    def flush(self, timeout_seconds: float = 5.0) -> bool:
        """Wait until everything taken so far is written; return whether it was in time."""
        done = self._queue.all_tasks_done
        with done:
            return done.wait_for(lambda: not self._queue.unfinished_tasks, timeout_seconds)

    def close(self, timeout_seconds: float = 5.0) -> bool:
        """Flush and take nothing more; return whether all was written in time."""
        self.is_closed = True
        return self.flush(timeout_seconds)

    def fail(self, error: Exception, count: int) -> None:
        """Count items that could not be written."""
        before, self.failed = self.failed, self.failed + count
        if not before or before.bit_length() < self.failed.bit_length():
            self._log(1, f"does not work: {safe_message(error)}; {self.failed} traces could not be written")

    def _log(self, number: int, told: str) -> None:
        if number.bit_count() == 1:  # so that a log is not flooded
            _LOGGER.warning("journal %s %s", self._name, told)

    def _run(self) -> None:
        while True:
            try:
                batch = [self._queue.get(timeout=_IDLE_SECONDS)]
            except queue.Empty:
                with self._lock:
                    if self._queue.empty():
                        self._thread = None
                        return
                continue
            with contextlib.suppress(queue.Empty):
                while len(batch) < _BATCH:
                    batch.append(self._queue.get_nowait())
            try:
                self._write(batch)
            except Exception as error:  # noqa: BLE001 - whatever happens here, answers go on
                self.fail(error, len(batch))
            for _ in batch:
                self._queue.task_done()
            del batch  # an idle thread holds no context


_WRITERS: weakref.WeakSet[BackgroundWriter] = weakref.WeakSet()


@atexit.register
def _flush_all() -> None:
    deadline = time.monotonic() + _EXIT_SECONDS
    for writer in list(_WRITERS):
        writer.flush(max(0.0, deadline - time.monotonic()))
