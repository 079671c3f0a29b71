"""Jupyter notebooks: cells in order, without outputs, under the headings of their Markdown cells."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from langchain_context_engine.ingest.readers.markdown import markdown_headings
from langchain_context_engine.ingest.sections import Document, Heading, Section
from langchain_context_engine.ingest.skipped import Skipped, SkippedError


def read_notebook(path: str, text: str, chunk_size: int) -> Document:
    """Return the cells of a notebook, small ones that follow each other under one heading together.

    Raises:
        SkippedError: invalid.
    """
    cells, language = _cells(text)
    parts: list[str] = []
    sections: list[Section] = []
    skipped: list[Skipped] = []
    trail: list[Heading] = []
    length = start = first = last = 0

    def close() -> None:
        nonlocal start
        if length > start:
            label = f"cell {first}" if first == last else f"cells {first}-{last}"
            titles = tuple(heading.title for heading in trail if heading.title)
            said = {"language": language}
            sections.append(
                Section(start=start, end=length, titles=titles, part=label, kind="notebook", metadata=said)
            )
        start = length

    for number, cell in enumerate(cells, 1):
        source = _source(cell)
        if source is None:
            skipped.append(Skipped(where=f"{path}:cell {number}", reason="invalid"))
            continue
        if not source.strip():
            continue
        is_code = cell.get("cell_type") == "code"
        headings = [] if is_code else list(markdown_headings(source))
        shown = f"```{language}\n{source}\n```\n\n" if is_code else f"{source}\n\n"
        if headings or length - start + len(shown) > chunk_size:
            close()
        for heading in headings:
            trail[:] = [*(above for above in trail if above.level < heading.level), heading]
        first, last = first if start < length else number, number
        parts.append(shown)
        length += len(shown)
    close()
    return Document(text="".join(parts), sections=tuple(sections), has_lines=False, skipped=tuple(skipped))


def _cells(text: str) -> tuple[list[Mapping[str, Any]], str]:
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SkippedError("invalid", f"no notebook: {error}"[:200]) from None
    held = _object(notebook)
    sheets = [held, *_objects(held.get("worksheets"))]  # of version 3 of the format
    cells = [cell for sheet in sheets for cell in _objects(sheet.get("cells"))]
    if not cells and not isinstance(held.get("cells"), list):
        raise SkippedError("invalid", "no notebook: it has no cells")
    metadata = _object(held.get("metadata"))
    names = (
        _object(metadata.get("language_info")).get("name"),
        _object(metadata.get("kernelspec")).get("language"),
    )
    return cells, next((n for n in names if isinstance(n, str) and n.isidentifier()), "python")


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    yield from map(_object, value if isinstance(value, list) else ())


def _source(cell: Mapping[str, Any]) -> str | None:
    """Return what a cell says; None where it is no text; "" for raw cells."""
    kind = cell.get("cell_type")
    if kind not in ("code", "markdown", "heading"):
        return "" if kind == "raw" else None
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if not isinstance(source, str):
        return None
    level = cell.get("level")
    marks = "#" * (level if isinstance(level, int) and 1 <= level <= 6 else 1)  # noqa: PLR2004
    return f"{marks} {source.strip()}" if kind == "heading" else source.strip("\n")
