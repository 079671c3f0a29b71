"""The journal that the tasks are walked in: five thousand questions, and two that are looked at."""

from __future__ import annotations

import sqlite3

from inspector.opening import Settings, open_trace
from inspector.wording import option_of
from langchain_context_engine import Journal
from langchain_context_engine.text.tokens import resolve_tokenizer
from tests.inspector.builders import a_context

MANY = 5000
DUPLICATES, WEIGHTED = open_trace("sample-duplicates", Settings()), open_trace("sample-weighted", Settings())


def fill(folder):
    """Write the journal into a folder, and return that."""
    with Journal(folder / "j.db") as journal:
        journal.record(a_context(query="copied"))
    with sqlite3.connect(folder / "j.db") as connection:
        named = [found[1] for found in connection.execute("PRAGMA table_info(traces)")]
        columns = [name for name in named if name not in {"number", "id", "query"}]
        connection.execute(
            f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {MANY}) "
            f"INSERT INTO traces (id, query, {', '.join(columns)}) SELECT 'copy' || i, "
            f"'question ' || i || ' on ropes', {', '.join(columns)} FROM traces, n"
        )
        connection.execute(
            "INSERT INTO words SELECT id, 'trace', query || ' ' || words FROM traces, words WHERE id LIKE 'copy%'"
        )
    with Journal(folder / "j.db") as journal:
        for context in (DUPLICATES, WEIGHTED):
            journal.record(context)
    return folder


def id_of(folder, query):
    with Journal(folder / "j.db", read_only=True) as journal:
        return journal.traces(1, query=query)[0].id


def key_with(context, reason):
    return next(d.key for d in context.final_decisions().values() if d.reason is reason)


def with_reason(context, reason):
    return option_of(key_with(context, reason))


def stands(context, reason):
    """Return what is said of how much of a text stands in the context."""
    key = key_with(context, reason)
    count = resolve_tokenizer(context.settings["tokenizer"])
    passage = next(passage for passage in context.passages if passage.key == key)
    return f"{count(passage.text)} of its {count(passage.ranked.candidate.text)} tokens stand in the text"
