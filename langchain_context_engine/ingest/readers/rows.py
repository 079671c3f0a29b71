"""JSON Lines within a folder: an object with a text is a passage, others are rows of data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from langchain_context_engine.ingest.json_rows import read_record, read_row
from langchain_context_engine.ingest.sections import Document, Section
from langchain_context_engine.ingest.skipped import Skipped

# What the file itself says of its passages; a row's own field of such a name gets a mark before it.
_OWN = frozenset({"path", "document", "start", "end", "place", "headings", "file_hash", "file_records"})
_MOST_SKIPPED = 100


def read_rows(path: str, text: str, chunk_size: int) -> Document:
    r"""Return the objects of a JSON Lines file: their texts with their other fields as metadata.

    Rows without a text are kept as written, a few at a time.

    Example:
        >>> document = read_rows("a.jsonl", '{"text": "hello", "by": "A"}\n', 100)
        >>> document.text, document.sections[0].part
        ('hello\n\n', 'line 1')
    """
    parts: list[str] = []
    sections: list[Section] = []
    skipped: list[Skipped] = []
    length = 0
    for label, shown, metadata in _passages(path, text, chunk_size, skipped):
        kind = "doc" if metadata is not None else "table"
        sections.append(
            Section(start=length, end=length + len(shown), part=label, kind=kind, metadata=metadata or {})
        )
        parts.append(f"{shown}\n\n")
        length += len(shown) + 2
    return Document(text="".join(parts), sections=tuple(sections), has_lines=False, skipped=tuple(skipped))


def _passages(
    path: str, text: str, chunk_size: int, skipped: list[Skipped]
) -> Iterator[tuple[str, str, dict[str, Any] | None]]:
    """Yield (lines, text, metadata or None for rows of data)."""
    data: list[str] = []
    first = 0
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        row, problem = read_row(line)
        if row is None:
            if len(skipped) < _MOST_SKIPPED:
                where = f"{PurePosixPath(path)}:{number}"
                skipped.append(Skipped(where=where, reason="invalid", detail=problem))
            continue
        record = read_record(row)
        is_data = record is None or not record.text.strip()
        if data and (not is_data or sum(map(len, data)) + len(line) > chunk_size):
            yield _label(first, first + len(data) - 1), "\n".join(data), None
            data.clear()
        if is_data:
            first = number if not data else first
            data.append(line)
        elif record is not None:
            yield _label(number, number), record.text, _renamed(record.metadata)
    if data:
        yield _label(first, first + len(data) - 1), "\n".join(data), None


def _label(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first}-{last}"


def _renamed(metadata: Any) -> dict[str, Any]:
    return {f"row_{name}" if name in _OWN else name: value for name, value in metadata.items()}
