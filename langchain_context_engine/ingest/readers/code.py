"""Source code: a record for each function, method and class, and for what is left of the module."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from langchain_context_engine.ingest.outline import Definition, Outline, Unit, units_of
from langchain_context_engine.ingest.places import code_place, path_marks
from langchain_context_engine.ingest.python import python_outline
from langchain_context_engine.ingest.readers.recipes import RECIPE_OUTLINES
from langchain_context_engine.ingest.record import Record, clean_metadata, unique_ids
from langchain_context_engine.ingest.split import Span, Splitter
from langchain_context_engine.ingest.trees import tree_outline

_LONGEST_SIGNATURE = 300
_LONGEST_DOCSTRING = 600
_TEST_SYMBOL = re.compile(r"(?:^|\.)(?:test_\w+|tests?)(?:\.|$)")


def outline_of(text: str, language: str) -> Outline:
    """Return the outline of a source; an empty one where nothing reads its language.

    Raises:
        TooComplexError: The parser takes too many steps for a source of this length.
    """
    if language == "python":
        return python_outline(text) or Outline()
    if language in RECIPE_OUTLINES:
        return RECIPE_OUTLINES[language](text)
    return tree_outline(text, language) or Outline()


def code_records(
    path: str,
    text: str,
    outline: Outline,
    *,
    language: str,
    splitter: Splitter,
    metadata: Mapping[str, Any] | None = None,
) -> list[Record]:
    """Return the records of a source file in reading order.

    A function or method is its own source, and so is a small class; a larger one is its source with each
    method's signature in place of the method; what is left of the module, imports aside, are units more.
    A unit longer than a chunk becomes several records with one symbol and a `part` number.
    """
    lines = text.split("\n")
    offsets = _line_offsets(lines)
    pieces: list[tuple[Unit, str, int | None, Span]] = []
    for unit in units_of(lines, outline, min(splitter.class_size, splitter.chunk_size)):
        unit_text = unit.text
        spans = splitter(unit_text, is_code=True)
        for part, span in enumerate(spans, 1):
            pieces.append((unit, unit_text, part if len(spans) > 1 else None, span))
    ids = unique_ids(
        (path, unit.definition.symbol, unit.definition.signature, whole[start:end])
        for unit, whole, _, (start, end) in pieces
    )
    first_ids: dict[str, str] = {}
    for (unit, _, _, _), record_id in zip(pieces, ids, strict=True):
        first_ids.setdefault(unit.definition.symbol, record_id)
    records = []
    for record_id, (unit, whole, number, (start, end)) in zip(ids, pieces, strict=True):
        first = unit.numbers[whole.count("\n", 0, start)]
        last = unit.numbers[whole.count("\n", 0, end)]
        if number is None:
            last = max(last, min(unit.definition.end_line, len(lines)))
        described = {
            **(metadata or {}),
            **_describe(path, language, unit.definition),
            **_marks(path, unit.definition),
            "place": code_place(path, first, last, unit.definition.symbol),
            "start": offsets[first - 1],
            "end": offsets[last] - 1,
            "start_line": first,
            "end_line": last,
            "part": number,
            "links": _links(unit.definition, number, first_ids),
        }
        lead = _lead(path, unit.definition, number)
        records.append(
            Record(id=record_id, text=whole[start:end], lead=lead, metadata=clean_metadata(described))
        )
    return records


def _line_offsets(lines: list[str]) -> list[int]:
    """Return where each line begins, and where one more would."""
    return list(_running(lines))


def _running(lines: list[str]) -> Iterator[int]:
    offset = 0
    for line in lines:
        yield offset
        offset += len(line) + 1
    yield offset


def _describe(path: str, language: str, definition: Definition) -> dict[str, Any]:
    return {
        "kind": "code",
        "unit_type": definition.unit_type,
        "path": path,
        "language": language,
        "title": definition.symbol or path,
        "symbol": definition.symbol or None,
        "signature": definition.signature[:_LONGEST_SIGNATURE] or None,
        "docstring": definition.docstring[:_LONGEST_DOCSTRING] or None,
        "document": path,
    }


def _marks(path: str, definition: Definition) -> dict[str, bool]:
    """Return what tells tests and examples from what they try and show; nothing where neither."""
    if definition.unit_type == "test" or _TEST_SYMBOL.search(definition.symbol):
        return {"is_test": True}
    return path_marks(path)


def _lead(path: str, definition: Definition, part: int | None) -> str:
    signature = definition.signature if part is not None and part > 1 else ""
    return "\n".join(line for line in (path, definition.symbol, signature) if line)


def _links(definition: Definition, part: int | None, first_ids: Mapping[str, str]) -> list[str]:
    """A later part links to the first, a method to its class."""
    if part is not None and part > 1:
        return [first_ids[definition.symbol]]
    owner = definition.symbol.rpartition(".")[0]
    return [first_ids[owner]] if definition.unit_type == "method" and owner in first_ids else []
