"""JSON Lines, and lists of documents in JSON: an object with a text is a passage, others are rows of data."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any

from langchain_context_engine.ingest.json_rows import read_record, read_row, unwrapped
from langchain_context_engine.ingest.record import Record
from langchain_context_engine.ingest.sections import Document, Section
from langchain_context_engine.ingest.skipped import Skipped

# What the file itself says of its passages; a row's own field of such a name gets a mark before it.
_OWN = frozenset({"path", "document", "start", "end", "place", "headings", "file_hash", "file_records"})
_MOST_SKIPPED = 100
_LEAST_TEXT = 0.5  # of a list of documents in JSON the texts are more than all the rest


def read_rows(path: str, text: str, chunk_size: int) -> Document:
    r"""Return the objects of a JSON Lines file: their texts with their other fields as metadata.

    Rows without a text are kept as written, a few at a time.

    Example:
        >>> document = read_rows("a.jsonl", '{"text": "hello", "by": "A"}\n', 100)
        >>> document.text, document.sections[0].part
        ('hello\n\n', 'line 1')
    """
    skipped: list[Skipped] = []
    return _document(_passages(path, text, chunk_size, skipped), skipped)


def read_documents(path: str, text: str) -> Document | None:
    r"""Return the documents of a JSON file, each a passage with its metadata; None where it holds none.

    Read are a list of dumped documents, one that is alone below a name, and a single one; and a list of
    objects whose texts make up most of the file: other JSON is settings.

    Example:
        >>> read_documents("a.json", '[{"page_content": "hello", "metadata": {"by": "A"}}]').text
        'hello\n\n'
        >>> read_documents("a.json", '{"name": "harbor", "text": "x"}') is None
        True
    """
    items = _listed(text)
    records = [read_record(item) if isinstance(item, dict) else None for item in items]
    told = sum(len(record.text) for record in records if record is not None)
    is_dump = sum(map(_is_dumped, items)) * 2 > len(items)
    if not (is_dump or (told >= _LEAST_TEXT * len(text) and all(records))):
        return None
    skipped: list[Skipped] = []
    return _document(_items(path, records, skipped), skipped)


def _items(
    path: str, records: Iterable[Record | None], skipped: list[Skipped]
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for number, record in enumerate(records, 1):
        if record is not None and record.text.strip():
            yield f"item {number}", record.text, _renamed(record.metadata)
        elif len(skipped) < _MOST_SKIPPED:
            reason, detail = ("invalid", "no object with a text") if record is None else ("empty", "")
            skipped.append(Skipped(where=f"{path}, item {number}", reason=reason, detail=detail))


def _listed(text: str) -> list[Any]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return []
    if _is_dumped(data):
        return [data]
    if isinstance(data, dict) and len(data) == 1:
        (data,) = data.values()
    return data if isinstance(data, list) else []


def _is_dumped(item: Any) -> bool:
    return isinstance(item, dict) and "page_content" in unwrapped(item)


def _document(passages: Iterable[tuple[str, str, dict[str, Any] | None]], skipped: list[Skipped]) -> Document:
    """Return passages (name, text, metadata; None for rows of data) as a document.

    What is left out is complete when they are through.
    """
    parts: list[str] = []
    sections: list[Section] = []
    length = 0
    for label, shown, metadata in passages:
        kind = "table" if metadata is None else _kind(metadata)
        sections.append(
            Section(start=length, end=length + len(shown), part=label, kind=kind, metadata=metadata or {})
        )
        parts.append(f"{shown}\n\n")
        length += len(shown) + 2
    return Document(text="".join(parts), sections=tuple(sections), has_lines=False, skipped=tuple(skipped))


def _kind(metadata: dict[str, Any]) -> str:
    """Return what a row says that it is; a passage that says nothing is a document's."""
    kind = metadata.get("kind")
    return kind if isinstance(kind, str) and kind else "doc"


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
