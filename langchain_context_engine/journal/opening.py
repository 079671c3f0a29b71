"""A journal from what an engine was given as one, and what an answer says of it."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from langchain_context_engine.models.errors import ConfigError
from langchain_context_engine.trace.context import Context


def open_journal(journal: Any) -> Any:
    """Return a `Journal` for a path; a journal, or whatever has `record`, and None as they are.

    Raises:
        ConfigError: It is neither.
    """
    if journal is None or hasattr(journal, "record"):
        return journal
    if not isinstance(journal, (str, bytes)) and not hasattr(journal, "__fspath__"):
        raise ConfigError(f"journal must be a path or a Journal, got {type(journal).__name__}")
    from langchain_context_engine.journal import Journal

    try:
        return Journal(os.fsdecode(journal))
    except OSError as error:
        raise ConfigError(f"the journal cannot be opened ({error.strerror}); give it another path") from error


def kept_in(journal: Any, context: Context) -> Context:
    """Record a context where there is a journal; return it with its id, and what was lost before it."""
    if journal is None:
        return context
    ledger = getattr(journal, "ledger", None)
    news = "" if ledger is None else ledger.news()
    if news:
        context = replace(context, warnings=(*context.warnings, news))
    trace_id = journal.record(context)
    return replace(context, trace_id=trace_id) if isinstance(trace_id, str) else context
