"""Where traces come from: the journal, a file, the samples. Every name is validated before it is opened."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inspector.within import JournalWithin
from langchain_context_engine import ConfigError, Context, Journal
from langchain_context_engine.journal import Answer

__all__ = [
    "FILE",
    "JOURNAL_VARIABLE",
    "SAMPLES",
    "SCOPE_VARIABLE",
    "TRACE_VARIABLE",
    "Settings",
    "is_trace_name",
    "journal_of",
    "open_trace",
    "read_trace",
    "sample_names",
    "upload_name",
]

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


@dataclass(frozen=True, slots=True)
class Settings:
    """What the inspector was started with.

    Attributes:
        journal: The journal's path, or None.
        trace: The path of a saved trace, or None.
        scope: Only what was asked within it is shown of the journal; empty is all.
    """

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
    opened = (
        JournalWithin(settings.journal, settings.scope, read_only=read_only, must_exist=True)
        if settings.scope
        else Journal(settings.journal, read_only=read_only, must_exist=True)
    )
    with opened as journal:
        yield journal


def is_trace_name(name: str) -> bool:
    """Return whether a name from an address could be that of a trace.

    Example:
        >>> is_trace_name("sample-latest"), is_trace_name("../etc/passwd")
        (True, False)
    """
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
        return _read_file(settings.trace)
    with journal_of(settings) as journal:
        if journal is None:
            raise ConfigError(f"no journal is open, so there is no trace {name!r}; start with --journal FILE")
        return journal.trace(name)


def answer_to(name: str, settings: Settings) -> Answer | None:
    """Return what a model answered to a journal's trace; None where nothing is kept."""
    with journal_of(settings) as journal:
        found = [] if journal is None else journal.answers(name)
    return found[0] if found else None


def _read_file(path: Path) -> Context:
    try:
        return read_trace(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"the trace {path} cannot be read: {error.strerror}") from error


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
