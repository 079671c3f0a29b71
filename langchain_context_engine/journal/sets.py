"""The journal's named sets of questions: what settings are tried on together."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from langchain_context_engine.journal.schema import has_column
from langchain_context_engine.models.errors import ConfigError
from langchain_context_engine.models.freeze import clean_text

__all__ = ["every", "keep"]

_LONGEST_NAME = 80


def keep(connection: sqlite3.Connection, name: str, questions: Mapping[str, str], at: float) -> None:
    """Write a set over an earlier one of its name; one without questions is removed.

    Args:
        connection: One that writes.
        name: 1 to 80 characters.
        questions: Question → the id of the trace that it is tried on.
        at: When.

    Raises:
        ConfigError: The name is blank or too long.
    """
    cleaned = clean_text(name).strip()
    if not 0 < len(cleaned) <= _LONGEST_NAME:
        raise ConfigError(f"the name of a set has 1 to {_LONGEST_NAME} characters, got {name!r:.100}")
    connection.execute("DELETE FROM sets WHERE name = ?", (cleaned,))
    connection.executemany(
        "INSERT INTO sets VALUES (?, ?, ?, ?)",
        [(cleaned, clean_text(query), trace, at) for query, trace in questions.items()],
    )


def every(connection: sqlite3.Connection) -> dict[str, dict[str, str]]:
    """Return name → question → trace id, by name and question."""
    found: dict[str, dict[str, str]] = {}
    if has_column(connection, "sets", "name"):
        for name, query, trace in connection.execute(
            "SELECT name, query, trace FROM sets ORDER BY name, query"
        ):
            found.setdefault(name, {})[query] = trace
    return found
