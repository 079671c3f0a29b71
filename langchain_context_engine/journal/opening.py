"""A journal from what an engine was given as one."""

from __future__ import annotations

from typing import Any

from langchain_context_engine.values.errors import ConfigError


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

    return Journal(journal)
