"""Statistics of sources: what they offered in some traces, and how they were searched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from langchain_context_engine.trace.context import Context


def searched_told(context: Context) -> str:
    """Return how the collections of an answer were searched: once where all were alike; "" where none says.

    Example:
        >>> searched_told(Context(searched={"notes": "vectors in memory", "docs": "vectors by the store"}))
        'notes: vectors in memory; docs: vectors by the store'
    """
    ways: dict[str, list[str]] = {}
    for source, way in context.searched.items():
        ways.setdefault(way, []).append(source)
    if len(ways) == 1:
        return next(iter(ways))
    return "; ".join(f"{', '.join(sources)}: {way}" for way, sources in ways.items())


def offered_table(contexts: Iterable[Context]) -> list[dict[str, Any]]:
    """Return what the sources of some traces offered: one row a source."""
    rows: dict[str, dict[str, Any]] = {}
    for context in contexts:
        for candidate in context.candidates:
            row = rows.setdefault(
                candidate.source,
                {
                    "source": candidate.source,
                    "candidates": 0,
                    "kinds": Counter(),
                    "dated": 0,
                    "keys": Counter(),
                    "searched": {},
                },
            )
            row["candidates"] += 1
            row["kinds"][candidate.kind or "–"] += 1
            row["dated"] += candidate.created_at is not None
            row["keys"].update(candidate.metadata.keys())
            for name in (candidate.source, *candidate.provenance):
                if told := context.searched.get(name):
                    row["searched"][told] = None
    return [
        {
            "source": source,
            "candidates": row["candidates"],
            "kinds": ", ".join(kind for kind, _ in row["kinds"].most_common()),
            "dated": row["dated"] / row["candidates"],
            "searched": "; ".join(row["searched"]),
            "metadata keys": ", ".join(
                str(key) for key, _ in sorted(row["keys"].items(), key=lambda told: (-told[1], str(told[0])))
            ),
        }
        for source, row in sorted(rows.items())
    ]
