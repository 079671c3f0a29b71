"""Where traces come from: the journal, a file, the samples. Every name is validated before it is opened."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_context_engine import ConfigError, Context, ContextEngineError, Journal
from langchain_context_engine.journal import Answer, Judgment, TraceRow

JOURNAL_VARIABLE = "CONTEXT_ENGINE_JOURNAL"
TRACE_VARIABLE = "CONTEXT_ENGINE_TRACE"
SCOPE_VARIABLE = "CONTEXT_ENGINE_SCOPE"

FILE = "file"
"""The name of the trace that the inspector was started with."""

SAMPLES = {
    "duplicates": "Two notes say the same: one stands in the context, the other is named as its duplicate.",
    "latest": "The question asks for the latest decision, so the newer one comes before the older.",
    "tight budget": "120 tokens: a long account gives only its best sentences, and much has no room.",
    "weighted": "Four signals are weighed, and each source has a share of the budget.",
}
"""What each sample shows."""

_FOLDER = Path(__file__).parent / "samples"
_NAME = re.compile(r"[a-z0-9-]{1,64}")
_LARGEST = 64_000_000
_LATEST = 500


@dataclass(frozen=True, slots=True)
class Settings:
    """What the inspector was started with; of the journal only what was asked within the scope is shown."""

    journal: Path | None = None
    trace: Path | None = None
    scope: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_environment(cls) -> Settings:
        """Read what the launcher passed on."""
        journal, trace = os.environ.get(JOURNAL_VARIABLE), os.environ.get(TRACE_VARIABLE)
        return cls(
            journal=Path(journal) if journal else None,
            trace=Path(trace) if trace else None,
            scope=json.loads(os.environ.get(SCOPE_VARIABLE) or "{}"),
        )


class _JournalWithin(Journal):
    """A journal that shows only traces whose question had exactly one scope, and what was said of those."""

    def __init__(self, path: Any, scope: Mapping[str, Any], **options: Any) -> None:
        super().__init__(path, **options)
        self._digest = self.scope_digest(dict(scope))

    def traces(self, limit: int = 50, offset: int = 0, search: str = "", **conditions: Any) -> list[TraceRow]:
        return super().traces(limit, offset, search, **{**conditions, "scope": self._digest})

    def count(self, search: str = "", **conditions: Any) -> int:
        return super().count(search, **{**conditions, "scope": self._digest})

    def trace(self, trace_id: str) -> Context:
        context = super().trace(trace_id)
        if self.scope_digest(context.request.scope) != self._digest:
            raise ConfigError(f"journal {self.path} has no trace {trace_id!r} in the scope that is shown")
        return context

    def answers(self, trace_id: str | None = None) -> list[Answer]:
        mine = self._mine()
        return [answer for answer in super().answers(trace_id) if answer.trace_id in mine]

    def judgments(self, query: str | None = None) -> list[Judgment]:
        found = super().judgments(query)
        asked = {question: bool(self.count(query=question)) for question in {one.query for one in found}}
        return [one for one in found if asked[one.query]]

    def sets(self) -> Mapping[str, Mapping[str, str]]:
        mine = self._mine()
        kept = {
            name: {query: trace for query, trace in questions.items() if trace in mine}
            for name, questions in super().sets().items()
        }
        return {name: questions for name, questions in kept.items() if questions}

    def keep_set(self, name: str, questions: Mapping[str, str]) -> None:
        mine = self._mine()
        others = {query: t for query, t in super().sets().get(name, {}).items() if t not in mine}
        super().keep_set(name, {**others, **questions})

    def keep_view(self, name: str, filters: Mapping[str, str]) -> None:
        super().keep_view(name, {**filters, "scope": self._digest} if filters else filters)

    def views(self) -> Mapping[str, Mapping[str, str]]:
        return {name: kept for name, kept in super().views().items() if kept.get("scope") == self._digest}

    def _mine(self) -> set[str]:
        return {row.id for row in self.traces(1_000_000)}


@contextmanager
def journal_of(settings: Settings, *, read_only: bool = True) -> Iterator[Journal | None]:
    """Open the journal for one look, or give None where there is none yet.

    It is opened and closed each time, so that nothing is held between two looks or shared by two people.

    Raises:
        ConfigError: The file is no journal.
    """
    if settings.journal is None or not settings.journal.exists():
        yield None
        return
    options = {"read_only": read_only, "must_exist": True}
    scope, path = settings.scope, settings.journal
    with _JournalWithin(path, scope, **options) if scope else Journal(path, **options) as journal:
        yield journal


def is_trace_name(name: str) -> bool:
    """Return whether a name from an address could be that of a trace."""
    return _NAME.fullmatch(name) is not None


def sample_names() -> list[str]:
    """Return the names of the samples that come with the inspector."""
    return sorted(f"sample-{path.stem}" for path in _FOLDER.glob("*.json"))


def upload_name(data: bytes) -> str:
    """Return the name of an opened file: the same for the same bytes, telling nothing of them."""
    return f"upload-{hashlib.blake2b(data, digest_size=6).hexdigest()}"


def open_trace(name: str, settings: Settings) -> Context:
    """Return the trace of a name: a sample's, `file` (what the inspector was started with), or a journal's.

    Raises:
        ConfigError: There is no such trace, or it cannot be read; the message says what to do.
    """
    if not is_trace_name(name):
        raise ConfigError("the address names no trace; choose one on the Traces page")
    if name in sample_names():
        return read_trace((_FOLDER / f"{name.removeprefix('sample-')}.json").read_bytes())
    if name.startswith(("upload-", "asked-")):
        raise ConfigError(
            "that trace was opened in another session, which is not shared; open its file here too"
        )
    if name == FILE and settings.trace is not None:
        try:
            return read_trace(settings.trace.read_bytes())
        except OSError as error:
            raise ConfigError(f"the trace {settings.trace} cannot be read: {error.strerror}") from error
    with journal_of(settings) as journal:
        if journal is None:
            raise ConfigError(f"no journal is open, so there is no trace {name!r}; start with --journal FILE")
        return journal.trace(name)


def answer_to(name: str, settings: Settings) -> Answer | None:
    """Return what a model answered to a journal's trace; None where nothing is kept."""
    with journal_of(settings) as journal:
        found = [] if journal is None else journal.answers(name)
    return found[0] if found else None


def row_of(name: str, settings: Settings) -> TraceRow | None:
    """Return a journal's row of a trace, with its note and tags; None where the trace is not of a journal."""
    found: list[TraceRow] = []
    # A journal that has gone meanwhile costs the note alone.
    with suppress(ContextEngineError), journal_of(settings) as journal:
        found = [] if journal is None else journal.traces(1, id=name)
    return found[0] if found else None


def oldest_first(names: Sequence[str], settings: Settings) -> list[str]:
    """Return traces of a journal in the order in which they were asked; what is of none comes last."""
    numbers = {name: row.number for name in names if (row := row_of(name, settings)) is not None}
    return sorted(names, key=lambda name: numbers.get(name, sys.maxsize))


def known_tags(settings: Settings) -> set[str]:
    """Return the tags of the latest answers that have some."""
    with journal_of(settings) as journal:
        found = [] if journal is None else journal.traces(_LATEST, is_noted=True)
    return {tag for row in found for tag in row.tags}


def store_beside(journal: Path | None) -> str:
    """Return the folder of Chroma that stands beside a journal, "" where none does."""
    folders = [journal.parent, *sorted(journal.parent.glob("*"))] if journal is not None else []
    return next((str(one) for one in folders if (one / "chroma.sqlite3").is_file()), "")


def read_trace(data: bytes) -> Context:
    """Return the trace in a JSON file.

    Raises:
        ConfigError: The bytes are no JSON, or no trace.
    """
    if len(data) > _LARGEST:
        raise ConfigError(f"the file has {len(data):,} bytes; a trace may have {_LARGEST:,}")
    try:
        content: Any = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"the file is not JSON ({error}); save a trace with json.dump(context.to_dict(), file)"
        ) from error
    if not isinstance(content, dict):
        raise ConfigError(
            "the file is JSON but not a trace; save one with json.dump(context.to_dict(), file)"
        )
    return Context.from_dict(content)
